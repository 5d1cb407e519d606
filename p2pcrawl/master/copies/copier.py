"""The owner's sending of changes to the holders of its buckets: every change goes to them, in an order that loses
nothing.

Each turn of the master's cycle makes a *transfer*: the links that were new in it, then the ends of its pages. The
links go out at once; the ends follow when the links of this transfer, and of all before it, are acknowledged. So no
copy says that a page is done whose links have fewer copies than that. A holder that does not answer is asked again
until it does, or until the view says that it is gone: then what waited for it goes to those that hold the bucket by
that view, and where there are none, the others are enough.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.master.neighbours.lane import Lane
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import CopyRow, WireHostNote

log = logging.getLogger(__name__)

ROWS_MAX = 1_000
BYTES_MAX = 4 * 1024 * 1024
"""What one message carries at most, but for a single row that is longer."""
UNDER_WAY_MAX = 50_000
UNDER_WAY_BYTES_MAX = 64 * 1024 * 1024
"""What is not acknowledged before the granting of leases pauses."""
RETRY_FIRST_S = 0.1
RETRY_MAX_S = 2.0

Send = Callable[[NodeId, list[CopyRow], list[WireHostNote]], Awaitable[None]]
"""Carries rows and notes to a holder, and returns when they are durable there. Raises P2PCrawlError."""


@dataclass(slots=True, eq=False)
class _Transfer:
    """One turn's changes. ``waiting``: rows of its links that are not acknowledged yet, counted once a holder; of its
    ends, when these have gone out.
    """

    waiting: int = 0
    ends: Sequence[CopyRow] = ()
    ends_bytes: int = 0
    then: list[Callable[[], None]] = field(default_factory=list)
    copied: list[Callable[[], None]] = field(default_factory=list)
    elsewhere: bool = False
    """Some of it was not sent, for its bucket had become another's: it goes there with the rest of that."""


_Entry = tuple[CopyRow, int, _Transfer]
"""A row, its size, and the transfer that waits for it."""


@dataclass(slots=True)
class _HolderLane(Lane):
    """The rows and notes that wait for one holder."""

    rows: deque[_Entry] = field(default_factory=deque)
    notes: dict[int, WireHostNote] = field(default_factory=dict)
    closed: bool = False


