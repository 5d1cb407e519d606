"""The keeper of a pool of proxies: it asks the sources, verifies who is due, and says who may be used."""

from __future__ import annotations

import asyncio
import logging
from itertools import chain
from time import monotonic
from typing import Final

from p2pcrawl.core.proxies.proxy_standing import ProxyStanding
from p2pcrawl.core.proxies.roster import Roster, RosterLimits
from p2pcrawl.fetch.connection.guard import Blocked
from p2pcrawl.fetch.proxies.proxy_sources import ProxySources
from p2pcrawl.fetch.proxies.verifier import ProxyVerdict, ProxyVerifier
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError

log = logging.getLogger(__name__)

CHECKS_MAX: Final = 50
"""Proxies that are verified at once."""
CHECKS_BEGUN: Final = 10
"""So many at least are begun together, for whoever looks who is due looks at all candidates;"""
LOOK_S: Final = 1.0
"""but so often that is done for fewer."""
OUT_OF_BOUNDS_S: Final = 2.0
"""A start URL may open the check page's host at any time: so often that is tried."""
LEARN_AGAIN_S: Final = 10.0
"""The check URL may answer otherwise by now: so often at most it is asked again before a proxy counts as a liar."""


def limits_of(settings: Settings) -> RosterLimits:
    """Returns the limits that settings ask for."""
    return RosterLimits(
        live_max=settings.proxy_pool_max,
        live_min=min(settings.proxy_pool_min, settings.proxy_pool_max),
        period_s=settings.proxy_check_period,
        rest_s=settings.proxy_rest,
        rest_max_s=max(settings.proxy_rest_max, settings.proxy_rest),
        verifies=bool(settings.proxy_check_url),
    )


class ProxyKeeper:
    """Keeps ``roster`` as long as :meth:`run` runs."""

    def __init__(self, settings: Settings, candidates: ProxySources, verifier: ProxyVerifier) -> None:
        self.roster = Roster(limits_of(settings))
        self._candidates = candidates
        self._verifier = verifier
        self._verifies = bool(settings.proxy_check_url)
        self._period_s = settings.proxy_check_period
        self._learnt_at = 0.0
        self._any_live = asyncio.Event()
        self._loaded = False
        self._warned = False

    async def run(self) -> None:
        """Keeps the pool; for ever."""
        checks: set[asyncio.Task[None]] = set()
        load_at = look_at = 0.0
        try:
            while True:
                now = monotonic()
                if now >= load_at:
                    await self._load(now)
                    load_at = now + self._period_s
                room = CHECKS_MAX - len(checks)
                if (room >= CHECKS_BEGUN or now >= look_at) and (not self._verifies or await self._knows(now)):
                    look_at = now + LOOK_S
                    for standing in self.roster.to_verify(now, room):
                        checks.add(asyncio.create_task(self._verify(standing)))
                self._tell()
                if checks:
                    done, checks = await asyncio.wait(checks, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                    for check in done:
                        check.result()
                else:
                    if not self.roster.live and len(self.roster):
                        self._warn(f"none of the {len(self.roster)} proxies can be used by now: pages wait or fail")
                    await asyncio.sleep(LOOK_S)
        finally:
            for check in checks:
                check.cancel()
            await asyncio.gather(*checks, return_exceptions=True)

    async def live(self, patience_s: float) -> bool:
        """Waits until a proxy may be used, but not longer than that; tells whether one may."""
        if self.roster.live:
            return True
        try:
            async with asyncio.timeout(patience_s):
                await self._any_live.wait()
        except TimeoutError:
            return False
        return True

    def _warn(self, told: str) -> None:
        """Warns of what keeps the pool from working, once until it works."""
        if not self._warned:
            self._warned = True
            log.warning("%s", told)

    def _tell(self) -> None:
        if self.roster.live:
            self._any_live.set()
            self._warned = False
        else:
            self._any_live.clear()

    async def _load(self, now: float) -> None:
        new = self.roster.offer(chain.from_iterable(await self._candidates.load()), now)
        if not len(self.roster) and not self._loaded:
            log.warning("PROXY_POOL: none of the sources names a proxy")
        elif new:
            log.info("%d new candidates for the pool of proxies", new)
        self._loaded = True

    async def _knows(self, now: float) -> bool:
        """Tells whether it is known what a proxy has to bring; asks for it, if need be."""
        if self._verifier.ready and now - self._learnt_at < self._period_s:
            return True
        if not self._verifier.ready and now - self._learnt_at < LEARN_AGAIN_S and self._learnt_at:
            return False
        await self._learn()
        return self._verifier.ready

    async def _learn(self) -> None:
        self._learnt_at = monotonic()
        try:
            await self._verifier.learn()
        except (FetchError, Blocked) as error:
            self._warn(f"PROXY_CHECK_URL cannot be had without a proxy, so that none can be verified: {error}")

    async def _verify(self, standing: ProxyStanding) -> None:
        try:
            verdict = await self._verdict(standing)
        except Blocked as error:
            self._warn(f"PROXY_CHECK_URL is out of bounds, so that no proxy can be verified: {error}")
            self.roster.postpone(standing, monotonic() + OUT_OF_BOUNDS_S)
            return
        self.roster.verified(standing, verdict.passed, verdict.latency_s, monotonic(), final=verdict.lies)
        self._tell()

    async def _verdict(self, standing: ProxyStanding) -> ProxyVerdict:
        was_live = standing.checked_at is not None and not standing.misses
        verdict = await self._verifier.verify(standing.url)
        if verdict.lies and was_live and monotonic() - self._learnt_at >= LEARN_AGAIN_S:
            await self._learn()
            verdict = await self._verifier.verify(standing.url)
        return verdict
