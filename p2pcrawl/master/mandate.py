"""With ``--partition majority``: asks the voters for consent, and sees to it that nothing is granted without.

:mod:`p2pcrawl.core.consent` decides who may grant, :mod:`p2pcrawl.core.electorate` who is asked. Here questions and
answers go out as datagrams of their own, which wait for nothing else that masters say to each other; ballots go over
links. Of those that stay, the one with the least id sees to it that newcomers become voters, and that those that leave
in order, or have been forgotten, are voters no more. Whoever knows of a ballot that nobody has brought to its end does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

from p2pcrawl.core.consent import Consent, ConsentConfig
from p2pcrawl.core.electorate import VOTERS_WANTED, Canvass, wanted_change
from p2pcrawl.core.ownership import Ownership
from p2pcrawl.master.roll import Roll
from p2pcrawl.model.consent import Decision, Poll, Question, Version, Vote, Voters
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.node import NodeId, Status
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.overlay.port import CONSENT
from p2pcrawl.wire.cluster import AskElectorate, Canvassed, Elected, Voted
from p2pcrawl.wire.consent import decode_consent, encode_consent
from p2pcrawl.wire.datagrams import Opened

log = logging.getLogger(__name__)

LOOK_S = 0.25
"""Between two looks at how it stands."""
BALLOT_S = 3.0
"""How long answers to a ballot are waited for."""
AGAIN_S = 2.0
"""Between two attempts to decide something; those that are not the first to do so wait twice as long."""
FAREWELL_TIMES = 3
NAMED_MAX = 5

Call = Callable[[NodeId, Any], Awaitable[Any]]


class Mandate:
    """See the module. ``changed`` is told, when that changes, whether we may grant, and why not. ``halt`` gives up what
    is open; ``confirmed`` is told of buckets that may be granted from now on."""

    def __init__(
        self,
        node: OverlayNode,
        ownership: Ownership,
        roll: Roll,
        call: Call,
        changed: Callable[[bool, str], None],
        confirmed: Callable[[frozenset[int]], None],
        halt: Callable[[], None],
    ) -> None:
        self._node = node
        self._ownership = ownership
        self._roll = roll
        self._call = call
        self._changed = changed
        self._confirmed = confirmed
        self._halt = halt
        self._loop = asyncio.get_running_loop()
        self._config = ConsentConfig()
        self._consent = Consent(node.id, roll.electorate, self._config, self._loop.time())
        self._electorate = roll.electorate
        self._seats: dict[NodeId, bytes] = {}
        """What those that were heard of vote with."""
        self._forgotten: set[NodeId] = set()
        self._granting = False
        self._lapses = 0
        self._halt_at = inf
        self._asked_at = self._tended_at = -inf
        self._repeated = True
        self._round = 0
        self._pending = False
        """Somebody has accepted a version that is not decided, as far as we know."""
        self._through = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._pulling: set[NodeId] = set()
        ownership.consent = lambda: self._consent.stands(self._loop.time())
        node.port.receivers[CONSENT] = self._received

    # -- what the rest of the master tells ----------------------------------------------------

    def act(self, view: int) -> None:
        """We act in this view from now on."""
        if not self._through:
            self._consent.act(view, self._loop.time())
            self._ask(everybody=True)

    def forgotten(self, node: NodeId) -> None:
        """It has been away for so long that it is not waited for any more."""
        self._forgotten.add(node)

    async def run(self, *, founds: bool) -> None:
        """For ever. ``founds``: there is no cluster to join."""
        if founds:
            await self._roll.found()
        while True:
            now = self._loop.time()
            if now >= self._asked_at + self._config.ask_s:
                self._asked_at, self._repeated = now, False
                self._ask(everybody=True)
            elif not self._repeated and now >= self._asked_at + self._config.ask_s / 2:
                self._repeated = True
                self._ask(everybody=False)
            self._review()
            self._tend()
            await asyncio.sleep(LOOK_S)

    async def part(self, patience_s: float) -> None:
        """We leave, and have nothing open any more: waits till the others do without our vote, and gives up all that
        was promised to us."""
        until = self._loop.time() + patience_s
        while self._waits_to_part() and self._loop.time() < until:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(LOOK_S)
        self._through = True
        self._consent.act(0, self._loop.time())
        for _ in range(FAREWELL_TIMES):
            self._ask(everybody=True)
            await asyncio.sleep(LOOK_S / 5)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def votes(self) -> bool:
        """Whether our consent counts."""
        return self._electorate.votes(self._node.id)

    def standing(self) -> dict[str, Any]:
        """For the faces."""
        now, voters = self._loop.time(), self._electorate.voters
        return {
            "voters": sorted(voters),
            "version": self._electorate.version.number,
            "agreeing": self._consent.agreeing(now),
            "needed": len(voters) // 2 + 1,
            "silent": self._consent.silent(now),
            "granting": self._granting and self._consent.stands(now),
            "reason": "" if self._granting else self._reason(),
        }

    # -- what others ask ----------------------------------------------------------------------

    async def vote(self, request: Canvassed) -> Voted:
        """Answers a ballot."""
        voters = None if request.voters is None else {NodeId(node): seat for node, seat in request.voters.items()}
        poll = Poll(Version(request.founded, request.number), (request.round, NodeId(request.opener)), voters)
        vote = await self._roll.vote(poll, self._config.promise_s)
        return Voted(0, vote.seat, vote.given, *vote.ballot, *vote.accepted_in, _given(vote.accepted), vote.later)

    def tell(self) -> Elected:
        """Answers who is asked for consent here."""
        return Elected(0, *self._electorate.version, _plain(self._electorate.voters))

    # -- consent ------------------------------------------------------------------------------

    def _ask(self, *, everybody: bool) -> None:
        now = self._loop.time()
        members = self._node.membership.members
        asked = set(self._electorate.voters)
        if len(asked) < VOTERS_WANTED:
            # Those that have no vote yet are asked, too: their consent counts from the moment that they have one.
            asked |= {member.id for member in self._node.members()}
        due = {node for node in asked if everybody or self._consent.due(node)}
        if everybody or due:
            data = encode_consent(self._consent.ask(now))
            for node in sorted(due - {self._node.id}):
                if (member := members.get(node)) is not None and member.status is not Status.LEFT:
                    self._node.port.send_to(CONSENT, data, member.address)
            self._review()

    def _received(self, opened: Opened, source: tuple[str, int]) -> None:
        try:
            message = decode_consent(opened.payload)
        except LinkError:
            return
        sender, now = opened.sender, self._loop.time()
        if sender == self._node.id or self._node.membership.members.get(sender) is None:
            return
        self._seats[sender] = message.seat
        if isinstance(message, Question):
            self._node.port.send(CONSENT, encode_consent(self._consent.answer(sender, message, now)), source)
        else:
            self._consent.heard(sender, message, now)
            self._review()
        if self._electorate.behind(message.version) and sender not in self._pulling:
            self._start(self._pull(sender, message.version))

    def _review(self) -> None:
        """Whether we may grant, and from what."""
        now = self._loop.time()
        confirmed = self._consent.confirmed(now)
        if self._granting and (self._consent.lapses != self._lapses or not self._consent.stands(now)):
            self._granting = False
            # What was open when the last agreement ended has the rest of its time.
            ended_at = min(now, self._consent.until)
            self._halt_at = ended_at + self._config.halt_s - self._config.grant_s - LOOK_S
            self._changed(False, self._reason())
        self._lapses = self._consent.lapses
        if confirmed and not self._granting:
            self._granting, self._halt_at = True, inf
            self._ownership.confirm()
            self._changed(True, "")
        elif confirmed and self._ownership.unconfirmed:
            self._confirmed(self._ownership.confirm())
        if now >= self._halt_at:
            self._halt_at = inf
            self._halt()

    def _reason(self) -> str:
        """Why nothing is granted."""
        if not self._electorate.version.founded:
            return "who has a vote is not known here yet: nothing is granted till a master that knows is found"
        now, voters = self._loop.time(), self._electorate.voters
        silent = self._consent.silent(now)
        names = ", ".join(node[:8] for node in silent[:NAMED_MAX]) + (", ..." if len(silent) > NAMED_MAX else "")
        needed = len(voters) // 2 + 1
        if len(voters) - len(silent) < needed:
            return f"most of the masters are out of reach: nothing is granted (no answer from {names})"
        return f"fewer than {needed} of {len(voters)} masters agree on who is there: nothing is granted till they do"

    # -- the electorate -----------------------------------------------------------------------

    def _tend(self) -> None:
        """Begins what has to be decided, if that falls to us."""
        now, me = self._loop.time(), self._node.id
        due_at = max(self._tended_at + AGAIN_S, self._electorate.learnt_at + self._config.promise_s + LOOK_S)
        if self._through or now < due_at or not self._electorate.votes(me):
            return
        voters, silent = self._electorate.voters, set(self._consent.silent(now))
        if 2 * len(silent) >= len(voters):
            return
        self._tended_at = now
        stay = [node for node in voters if self._has_vote(node) and not self._going(node) and node not in silent]
        first = me == min(stay, default=me)
        wanted = wanted_change(voters, {**self._seats, me: self._electorate.seat}, self._going, self._here)
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
            self._start(self._canvass(wanted))

    def _has_vote(self, node: NodeId) -> bool:
        """Whether it is here, with the disk that it had when it was let in."""
        seat = self._electorate.voters[node]
        return self._here(node) and self._seats.get(node, seat) == seat

    def _here(self, node: NodeId) -> bool:
        return self._node.living(node) is not None

    def _going(self, node: NodeId) -> bool:
        member = self._node.membership.members.get(node)
        if member is None:
            return node in self._forgotten
        return member.leaving or member.status is Status.LEFT

    def _waits_to_part(self) -> bool:
        """We have a vote still, and there are others who may decide that we have not."""
        return self.votes and any(m.id != self._node.id and not m.leaving for m in self._node.members())

    async def _canvass(self, wanted: Voters) -> None:
        """One attempt to decide the next version."""
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
                for task in asked:
                    task.cancel()
                await asyncio.gather(*asked, return_exceptions=True)
        self._round = canvass.round_seen
        if canvass.decision is not None:
            await self._learn(canvass.decision)

    async def _put(self, canvass: Canvass, poll: Poll, node: NodeId) -> None:
        """Puts a poll to one voter."""
        try:
            if node == self._node.id:
                vote = await self._roll.vote(poll, self._config.promise_s)
            else:
                vote = _vote_of(await self._call(node, Canvassed(0, *poll.version, *poll.ballot, _given(poll.voters))))
        except P2PCrawlError as error:
            log.debug("no vote from %s: %s", node[:8], error)
            return
        canvass.voted(node, poll, vote)

    async def _pull(self, node: NodeId, version: Version) -> None:
        """Somebody speaks of a version that we do not know."""
        self._pulling.add(node)
        try:
            told = await self._call(node, AskElectorate(0))
            if not isinstance(told, Elected):
                raise LinkError(f"{node[:8]} did not tell who has a vote")
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
        self._consent.recount(self._loop.time())
        self._ask(everybody=True)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(self._safely(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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


def _vote_of(reply: Any) -> Vote:
    if not isinstance(reply, Voted):
        raise LinkError("a ballot was not answered")
    accepted = None if reply.accepted is None else {NodeId(node): seat for node, seat in reply.accepted.items()}
    return Vote(
        reply.seat,
        reply.given,
        (reply.round, NodeId(reply.opener)),
        (reply.accepted_round, NodeId(reply.accepted_opener)),
        accepted,
        reply.later,
    )
