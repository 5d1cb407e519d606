"""Hosts that answer: from when on each may be asked again, as far as the web has a say."""

from __future__ import annotations

from typing import Final

from ..world.web import Robots, Web

TROUBLED_S: Final = 120.0
"""So long after a host did not answer in order somebody may still spare it."""
ORDERLY: Final = frozenset({Robots.PLAIN, Robots.MISSING, Robots.NONE_AT_ALL, Robots.LONG})


def answering(web: Web, delay_s: float, now_s: float) -> dict[str, float]:
    """Returns the hosts that have answered in order for long, and from when on each may be asked, if a job leaves it
    alone for ``delay_s``.
    """
    answered: dict[str, float] = {}
    troubled: set[str] = set()
    for visit in web.visits:
        if visit.failure or visit.status >= 429:
            if visit.ended_s > now_s - TROUBLED_S:
                troubled.add(visit.host)
        else:
            answered[visit.host] = max(answered.get(visit.host, 0.0), visit.ended_s)
    hosts = [web.hosts[name] for name in answered if name in web.hosts and name not in troubled]
    return {
        host.name: answered[host.name] + max(host.delay_s, delay_s)
        for host in hosts
        if not host.dead and host.robots in ORDERLY and host.away_s == (0.0, 0.0)
    }
