"""In which portions buckets are taken over, so that the first are served long before the last have come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def portions(sizes: Mapping[int, int], rows_max: int) -> Iterator[frozenset[int]]:
    """Parts the buckets, given with how much there is of each: all at once if that is little; else first those of
    which there is nothing, then the others, the small ones first. Only a bucket of its own has more than ``rows_max``.
    """
    if sum(sizes.values()) <= rows_max:
        yield frozenset(sizes)
        return
    portion = {bucket for bucket, rows in sizes.items() if not rows}
    left = 0 if portion else rows_max
    for rows, bucket in sorted((rows, bucket) for bucket, rows in sizes.items() if rows):
        if portion and rows > left:
            yield frozenset(portion)
            portion, left = set(), rows_max
        portion.add(bucket)
        left -= rows
    yield frozenset(portion)
