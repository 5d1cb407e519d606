"""Numbers as people read them."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Writes a count with its noun: ``1 page``, ``2,000 pages``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
