"""Tables of which master served which bucket, each time that all agreed on it anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A sharing-out of the buckets that all agreed on at a moment. Members are named by their ids."""

    now_s: float
    weights: Mapping[str, int]
    """The members that take part, and their weights."""
    owners: Sequence[str]
    """Who served each bucket; "" when nobody did."""
    holders: Sequence[Sequence[str]]
    """Who was to have each bucket, its owner first."""
