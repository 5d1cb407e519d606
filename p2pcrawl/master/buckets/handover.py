"""Buckets that leave this master: when nothing of them is open here any more, what is known of them, and forgetting it.

Questions wait here for a turn of the master's cycle, so that each answer speaks of what is durable: rows are forgotten
before anything else of a turn, for rows of the same buckets that come back later are to stay; what is open is looked at
after its commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from time import monotonic

from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.buckets.generation import Generation
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.model.timings import TIMINGS


class Handover:
    """The cycle calls :meth:`begin` first, and :meth:`answer` after its commit.

    ``held_in``: buckets with pages whose end waits for their links.
    """

    def __init__(self, company: Company, sessions: Mapping[int, Session], held_in: Collection[int]) -> None:
        ground = company.ground
        self._company = company
        self._sessions = sessions
        self.held_in = held_in
        self._jobs = ground.jobs
        self._orders = ground.lifecycle.orders
        self._bench = ground.workbench
        self._mailbox = ground.mailbox
        self._recorder = ground.recorder
        self._wake = ground.wake.set
        self._forgets: list[tuple[frozenset[int], Generation, asyncio.Future[None]]] = []
        self._releases: list[tuple[frozenset[int], asyncio.Future[bool]]] = []
        self._releasing: list[tuple[frozenset[int], asyncio.Future[bool]]] = []
        """Those that were asked for before this turn began."""
        self.closed_until = 0.0
        """Till then sessions of an earlier life may hold pages of any bucket: none is let go of."""

    def can_release(self, buckets: Collection[int]) -> asyncio.Future[bool]:
        """Answers, after the next turn, whether nothing of these buckets is open here any more; by then all that was
        taken in before the question is durable.
        """
        self._company.withdraw(buckets)
        return self._answered(frozenset(buckets))

    def stored(self) -> asyncio.Future[bool]:
        """Waits till what was decided up to now is on disk."""
        return self._answered(frozenset())

    def _answered(self, buckets: frozenset[int]) -> asyncio.Future[bool]:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._releases.append((buckets, answer))
        self._wake()
        return answer

    def forget(self, buckets: Collection[int], generation: Generation) -> asyncio.Future[None]:
        """Forgets these buckets, which another master holds durably, in the next turn; nothing of them if their
        generation is over by then: what came in is to stay.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._forgets.append((frozenset(buckets), generation, done))
        self._wake()
        return done

    def outlive_sessions(self) -> None:
        """Takes into account that this master has crashed a moment ago. Slaves on other machines may be at work till
        their sessions end: until then no host is asked, and no bucket let go of."""
        self._bench.known.resumed_at = self.closed_until = monotonic() + TIMINGS.void_s

    async def empty_handed(self) -> bool:
        """Tells whether no record is here any more, nor a link on its way."""
        if self.held_in or self._mailbox.waiting or self._company.under_way:
            return False
        return not await self._recorder.run(Store.size)

    @property
    def waiting(self) -> bool:
        """True if anything is to be done in the next turn."""
        return bool(self._releases or self._forgets)

    async def begin(self) -> None:
        """Begins a turn: forgets what is to be forgotten."""
        forgets, self._forgets = self._forgets, []
        for buckets, generation, done in forgets:
            if not generation.over:
                await self._forget(buckets)
            if not done.done():
                done.set_result(None)
        self._releasing, self._releases = self._releases, []

    async def _forget(self, buckets: frozenset[int]) -> None:
        tallies = await self._recorder.run(Store.forget, buckets, dict(self._orders))
        for number, counter in tallies.items():
            if number in self._jobs:
                self._jobs[number].counts.update(counter)
        self._bench.remove(buckets)

    def answer(self) -> None:
        """Answers what was asked, when the turn's changes are durable."""
        releasing, self._releasing = self._releasing, []
        if not releasing:
            return
        closed = monotonic() < self.closed_until
        open_ = {*self._open(), *self.held_in}
        for buckets, answer in releasing:
            if not answer.done():
                answer.set_result(not closed and buckets.isdisjoint(open_))

    def asked(self) -> set[int]:
        """Returns the hosts, by their keys, that our slaves are asking, and those that we have lent to others."""
        asked = set(self._company.lent())
        for session in self._sessions.values():
            asking = (lease for lease in session.leases.values() if not lease.candidate.asks_nobody)
            asked.update(lease.seat.host.key for lease in asking)
            asked.update(robots.seat.host.key for robots in session.robots.values())
        return asked

    def _open(self) -> Iterator[int]:
        """Yields the buckets of the pages that slaves have in hand, and of the hosts that are being asked."""
        for session in self._sessions.values():
            for lease in session.leases.values():
                yield lease.candidate.bucket
        # With a key other than the host it may be another's bucket by now: nobody else asks the host yet.
        yield from map(bucket_of_hash, self.asked())
