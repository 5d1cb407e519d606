"""Sets of words, written as text."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """Returns the words of a text that are parted by white space."""
    return frozenset(words.split())
