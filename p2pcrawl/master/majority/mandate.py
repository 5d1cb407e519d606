"""With ``--partition majority``: asks the voters for consent, and sees to it that nothing is granted without.

:mod:`p2pcrawl.core.majority.consent` decides who may grant, :mod:`p2pcrawl.master.majority.suffrage` sees to it who
is asked. Questions
and answers go out as datagrams of their own, which wait for nothing else that masters say to each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.majority.consent import Consent
from p2pcrawl.core.majority.electorate import VOTERS_WANTED
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.majority.suffrage import Suffrage
from p2pcrawl.model.cluster.consent import ConsentQuestion
from p2pcrawl.model.cluster.node import NodeId, Status
from p2pcrawl.model.errors import LinkError, StorageError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.overlay.port import CONSENT, Port
from p2pcrawl.wire.messages.ask import Answers
from p2pcrawl.wire.messages.consent import decode_consent, encode_consent
from p2pcrawl.wire.messages.peer_messages import AskElectorate, Canvassed, Elected
from p2pcrawl.wire.sealed.datagrams import Opened

FAREWELL_TIMES = 3
NAMED_MAX = 5


class Mandate:
    """Asks for consent, again and again. ``changed`` is called, when that changes, with whether we may grant, and why
    not. ``halt`` gives up what is open; ``confirmed`` is called with buckets that may be granted from now on;
    ``fail`` ends the master.
    """

    def __init__(
        self,
        peers: Peers,
        port: Port,
        ownership: Ownership,
        roll: Roll,
        changed: Callable[[bool, str], None],
        confirmed: Callable[[frozenset[int]], None],
        halt: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._peers = peers
        self._sender = port.sender
        self._ownership = ownership
        self._roll = roll
        self._changed = changed
        self._confirmed = confirmed
        self._halt = halt
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._timings = TIMINGS
        self._consent = Consent(peers.me, roll.electorate, self._timings, self._loop.time())
        self._electorate = roll.electorate
        self.suffrage = Suffrage(peers, roll, self._timings.promise_s, self._silent, self._learnt)
        self._granting = False
        self._lapses = 0
        self._halt_at = inf
        self._asked_at = -inf
        self._repeated = True
        self._through = False
        consent, now = self._consent, self._loop.time
        ownership.consent = lambda: consent.stands(now())
        port.receivers[CONSENT] = self._received

    # -- what the rest of the master tells ----------------------------------------------------

    def act(self, view: int) -> None:
        """Acts in this view from now on, and asks for consent to it."""
        if not self._through:
            self._consent.act(view, self._loop.time())
            self._ask(everybody=True)

    @property
    def votes(self) -> bool:
        """True when our consent counts."""
        return self.suffrage.votes

    def forgotten(self, node: NodeId) -> None:
        """Takes the vote of a member away that has been missing for too long."""
        self.suffrage.forgotten(node)

    def answers(self) -> Answers:
        """Lists what voters ask each other, with what answers it."""

        async def elected(request: AskElectorate, sender: NodeId) -> Elected:
            return self.suffrage.elected()

        return dict([Canvassed.by(lambda request, _: self.suffrage.vote(request)), AskElectorate.by(elected)])

    async def close(self) -> None:
        """Ends what is under way."""
        await self.suffrage.close()

    def runs(self, *, founds: bool) -> tuple[Coroutine[Any, Any, None], ...]:
        """Returns what is to run as long as the cluster does."""
        return (self.run(founds=founds),)

    async def run(self, *, founds: bool) -> None:
        """Asks for consent, for ever. ``founds``: there is no cluster to join."""
        if founds:
            try:
                await self._roll.found()
            except StorageError as error:
                # A master without a roll could never grant anything, nor let anybody else in.
                return self._fail(error)
        while True:
            now = self._loop.time()
            if now >= self._asked_at + self._timings.ask_s:
                self._asked_at, self._repeated = now, False
                self._ask(everybody=True)
            elif not self._repeated and now >= self._asked_at + self._timings.ask_s / 2:
                self._repeated = True
                self._ask(everybody=False)
            self._review()
            if not self._through:
                self.suffrage.tend()
            await asyncio.sleep(TIMINGS.consent_look_s)

    async def part(self, patience_s: float) -> None:
        """Waits, when we leave and have nothing open any more, till the others do without our vote, and gives up all
        that was promised to us.
        """
        until = self._loop.time() + patience_s
        while self.suffrage.awaited and self._loop.time() < until:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(TIMINGS.consent_look_s)
        self._through = True
        self._consent.act(0, self._loop.time())
        for _ in range(FAREWELL_TIMES):
            self._ask(everybody=True)
            await asyncio.sleep(TIMINGS.consent_look_s / 5)

    def figures(self) -> dict[str, Any]:
        """Describes the consent for the faces."""
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

    # -- consent ------------------------------------------------------------------------------

    def _ask(self, *, everybody: bool) -> None:
        now = self._loop.time()
        asked = set(self._electorate.voters)
        if len(asked) < VOTERS_WANTED:
            # Masters that have no vote yet are asked, too: their consent counts from the moment that they have one.
            asked |= {member.id for member in self._peers.members()}
        due = {node for node in asked if everybody or self._consent.due(node)}
        if everybody or due:
            data = encode_consent(self._consent.ask(now))
            for node in sorted(due - {self._peers.me}):
                if (member := self._peers.known(node)) is not None and member.status is not Status.LEFT:
                    self._sender.send_to(CONSENT, data, member.address)
            self._review()

    def _received(self, opened: Opened, source: tuple[str, int]) -> None:
        try:
            message = decode_consent(opened.payload)
        except LinkError:
            return
        sender, now = opened.sender, self._loop.time()
        if sender == self._peers.me or self._peers.known(sender) is None:
            return
        self.suffrage.seats[sender] = message.seat
        if isinstance(message, ConsentQuestion):
            self._sender.send(CONSENT, encode_consent(self._consent.answer(sender, message, now)), source)
        else:
            self._consent.heard(sender, message, now)
            self._review()
        self.suffrage.heard_of(message.version, sender)

    def _review(self) -> None:
        """Decides whether we may grant, and from what."""
        now = self._loop.time()
        confirmed = self._consent.confirmed(now)
        if self._granting and (self._consent.lapses != self._lapses or not self._consent.stands(now)):
            self._granting = False
            # What was open when the last agreement ended has the rest of its time.
            ended_at = min(now, self._consent.until)
            self._halt_at = ended_at + self._timings.halt_s - self._timings.grant_s - TIMINGS.consent_look_s
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

    def _silent(self) -> list[NodeId]:
        return self._consent.silent(self._loop.time())

    def _learnt(self) -> None:
        """Counts the answers anew: there is another version of the electorate."""
        self._consent.recount(self._loop.time())
        self._ask(everybody=True)

    def _reason(self) -> str:
        """Says why nothing is granted."""
        if not self._electorate.version.founded:
            return "who has a vote is not known here yet: nothing is granted till a master that knows is found"
        now, voters = self._loop.time(), self._electorate.voters
        silent = self._consent.silent(now)
        names = ", ".join(node[:8] for node in silent[:NAMED_MAX]) + (", ..." if len(silent) > NAMED_MAX else "")
        needed = len(voters) // 2 + 1
        if len(voters) - len(silent) < needed:
            return f"most of the masters are out of reach: nothing is granted (no answer from {names})"
        return f"fewer than {needed} of {len(voters)} masters agree on who is there: nothing is granted till they do"
