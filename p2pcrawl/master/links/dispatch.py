"""Discovered links on their way to the masters that own them.

A page's end is held back until every link of it is durable at its owner: links first, done mark last. A batch that
cannot be delivered, or that its receiver refuses because the bucket is not its own, is routed anew by the view of the
moment. Nothing of this is on disk: a page that is held still has its lease, so a crash here means that it is fetched
again and finds its links again.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from p2pcrawl.master.neighbours.lane import Lane
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import P2PCrawlError, StorageError
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import Settled

log = logging.getLogger(__name__)

BATCH_MAX = 1_000
BATCH_BYTES_MAX = 4 * 1024 * 1024
"""What one message carries at most, but for a single link that is longer (it posts something)."""
HELD_MAX = 50_000
"""Links under way before the granting of leases pauses."""
RETRY_FIRST_S = 0.2
RETRY_MAX_S = 5.0

Deliver = Callable[[NodeId, int, list[Link]], Awaitable[Settled]]
"""Carries links of a job to their owner."""
Keep = Callable[[int, list["Parcel"]], Awaitable[None]]
Route = Callable[[int], NodeId | None]
TakeBack = Callable[[int, list["Parcel"]], None]
"""Links that turn out to be our own after all: (job, parcels)."""


@dataclass(slots=True)
class Hold:
    """A page whose end waits for its links."""

    waiting: int = 0
    then: Callable[[], None] | None = None

    def count_off(self) -> bool:
        """Counts off one link that is settled; tells whether the page may go on."""
        self.waiting -= 1
        if self.waiting or self.then is None:
            return False
        self.then()
        return True


@dataclass(slots=True)
class Parcel:
    """One link, the bucket that it is in, and the page that waits for it."""

    link: Link
    bucket: int
    hold: Hold


@dataclass(slots=True)
class _OwnerLane(Lane):
    """The links that wait for one owner, by job."""

    parcels: dict[int, list[Parcel]] = field(default_factory=lambda: defaultdict(list))


class Dispatch:
    """Sends links to their owners. ``deliver`` carries a batch to its owner; ``take_back`` gets what became our own."""

    def __init__(
        self, route: Route, deliver: Deliver, take_back: TakeBack, *, keep: Keep, on_settled: Callable[[], None]
    ) -> None:
        """``keep`` makes links durable here that are provisional at their owner; ``on_settled`` is called when pages
        that were held may go on."""
        self._route = route
        self._deliver = deliver
        self._take_back = take_back
        self._keep = keep
        self._on_settled = on_settled
        self._lanes: dict[NodeId, _OwnerLane] = {}
        self._waiting: dict[NodeId, _OwnerLane] = {}
        """Those with something in them."""
        self._tasks = Tasks()
        self._under_way: Counter[int] = Counter()
        self.sent: dict[int, int] = defaultdict(int)
        """Links per job that were settled elsewhere."""

    def add(self, job: int, owner: NodeId, parcel: Parcel) -> None:
        """Adds one more link for ``owner``; it leaves with the next :meth:`flush`."""
        parcel.hold.waiting += 1
        self._under_way[job] += 1
        self._to_fill(owner).parcels[job].append(parcel)

    def flush(self) -> None:
        """Sends what waits, as far as each owner has room."""
        for owner, lane in list(self._waiting.items()):
            while lane.parcels and lane.open:
                job, parcels = next(iter(lane.parcels.items()))
                count = _fitting(parcels)
                batch, rest = parcels[:count], parcels[count:]
                if rest:
                    lane.parcels[job] = rest
                else:
                    del lane.parcels[job]
                lane.in_flight += 1
                self._tasks.start(self._send(owner, lane, job, batch))
            if not lane.parcels:
                del self._waiting[owner]

    def reroute(self) -> None:
        """Routes what waits anew: the view has changed, so it may have other owners now."""
        waiting = [(job, p) for lane in self._lanes.values() for job, ps in lane.parcels.items() for p in ps]
        self._waiting.clear()
        for lane in self._lanes.values():
            lane.parcels.clear()
            lane.resting = False
        for job, parcel in waiting:
            self._again(job, [parcel])
        self.flush()

    @property
    def full(self) -> bool:
        return self.under_way > HELD_MAX

    @property
    def strained(self) -> bool:
        """Parts of pages are to wait, so that it will not come to that."""
        return self.under_way > HELD_MAX // 8

    @property
    def under_way(self) -> int:
        """Links of all jobs that are not settled yet."""
        return self._under_way.total()

    def pending(self, job: int) -> int:
        """Counts the links of the job that are not settled yet."""
        return self._under_way[job]

    async def close(self) -> None:
        await self._tasks.close()

    def _to_fill(self, owner: NodeId) -> _OwnerLane:
        """Returns the lane of an owner, which is about to have something in it."""
        lane = self._lanes.get(owner)
        if lane is None:
            lane = self._lanes[owner] = _OwnerLane(RETRY_FIRST_S, RETRY_MAX_S)
        self._waiting[owner] = lane
        return lane

    async def _send(self, owner: NodeId, lane: _OwnerLane, job: int, batch: list[Parcel]) -> None:
        try:
            settled = await self._deliver(owner, job, [p.link for p in batch])
        except P2PCrawlError as error:
            log.info("%d links for %s must wait: %s", len(batch), owner[:8], error)
            lane.in_flight -= 1
            self._again(job, batch)
            lane.rest(self.flush)
            return
        lane.in_flight -= 1
        if settled.unknown_job:
            self._again(job, batch)
            lane.rest(self.flush)
            return
        lane.answered()
        refused = set(settled.refused)
        if refused:
            self._again(job, [p for n, p in enumerate(batch) if n in refused])
            lane.rest(self.flush)
        accepted = [p for n, p in enumerate(batch) if n not in refused]
        if settled.provisional:
            uncertain = set(settled.provisional)
            try:
                await self._keep(job, [p for n, p in enumerate(batch) if n in uncertain])
            except StorageError as error:
                # Their pages stay open. The master ends by this, whoever keeps its books has told it.
                log.debug("%d links for %s could not be kept: %s", len(batch), owner[:8], error)
                return
        self._under_way[job] -= len(accepted)
        self.sent[job] += len(accepted)
        freed = [parcel.hold for parcel in accepted if parcel.hold.count_off()]
        if freed:
            self._on_settled()
        self.flush()

    def _again(self, job: int, parcels: list[Parcel]) -> None:
        ours = []
        for parcel in parcels:
            owner = self._route(parcel.bucket)
            if owner is None:
                ours.append(parcel)
            else:
                self._to_fill(owner).parcels[job].append(parcel)
        if ours:
            self._under_way[job] -= len(ours)
            self._take_back(job, ours)


def _fitting(parcels: list[Parcel]) -> int:
    """Returns how many of these parcels make the next message."""
    size = 0
    for number, parcel in enumerate(parcels[:BATCH_MAX]):
        link = parcel.link
        size += len(link.url) + len(link.referer) + len(link.extra)
        if size > BATCH_BYTES_MAX:
            return max(1, number)
    return BATCH_MAX
