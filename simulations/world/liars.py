"""A slave that lies. It does its work as it should, and says besides what a slave should not.

It is a member with the cluster's key, so its links are in order; broken is what it says on them. What a master owes the
crawl in spite of it:

* an *idle* lie, about pages that the slave was not leased or that are over, changes nothing at all;
* a *gross* one, which no slave may say, costs the liar its link, or is passed over; its pages are given to others.

What cannot be found out is not among the lies: what was on a page that it was leased, links that nobody else has found,
and pages that it says it had from a master which is gone.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from math import nan
from typing import NamedTuple

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.model.crawl.fingerprint import SIZE
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.slave.slave import Slave
from p2pcrawl.wire.messages.codec import AnyMessage, FrameReader, encode
from p2pcrawl.wire.messages.slave_messages import (
    Beat,
    Bye,
    Grant,
    LinkColumns,
    OrphanPage,
    Orphans,
    Outcome,
    Page,
    Report,
    Returned,
    RobotsResult,
    Stop,
    Task,
    Welcome,
)
from p2pcrawl.wire.sealed.streams import StreamSeal
from p2pcrawl.wire.sealed.tls import Seal

from .web import NOWHERE

CHANCE = 0.5
"""Of a lie after a report, and after a beat."""
KEPT_MAX = 200
SILENT_BEATS = 8
"""So many are swallowed in a row: more than a session lasts."""
ITEM = b'{"url": "http://lies.test/"}'


class Liar(Slave):
    """``on_lie`` is called with each lie just before it is told; of silence, when it has ended. Dice are its node's."""

    def __init__(self, credentials: Credentials, open_fetcher: OpenFetcher, on_lie: Callable[[Lie], None]) -> None:
        super().__init__(open_fetcher=open_fetcher)
        self.reports: deque[Report] = deque(maxlen=KEPT_MAX)
        """What it has said, under whatever session."""
        self.tasks: deque[Task] = deque(maxlen=KEPT_MAX)
        self.past: deque[OrphanPage] = deque(maxlen=KEPT_MAX)
        """What came of its tasks, under whatever session: each page with all of its parts. The end of one that
        was told in parts, without the items of the others, would be another page than it was leased."""
        self.parts: dict[int, Page] = {}
        """What this session has told of pages so far that have not ended, by record."""
        self.held: dict[int, Task] = {}
        """What this session was granted and has not reported, by record."""
        self.mine: set[int] = set()
        """The records of all that this session was ever granted."""
        self.last_lease = 0
        """The greatest that this session has got to know."""
        self.ended: list[int] = []
        """Those of them that are through, and so will not be granted again."""
        self.job = 0
        self._credentials = credentials
        self._on_lie = on_lie
        self._silent = 0
        """How many more Beats it swallows."""
        self._was_silent = False

    async def connect(self, host: str, port: int, seal: Seal) -> None:
        await super().connect(host, port, Tongue(self, self._credentials))

    def hears(self, message: AnyMessage) -> None:
        """Takes in what its master says."""
        match message:
            case Welcome():
                self.held.clear()
                self.parts.clear()
                self.mine.clear()
                self.last_lease = 0
                self.ended.clear()
                if self._was_silent:
                    self._was_silent = False
                    self._on_lie(SILENCE)
            case Grant():
                for task in message.tasks:
                    self.job = task.job
                    self.mine.add(task.record)
                    self.last_lease = max(self.last_lease, task.lease)
                    self.held[task.record] = task
                    self.tasks.append(task)

    def swallows(self, message: AnyMessage) -> bool:
        """Tells whether this message is not said at all."""
        if isinstance(message, Beat) and self._silent:
            self._silent -= 1
            return True
        return False

    def adds(self, message: AnyMessage) -> list[bytes]:
        """Returns what the liar says after a truth, in frames."""
        if isinstance(message, Report):
            self.reports.append(message)
            for page in message.pages:
                whole = self._joined(page)
                if page.outcome is not None:
                    task = self.held.pop(page.record, None)
                    if task is not None:
                        self.past.append(OrphanPage(task, whole))
                    if page.outcome.phase != Phase.QUEUED:
                        self.ended.append(page.record)
        elif not isinstance(message, Beat):
            return []
        if random.random() >= CHANCE:
            return []
        lie = random.choice(LIES)
        said = lie.speak(self)
        if said is None:
            return []
        self._on_lie(lie)
        return [said if isinstance(said, bytes) else encode(said)]

    def _joined(self, page: Page) -> Page:
        """Returns the page with the parts of it that were told before, and keeps that until it ends."""
        before = self.parts.pop(page.record, None)
        if before is not None:
            links, items = before.links + page.links, before.items + page.items
            page = Page(page.lease, page.record, page.job, links, items, page.outcome)
        if page.outcome is None:
            self.parts[page.record] = page
        return page

    @property
    def sequence(self) -> int:
        """Of the last true report: an acknowledgement of this says nothing new."""
        return self.reports[-1].sequence if self.reports else 0

    def fall_silent(self) -> None:
        """Swallows Beats till the session ends; what was open in it then is lost."""
        self._silent, self._was_silent = SILENT_BEATS, True


