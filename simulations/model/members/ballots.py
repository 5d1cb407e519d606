"""The rules of ballots on who votes: one version after the other is decided by most of those that the one before names.

They are those of single-decree Paxos, once for each version: a vote is given in rising ballots only, and is on the disk
before it is said; who has accepted something says so in every later ballot; nothing is put to the vote before most have
promised, and then it is what the latest of them had accepted, if any had (docs/majority.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..acknowledged import Tell

Version = tuple[int, int]
"""When the cluster was founded, and the number of the electorate."""
Ballot = tuple[int, str]
Voters = Mapping[str, bytes]
NO_BALLOT: Ballot = (0, "")
SETTLED_S: Final = 6.2 / 1.02 - 0.3
"""So long after a version was seen on its disk, by whatever clock, a voter does not vote on the next."""


class Poll(NamedTuple):
    """A question to a voter: to promise, or with ``voters`` to accept these for the version after this one."""

    version: Version
    ballot: Ballot
    voters: Voters | None = None


class Vote(NamedTuple):
    """A voter's answer."""

    seat: bytes
    given: bool
    accepted_in: Ballot = NO_BALLOT
    accepted: Voters | None = None


class Roll(NamedTuple):
    """The word of a voter's disk."""

    version: Version
    ballot: Ballot
    accepted_in: Ballot


_Accepted = tuple[Ballot, Voters]


