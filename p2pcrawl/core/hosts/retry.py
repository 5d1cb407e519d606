"""The policy of retries: which failed attempts are tried again, and when.

A table says which failures may pass with time. The delay doubles with each attempt. Losses (the slave
died with the page in its hands) are counted apart from attempts, by the master; see
:mod:`p2pcrawl.core.bench.workbench`.

Some failures say nothing of the host: no name can be looked up, or nothing be reached from here. These are tried again
for minutes, so that a name server or a network that is away for so long costs no page. That there is no such
name is an answer, and final when it was confirmed once.
"""

from __future__ import annotations

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Failure

_PASSING: dict[Failure, float] = {
    # failure: how many times the plain back-off it deserves
    Failure.DNS: 2.0,
    Failure.NO_NAME: 2.0,
    Failure.NETWORK: 2.0,
    Failure.CONNECT: 1.0,
    Failure.CONNECT_TIMEOUT: 1.0,
    Failure.FIRST_BYTE_TIMEOUT: 1.0,
    Failure.TOTAL_TIMEOUT: 1.0,
    Failure.LOST_CONNECTION: 0.5,
    Failure.PROTOCOL: 1.0,
    Failure.PROXY: 1.0,
    Failure.HTTP_429: 2.0,
    Failure.HTTP_5XX: 1.0,
}

OURS = frozenset({Failure.DNS, Failure.NETWORK})
"""Failures of what is between us and all hosts."""
OURS_TIMES = 10
"""Attempts after the first, with half a minute or more between the later ones: 6 minutes with the default back-off."""
OURS_BACKOFF_MAX_S = 60.0
OF_PROXIES = frozenset({Failure.PROXY, Failure.BANNED})
"""Failures of the way through a pool of proxies, which the next attempt does not take: they come in any number, and one
after the other, without a word about the host."""
NOT_THE_HOSTS = OURS | OF_PROXIES
PROXY_BACKOFF_S = 0.25
NO_NAME_TIMES = 1
SILENCES = frozenset(
    {
        *OURS,
        Failure.NO_NAME,
        Failure.CONNECT_TIMEOUT,
        Failure.FIRST_BYTE_TIMEOUT,
        Failure.TOTAL_TIMEOUT,
    }
)
"""Failures that do not even show that anything can be reached; a connection that is refused does."""

SLOW_DOWN_STATUS = frozenset({429, 503})
"""Statuses that say that the host, not just this page, is in trouble."""


def retry_in_s(failure: Failure, attempt: int, settings: Settings, *, status: int = 0) -> float | None:
    """Seconds until the next attempt after the ``attempt``-th one failed; None: no more.

    A status is retried if it is among ``retry_http_codes``, whatever its failure.
    """
    if failure in OF_PROXIES and (settings.proxy_pool or settings.session_pool):
        more = settings.retry_enabled and attempt <= settings.proxy_retry_times
        return min(5.0, PROXY_BACKOFF_S * attempt) if more else None
    times, delay_s_max = settings.retry_times, settings.retry_backoff_max
    if failure in OURS and times:
        times, delay_s_max = max(times, OURS_TIMES), min(delay_s_max, OURS_BACKOFF_MAX_S)
    elif failure is Failure.NO_NAME:
        times = min(times, NO_NAME_TIMES)
    if not settings.retry_enabled or attempt > times:
        return None
    if status and failure in (Failure.HTTP_429, Failure.HTTP_5XX, Failure.HTTP_4XX, Failure.HTTP_OTHER):
        if status not in settings.retry_http_codes:
            return None
        weight = _PASSING.get(failure, 1.0)
    elif failure in _PASSING:
        weight = _PASSING[failure]
    else:
        return None
    return min(delay_s_max, weight * settings.retry_backoff * 2.0 ** min(attempt - 1, 64))
