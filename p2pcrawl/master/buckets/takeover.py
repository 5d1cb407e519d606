"""The takeover of buckets: by consent, after a death, and when somebody thought that they were its own all along.

When the view changes, every master computes the new table by itself. Who gains a bucket claims it from all others,
and from its own copies; each lets go once its own view agrees and its leases there have ended, hands over its rows
portion by portion, and makes them copies, or forgets them, when they are durable with the claimer. Only then is the
bucket served; it waits for no other bucket, so the first are served long before the last have come. A claim holds in
the view that it was made in: when the view changes, or all is claimed anew, it begins anew, whatever is answered to it
later (``master.buckets.generation``). Views come back, and what was let go of in one may have been served in another
since. What is served already, and rows that are here, need not come again. Rows are given up only by who let go of them
and did not gain them back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from time import monotonic

from p2pcrawl.core.buckets.bitmaps import bitmap_of, buckets_of
from p2pcrawl.core.buckets.ownership import Change
from p2pcrawl.core.buckets.standings import Standing, dropped, standing_at
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.core.ring.rendezvous import BUCKETS, bucket_of_hash
from p2pcrawl.master.buckets.generation import ClaimedAnew, Generation
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.buckets.offering import Offering
from p2pcrawl.master.buckets.taking import Taking
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.copies.row_forms import copy_of_row
from p2pcrawl.master.jobs.admission import Admission
from p2pcrawl.model.cluster.node import NodeId, Status
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.tasks import Tasks, end
from p2pcrawl.wire.messages import peer_messages as wire
from p2pcrawl.wire.messages.peer_messages import (
    Claim,
    Forgotten,
    Offer,
    Offered,
    Pull,
    PullCopies,
    Pulled,
    PulledCopies,
    Released,
    Taken,
)

log = logging.getLogger(__name__)

CLAIM_RETRY_S = 0.25
CLAIM_PATIENCE = 4
"""The pause grows to so many times its length until the view changes: while many meet, their views differ."""
PULL_ROWS = 2_000
DEMOTE_ROWS = 1_000

Served = Callable[[frozenset[int]], Awaitable[None]]
Remember = Callable[[], Awaitable[None]]
_Share = tuple[NodeId, frozenset[int]]
"""Somebody, and the buckets of which it is told something."""


class Takeover:
    """Claims the buckets that are ours, and lets go of those that are not. ``served`` is called with buckets that are
    served from now on; with none when somebody has given up what was served all along. ``emptied`` is called with
    who holds nothing of which buckets of ours, ``filled`` with some of which anybody may hold something. ``remember``
    returns when all who are there are on the disk: who forgot them with a crash would take fewer copies for enough.
    """

    def __init__(
        self, neighbours: Neighbours, admission: Admission, handover: Handover, served: Served, remember: Remember
    ) -> None:
        self._peers = neighbours.peers
        self._ownership = neighbours.ownership
        self._holdings = neighbours.holdings
        self._copier = neighbours.copier
        self._links_first = neighbours.links_first
        self._excess = neighbours.excess
        self._own = neighbours.own_rows
        self._host_notes = neighbours.host_notes
        self._bench = neighbours.ground.workbench
        self._budgets = neighbours.budgets
        self._admission = admission
        self._handover = handover
        self._served = served
        self._remember = remember
        self._claims: dict[NodeId, asyncio.Task[None]] = {}
        self._generation = Generation(self._ownership)
        self._beginnings = Tasks()
        self._handing: Counter[NodeId] = Counter()
        """How many they have taken since they began to."""
        self._giving: defaultdict[NodeId, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while something is given up to somebody, who may say again meanwhile what he has taken."""
        self._noting = asyncio.Lock()
        """Held while what others had is joined in memory, and not on disk yet."""
        self._journal = neighbours.ground.journal
        self._offering = Offering(neighbours, handover)
        self._taking = Taking(neighbours)
        self.given = 0
        """Buckets that others have taken, as often as they have."""

    # -- what is ours now ---------------------------------------------------------------------

    def view_changed(self, change: Change, gone: Collection[NodeId]) -> None:
        if not self._admission.knows_jobs and self._holdings.new:
            # What a newcomer called its own, before it heard of the others, is nothing that they could claim.
            self._ownership.vacant(change.lost)
        self._offering.view_changed()
        if gone and change.gained:
            noted = self._journal.note(Notable.TAKEOVER, buckets=len(change.gained), peers=sorted(gone))
            names = ", ".join(node[:8] for node in sorted(gone))
            log.info("takes over %d buckets of %s", len(change.gained), names, extra=noted)
        self.claim(change)

    def meet(self) -> None:
        """Takes care of hosts that we and others served at the same time, for each took the other for dead.

        Whoever goes on with a bucket lets its hosts wait their delay: from now on, from when it hears who else served
        it, and from when that one has let go of it; and those that are asked there still, until that has ended.
        """
        self._budgets.came_over({b for b in range(BUCKETS) if self._ownership.in_service(b)})
        # Those go on with what they have, and may have taken this view before us.
        self._offering.offer_now(self.left_over)

    def claim(self, change: Change) -> None:
        """Begins to take over what a change has made ours, or what is claimed anew."""
        generation = self._now()
        if begun := self._ownership.succeed(change.ready):
            self._beginnings.start(self._begin_with(begun, generation))
        for node in change.ask:
            self._claim_from(node)

    @property
    def handovers(self) -> int:
        """Rows that came from other masters with their buckets."""
        return self._taking.rows

    @property
    def unclaimed(self) -> bool:
        """True while we still have something that is not ours."""
        return bool(self.left_over)

    def keep_unheard(self, epochs: Mapping[int, int]) -> bool:
        """Keeps what is here of buckets that others serve under epochs of which we never heard, and offers it. Returns
        whether there is any.

        We were taken for dead meanwhile, and did not notice, or stood still: whoever took over did not ask us, and may
        have found nobody else who knew.
        """
        unheard = self._ownership.unheard(epochs)
        self._ownership.found(unheard)
        return bool(unheard)

    @property
    def left_over(self) -> frozenset[int]:
        """The buckets that it is of."""
        return self._ownership.left_over

    async def offer_unclaimed(self) -> None:
        """Offers what is not ours to its owners: one whose own view did not change does not know that there is
        something to claim.
        """
        await self._offering.offer_due(self.left_over, self._ownership.let_go_of)

    async def close(self) -> None:
        await self._offering.close()
        await end([*self._claims.values(), *self._beginnings])

    def _claim_from(self, node: NodeId) -> None:
        task = self._claims.get(node)
        if task is None or task.done():
            self._claims[node] = asyncio.create_task(self._claim(node))

    def _now(self) -> Generation:
        """Returns the generation that it is by now; what waits for others in the one before is given up."""
        if self._generation.over:
            self._generation.end()
            self._generation = Generation(self._ownership)
        return self._generation

    async def _claim(self, node: NodeId) -> None:
        """Claims from ``node`` until it has let go of all that it is waited for, or does not count any more."""
        pause_s = CLAIM_RETRY_S
        while (buckets := self._ownership.awaited(node)) and self._peers.living(node) is not None:
            generation = self._now()
            try:
                if not await self._came_from(node, buckets, generation):
                    await generation.wait_for(asyncio.sleep(pause_s))
                    pause_s = min(CLAIM_PATIENCE * CLAIM_RETRY_S, 2 * pause_s)
            except ClaimedAnew:
                pause_s = CLAIM_RETRY_S

    async def _came_from(self, node: NodeId, buckets: frozenset[int], generation: Generation) -> bool:
        """Makes one attempt; tells whether ``node`` has let go of these. Raises ClaimedAnew."""
        try:
            if node == self._peers.me:
                await self._promote(buckets, generation)
                return True
            return await self._take_over(node, buckets, generation)
        except ClaimedAnew:
            raise
        except P2PCrawlError as error:
            log.debug("claim from %s: %s", node[:8], error)
        except Exception:
            log.exception("a claim from %s failed", node[:8])
        return False

    async def _promote(self, buckets: frozenset[int], generation: Generation) -> None:
        """Makes our own copies the frontier's, and serves them portion by portion."""
        async for portion in self._taking.from_here(buckets, generation):
            await self._let_go(self._peers.me, portion, generation)

    async def _let_go(self, node: NodeId, portion: frozenset[int], generation: Generation) -> None:
        """Takes in that ``node`` has let go of these, and that all that it had is here: serves those for which nobody
        else is waited.
        """
        if begun := self._ownership.succeed(self._ownership.released(node, portion)):
            await self._begin(begun, generation)

    async def resume(self) -> None:
        """Goes on with what was ours before we stood still, though somebody who does not answer has not let go of it:
        where others vouch that it never took that over. Raises P2PCrawlError."""
        silent = {member.id for member in self._peers.members() if member.status is Status.SUSPECT}
        if silent and (buckets := self._ownership.resumable(silent)):
            log.info("%d buckets are served again without a word of %d who are silent", len(buckets), len(silent))
            await self._served(self._ownership.resume(buckets))

    async def _begin_with(self, begun: Mapping[int, int], generation: Generation) -> None:
        """Serves what nobody has to let go of."""
        try:
            await self._begin(begun, generation)
        except P2PCrawlError as error:
            # All is claimed anew. Or standings could not be written down, which ends the master; whoever keeps its
            # books is told.
            log.debug("nothing is served: %s", error)

    async def _begin(self, epochs: Mapping[int, int], generation: Generation) -> None:
        """Serves what everybody has handed over, once everybody knows under which epoch: from then on each knows
        whether it lacks what comes, or is sent it. Those that do not answer are asked again from the beginning.

        Who is sent what comes hears of it first. Should we die with our disk in between, nobody takes an epoch for
        lost of which there was nothing: whoever knows that he lacks it is not the only one that knows of it. Raises
        ClaimedAnew: the buckets may be others' by then, who have not pulled what would be forgotten at our word.
        """
        begun = frozenset(epochs)
        await generation.finish(self._remember())
        # Before anybody knows that it lacks something, it is on disk here that we do not.
        await generation.finish(self._holdings.note(self._ownership.standings(begun)))
        empty: list[_Share] = []
        for shares in self._audiences(begun):
            announced = (self._announce_served(node, {b: epochs[b] for b in share}) for node, share in shares)
            told = await generation.wait_for(asyncio.gather(*announced, return_exceptions=True))
            answered = list(zip(shares, told, strict=True))
            if missed := [node for (node, _), said in answered if isinstance(said, BaseException)]:
                self._ownership.ask_again(missed, epochs)
                for node in missed:
                    self._claim_from(node)
                return
            empty += (share for share, said in answered if said)
        if served := self._ownership.serve(epochs):
            # Everybody has let go of them: nobody but us has copies made from now on.
            for node, buckets in empty:
                self._excess.emptied(node, buckets & served)
            await generation.finish(self._served(served))

    def _audiences(self, begun: frozenset[int]) -> tuple[list[_Share], list[_Share]]:
        """Parts all others that are to hear of new epochs in two, with the buckets of which each is to hear: those that
        follow these, and those that do not.
        """
        following: list[_Share] = []
        lacking: list[_Share] = []
        for member in self._peers.others():
            follows = frozenset(bucket for bucket in begun if member.id in self._ownership.followers(bucket))
            following += [(member.id, follows)] if follows else []
            lacking += [(member.id, begun - follows)] if begun - follows else []
        return following, lacking

    async def _announce_served(self, node: NodeId, epochs: Mapping[int, int]) -> bool:
        """Tells a master under which epochs its buckets are served here; returns whether it holds nothing of them that
        it is not to hold. Raises P2PCrawlError without a yes.
        """
        buckets = sorted(epochs)
        since = [self._ownership.since(bucket) for bucket in buckets]
        rivals = {bucket: sorted(rivals) for bucket in buckets if (rivals := self._ownership.rivals(bucket))}
        counters = [epochs[bucket] for bucket in buckets]
        request = Taken(0, bitmap_of(buckets), counters, self._ownership.view, since, rivals)
        return (await self._peers.ask(node, request)).empty

    async def _take_over(self, node: NodeId, buckets: frozenset[int], generation: Generation) -> bool:
        """Makes one attempt; returns False when the other does not agree yet."""
        claim = Claim(0, self._ownership.view, bitmap_of(buckets))
        released = await generation.wait_for(self._peers.ask(node, claim))
        if not released.agreed:
            return False
        # Before the rows: what is open to them is known here when they are.
        await generation.finish(self._admission.learn_opened(released.opened))
        standings, sizes = _standings(buckets, released), _sizes(buckets, released)
        async for portion, spoilt in self._taking.from_other(node, sizes, generation):
            had = {b: dropped(standings[b]) if b in spoilt else standings[b] for b in portion}
            await generation.finish(self._join_standings(node, had))
            await self._let_go(node, portion, generation)
        return True

    async def _join_standings(self, node: NodeId, standings: dict[int, Standing]) -> None:
        """Joins the standings of another, of which all rows are here now, to ours. Also of buckets that we serve."""
        self._ownership.vouch(standings)
        before = self._ownership.standings(standings)
        for bucket, standing in standings.items():
            self._ownership.join_standing(bucket, standing)
        # What we say of rivals of an epoch that we have written down is other than what is there.
        running = [b for b in standings if self._ownership.in_service(b) or self._ownership.rivals(b)]
        if changed := [b for b, now in self._ownership.standings(running).items() if now != before[b]]:
            # The other is about to be told that it lacks what we have: first it is on disk here that we have it.
            # What is not served yet is written down as it begins: till then it may be lost again, and is taken back.
            served_on = [b for b in changed if self._ownership.in_service(b)]
            async with self._noting:
                await self._holdings.note(self._ownership.standings(served_on))
            # Copies are whole under the epoch that they know, or not: they are to know how it is now.
            self._copier.copying.doubt(changed)
        if served := frozenset(b for b in standings if self._ownership.in_service(b)):
            # It may have asked their hosts a moment ago, and what was open there has ended.
            self._budgets.elsewhere.let_go(node, served)
            self._bench.came_over(served, monotonic())
            await self._tell_of_joined(node, served)
            # The former owner may have had copies of them made anywhere.
            self._excess.moved(served)
            await self._served(frozenset())

    async def _tell_of_joined(self, node: NodeId, served: frozenset[int]) -> None:
        """Tells the one that had something of buckets which are served here under which epochs they go on; of those
        that have another epoch because of that, who follows them hears first, and all others, too. Raises
        P2PCrawlError: then it is told anew.
        """
        epochs = {bucket: self._ownership.counters[bucket] for bucket in served}
        raised = served & self._ownership.untold
        for shares in self._audiences(raised):
            for other, share in shares:
                await self._announce_joined(other, {b: epochs[b] for b in share})
        self._ownership.told({b: epochs[b] for b in raised})
        await self._announce_joined(node, {b: epochs[b] for b in served - raised})

    async def _announce_joined(self, node: NodeId, epochs: Mapping[int, int]) -> None:
        """Tells one under which epochs those go on that are served here still, when that is on disk. What the word of
        yet another one has raised meanwhile all are told because of that one. Raises P2PCrawlError.
        """
        async with self._noting:
            now = {b: self._ownership.counters[b] for b in epochs if self._ownership.in_service(b)}
        if still := {b: epoch for b, epoch in now.items() if epochs[b] == epoch}:
            await self._announce_served(node, still)

    # -- what others ask ----------------------------------------------------------------------

    async def let_go(self, claim: Claim, claimer: NodeId) -> Released:
        """Answers a claim."""
        buckets = buckets_of(claim.buckets)
        try:
            sizes = await self._free(claim.view, buckets, claimer, self._now())
        except ClaimedAnew:
            sizes = None
        if sizes is None or not self._ownership.may_have(claimer, buckets):
            return Released(0, False)
        self._ownership.let_go(buckets)
        by_bucket = self._ownership.standings(sorted(buckets))
        standings = list(by_bucket.values())
        rows = [sizes[bucket] for bucket in sorted(buckets)] if sizes else []
        epochs, lacks, bases = [s.epoch for s in standings], [s.lack for s in standings], [s.base for s in standings]
        pieces = {bucket: list(s.pieces) for bucket, s in by_bucket.items() if s.pieces}
        return Released(0, True, epochs, lacks, self._admission.opened(), rows, bases, pieces)

    async def _free(
        self, view: int, buckets: frozenset[int], claimer: NodeId, generation: Generation
    ) -> Counter[int] | None:
        """Returns how much is here of each of these buckets, when nothing keeps ``claimer`` from having them; None if
        something does. Raises ClaimedAnew.
        """
        if view != self._ownership.view or not self._ownership.may_have(claimer, buckets):
            return None
        if not await generation.wait_for(self._handover.can_release(buckets)):
            return None
        await generation.finish(self._remember())
        if less := self._ownership.withdrawn & buckets:
            # Who says that he has less than he had written down is to say it when he comes back, too.
            await generation.finish(self._holdings.note(self._ownership.standings(less)))
            self._ownership.withdrawn -= less
        # What says that a page is done must not go ahead of the links that the page led to.
        await generation.wait_for(self._links_first.safe())
        return await generation.finish(self._sizes_of(buckets))

    async def _sizes_of(self, buckets: frozenset[int]) -> Counter[int]:
        """Counts how much whoever pulled these would get of each."""
        notes = self._host_notes.of_buckets(buckets)
        sizes = Counter(bucket_of_hash(key) for key in notes) + await self._holdings.sizes(buckets)
        return sizes + await self._own.sizes(buckets)

    async def pull(self, request: Pull) -> Pulled:
        rows, after = await self._own.rows_of(buckets_of(request.buckets), request.after, PULL_ROWS)
        return Pulled(0, rows, after, len(rows) == 0)

    async def pull_copies(self, request: PullCopies) -> PulledCopies:
        buckets = buckets_of(request.buckets)
        page = await self._holdings.pull(buckets, request)
        if not request.after:
            # What we have found out ourselves goes along with what we hold for others.
            for key, note in self._host_notes.of_buckets(buckets).items():
                page.notes.append(
                    wire.WireHostNote(key, bucket_of_hash(key), note.delay_s, note.penalty_s, note.pause_s)
                )
        return page

    async def taken(self, request: Taken, claimer: NodeId) -> Forgotten:
        """Makes what we had of these buckets copies, or drops it: the claimer has everything. What it has said before
        is done first: a yes says that nothing of them is our own any more.
        """
        async with self._giving[claimer]:
            if request.view != self._ownership.view:
                raise LinkError("buckets are taken in the view in which they were claimed")
            return await self._given_up(request, claimer)

    async def _given_up(self, request: Taken, claimer: NodeId) -> Forgotten:
        taken = sorted(buckets_of(request.buckets))
        if not len(request.counters) == len(request.since) == len(taken):
            raise LinkError("as many epochs as buckets are needed")
        ours = self.left_over
        free = self._ownership.taken(claimer, taken)
        epochs = dict(zip(taken, zip(request.counters, request.since, strict=True), strict=True))
        # Also of those that were given up before: not everybody was told then, and the epoch is another one now.
        theirs = {bucket: epochs[bucket] for bucket in taken if self._ownership.owner(bucket) == claimer}
        await self._give_up(free, theirs, request.rivals)
        self.given += len(free)
        self._told(claimer, len(free & ours))
        strange = [bucket for bucket in taken if self._peers.me not in self._ownership.holders(bucket)]
        return Forgotten(0, not await self._holdings.has_rows(strange))

    async def _give_up(
        self, free: frozenset[int], epochs: Mapping[int, tuple[int, int]], rivals: Mapping[int, Collection[int]]
    ) -> None:
        """Makes what is here of these buckets copies, and writes down under which epochs all these go on, and which
        were rivals of others. Whoever is not told that it was done says it again."""
        done, generation = False, self._now()
        try:
            if self._admission.knows_jobs:
                # Whoever is to hold them: till others do, the claimer has the only other copy.
                await generation.finish(self._demote(free))
                # Nothing goes in another view: more may have come in since.
                await generation.finish(self._handover.forget(free, generation))
            self._ownership.handed_over(epochs, rivals)
            await self._holdings.note(self._ownership.standings(epochs))
            done = True
        finally:
            if self._ownership.given_up(free, done=done):
                self._claim_from(self._peers.me)

    def _told(self, claimer: NodeId, buckets: int) -> None:
        """Notes that another master has taken all that it claimed of ours."""
        self._handing[claimer] += buckets
        if not self._ownership.promised(claimer) and (count := self._handing.pop(claimer)):
            noted = self._journal.note(Notable.HANDOVER, buckets=count, peer=claimer)
            log.info("%d buckets are handed over to %s", count, claimer[:8], extra=noted)

    def offered(self, request: Offer, sender: NodeId) -> Offered:
        buckets = buckets_of(request.buckets)
        first = buckets - self._ownership.awaited(sender)
        if not self._ownership.offered(sender, buckets):
            return Offered(0, False)
        # Whoever offers what is served here may have served it as well until now; its hosts wait for that once.
        self._budgets.came_over({b for b in first if self._ownership.in_service(b)})
        served = {bucket for bucket in buckets if self._ownership.in_service(bucket)}
        told = [note for note in request.notes if bucket_of_hash(note.key) in served]
        self._host_notes.learn({note.key: HostNote(note.delay_s, note.penalty_s, note.pause_s) for note in told})
        asked = [key for key in request.open if bucket_of_hash(key) in served]
        self._budgets.met(sender, asked, [note.key for note in told if note.pause_s])
        self._claim_from(sender)
        return Offered(0)

    async def _demote(self, buckets: frozenset[int]) -> None:
        """Makes rows of the frontier copies: who took them would only have to send them back."""
        after = 0
        while buckets:
            rows, after = await self._own.rows_of(buckets, after, DEMOTE_ROWS)
            if not rows:
                break
            await self._holdings.keep([copy_of_row(row, self._own.bucket_of(row)) for row in rows])


def _standings(buckets: frozenset[int], released: Released) -> dict[int, Standing]:
    """Raises LinkError for lists of other lengths."""
    if not len(released.lacks) == len(released.counters) == len(released.bases) == len(buckets):
        raise LinkError("a standing for each bucket is needed")
    standings = zip(sorted(buckets), released.counters, released.lacks, released.bases, strict=True)
    return {b: standing_at(epoch, lack, base, tuple(released.pieces.get(b, ()))) for b, epoch, lack, base in standings}


def _sizes(buckets: frozenset[int], released: Released) -> dict[int, int]:
    """Raises LinkError for a list of another length."""
    if not released.rows:
        return dict.fromkeys(buckets, 0)
    if len(released.rows) != len(buckets):
        raise LinkError("as many sizes as buckets are needed")
    return dict(zip(sorted(buckets), (max(0, rows) for rows in released.rows), strict=True))
