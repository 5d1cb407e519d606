"""The roster of a pool of proxies: candidates in, verdicts in, choices out. It knows no clock, socket or dice.

*Live* proxies may be used; the others are candidates, resting or not yet tried. The number of live ones is kept between
a minimum and a maximum: when it falls below the minimum candidates are verified until it has reached the maximum again,
or nobody is left to try. Live ones are verified again when their period is over.

A choice looks at a few live proxies at random and takes the cheapest: that is nearly the best of all, spreads over all
that are about as good, and costs the same however many there are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from p2pcrawl.core.proxies.proxy_standing import ProxyStanding
from p2pcrawl.core.proxies.rests import Rests

CANDIDATES_MAX: Final = 20_000
STICKY_MAX: Final = 20_000
LOOKS: Final = 5
"""Live proxies that a choice looks at."""
_MISSES_MAX: Final = 6
"""The time until a candidate is tried again doubles so often."""

Draw = Callable[[int], int]
"""Draws a number below another one."""


@dataclass(frozen=True, slots=True)
class RosterLimits:
    """The limits of a roster: how many are kept live, and how long verdicts and rests last."""

    live_max: int = 200
    live_min: int = 50
    period_s: float = 300.0
    rest_s: float = 60.0
    rest_max_s: float = 3600.0
    verifies: bool = True
    """False: candidates are live as they come, and suspended ones come back after a rest."""


class Roster:
    """All proxies of a pool, by their URLs."""

    def __init__(self, limits: RosterLimits) -> None:
        self._limits = limits
        self._all: dict[str, ProxyStanding] = {}
        self._live: list[ProxyStanding] = []
        self._rests = Rests(limits.rest_s, limits.rest_max_s)
        self._sticky: OrderedDict[str, ProxyStanding] = OrderedDict()
        self._filling = True
        self._look_at = 0.0
        """Nobody is due before."""

    def __len__(self) -> int:
        return len(self._all)

    @property
    def live(self) -> int:
        """The number of proxies that may be used."""
        return len(self._live)

    # -- candidates -------------------------------------------------------------------------------

    def offer(self, urls: Iterable[str], now: float) -> int:
        """Takes in the candidates that all sources name now; returns how many are new. When there are CANDIDATES_MAX,
        new ones take the places of those that may not be used and are not named any more; what is over that is left.
        """
        self._look_at = 0.0
        new: list[str] = []
        for url in dict.fromkeys(urls):
            if known := self._all.get(url):
                known.named_at = now
            else:
                new.append(url)
        self._forget_unnamed(len(self._all) + len(new) - CANDIDATES_MAX, now)
        new = new[: CANDIDATES_MAX - len(self._all)]
        for url in new:
            self._all[url] = standing = ProxyStanding(url, named_at=now, due_at=now)
            if not self._limits.verifies and len(self._live) < self._limits.live_max:
                self._enlist(standing)
        return len(new)

    def to_verify(self, now: float, room: int) -> list[ProxyStanding]:
        """Takes up to ``room`` proxies that are to be verified now: first live ones whose period is over, then
        candidates if there are too few. Each is taken once until its verdict.
        """
        limits = self._limits
        if now < self._look_at:
            return []
        if not limits.verifies:
            self._return_rested(now)
            self._look_at = self._next_at(now)
            return []
        if len(self._live) < limits.live_min:
            self._filling = True
        taken: list[ProxyStanding] = []
        wanted = limits.live_max - len(self._live) if self._filling else 0
        wanted -= sum(each.checking and not each.live for each in self._all.values())
        for standing in sorted(self._all.values(), key=lambda each: (not each.live, each.due_at)):
            if len(taken) >= room:
                break
            if standing.checking or standing.due_at > now:
                continue
            if not standing.live:
                if wanted <= 0:
                    break
                wanted -= 1
            standing.checking = True
            taken.append(standing)
        if len(taken) < room:
            self._look_at = self._next_at(now)
        return taken

    def verified(
        self, standing: ProxyStanding, passed: bool, latency_s: float, now: float, *, final: bool = False
    ) -> None:
        """Takes the verdict. ``final``: it is not worth another try for a long time, for it lies."""
        limits = self._limits
        standing.checking, standing.checked_at = False, now
        self._look_at = 0.0
        standing.failures = 0
        standing.failed_hosts.clear()
        if passed:
            standing.misses, standing.latency_s = 0, latency_s
            standing.trust = max(standing.trust, 0.5)
            standing.due_at = now + limits.period_s
            if len(self._live) < limits.live_max:
                self._enlist(standing)
            if len(self._live) >= limits.live_max:
                self._filling = False
            return
        self._dismiss(standing)
        standing.misses = _MISSES_MAX if final else min(standing.misses + 1, _MISSES_MAX)
        standing.due_at = now + limits.period_s * 2.0 ** (standing.misses - 1)

    def postpone(self, standing: ProxyStanding, until: float) -> None:
        """Takes back a proxy that could not be verified, through no fault of its own."""
        standing.checking, standing.due_at = False, until
        self._look_at = min(self._look_at, until)

    # -- use ------------------------------------------------------------------------------------------

    def choose(
        self, host: str, sticky: str, now: float, draw: Draw, tried: Sequence[ProxyStanding] = ()
    ) -> ProxyStanding | None:
        """Chooses the proxy for a request to ``host``; None when all rest. ``sticky``: a name that keeps its proxy as
        long as that can be used; "": none. ``tried``: those that this request has failed with.
        """
        if sticky:
            kept = self._sticky.get(sticky)
            if kept is not None and self._usable(kept, host, now) and kept not in tried:
                self._sticky.move_to_end(sticky)
                return kept
        chosen = self._cheapest(host, now, draw, tried)
        if sticky and chosen is not None:
            self._sticky[sticky] = chosen
            self._sticky.move_to_end(sticky)
            if len(self._sticky) > STICKY_MAX:
                self._sticky.popitem(last=False)
        return chosen

    def forget(self, sticky: str) -> None:
        """Lets a name have another proxy next time."""
        self._sticky.pop(sticky, None)

    def worked(self, standing: ProxyStanding, host: str, latency_s: float) -> None:
        """Notes that an answer came, and none of a ban."""
        standing.worked(latency_s)
        self._rests.forgive(host, standing.url)

    def failed(self, standing: ProxyStanding, host: str, now: float) -> None:
        """Notes that no answer came."""
        self._rests.fail(host, standing.url, now)
        if standing.failed(host):
            self._suspend(standing, now)

    def broken(self, standing: ProxyStanding, now: float) -> None:
        """Notes that the proxy itself could not be used, whatever the host."""
        standing.trust *= 0.5
        self._suspend(standing, now)

    def banned(self, standing: ProxyStanding, host: str, now: float, at_least_s: float = 0.0) -> float:
        """Notes that the host keeps the proxy out; returns for how long it rests for that host."""
        standing.failures = 0
        return self._rests.ban(host, standing.url, now, at_least_s)

    # -- inside ---------------------------------------------------------------------------------------

    def _forget_unnamed(self, count: int, now: float) -> None:
        """Forgets so many proxies at most that nobody names any more, those first that were named longest ago."""
        if count > 0:
            idle = (each for each in self._all.values() if not each.live and not each.checking)
            unnamed = (each for each in idle if each.named_at < now)
            for standing in nsmallest(count, unnamed, key=lambda each: each.named_at):
                del self._all[standing.url]

    def _cheapest(self, host: str, now: float, draw: Draw, tried: Sequence[ProxyStanding]) -> ProxyStanding | None:
        live, best = self._live, None
        if len(live) > 2 * LOOKS:
            for _ in range(LOOKS):
                each = live[draw(len(live))]
                cheaper = best is None or each.cost < best.cost
                if cheaper and each not in tried and self._rests.until(host, each.url) <= now:
                    best = each
            if best is not None:
                return best
        for each in live:
            cheaper = best is None or each.cost < best.cost
            if cheaper and each not in tried and self._rests.until(host, each.url) <= now:
                best = each
        return best

    def _usable(self, standing: ProxyStanding, host: str, now: float) -> bool:
        return standing.live and self._rests.until(host, standing.url) <= now

    def _suspend(self, standing: ProxyStanding, now: float) -> None:
        self._dismiss(standing)
        self._look_at = 0.0
        standing.failures = 0
        standing.failed_hosts.clear()
        if self._limits.verifies:
            standing.due_at = now
        else:
            standing.misses = min(standing.misses + 1, _MISSES_MAX)
            rest_s = min(self._limits.rest_s * 2.0 ** (standing.misses - 1), self._limits.rest_max_s)
            standing.due_at = now + rest_s

    def _next_at(self, now: float) -> float:
        """Returns when somebody is due who is not now: those over the maximum wait for one to leave."""
        return min((each.due_at for each in self._all.values() if now < each.due_at), default=now + 3600.0)

    def _return_rested(self, now: float) -> None:
        for standing in self._all.values():
            if not standing.live and standing.due_at <= now and len(self._live) < self._limits.live_max:
                self._enlist(standing)

    def _enlist(self, standing: ProxyStanding) -> None:
        if not standing.live:
            standing.live, standing.slot = True, len(self._live)
            self._live.append(standing)

    def _dismiss(self, standing: ProxyStanding) -> None:
        if standing.live:
            last = self._live.pop()
            if last is not standing:
                self._live[standing.slot] = last
                last.slot = standing.slot
            standing.live, standing.slot = False, -1