@dataclass(slots=True)
class Ballots:
    """Judges votes and what comes of them."""

    tell: Tell
    _promised: dict[tuple[bytes, Version], Ballot] = field(default_factory=dict)
    _accepted: dict[tuple[bytes, Version], _Accepted] = field(default_factory=dict)
    _heard: dict[tuple[str, Version, Ballot], dict[bytes, Vote]] = field(default_factory=lambda: defaultdict(dict))
    """Who has promised what to whom, as that one has heard it."""
    _agreed: dict[tuple[str, Version, Ballot], tuple[Voters, set[bytes]]] = field(default_factory=dict)
    """Who has accepted what somebody has put to the vote, as that one has heard it."""
    _put: dict[tuple[str, Version], _Accepted] = field(default_factory=dict)
    """What somebody has put to the vote last."""
    _takers: dict[tuple[Version, Ballot], tuple[Voters, set[bytes]]] = field(default_factory=dict)
    """Who has accepted what was put to the vote."""
    _decided: dict[Version, Voters] = field(default_factory=dict)
    _learnt_s: dict[tuple[str, Version], float] = field(default_factory=dict)
    """Since when a voter's disk has a version."""

    def decided(self, version: Version) -> Voters | None:
        """Returns who votes in a version, as far as anybody has said."""
        return self._decided.get(version)

    def next_ones(self, version: Version, before: Voters) -> Iterator[Voters]:
        """Yields what may be decided already as the version after this one."""
        for (of, (_, opener)), (value, seats) in self._takers.items():
            if of == version and self._are_most(before, seats, opener):
                yield value

    def learnt(self, voter: str, version: Version, now_s: float) -> None:
        """Takes in that a voter's disk is seen to have a version: a moment ago it had not."""
        self._learnt_s.setdefault((voter, version), now_s)

    def votes(self, voter: str, poll: Poll, vote: Vote, roll: Roll | None, now_s: float) -> None:
        """Judges a vote as it is said; ``roll`` is what the voter's disk says then."""
        place = vote.seat, poll.version
        accepted_in, _ = self._accepted.get(place, (NO_BALLOT, {}))
        if vote.given and poll.ballot < self._promised.get(place, NO_BALLOT):
            self._tell(now_s, voter, f"voted in ballot {poll.ballot} after {self._promised[place]}")
        if vote.given and vote.accepted_in < accepted_in:
            self._tell(now_s, voter, f"does not say that it has accepted something in ballot {accepted_in}")
        if not vote.given:
            return
        before = self._decided.get(poll.version)
        if before is not None and vote.seat not in before.values():
            self._tell(now_s, voter, f"voted in ballot {poll.ballot} from a seat that has no vote")
        learnt_s = self._learnt_s.get((voter, poll.version), -SETTLED_S)
        if now_s < learnt_s + SETTLED_S:
            text = f"voted in ballot {poll.ballot} on what follows electorate {poll.version[1]}"
            self._tell(now_s, voter, f"{text}, which it has known for {now_s - learnt_s:.2f} s")
        if roll is None or roll[:2] < (poll.version, poll.ballot):
            self._tell(now_s, voter, f"voted in ballot {poll.ballot}, and its disk does not say so")
        self._promised[place] = max(poll.ballot, self._promised.get(place, NO_BALLOT))
        if poll.voters is not None:
            self._accepted[place] = poll.ballot, poll.voters
            self._takers.setdefault((poll.version, poll.ballot), (poll.voters, set()))[1].add(vote.seat)
            if before is not None and len(before.items() ^ poll.voters.items()) > 1:
                self._tell(now_s, voter, f"accepts in ballot {poll.ballot} more than one change of who votes")

    def opens(self, opener: str, poll: Poll, roll: Roll | None, now_s: float) -> None:
        """Judges a ballot as somebody is asked to vote in it; ``roll`` is what its opener's disk says then. Who forgets
        with a crash that he has opened it opens it once more, for something else.
        """
        if roll is not None and roll.version[0] != poll.version[0]:
            return  # It has heard meanwhile of a cluster that was founded before its own.
        if roll is None or roll[:2] < (poll.version, poll.ballot):
            self._tell(now_s, opener, f"asks for votes in ballot {poll.ballot}, and its disk does not say so")

    def hears(self, opener: str, poll: Poll, vote: Vote) -> None:
        """Takes in a promise, or that something is accepted, as the one that asked for it hears of it."""
        if vote.given and poll.voters is None:
            self._heard[opener, poll.version, poll.ballot][vote.seat] = vote
        elif vote.given and poll.voters is not None:
            self._agreed.setdefault((opener, poll.version, poll.ballot), (poll.voters, set()))[1].add(vote.seat)

    def puts(self, opener: str, poll: Poll, now_s: float) -> None:
        """Judges what somebody puts to the vote."""
        before = self._decided.get(poll.version)
        if poll.voters is None or before is None:
            return
        heard = {seat: vote for seat, vote in self._heard[opener, poll.version, poll.ballot].items()
                 if seat in before.values()}  # fmt: skip
        node = poll.ballot[1]
        if len(heard) + (node in before) <= len(before) // 2:
            text = f"puts something to the vote in ballot {poll.ballot} with {len(heard)} promises of others"
            self._tell(now_s, opener, f"{text} among {len(before)}")
        last = max(((vote.accepted_in, vote.accepted) for vote in heard.values()), key=lambda each: each[0],
                   default=(NO_BALLOT, None))  # fmt: skip
        own = [self._put.get((opener, poll.version)), self._accepted.get((before.get(node, b""), poll.version))]
        allowed = [value for ballot, value in filter(None, own) if ballot >= last[0]]
        if last[1] is not None and poll.voters != last[1] and poll.voters not in allowed:
            self._tell(now_s, opener, f"puts to the vote what it wants, though ballot {last[0]} may have decided else")
        self._put[opener, poll.version] = poll.ballot, poll.voters

    def elected(self, node: str, version: Version, voters: Voters, now_s: float) -> None:
        """Judges the word of somebody on who votes."""
        if not voters:
            return
        founded, number = version
        known, before = self._decided.get(version), self._decided.get((founded, number - 1))
        if known is not None and known != voters:
            self._tell(now_s, node, f"says that electorate {number} is another one than others say")
        is_told = known is not None or before is None or len(before) == 1
        if not is_told and voters not in self._counted((founded, number - 1), before or {}):
            text = f"says that electorate {number} is decided, and too few have accepted it"
            self._tell(now_s, node, f"{text}, as far as whoever has put it to the vote has heard")
        self._decided.setdefault(version, voters)

    def counts_by(self, node: str, version: Version, now_s: float) -> None:
        """Judges a master that counts by a version, as it says: most have accepted that by then, and somebody has heard
        that they have.
        """
        before = self._decided.get((version[0], version[1] - 1))
        if version in self._decided or before is None or len(before) == 1:
            return
        if not any(self._counted((version[0], version[1] - 1), before)):
            text = f"counts by electorate {version[1]}, which too few have accepted"
            self._tell(now_s, node, f"{text}, as far as whoever has put it to the vote has heard")

    # -- inside --------------------------------------------------------------------------------

    def _counted(self, version: Version, before: Voters) -> Iterator[Voters]:
        """Yields what is decided as the version after this one: whoever has put it to the vote has heard that most
        have accepted it. What he has accepted himself he tells nobody.
        """
        for (_, of, (_, opener)), (value, seats) in self._agreed.items():
            if of == version and self._are_most(before, seats, opener):
                yield value

    def _are_most(self, before: Voters, seats: set[bytes], opener: str) -> bool:
        """Tells whether these seats, and whoever opened the ballot, are most of the voters."""
        taken = len(seats & set(before.values()) - {before.get(opener, b"")}) + (opener in before)
        return taken > len(before) // 2

    def _tell(self, now_s: float, node: str, what: str) -> None:
        self.tell(f"at {now_s:.3f} s {node} {what}")
