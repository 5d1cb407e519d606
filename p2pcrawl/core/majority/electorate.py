"""The electorate: the agreed set of masters of which more than half must consent before anything is granted.

The theory. If each part of a divided cluster counted the members that *it* knows, both could have a majority. So the
set is agreed on, and only a majority of it changes it: version n+1 is the set of version n with one voter more or one
less (or none: so a ballot that somebody began can be ended), decided by the voters of version n: single-decree Paxos,
in which a ballot is prepared, then accepted, by more than half. Any majority of one version has a voter in common with
any majority of the next. And a voter takes part in deciding n+2 only when a promise's time has passed since it learnt
n+1: by then nobody counts by version n any more, because most voters of n have accepted n+1, and consent to nobody who
counts by less (:mod:`p2pcrawl.core.majority.consent`). So at any moment all that count do so by one version or two
that follow
each other.

A voter is a *seat*: a random number that lies beside what the voter has accepted, on its disk. A disk that is lost
takes the seat with it; the master that comes back without it is another voter, and may vote when it has been let in.

The first peer of a cluster *founds* it: version 1 has that one alone. Who has never heard of an electorate takes the
one that it is told. Of two that were founded apart the older one is joined: who hears of an older founding gives up its
own, and the seat in it for ever.

Invariants: what is promised or accepted is durable before it is said (the shell sees to it, whenever ``changed``); two
sets are never decided for one version; a version is decided once, and only grows, within one founding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from p2pcrawl.model.cluster.consent import NO_BALLOT, NOBODY, VOTERS_MAX, Ballot, Decision, Poll, Version, Vote, Voters
from p2pcrawl.model.cluster.node import NodeId


@dataclass(slots=True)
class Electorate:
    """One master's knowledge of the electorate, as it lies on its disk; and its votes."""

    seat: bytes
    version: Version = NOBODY
    voters: Voters = field(default_factory=dict)
    ballot: Ballot = NO_BALLOT
    """The greatest that was promised or accepted for the next version."""
    accepted_in: Ballot = NO_BALLOT
    accepted: Voters | None = None
    unused: bool = True
    """Nothing was ever said from this seat in an earlier life."""
    changed: bool = False
    """To be made durable before anything is said."""
    learnt_at: float = 0.0
    """When the version was learnt, or this life began."""

    @property
    def accepted_version(self) -> Version:
        """The greatest version that is decided or accepted here: who counts by less gets no consent from here."""
        return Version(self.version.founded, self.version.number + (self.accepted is not None))

    @property
    def decision(self) -> Decision:
        return Decision(self.version, self.voters)

    def admits(self, version: Version) -> bool:
        """Tells whether a master that counts by this version may get consent from here."""
        return (
            bool(self.version.founded) and version.founded == self.version.founded and version >= self.accepted_version
        )

    def votes(self, me: NodeId) -> bool:
        return self.voters.get(me) == self.seat

    def found(self, me: NodeId, founded: int, now: float) -> None:
        """Begins a cluster: the first version has its founder alone."""
        self.version, self.voters = Version(founded, 1), {me: self.seat}
        self.learnt_at, self.changed = now, True

    def behind(self, version: Version) -> bool:
        """Tells whether a master that speaks of this version knows more than we do, or is of an older founding."""
        return _behind(self.version, version)

    def learn(self, decision: Decision, new_seat: Callable[[], bytes], now: float) -> bool:
        """Takes a decision that somebody tells; returns whether it is news."""
        if not self.behind(decision.version):
            return False
        if self.version.founded and decision.version.founded != self.version.founded:
            # What we may have said for the other founding is nothing that this one may count.
            self.seat, self.unused = new_seat(), True
        self.version, self.voters = decision.version, dict(decision.voters)
        self.ballot = self.accepted_in = NO_BALLOT
        self.accepted = None
        self.learnt_at, self.changed = now, True
        return True

    def open_ballot(self, me: NodeId, round_min: int = 0) -> Ballot:
        """Opens a ballot that nobody has used, nor ever will for anything else, once this is durable."""
        self.ballot = max(self.ballot[0], round_min) + 1, me
        self.changed = True
        return self.ballot

    def vote(self, me: NodeId, poll: Poll, now: float, settle_s: float) -> Vote:
        """Answers a poll. ``settle_s``: how long each version stands at least."""
        if poll.version != self.version:
            return Vote(self.seat, False, self.ballot, later=_behind(poll.version, self.version))
        given = self.votes(me) and now >= self.learnt_at + settle_s and poll.ballot >= self.ballot
        if poll.voters is not None:
            given = given and is_step(self.voters, poll.voters)
        if given:
            self.ballot, self.changed = poll.ballot, True
            if poll.voters is not None:
                self.accepted_in, self.accepted = poll.ballot, dict(poll.voters)
        return Vote(self.seat, given, self.ballot, self.accepted_in, self.accepted)


