"""Hosts that answer: from when on each may be asked again, as far as the web has a say."""

from __future__ import annotations

from typing import Final

from ..world.web import Robots, Web

REFUSALS: Final = (429, 503)
TROUBLED_S: Final = 120.0
"""So long after a host did not answer in order somebody may still spare it."""
PENALTY_MAX_S: Final = 60.0
"""A host that has refused somebody, and has not said for how long, is asked so seldom at most; masters tell each other
that, and who was told it has to have an answer of its own before it asks more often."""
ORDERLY: Final = frozenset({Robots.PLAIN, Robots.MISSING, Robots.NONE_AT_ALL, Robots.LONG})


def answering(web: Web, delay_s: float, now_s: float) -> dict[str, float]:
    """Returns the hosts that have answered in order for long, and from when on each may be asked, if a job leaves it
    alone for ``delay_s``.
    """
    answered: dict[str, float] = {}
    troubled: set[str] = set()
    refused: set[str] = set()
    for visit in web.visits:
        if visit.failure or visit.status >= 429:
            if visit.ended_s > now_s - TROUBLED_S:
                troubled.add(visit.host)
            if visit.status in REFUSALS and not visit.retry_after_s:
                refused.add(visit.host)
        else:
            answered[visit.host] = max(answered.get(visit.host, 0.0), visit.ended_s)
    hosts = [web.hosts[name] for name in answered if name in web.hosts and name not in troubled]
    return {
        host.name: answered[host.name] + max(host.delay_s, delay_s, PENALTY_MAX_S if host.name in refused else 0.0)
        for host in hosts
        if not host.dead and host.robots in ORDERLY and host.away_s == (0.0, 0.0)
    }
