"""The politeness towards a host: says when it may be asked, and by how many requests at once.

The theory. A host is in one of two modes. *Spaced*: it has a delay (its robots.txt, the setting,
adaptive throttling, or a penalty it earned us by 429 and 503), and then one request is open at a time
and the next begins no sooner than the delay after the end of the one before. *Free*: it has none, and
then up to a window of requests is open. The window starts at two, grows by one with every answer and is
halved by every failure to answer, so that a slow or dead host never holds many slots.

A host is *trusted* once it has answered, until it leaves three requests in a row without an answer; the
workbench keeps slots free for these. One that leaves ten in a row is left alone between single tries,
for 1, 2, 4 ... seconds; when that has gone on for long enough it is *down*, and the master puts its queue aside.

A host's own wish (Retry-After) stops everything until it has passed. So does a person who has it paused
(``core.orders``); the delay that a person has set takes the place of the jobs' and of adaptive throttling, and never of
what the host asks for.

Invariants: ``open`` counts requests begun and not ended; ``may_begin`` is false while ``now < next_at``.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from p2pcrawl.core.hosts.hearing import OUTAGE_TIMES
from p2pcrawl.model.cluster.host_order import HostOrder
from p2pcrawl.model.crawl.settings import Settings

WINDOW_START = 2.0
PENALTY_START_S = 1.0
PENALTY_MAX_S = 60.0
UNANSWERED_DOUBT = 3
"""Requests in a row without an answer that cost a host its trust."""
UNANSWERED_REST = 10
"""Requests in a row without an answer after which a host is left alone between single tries."""
REST_START_S = 1.0
REST_MAX_S = 30.0
DEFAULT_DELAY_S = 1.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The demands of one job on the way in which it visits hosts."""

    delay_s: float | None
    concurrency: int
    agent: str
    obey_robots: bool
    retry_after_max_s: float
    crawl_delay_max_s: float
    """Whoever asks for more is asked for nothing; 0: nobody asks for too much."""
    autothrottle: bool
    throttle_start_s: float
    throttle_max_s: float
    throttle_concurrency: float
    losses_max: int
    down_after_s: float

    @classmethod
    def of(cls, settings: Settings) -> Pace:
        return cls(
            delay_s=settings.download_delay,
            concurrency=settings.concurrent_requests_per_domain,
            agent=settings.robots_key,
            obey_robots=settings.reads_robots,
            retry_after_max_s=settings.retry_after_max,
            crawl_delay_max_s=settings.crawl_delay_max,
            autothrottle=settings.autothrottle_enabled,
            throttle_start_s=settings.autothrottle_start_delay,
            throttle_max_s=settings.autothrottle_max_delay,
            throttle_concurrency=settings.autothrottle_target_concurrency,
            losses_max=settings.slave_losses_max,
            down_after_s=settings.host_down_after,
        )


@dataclass(slots=True)
class RobotsEntry:
    """The knowledge of one origin's robots.txt for one agent."""

    verdict: str
    packed: bytes
    reason: str
    crawl_delay_s: float
    expires_at: float
    tries: int = 0
    """Times in a row that it could not be read."""
    losses: int = 0
    """Times in a row that the slave which asked for it was lost."""
    only_for: int = 0
    """The one job for which it holds, where that is so: nobody was asked, for the host is closed to that job."""

    @property
    def body(self) -> str:
        return zlib.decompress(self.packed).decode() if self.packed else ""


def pack_body(body: str) -> bytes:
    """Packs the body of a robots.txt, for it stays in memory for every host."""
    return zlib.compress(body.encode("utf-8", "replace"), 1) if body else b""


@dataclass(frozen=True, slots=True)
class HostNote:
    """A host's wishes beyond a job's own delay, as another master should know them."""

    delay_s: float = 0.0
    """Its robots.txt asks for it."""
    penalty_s: float = 0.0
    """The delay that 429 and 503 have earned us."""
    pause_s: float = 0.0
    """How much longer it wants to be left alone."""

    def __bool__(self) -> bool:
        return self.delay_s > 0.0 or self.penalty_s > 0.0 or self.pause_s > 0.0