def is_step(before: Voters, after: Voters) -> bool:
    """Tells whether one voter has come, or one has gone, or nothing has changed at all."""
    come, gone = after.items() - before.items(), before.items() - after.items()
    return len(come) + len(gone) <= 1 and 0 < len(after) <= VOTERS_MAX


def _behind(ours: Version, theirs: Version) -> bool:
    return theirs.founded > 0 and (
        not ours.founded
        or theirs.founded < ours.founded
        or (theirs.founded == ours.founded and theirs.number > ours.number)
    )


class Canvass:
    """One attempt to decide the next version: :attr:`poll` is put to all voters, till there is a :attr:`decision`, or
    it is :attr:`lost`."""

    def __init__(self, before: Decision, ballot: Ballot, wanted: Voters) -> None:
        """``wanted``: what is to be decided, if nothing else may have been."""
        self._before = before
        self._ballot = ballot
        self._wanted = wanted
        self._given: dict[NodeId, Vote] = {}
        self.poll = Poll(before.version, ballot)
        self.decision: Decision | None = None
        self.lost = False
        self.round_seen = self._ballot[0]
        """The greatest that anybody has seen: another attempt must exceed it."""

    def voted(self, node: NodeId, poll: Poll, vote: Vote) -> None:
        """Takes in an answer to ``poll``, which may be the one before."""
        self.round_seen = max(self.round_seen, vote.ballot[0])
        self.lost = self.lost or vote.later
        if poll is not self.poll or self._before.voters.get(node) != vote.seat or self.decision or self.lost:
            return
        if not vote.given:
            self.lost = vote.ballot > self._ballot
            return
        self._given[node] = vote
        if len(self._given) <= len(self._before.voters) // 2:
            return
        if self.poll.voters is None:
            last = max(self._given.values(), key=lambda each: each.accepted_in)
            voters = last.accepted if last.accepted is not None else self._wanted
            self.poll = Poll(self._before.version, self._ballot, voters)
            self._given.clear()
        else:
            version = Version(self._before.version.founded, self._before.version.number + 1)
            self.decision = Decision(version, self.poll.voters)


VOTERS_WANTED = 31
"""So many vote at most: each of them is asked by every master each second."""


def wanted_change(
    voters: Voters,
    seats: Voters,
    going: Callable[[NodeId], bool],
    here: Callable[[NodeId], bool],
    silent: Collection[NodeId] = (),
) -> Voters | None:
    """Returns the next set that is wanted, if it is not this one.

    ``seats``: what those that were heard from vote with. ``going``: it has left, leaves, or was given up for good.
    ``here``: it takes part. ``silent``: it does not answer. First go those that do, and those that came back with
    another disk; then others come. Nobody is let go by whom so few would stay that they could decide nothing more
    themselves: as many would be needed after it as before, and who leaves may come back when others cannot.
    """

    def has_vote(node: NodeId) -> bool:
        return here(node) and node not in silent and seats.get(node, voters[node]) == voters[node]

    for node in sorted(voters):
        if going(node) or (here(node) and seats.get(node, voters[node]) != voters[node]):
            stay = {each: seat for each, seat in voters.items() if each != node}
            if stay and sum(map(has_vote, stay)) > len(stay) // 2:
                return stay
    for node in sorted(seats):
        if node not in voters and here(node) and not going(node) and len(voters) < VOTERS_WANTED:
            return {**voters, node: seats[node]}
    return None
