"""The bounds of settings: which numbers and words can be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import LINE_FORM, LogLines
from p2pcrawl.model.timings import TIMINGS

SECONDS_MAX: Final = 1e9
"""The longest time that anybody can ask for, some thirty years: messages between processes hold no more."""
NUMBER_MAX: Final = 1 << 62
"""What messages and databases can hold."""

_POSITIVE: Final = (
    "concurrent_requests",
    "concurrent_requests_per_domain",
    "autothrottle_target_concurrency",
    "connect_timeout",
    "proxy_pool_max",
    "proxy_check_period",
    "proxy_check_timeout",
    "proxy_rest",
    "signature_ttl",
    "first_byte_timeout",
    "download_timeout",
    "download_maxsize",
    "header_maxsize",
    "frontier_memory",
    "httpcache_size_max",
    "slave_losses_max",
    "slave_silence",
    "logstats_interval",
    "revisit_min",
    "revisit_max",
)
_NOT_NEGATIVE: Final = (
    "download_delay",
    "autothrottle_start_delay",
    "autothrottle_max_delay",
    "retry_after_max",
    "crawl_delay_max",
    "dnscache_ttl",
    "redirect_max_times",
    "metarefresh_maxdelay",
    "httpcache_expiration_secs",
    "proxy_pool_min",
    "proxy_rest_max",
    "session_pool",
    "session_uses_max",
    "proxy_retry_times",
    "retry_times",
    "retry_backoff",
    "retry_backoff_max",
    "host_down_after",
    "answer_cpu_max",
    "depth_limit",
    "urllength_limit",
    "closespider_pagecount",
    "closespider_itemcount",
    "closespider_timeout",
    "closespider_errorcount",
    "closespider_pagecount_no_item",
    "closespider_timeout_no_item",
    "feed_export_indent",
    "slaves",
    "revisit_host_budget",
    "retry_failed_after",
    "retry_failed_times",
    "revisit_rounds",
    "stored_pages_of",
)
_PROXY_SCHEMES: Final = ("http://", "https://", "socks5://", "socks5h://", "socks4://", "socks4a://")


def check_numbers(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Raises ConfigurationError where a number is out of its bounds. ``kinds``: the type of each setting."""
    for name in _POSITIVE:
        if not values[name] > 0:
            raise ConfigurationError(f"setting {name.upper()} must be above 0, not {values[name]}")
    for name in _NOT_NEGATIVE:
        value = values[name]
        if value is not None and value < 0:
            raise ConfigurationError(f"setting {name.upper()} must not be negative: {value}")
    for name, kind in kinds.items():
        most = SECONDS_MAX if kind in (float, float | None) else NUMBER_MAX if kind in (int, int | None) else None
        if most is not None and (values[name] or 0) > most:
            raise ConfigurationError(f"setting {name.upper()} must not be above {most:.0f}")
    if values["slave_losses_max"] < 3:
        # A page is told from those that were leased beside it by its second loss.
        raise ConfigurationError(f"SLAVE_LOSSES_MAX must be at least 3, not {values['slave_losses_max']}")
    if values["slave_silence"] < TIMINGS.silence_min_s:
        raise ConfigurationError(
            f"SLAVE_SILENCE must be at least {TIMINGS.silence_min_s:g} s, not {values['slave_silence']:g}: slaves that "
            f"live give a sign of it every {TIMINGS.beat_s:g} s"
        )


def check_proxies(proxy: str, pool: Sequence[str], check_url: str) -> None:
    """Raises ConfigurationError for a proxy or a check URL of another kind, and for a proxy beside a pool."""
    if pool and proxy:
        raise ConfigurationError("choose between PROXY_POOL and HTTP_PROXY: each is for all requests")
    if check_url and not check_url.startswith(("http://", "https://")):
        raise ConfigurationError("PROXY_CHECK_URL must begin with http:// or https://")
    if proxy and not proxy.startswith(_PROXY_SCHEMES):
        raise ConfigurationError(f"HTTP_PROXY must begin with one of {', '.join(_PROXY_SCHEMES)}")


def check_pattern(name: str, pattern: str) -> None:
    """Raises ConfigurationError for what is no regular expression. ``name``: the setting's."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"{name} is no regular expression: {error}") from error


def check_log_lines(form: str, date_form: str) -> None:
    """Raises ConfigurationError for forms that no line of a log can have."""
    if (form, date_form) == (LINE_FORM, ""):
        return
    try:
        LogLines(form, date_form)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"LOG_FORMAT is a text with places as %(message)s has, not {form!r}: {error}"
        ) from error
