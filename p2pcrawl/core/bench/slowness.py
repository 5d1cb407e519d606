"""The reasons for which a host is asked as slowly as it is, in words for people."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from p2pcrawl.core.bench.seat import Seat, SeatState
from p2pcrawl.core.hosts.politeness import Host, Pace


class DelayFrom(StrEnum):
    """The origin of the delay of a host."""

    NOTHING = "none"
    DEFAULT = "default"
    SETTING = "setting"
    """DOWNLOAD_DELAY of a job."""
    PERSON = "a person"
    """Who has changed it while crawls run (``core.hosts.orders``)."""
    THROTTLE = "auto-throttle"
    ROBOTS = "robots.txt"
    """Its Crawl-delay."""
    ELSEWHERE = "another master"
    """One that asked it before, or asks it on loan, knows of it."""
    TROUBLE = "429 or 503"
    """It said so without saying for how long."""


class DelayInForce(NamedTuple):
    """The delay that counts, and what it comes from."""

    seconds: float
    source: DelayFrom


def delay_in_force(host: Host, paces: Iterable[Pace]) -> DelayInForce:
    """Returns the longest delay that any of these jobs keeps at a host."""
    longest = DelayInForce(0.0, DelayFrom.NOTHING)
    for pace in paces:
        seconds = host.delay_s(pace)
        if seconds > longest.seconds:
            longest = DelayInForce(seconds, _source(host, pace, seconds))
    return longest


def _source(host: Host, pace: Pace, seconds: float) -> DelayFrom:
    if host.job_delay_s(pace) >= seconds:
        if host.ordered_s is not None:
            return DelayFrom.PERSON
        return DelayFrom.DEFAULT if pace.delay_s is None else DelayFrom.SETTING
    if host.robots_delay_s(pace) >= seconds:
        return DelayFrom.ROBOTS
    if host.told_delay_s >= seconds:
        return DelayFrom.ELSEWHERE
    return DelayFrom.TROUBLE if host.penalty_s >= seconds else DelayFrom.THROTTLE


class Slowness(NamedTuple):
    """A host as it is asked now. ``seconds``: until it is asked next, where that is known; ``through_s``: until all
    that is queued has been asked for, if it stays as it is; None where no delay is in the way.
    """

    delay: DelayInForce
    seconds: float
    why: str
    through_s: float | None


def slowness_of(seat: Seat, paces: Iterable[Pace], queued: int, now: float) -> Slowness:
    """Says how slowly a host is asked, and why; ``queued``: its pages that wait, also those that are on disk only."""
    host = seat.host
    delay = delay_in_force(host, paces)
    seconds = max(0.0, host.next_at - now)
    through_s = seconds + queued * delay.seconds if delay.seconds > 0.0 and queued else None
    why = _trouble(seat, now) or _turn(seat, delay, queued, through_s)
    return Slowness(delay, seconds, why, through_s)


def _trouble(seat: Seat, now: float) -> str:
    """Says what is out of the common."""
    host = seat.host
    if host.halted:
        return "it is paused by hand"
    if now < host.paused_until:
        return f"it asked to be left alone (Retry-After) for {duration(host.paused_until - now)} more"
    if host.down:
        return f"it is down: {host.unanswered:,} requests in a row were left without an answer"
    if host.rest_s and now < host.next_at:
        silent = duration(max(0.0, now - host.silent_since))
        return f"it left {host.unanswered:,} requests in a row without an answer, for {silent}: it is tried singly"
    if seat.robots_open:
        return "its robots.txt is being read"
    return ""


def _turn(seat: Seat, delay: DelayInForce, queued: int, through_s: float | None) -> str:
    """Says what the next of its pages waits for."""
    host = seat.host
    if host.lent:
        return "another master asks it at the moment, on loan"
    if through_s is not None and queued > 1:
        return (
            f"one page every {delay.seconds:g} s ({delay.source}): the {queued:,} that wait take {duration(through_s)}"
        )
    if queued and seat.state is SeatState.BUSY and host.open:
        return f"{host.open:,} requests are open, as many as it may have"
    if queued and seat.state is SeatState.READY:
        return "the slaves have no room at the moment"
    return ""


def duration(seconds: float) -> str:
    """Writes a length of time for people."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
