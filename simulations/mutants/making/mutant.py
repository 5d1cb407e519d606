"""Mutants: small plausible mistakes, one at a time, that somebody might make in the protocol's code.

A control swaps a whole piece for one that was written for it; a mutant edits a few words of the real source. So a
hundred of them cost a line or two each, each reads as the slip that it is, and one that does not fit any more, because
the code has changed, is an error and not a mutant that does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Slip(StrEnum):
    """The kinds of mistakes."""

    EARLY = "early"
    """Something is said to be safe, done or free before it is."""
    FENCE = "fence"
    """An epoch, a version, a generation or a session is not kept, not raised or not looked at."""
    QUORUM = "quorum"
    """Too few are asked or counted, or one round is taken for two."""
    EDGE = "edge"
    """A bound, a range or a page is off by one, or ends too early."""
    MERGE = "merge"
    """What comes from several is joined wrongly: the lesser for the greater, the last for all."""
    RACE = "race"
    """A lock, a wait or a second look after a wait is missing."""
    RETRY = "retry"
    """What fails once is not tried again, or nobody is woken to try."""
    CLEANUP = "cleanup"
    """What is over is not put away, or more is put away than is over."""
    SIDE = "side"
    """The wrong one is asked, told, believed or chosen."""
    CHECK = "check"
    """A condition is missing, turned round or too weak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One mistake: ``old``, which occurs exactly once in the source of ``where``, becomes ``new``."""

    name: str
    kind: Slip
    where: str
    """``package.module:function``, ``package.module:Class.method``, or the path of a function within one of these."""
    old: str
    new: str
    harm: str
    """What it does to whom, in a sentence."""
    equivalent: str = ""
    """Why nobody could notice it; nothing where it does harm."""
    blind: bool = False
    """Written from the protocol's pages alone, after the checkers and without looking at them."""
