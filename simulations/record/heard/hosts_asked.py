"""Listens to what masters make of what they hear of hosts, call by call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, Final

from p2pcrawl.core.hosts.politeness import Host, HostNote, Pace

from ...model.work.hosts_left_alone import Asks, Ended, HostsLeftAlone, Standing
from .session_ends import here

USUAL_S: Final = 1.0
"""The delay of a job that says nothing of it."""
METHODS: Final = ("end", "release", "learn", "space", "wait_on_loan", "may_begin")


@contextmanager
def hosts_overheard(model: HostsLeftAlone) -> Iterator[None]:
    """Has a model told of all that masters do with hosts, for the block."""
    of_hosts: Any = Host
    real: dict[str, Callable[..., Any]] = {name: vars(Host)[name] for name in METHODS}

    def end(self: Host, now: float, pace: Pace, *, answered: bool, **how: Any) -> None:
        before, pause_s = _standing(self), min(how.get("pause_s", 0.0), pace.retry_after_max_s)
        real["end"](self, now, pace, answered=answered, **how)
        ended = Ended(answered, how.get("slow_down", False), pause_s)
        model.ends(here(), self.name, now, _asks(self, pace), ended, (before, _standing(self)))

    def release(self: Host, now: float, pace: Pace | None) -> None:
        before = _standing(self)
        real["release"](self, now, pace)
        if pace is not None:
            model.is_released(here(), self.name, now, _asks(self, pace), (before, _standing(self)))

    def learn(self: Host, note: HostNote, now: float, pause_max_s: float) -> None:
        before = _standing(self)
        real["learn"](self, note, now, pause_max_s)
        told = note.delay_s, note.penalty_s, min(note.pause_s, pause_max_s)
        model.learns(here(), self.name, now, told, (before, _standing(self)))

    def space(self: Host, since: float, delay_s: float) -> None:
        before = _standing(self)
        real["space"](self, since, delay_s)
        if delay_s > 0.0:
            model.waits(here(), self.name, since + delay_s, (before, _standing(self)))

    def wait_on_loan(self: Host, until: float, delay_s: float, order_version: int, delay_here_s: float) -> None:
        before = _standing(self)
        real["wait_on_loan"](self, until, delay_s, order_version, delay_here_s)
        more_s = max(0.0, delay_here_s - delay_s) if order_version != self.order_version else 0.0
        model.waits(here(), self.name, until + more_s, (before, _standing(self)))

    def may_begin(self: Host, now: float, pace: Pace) -> bool:
        allowed: bool = real["may_begin"](self, now, pace)
        if allowed:
            delay_s = _asks(self, pace).delay_s(self.penalty_s)
            how = _standing(self), delay_s, self.lent, pace.concurrency
            model.may_be_asked(here(), self.name, now, how)
        return allowed

    of_hosts.end, of_hosts.release, of_hosts.learn = end, release, learn
    of_hosts.space, of_hosts.wait_on_loan, of_hosts.may_begin = space, wait_on_loan, may_begin
    try:
        yield
    finally:
        for name, method in real.items():
            setattr(of_hosts, name, method)


def _standing(host: Host) -> Standing:
    return Standing(host.next_at, host.paused_until, host.penalty_s, host.told_delay_s, host.open)


def _asks(host: Host, pace: Pace) -> Asks:
    """Returns what a host has a delay for, by all that its master knows."""
    if host.ordered_s is not None:
        usual_s = host.ordered_s
    elif pace.delay_s is not None:
        usual_s = pace.delay_s
    else:
        usual_s = 0.0 if host.private else USUAL_S
    rules = host.robots if host.robots and pace.obey_robots else {}
    robots_s = tuple(entry.crawl_delay_s for (_, agent), entry in rules.items() if agent == pace.agent)
    return Asks(usual_s, robots_s, host.told_delay_s, pace.crawl_delay_max_s or inf)