class Host:
    """The politeness state of one host."""

    __slots__ = (
        "answered",
        "deaf_s",
        "down",
        "halted",
        "key",
        "lent",
        "name",
        "next_at",
        "open",
        "order_version",
        "ordered_s",
        "paused_until",
        "penalty_s",
        "private",
        "rest_s",
        "robots",
        "silent_since",
        "spaced_from",
        "throttle_s",
        "told_delay_s",
        "unanswered",
        "window",
    )

    def __init__(self, key: int, name: str, next_at: float = 0.0) -> None:
        self.key = key
        self.name = name
        self.private = is_private_name(name)
        self.open = 0
        self.lent = 0
        """How many more may be open at other masters, which have borrowed the right."""
        self.window = WINDOW_START
        self.next_at = next_at
        self.paused_until = 0.0
        self.penalty_s = 0.0
        self.throttle_s: float | None = None
        self.told_delay_s = 0.0
        """The delay that another master knows that it asks for."""
        self.ordered_s: float | None = None
        """The delay that a person has set,"""
        self.order_version = 0
        """the version of that,"""
        self.halted = False
        """and whether a person has it paused."""
        self.spaced_from = 0.0
        """From when its delay was counted last: the end of a request, or what stands for one that is not known."""
        self.answered = False
        """It has answered at least once."""
        self.unanswered = 0
        """Failures to answer since the last answer."""
        self.silent_since = 0.0
        """When the first of these ended."""
        self.deaf_s = 0.0
        """For how long nobody had been heard by then (see ``core.hearing``)."""
        self.rest_s = 0.0
        self.down = False
        """It has been silent for so long that what is queued for it may be put aside."""
        self.robots: dict[tuple[str, str], RobotsEntry] | None = None

    @property
    def trusted(self) -> bool:
        """True while the host answers, as far as is known."""
        return self.answered and self.unanswered < UNANSWERED_DOUBT

    def delay_s(self, pace: Pace) -> float:
        """Returns the delay in force for a job."""
        return max(self.lasting_delay_s(pace), self.penalty_s)

    def lasting_delay_s(self, pace: Pace) -> float:
        """Returns the delay without what passes with the host's trouble."""
        base = self.job_delay_s(pace)
        if pace.autothrottle and self.ordered_s is None:
            base = max(base, pace.throttle_start_s if self.throttle_s is None else self.throttle_s)
        return max(base, self.asked_delay_s(pace))

    def note(self, now: float, paces: Iterable[Pace]) -> HostNote:
        """Returns what the host asks beyond the delays of these jobs; not the adaptive one, which each master finds
        itself.
        """
        delay = 0.0
        for pace in paces:
            asked = self.asked_delay_s(pace)
            if asked > self.job_delay_s(pace):
                delay = max(delay, asked)
        return HostNote(delay, self.penalty_s, max(0.0, self.paused_until - now))

    def learn(self, note: HostNote, now: float, pause_max_s: float) -> None:
        """Takes in what another master knew. It makes the host wait longer, never less; when it was last asked is
        not known, so a delay counts from now."""
        self.told_delay_s = max(self.told_delay_s, note.delay_s)
        self.penalty_s = max(self.penalty_s, min(note.penalty_s, PENALTY_MAX_S))
        self.space(now, max(note.delay_s, note.penalty_s))
        if note.pause_s > 0.0:
            self.paused_until = max(self.paused_until, now + min(note.pause_s, pause_max_s))
            self.next_at = max(self.next_at, self.paused_until)

    def space(self, since: float, delay_s: float) -> None:
        """Lets the host be asked no sooner than a delay after a moment at which it was asked, or may have been."""
        self.spaced_from = max(self.spaced_from, since)
        if delay_s > 0.0:
            self.next_at = max(self.next_at, since + delay_s)

    def told_on_loan(self, asked_s: float) -> None:
        """Takes in the delay that the host asks for, as whoever borrows or lends it knows that; not what jobs keep to
        there, which is no wish of the host.
        """
        self.told_delay_s = max(self.told_delay_s, asked_s)

    def wait_on_loan(self, until: float, delay_s: float, order_version: int, delay_here_s: float) -> None:
        """Waits as whoever borrows or lends the host says. One that did not know the order that is obeyed here counted
        a delay of its own.
        """
        if order_version != self.order_version:
            until += max(0.0, delay_here_s - delay_s)
        self.next_at = max(self.next_at, until)

    def obey(self, order: HostOrder, paces: Iterable[Pace]) -> None:
        """Takes in what a person has said. A longer delay counts from the end of the last request, too, wherever that
        was; a shorter one ends the wait for the old one, and nothing else that the host waits for.
        """
        paces = list(paces)
        before = max((self.delay_s(pace) for pace in paces), default=0.0)
        self.halted = order.paused
        if order.delay_version != self.order_version:
            self.ordered_s, self.order_version = order.delay_s, order.delay_version
        after = max((self.delay_s(pace) for pace in paces), default=0.0)
        # Else another master asked it last, and told for how long it is to wait; or it wants to be left alone.
        ours = self.next_at <= self.spaced_from + before
        if after > before:
            shift_s = 0.0 if ours or self.rest_s or self.next_at <= self.paused_until else after - before
            self.next_at = max(self.next_at + shift_s, self.spaced_from + after if self.spaced_from else 0.0)
        elif after < before and ours and not self.rest_s:
            self.next_at = max(self.spaced_from + after, self.paused_until)

    def job_delay_s(self, pace: Pace) -> float:
        """Returns the delay of a job that the host itself has no part in, or what a person has set in its place."""
        if self.ordered_s is not None:
            return self.ordered_s
        if pace.delay_s is not None:
            return pace.delay_s
        return 0.0 if self.private else DEFAULT_DELAY_S

    def asked_delay_s(self, pace: Pace) -> float:
        """Returns the delay that the host asks for: by its robots.txt, or by what another master knows of that.

        One that is too long for the job is none: its slaves leave out what would have to wait for it, unasked.
        """
        told = self.told_delay_s if self.told_delay_s <= (pace.crawl_delay_max_s or inf) else 0.0
        return max(told, self.robots_delay_s(pace))

    def robots_delay_s(self, pace: Pace) -> float:
        """Returns the delay that its robots.txt asks of a job, as far as that was read here."""
        most, asked = pace.crawl_delay_max_s or inf, 0.0
        if pace.obey_robots and self.robots:
            for (_, agent), entry in self.robots.items():
                if agent == pace.agent and asked < entry.crawl_delay_s <= most:
                    asked = entry.crawl_delay_s
        return asked

    def may_begin(self, now: float, pace: Pace) -> bool:
        if now < self.next_at:
            return False
        if self.open == 0 and self.lent == 0:
            return True
        if self.delay_s(pace) > 0.0:
            return False
        return self.open == 0 or self.open < min(self.window, pace.concurrency - self.lent)

    def begin(self) -> None:
        self.open += 1

    def end(
        self,
        now: float,
        pace: Pace,
        *,
        answered: bool,
        latency_s: float = 0.0,
        status: int = 0,
        pause_s: float = 0.0,
        slow_down: bool = False,
        ours: bool = False,
        deaf_s: float = 0.0,
    ) -> None:
        """Ends a request. ``answered``: an HTTP answer came, whatever its status. ``ours``: what failed does not
        concern the host. ``deaf_s``: for how long nobody has been heard (see ``core.hearing``).
        """
        self.open -= 1
        if answered:
            self.answered, self.unanswered, self.rest_s, self.down = True, 0, 0.0, False
            self.window = min(self.window + 1.0, pace.concurrency)
            if not slow_down and self.penalty_s:
                self.penalty_s = self.penalty_s / 2 if self.penalty_s > PENALTY_START_S / 4 else 0.0
        else:
            self._unanswered(now, pace, deaf_s, ours=ours)
        if slow_down and not pause_s:
            self.slow_down()
        if pace.autothrottle and answered:
            self._throttle(pace, latency_s, status)
        self.space(now, self.delay_s(pace))
        if pause_s > 0.0:
            self.paused_until = max(self.paused_until, now + min(pause_s, pace.retry_after_max_s))
            self.next_at = max(self.next_at, self.paused_until)

    def slow_down(self) -> None:
        """Raises the penalty: the host said 429 or 503 without saying for how long."""
        self.penalty_s = min(PENALTY_MAX_S, max(PENALTY_START_S, 2 * self.penalty_s))

    def release(self, now: float, pace: Pace | None) -> None:
        """Closes a request that ended without a word from the host. ``pace``: the host may have been asked all the
        same.
        """
        self.open -= 1
        if pace is not None:
            self.space(now, self.delay_s(pace))

    def _unanswered(self, now: float, pace: Pace, deaf_s: float, *, ours: bool) -> None:
        self.unanswered += 1
        self.window = max(1.0, self.window / 2)
        if self.unanswered == 1:
            self.silent_since, self.deaf_s = now, deaf_s
        # Requests that were open together count as one try.
        if self.unanswered >= UNANSWERED_REST and not self.open:
            self.rest_s = min(REST_MAX_S, 2 * self.rest_s or REST_START_S)
            self.next_at = max(self.next_at, now + self.rest_s)
            silent_s = now - self.silent_since
            if (self.answered or ours) and silent_s < OUTAGE_TIMES * pace.down_after_s:
                silent_s -= deaf_s - self.deaf_s
            self.down = 0.0 < pace.down_after_s <= silent_s

    def _throttle(self, pace: Pace, latency_s: float, status: int) -> None:
        """Follows latency, half way at a time; an error answer never lowers the delay."""
        current = pace.throttle_start_s if self.throttle_s is None else self.throttle_s
        target = latency_s / pace.throttle_concurrency
        wanted = max(target, (current + target) / 2)
        wanted = min(pace.throttle_max_s, max(wanted, pace.delay_s or 0.0))
        if status != 200 and wanted <= current:
            return
        self.throttle_s = wanted


def is_private_name(name: str) -> bool:
    """Names that can only mean this machine or its own network."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return address.is_private or address.is_loopback
