"""The votes, with ``--partition majority``: ballots on the electorate, over links.

:mod:`p2pcrawl.core.majority.electorate` has the rules. Of those that stay, the one with the least id sees to it that
newcomers
become voters, and that those that leave in order, or have been forgotten, are voters no more. Whoever knows of a ballot
that nobody has brought to its end does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from math import inf

from p2pcrawl.core.majority.electorate import Canvass, wanted_change
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.model.cluster.consent import Decision, Poll, Version, Vote, Voters
from p2pcrawl.model.cluster.node import NodeId, Status
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.overlay.tasks import Tasks, end
from p2pcrawl.wire.messages.peer_messages import AskElectorate, Canvassed, Elected, Voted

log = logging.getLogger(__name__)

BALLOT_S = 3.0
"""How long answers to a ballot are waited for."""
AGAIN_S = 2.0
"""Between two attempts to decide something; those that are not the first to do so wait twice as long."""


class Suffrage:
    """Decides with the others who votes. ``settle_s``: how long each version stands at least. ``silent`` names the
    voters of which nothing is heard; ``learnt`` is called when there is another version.
    """

    def __init__(
        self,
        peers: Peers,
        roll: Roll,
        settle_s: float,
        silent: Callable[[], Iterable[NodeId]],
        learnt: Callable[[], None],
    ) -> None:
        self._peers = peers
        self._roll = roll
        self._settle_s = settle_s
        self._silent = silent
        self._learnt = learnt
        self._loop = asyncio.get_running_loop()
        self._electorate = roll.electorate
        self.seats: dict[NodeId, bytes] = {}
        """What those that were heard of vote with."""
        self._forgotten: set[NodeId] = set()
        self._tended_at = -inf
        self._round = 0
        self._pending = False
        """Somebody has accepted a version that is not decided, as far as we know."""
        self._tasks = Tasks()
        self._pulling: set[NodeId] = set()

    @property
    def votes(self) -> bool:
        """True if our consent counts."""
        return self._electorate.votes(self._peers.me)

    @property
    def awaited(self) -> bool:
        """True if we have a vote still, and there are others who may decide that we have not."""
        return self.votes and any(not m.leaving for m in self._peers.others())

    def forgotten(self, node: NodeId) -> None:
        """Takes in that a master has been away for so long that it is not waited for any more."""
        self._forgotten.add(node)

    def heard_of(self, version: Version, node: NodeId) -> None:
        """Asks a master for the version that it speaks of, if we know less."""
        if self._electorate.behind(version) and node not in self._pulling:
            self._tasks.start(self._safely(self._pull(node, version)))

    async def close(self) -> None:
        await self._tasks.close()

    def tend(self) -> None:
        """Begins what has to be decided, if that falls to us."""
        now, me = self._loop.time(), self._peers.me
        due_at = max(self._tended_at + AGAIN_S, self._electorate.learnt_at + self._settle_s + TIMINGS.ballot_margin_s)
        if now < due_at or not self.votes:
            return
        voters, silent = self._electorate.voters, set(self._silent())
        if 2 * len(silent) >= len(voters):
            return
        self._tended_at = now
        stay = [node for node in voters if self._has_vote(node) and not self._going(node) and node not in silent]
        first = me == min(stay, default=me)
        wanted = wanted_change(voters, {**self.seats, me: self._electorate.seat}, self._going, self._here, silent)
        if self._pending or self._electorate.accepted is not None:
            wanted = self._electorate.accepted or wanted or voters
        elif not first:
            return
        if not first:
            # The first one is about to do it.
            self._tended_at = now + AGAIN_S
            if not self._pending:
                self._pending = True
                return
        if wanted is not None:
            self._tasks.start(self._safely(self._canvass(wanted)))

    # -- what others ask ----------------------------------------------------------------------

    async def vote(self, request: Canvassed) -> Voted:
        """Answers a ballot."""
        voters = None if request.voters is None else {NodeId(node): seat for node, seat in request.voters.items()}
        poll = Poll(Version(request.founded, request.number), (request.round, NodeId(request.opener)), voters)
        vote = await self._roll.vote(poll, self._settle_s)
        return Voted(0, vote.seat, vote.given, *vote.ballot, *vote.accepted_in, _given(vote.accepted), vote.later)

    def elected(self) -> Elected:
        """Answers who is asked for consent here."""
        return Elected(0, *self._electorate.version, _plain(self._electorate.voters))

    # -- inside -------------------------------------------------------------------------------

    def _has_vote(self, node: NodeId) -> bool:
        """Tells whether a voter is here, with the disk that it had when it was let in."""
        seat = self._electorate.voters[node]
        return self._here(node) and self.seats.get(node, seat) == seat

    def _here(self, node: NodeId) -> bool:
        return self._peers.living(node) is not None

    def _going(self, node: NodeId) -> bool:
        member = self._peers.known(node)
        if member is None:
            return node in self._forgotten
        return member.leaving or member.status is Status.LEFT

    async def _canvass(self, wanted: Voters) -> None:
        """Makes one attempt to decide the next version."""
        before = self._electorate.decision
        ballot = await self._roll.open_ballot(self._round)
        canvass = Canvass(before, ballot, wanted)
        poll = None
        while poll is not canvass.poll and not canvass.lost and canvass.decision is None:
            poll = canvass.poll
            asked = {asyncio.create_task(self._put(canvass, poll, node)) for node in before.voters}
            try:
                async with asyncio.timeout(BALLOT_S):
                    while asked and poll is canvass.poll and not canvass.lost and canvass.decision is None:
                        _, asked = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            except TimeoutError:
                log.debug("too few answers to a ballot on who has a vote")
            finally:
                await end(asked)
        self._round = canvass.round_seen
        if canvass.decision is not None:
            await self._learn(canvass.decision)

    async def _put(self, canvass: Canvass, poll: Poll, node: NodeId) -> None:
        """Puts a poll to one voter."""
        try:
            if node == self._peers.me:
                vote = await self._roll.vote(poll, self._settle_s)
            else:
                vote = _vote_of(
                    await self._peers.ask(node, Canvassed(0, *poll.version, *poll.ballot, _given(poll.voters)))
                )
        except P2PCrawlError as error:
            log.debug("no vote from %s: %s", node[:8], error)
            return
        canvass.voted(node, poll, vote)

    async def _pull(self, node: NodeId, version: Version) -> None:
        """Asks for a version that somebody speaks of and that we do not know."""
        self._pulling.add(node)
        try:
            told = await self._peers.ask(node, AskElectorate(0))
            voters = {NodeId(name): seat for name, seat in told.voters.items()}
            if voters:
                await self._learn(Decision(Version(told.founded, told.number), voters))
            self._pending = self._electorate.behind(version)
        except P2PCrawlError as error:
            log.debug("asking %s who has a vote: %s", node[:8], error)
        finally:
            self._pulling.discard(node)

    async def _learn(self, decision: Decision) -> None:
        if not await self._roll.learn(decision):
            return
        self._pending = False
        self._forgotten.intersection_update(decision.voters)
        names = ", ".join(node[:8] for node in sorted(decision.voters))
        log.info("version %d of the electorate: %s", decision.version.number, names)
        self._learnt()

    async def _safely(self, work: Awaitable[None]) -> None:
        try:
            await work
        except P2PCrawlError as error:
            log.warning("who has a vote cannot be decided now: %s", error)
        except Exception:
            log.exception("deciding who has a vote failed")


def _plain(voters: Voters) -> dict[str, bytes]:
    return {str(node): seat for node, seat in voters.items()}


def _given(voters: Voters | None) -> dict[str, bytes] | None:
    return None if voters is None else _plain(voters)


def _vote_of(reply: Voted) -> Vote:
    accepted = None if reply.accepted is None else {NodeId(node): seat for node, seat in reply.accepted.items()}
    return Vote(
        reply.seat,
        reply.given,
        (reply.round, NodeId(reply.opener)),
        (reply.accepted_round, NodeId(reply.accepted_opener)),
        accepted,
        reply.later,
    )
