"""Queued URLs as memory holds them, and the order in which a queue is served.

A *candidate* is a record that may be granted. Its *rank* is its place in its queue; a *want* asks the shell for what
follows a rank there.
"""

from __future__ import annotations

from dataclasses import dataclass

from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import GIVEN_UP, Order
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.texts.imprint_url import IMPRINT_URL

Rank = tuple[int, int]

_OURS = (START_URL, IMPRINT_URL)

LOWEST: Rank = (-(1 << 63), -(1 << 63))
"""Before every rank: a horizon at which memory knows nothing yet."""


@dataclass(slots=True)
class Candidate:
    """A queued URL, as it is held in memory."""

    record: int
    link: Link
    job: int
    host: int
    bucket: int
    prio: int = 0
    seq: int = 0
    """Both numbers of its rank. No pair, for there are hundreds of thousands of candidates."""
    attempts: int = 0
    losses: int = 0
    visit: int = 0
    due: int = 0
    """When this visit was to be, in seconds since 1970; 0 for a first one."""
    past: bytes = b""
    """What earlier visits learnt; see model.page_past."""

    @property
    def rank(self) -> Rank:
        """Returns its place in its queue."""
        return self.prio, self.seq

    @property
    def asks_nobody(self) -> bool:
        """True for what a slave does without asking a host: the start of a job, what a verdict on a text leads to, and
        to send an item on without a file that was given up.
        """
        return self.attempts >= GIVEN_UP or self.link.url.startswith(_OURS)


@dataclass(frozen=True, slots=True)
class Want:
    """The shell is asked to load what follows ``after`` in a queue."""

    job: int
    host: int
    kind: str
    after: Rank
    limit: int


def rank_of(order: Order, record: int, priority: int, depth: int) -> Rank:
    """Returns the place of a record in its queue: the smaller is served first. Record numbers grow with discovery."""
    if order is Order.FIFO:
        return (0, record)
    if order is Order.LIFO:
        return (0, -record)
    return (-priority, (min(depth, 0x3FFF) << 48) | record)


def host_key(url: str) -> int:
    """Returns the number of a URL's host, the same on every machine."""
    return key_hash(host_of(url))
