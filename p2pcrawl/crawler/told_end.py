"""The end of a crawl in words: how much came of it, and whether anything did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p2pcrawl.model.outcome import Failure

_SPIDERS_OWN = (Failure.CALLBACK, Failure.ITEM, Failure.TOO_SLOW)


def fruitless(certificate: dict[str, Any]) -> bool:
    """Tells whether no page at all could be had, though there were some to be had (or the start itself failed)."""
    asked = certificate["discovered"] - 1
    return not certificate["pages"] and (asked > 0 or certificate["failed"] > 0)


def fruitless_words(certificates: Sequence[dict[str, Any]]) -> str:
    """Says in what way crawls came to nothing: no page could be had, or the spider failed at those that were."""
    failed = [reason for c in certificates if fruitless(c) for reason in c["failed_by_reason"]]
    return "the spider failed at each page" if any(r in _SPIDERS_OWN for r in failed) else "no page could be had"


def end_line(certificate: dict[str, Any]) -> str:
    """Tells on one line how a job has ended."""
    parts = [", ".join(_counted(certificate[what], what) for what in ("pages", "items"))]
    for group in ("failed", "dropped"):
        if found := certificate[f"{group}_by_reason"]:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in found.items())
            parts.append(f"{group}: {reasons}")
    if left_out := [f"{name} {count:,}" for name, count in certificate["filtered_links"].items() if name != "seen"]:
        parts.append(f"links left out: {', '.join(left_out)}")
    return f"{certificate['name']} {_state(certificate)}: {'; '.join(parts)}"


def _state(certificate: dict[str, Any]) -> str:
    state = "stopped" if certificate["state"] == "running" else certificate["state"]
    return f"{state} ({certificate['reason']})" if certificate["reason"] else str(state)


def _counted(count: int, nouns: str) -> str:
    return f"{count:,} {nouns if count != 1 else nouns.removesuffix('s')}"