class Copier:
    """Sends changes to holders. ``send`` carries a message to a holder; it raises P2PCrawlError when that does not
    answer. ``when_abreast`` calls somebody when all that is here has copies, whoever made them.
    """

    def __init__(self, copying: Copying, send: Send, when_abreast: Callable[[Callable[[], None]], None]) -> None:
        self.copying = copying
        self._send = send
        self._when_abreast = when_abreast
        self._lanes: dict[NodeId, _HolderLane] = {}
        self._waiting: dict[NodeId, _HolderLane] = {}
        """Those with something in them."""
        self._transfers: deque[_Transfer] = deque()
        self._ending: deque[_Transfer] = deque()
        """Those whose ends are on their way, in order."""
        self._tasks = Tasks()
        self._withheld: list[_Transfer] | None = None
        """Those whose ends wait besides for what is sent ahead of all, in order; None when nothing is."""
        self.stranded = 0
        """How many links waited for a holder that is gone, of buckets that are not ours by the view: nobody is sent
        these from here, and no end of a page behind them goes out."""
        self._under_way = 0
        self._bytes = 0
        """Of the rows in the lanes and of the ends that wait."""
        self._waiting_ends = 0

    # -- what the cycle tells -----------------------------------------------------------------

    def transfer(self, links: Sequence[CopyRow], ends: Sequence[CopyRow]) -> None:
        """Sends a turn's changes, which are durable here. Call it once a turn, before ``when_safe``."""
        if not links and not ends:
            return
        transfer = _Transfer(0, ends, sum(row.size for row in ends))
        self._transfers.append(transfer)
        self._waiting_ends += len(ends)
        self._bytes += transfer.ends_bytes
        for row in links:
            transfer.waiting += self._line_up(row, transfer)
        self._advance()
        self.flush()

    def when_safe(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when all links up to now are acknowledged; at once if they are."""
        if self._transfers:
            self._transfers[-1].then.append(then)
        else:
            then()

    def when_copied(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when all changes up to now are acknowledged, ends of pages too; at once if they are. Those of
        buckets that were another's before they were sent are nowhere else until that one has taken the buckets over.
        """
        if last := self._transfers or self._ending:
            last[-1].copied.append(then)
        else:
            then()

    async def safe(self) -> None:
        """Returns when all links up to now are acknowledged."""
        done = asyncio.Event()
        self.when_safe(done.set)
        await done.wait()

    def withhold(self) -> None:
        """Sends no ends from now on: links that led from their pages may be nowhere else, though not new. While nobody
        is there who could be sent any, none is held up.
        """
        if self._withheld is None:
            self._withheld = []

    def withhold_no_longer(self) -> None:
        """Sends the ends that were withheld."""
        self._send_withheld()
        self._withheld = None
        self._advance()
        self.flush()

    def note(self, note: WireHostNote) -> None:
        """Sends what whoever owns this host next must know."""
        for node in self.copying.followers(note.bucket):
            self._to_fill(node).notes[note.key] = note
        self.flush()

    # -- how it stands ------------------------------------------------------------------------

    @property
    def under_way(self) -> int:
        """Rows that are not acknowledged, counted once a holder, and ends that wait for links."""
        return self._under_way + self._waiting_ends

    @property
    def full(self) -> bool:
        """True if so much waits that no new work should be begun."""
        return self.under_way > UNDER_WAY_MAX or self._bytes > UNDER_WAY_BYTES_MAX

    @property
    def strained(self) -> bool:
        """Parts of pages are to wait, so that it will not come to that."""
        return self.under_way > UNDER_WAY_MAX // 8 or self._bytes > UNDER_WAY_BYTES_MAX // 2

    # -- the lanes ----------------------------------------------------------------------------

    def gone(self, nodes: Sequence[NodeId]) -> None:
        """Waits for nothing any more from these, which do not live by the view that the ledger has: what waited for
        them goes to those that hold it by that.
        """
        lanes = [lane for node in nodes if (lane := self._lanes.pop(node, None)) is not None]
        for node in nodes:
            self._waiting.pop(node, None)
        for lane in lanes:
            lane.closed = True
            rows, lane.rows = list(lane.rows), deque()
            self._pass_on(rows)
        if self.copying.alone:
            self._send_withheld()
            self._advance()
        self.flush()

    def flush(self) -> None:
        """Sends what waits, as far as each holder has room."""
        for node, lane in list(self._waiting.items()):
            while (lane.rows or lane.notes) and lane.open:
                batch = _next_rows(lane.rows)
                notes = dict(islice(lane.notes.items(), ROWS_MAX))
                lane.notes = dict(islice(lane.notes.items(), ROWS_MAX, None))
                lane.in_flight += 1
                self._tasks.start(self._carry(node, lane, batch, notes))
            if not lane.rows and not lane.notes:
                del self._waiting[node]

    async def close(self) -> None:
        await self._tasks.close()

    def _line_up(self, row: CopyRow, transfer: _Transfer) -> int:
        """Lines a row up for those that follow its bucket, and returns to how many it goes."""
        nodes, size = self.copying.followers(row.bucket), row.size
        transfer.elsewhere |= not self.copying.is_ours(row.bucket)
        for node in nodes:
            self._to_fill(node).rows.append((row, size, transfer))
        self._under_way += len(nodes)
        self._bytes += size * len(nodes)
        return len(nodes)

    def _to_fill(self, node: NodeId) -> _HolderLane:
        """Returns the lane of a holder, which is about to have something in it."""
        lane = self._lanes.get(node)
        if lane is None:
            lane = self._lanes[node] = _HolderLane(RETRY_FIRST_S, RETRY_MAX_S)
        self._waiting[node] = lane
        return lane

    async def _carry(
        self,
        node: NodeId,
        lane: _HolderLane,
        batch: list[_Entry],
        notes: dict[int, WireHostNote],
    ) -> None:
        try:
            await self._send(node, [row for row, _, _ in batch], list(notes.values()))
        except P2PCrawlError as error:
            lane.in_flight -= 1
            if lane.closed:
                self._pass_on(batch)
                self.flush()
                return
            log.info("%d copies for %s must wait: %s", len(batch), node[:8], error)
            lane.rows.extendleft(reversed(batch))
            lane.notes = {**notes, **lane.notes}
            self._waiting[node] = lane
            lane.rest(self.flush)
            return
        lane.in_flight -= 1
        lane.answered()
        self._acknowledged(batch)
        self.flush()

    def _pass_on(self, batch: Sequence[_Entry]) -> None:
        """Lines up for the holders of now what one that is gone has not acknowledged. Some have it already, which
        changes nothing there.
        """
        for row, _, transfer in batch:
            transfer.waiting += self._line_up(row, transfer)
            if not self.copying.is_ours(row.bucket) and transfer not in self._ending:
                self.stranded += 1
                self.withhold()
        self._acknowledged(batch)

    def _acknowledged(self, batch: Sequence[_Entry]) -> None:
        self._under_way -= len(batch)
        for _, size, transfer in batch:
            self._bytes -= size
            transfer.waiting -= 1
        self._advance()

    def _advance(self) -> None:
        """Ends follow their links, in order."""
        transfers = self._transfers
        while transfers and not transfers[0].waiting:
            transfer = transfers.popleft()
            self._ending.append(transfer)
            if self._withheld is None or self.copying.alone:
                self._send_ends(transfer)
            else:
                transfer.waiting += 1
                self._withheld.append(transfer)
            for then in transfer.then:
                then()
        while self._ending and not self._ending[0].waiting:
            transfer = self._ending.popleft()
            for then in transfer.copied:
                if transfer.elsewhere:
                    self._when_abreast(then)
                else:
                    then()

    def _send_withheld(self) -> None:
        withheld = self._withheld or []
        for transfer in withheld:
            transfer.waiting -= 1
            self._send_ends(transfer)
        withheld.clear()

    def _send_ends(self, transfer: _Transfer) -> None:
        self._waiting_ends -= len(transfer.ends)
        self._bytes -= transfer.ends_bytes
        for row in transfer.ends:
            transfer.waiting += self._line_up(row, transfer)


def _next_rows(rows: deque[_Entry]) -> list[_Entry]:
    """Takes the next message's worth of rows."""
    batch: list[_Entry] = []
    total = 0
    while rows and len(batch) < ROWS_MAX and (not batch or total < BYTES_MAX):
        entry = rows.popleft()
        _, size, _ = entry
        total += size
        batch.append(entry)
    return batch


def in_messages(rows: Sequence[CopyRow]) -> Iterator[list[CopyRow]]:
    """Parts of a size that one message carries."""
    part: list[CopyRow] = []
    size = 0
    for row in rows:
        if part and (len(part) >= ROWS_MAX or size >= BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(row)
        size += row.size
    if part:
        yield part
