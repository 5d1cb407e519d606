"""The lines of the log that a project words itself, by LOG_FORMATTER."""

from __future__ import annotations

import logging
from typing import Any

from p2pcrawl.spiders.aids.log_formatter import LogFormatter, logformatter_adapter
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component

log = logging.getLogger(__name__)

_SCRAPYS = "scrapy.logformatter.LogFormatter"


def formatter_of(handle: CrawlHandle) -> Any:
    """Makes the formatter that the settings name; without one, that which is subclassed. Raises ConfigurationError."""
    named = str(handle.settings.get("LOG_FORMATTER") or _SCRAPYS)
    return LogFormatter.from_crawler(handle) if named == _SCRAPYS else make_component(named, handle)


def told_by_own(handle: CrawlHandle, event: str, *facts: Any) -> bool:
    """Lets the project's formatter tell of an event, ``dropped`` say. Returns False where there is none, or it
    failed: the line is ours then.
    """
    formatter = handle.logformatter
    if formatter is None or type(formatter) is LogFormatter:
        return False
    try:
        said = getattr(formatter, event)(*facts, handle.spider)
        if said:
            log.log(*logformatter_adapter(said))
    except Exception:
        log.exception("LOG_FORMATTER failed at %s", event)
        return False
    return True
