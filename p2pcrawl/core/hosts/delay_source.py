"""The source of a host's delay, as people are told it."""

from __future__ import annotations

from p2pcrawl.core.hosts.politeness import DEFAULT_DELAY_S, Host, Pace


def delay_source(host: Host, pace: Pace) -> str:
    """Returns where the delay that is in force for a job comes from: ``trouble`` (429, 503), ``latency`` (adaptive
    throttling), ``setting``, ``default`` or ``robots.txt``; empty where there is none.
    """
    delay_s = host.delay_s(pace)
    if not delay_s:
        return ""
    if host.penalty_s >= delay_s:
        return "trouble"
    if pace.delay_s == delay_s:
        return "setting"
    if pace.delay_s is None and not host.private and delay_s == DEFAULT_DELAY_S:
        return "default"
    throttled_s = pace.throttle_start_s if host.throttle_s is None else host.throttle_s
    return "latency" if pace.autothrottle and throttled_s == delay_s else "robots.txt"