class Tongue(StreamSeal):
    """The seal of a liar's link: all that it says and hears goes through here."""

    def __init__(self, liar: Liar, own: Credentials) -> None:
        super().__init__("client", own.keys, own.identity, own.boot, own.cluster, None)
        self._liar = liar
        self._heard = FrameReader()

    def send(self, data: bytes) -> bytes:
        (message,) = FrameReader().feed(data)
        if self._liar.swallows(message):
            return b""
        return b"".join(super(Tongue, self).send(frame) for frame in (data, *self._liar.adds(message)))

    def receive(self, data: bytes) -> list[bytes]:
        pieces = super().receive(data)
        for piece in pieces:
            for message in self._heard.feed(piece):
                self._liar.hears(message)
        return pieces


class Lie(NamedTuple):
    """``speak`` makes what is said: a message, or a frame; None when there is nothing to lie about now. A gross one may
    cost the liar what it has in hand."""

    name: str
    speak: Callable[[Liar], AnyMessage | bytes | None]
    gross: bool = False


# -- idle lies ------------------------------------------------------------------------------------


def _the_same_again(liar: Liar) -> AnyMessage | None:
    return _said_again(liar, liar.reports[-1]) if liar.reports else None


def _of_another_session(liar: Liar) -> AnyMessage | None:
    """Repeats a report of long ago."""
    return _said_again(liar, random.choice(liar.reports)) if liar.reports else None


def _said_again(liar: Liar, report: Report) -> AnyMessage | None:
    """Repeats a report under the same number, but for what this session holds and what may be on its way to it: that
    would be about a page that it was leased.
    """
    pages = [page for page in report.pages if page.record not in liar.held and page.lease <= liar.last_lease]
    return Report(liar.sequence, pages) if pages else None


def _never_leased(liar: Liar) -> AnyMessage | None:
    """Reports the ends of pages that others may have in hand, each with an item."""
    done = Outcome(Phase.DONE, status=200, size=len(ITEM), answered=True)
    pages = [Page(lease, record, liar.job, items=[ITEM], outcome=done) for lease, record in _others(liar)]
    return Report(liar.sequence, pages)


def _given_back(liar: Liar) -> AnyMessage | None:
    """Gives back pages that are through, as if it had not begun them."""
    return Returned(liar.ended[-8:]) if liar.ended else None


def _robots_unasked(liar: Liar) -> AnyMessage | None:
    """Claims that a host forbids everything."""
    if not liar.tasks:
        return None
    origin = "/".join(random.choice(liar.tasks).link.url.split("/", 3)[:3])
    forbids = RobotsResult(1 << 40, origin, "allow", "User-agent: *\nDisallow: /\n", "")
    return Report(liar.sequence, [], [forbids])


def _of_no_job(liar: Liar) -> AnyMessage | None:
    return Report(liar.sequence, [Page(1, 1, liar.job + 1, outcome=Outcome(Phase.DONE))])


