"""Spans of epochs: what somebody has of a bucket, behind the first of each pair and up to the second."""

from __future__ import annotations

from collections.abc import Iterable

from ..standings import Span, Standing

Spans = tuple[Span, ...]


def spans_of(standing: Standing) -> Spans:
    """Returns the epochs of which all is there: behind the first of each pair, up to the second."""
    if not standing.lack:
        return ((0, standing.epoch),)
    return joined(((0, standing.base), *standing.pieces, (standing.lack, standing.epoch)))


def is_nothing(standing: Standing) -> bool:
    return bool(standing.lack) and not any(before < last for before, last in spans_of(standing))


def without(spans: Iterable[Span], epochs: Iterable[int]) -> Spans:
    """Returns what is left of spans without some epochs."""
    left = list(spans)
    for epoch in epochs:
        left = [
            part
            for before, last in left
            for part in (((before, epoch - 1), (epoch, last)) if before < epoch <= last else ((before, last),))
        ]
    return tuple(span for span in left if span[0] < span[1])


def joined(spans: Iterable[Span]) -> Spans:
    """Returns spans in order, those that meet as one."""
    parts: list[Span] = []
    for before, last in sorted(span for span in spans if span[0] < span[1]):
        if parts and before <= parts[-1][1]:
            parts[-1] = parts[-1][0], max(parts[-1][1], last)
        else:
            parts.append((before, last))
    return tuple(parts)


def covers(spans: Spans, wanted: Iterable[Span]) -> bool:
    """Tells whether all epochs of some spans are among those of others, which are joined."""
    return all(
        before >= last or any(first <= before and last <= end for first, end in spans) for before, last in wanted
    )


def told_of(spans: Spans) -> str:
    return " and ".join(f"{before + 1} to {last}" for before, last in spans) or "nothing"
