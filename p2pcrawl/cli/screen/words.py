"""Numbers and tables as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def counted(count: int, noun: str, plural: str = "") -> str:
    """Writes a count with its noun: ``1 page``, ``2,000 pages``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def in_columns(rows: Sequence[Sequence[str]], right: set[int]) -> Iterator[str]:
    """Writes rows in columns as wide as they need to be; those in ``right`` are figures."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.rjust(w) if n in right else cell.ljust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