def _links_of_nonsense(liar: Liar) -> AnyMessage | None:
    """Reports links that are none: they are facts like all links, so they are looked at, and found to be nonsense.

    Told when all is over they would open the job again, as news does. While a page is in hand it is not over.
    """
    if not liar.held:
        return None
    prints = b"".join(blake2b(url.encode(), digest_size=SIZE).digest() for url in NOWHERE)
    links = LinkColumns(Link("", bytes(SIZE), -7, 1 << 40, "?"), [*NOWHERE], prints)
    return Report(liar.sequence, [Page(1, 1, liar.job, [links])])


# -- gross lies -----------------------------------------------------------------------------------


def _silence(liar: Liar) -> AnyMessage | None:
    """Sends no Beats: its session ends, though it lives and its link is in order."""
    liar.fall_silent()
    return None


def _of_no_phase(liar: Liar) -> AnyMessage | None:
    for task in liar.held.values():
        return Report(liar.sequence, [Page(task.lease, task.record, task.job, outcome=Outcome(99))])
    return None


def _links_cut_short(liar: Liar) -> AnyMessage | None:
    links = LinkColumns(Link("", bytes(SIZE), 1), [*NOWHERE], bytes(SIZE * len(NOWHERE)))
    # It would not be made like that.
    links.fingerprints = links.fingerprints[:9]
    return Report(liar.sequence, [Page(1, 1, liar.job, [links])])


def _of_no_time(liar: Liar) -> AnyMessage | None:
    for task in liar.held.values():
        never = Outcome(Phase.QUEUED, "http-5xx", status=500, latency_s=nan, retry_in_s=nan, host_pause_s=nan)
        return Report(liar.sequence, [Page(task.lease, task.record, task.job, outcome=never)])
    return None


def _farewell_in_anger(liar: Liar) -> AnyMessage | None:
    return Bye("it does not like its master")


def _a_masters_word(liar: Liar) -> AnyMessage | None:
    return Stop()


def _rubbish(liar: Liar) -> bytes:
    return (7).to_bytes(4, "big") + b"\xc1rubbish"


def _orphans_again(liar: Liar) -> AnyMessage | None:
    """Reports pages again that were acknowledged, as if a master had died."""
    return Orphans(0, random.sample(liar.past, min(8, len(liar.past)))) if liar.past else None


def _orphans_of_nothing(liar: Liar) -> AnyMessage | None:
    if not liar.tasks:
        return None
    task = random.choice(liar.tasks)
    return Orphans(0, [OrphanPage(task, Page(task.lease, task.record, task.job, outcome=Outcome(99)))])


SILENCE = Lie("silence", _silence, gross=True)
FAREWELL = "farewell in anger"
"""It says that it has stopped, with pages in its hands that it goes on with."""
LIES = [
    Lie("the same again", _the_same_again),
    Lie("of another session", _of_another_session),
    Lie("never leased", _never_leased),
    Lie("given back", _given_back),
    Lie("robots unasked", _robots_unasked),
    Lie("of no job", _of_no_job),
    Lie("links of nonsense", _links_of_nonsense),
    SILENCE,
    Lie("of no phase", _of_no_phase, gross=True),
    Lie("of no time", _of_no_time, gross=True),
    Lie("links cut short", _links_cut_short, gross=True),
    Lie(FAREWELL, _farewell_in_anger, gross=True),
    Lie("a master's word", _a_masters_word, gross=True),
    Lie("rubbish", _rubbish, gross=True),
    Lie("orphans again", _orphans_again, gross=True),
    Lie("orphans of nothing", _orphans_of_nothing, gross=True),
]


def _others(liar: Liar) -> list[tuple[int, int]]:
    """Leases and records with numbers near its own that are not its own.

    The leases are older than its last: a younger one may be its own already, and on its way.
    """
    lease, record = (liar.tasks[-1].lease, liar.tasks[-1].record) if liar.tasks else (0, 0)
    numbers = [(lease - abs(n), record + n) for n in range(-8, 9) if n]
    return [(lease, record) for lease, record in numbers if record > 0 and record not in liar.mine]
