"""Questions and answers between masters about who may grant, and about the voters who are asked for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from p2pcrawl.model.cluster.node import NodeId

SEAT_BYTES = 8
VOTERS_MAX = 1000

Voters = Mapping[NodeId, bytes]
"""The seat of each."""
Ballot = tuple[int, NodeId]
"""A round, and who opened it."""
NO_BALLOT: Ballot = (0, NodeId(""))


class Version(NamedTuple):
    """The version of an electorate: when its cluster was founded, and how often it has been changed; (0, 0) is none."""

    founded: int
    number: int


NOBODY = Version(0, 0)


@dataclass(frozen=True, slots=True)
class Decision:
    """A set that has been decided."""

    version: Version
    voters: Voters


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """Asks a voter to stand by a view; 0: the asker is through with all that it was promised."""

    number: int
    view: int
    version: Version
    """Of the electorate by which the asker counts."""
    seat: bytes


@dataclass(frozen=True, slots=True)
class ConsentAnswer:
    """A voter's answer to a question."""

    number: int
    agrees: bool
    version: Version
    """The last one that was accepted there, decided or not."""
    seat: bytes


@dataclass(frozen=True, slots=True)
class Poll:
    """A ballot on the version after ``version``: it is prepared; or, with ``voters``, to be accepted."""

    version: Version
    ballot: Ballot
    voters: Voters | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """The answer to a poll, from a seat."""

    seat: bytes
    given: bool
    ballot: Ballot
    """The greatest that has been prepared there."""
    accepted_in: Ballot = NO_BALLOT
    accepted: Voters | None = None
    """What was accepted last for that version, if anything."""
    later: bool = False
    """The voter knows a later set than the one that was asked about."""
