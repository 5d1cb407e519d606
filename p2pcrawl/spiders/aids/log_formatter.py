"""The lines that a crawl has for what happens, as people override them."""

from __future__ import annotations

import logging
from typing import Any

Said = dict[str, Any]
"""A line: its level, its text with places to be filled, and what fills them."""


class LogFormatter:
    """Returns a line for each kind of event; None where nothing is to be said."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> LogFormatter:
        return cls()

    def crawled(self, request: Any, response: Any, spider: Any) -> Said | None:
        """Says that a page was had."""
        told = {"status": response.status, "request": request, "referer": request.headers.get("Referer", None)}
        told["request_flags"] = f" {request.flags}" if request.flags else ""
        told["response_flags"] = f" {response.flags}" if response.flags else ""
        text = "Crawled (%(status)s) %(request)s%(request_flags)s (referer: %(referer)s)%(response_flags)s"
        return _said(logging.DEBUG, text, told)

    def scraped(self, item: Any, response: Any, spider: Any) -> Said | None:
        """Says that an item came through all pipelines."""
        return _said(logging.DEBUG, "Scraped from %(src)s\n%(item)s", {"src": response, "item": item})

    def dropped(self, item: Any, exception: BaseException, response: Any, spider: Any) -> Said | None:
        """Says that a pipeline dropped an item, at the level that the exception wants."""
        level = level_named(getattr(exception, "log_level", None), logging.WARNING)
        return _said(level, "Dropped: %(exception)s\n%(item)s", {"exception": exception, "item": item})

    def item_error(self, item: Any, exception: BaseException, response: Any, spider: Any) -> Said | None:
        """Says that a pipeline failed at an item."""
        return _said(logging.ERROR, "Error processing %(item)s", {"item": item})

    def spider_error(self, failure: Any, request: Any, response: Any, spider: Any) -> Said | None:
        """Says that a callback raised."""
        told = {"request": request, "referer": request.headers.get("Referer", None)}
        return _said(logging.ERROR, "Spider error processing %(request)s (referer: %(referer)s)", told)

    def download_error(self, failure: Any, request: Any, spider: Any, errmsg: str | None = None) -> Said | None:
        """Says that a page could not be had."""
        told = {"request": request, "errmsg": f": {errmsg}" if errmsg else ""}
        return _said(logging.ERROR, "Error downloading %(request)s%(errmsg)s", told)


def level_named(level: object, otherwise: int) -> int:
    """Returns a level of the log by its name or number; ``otherwise`` for what is none."""
    if isinstance(level, str):
        return logging.getLevelNamesMapping().get(level.upper(), otherwise)
    return level if isinstance(level, int) else otherwise


def _said(level: int, text: str, told: dict[str, Any]) -> Said:
    return {"level": level, "msg": text, "args": told}


def logformatter_adapter(said: Said) -> tuple[Any, ...]:
    """Returns what ``logger.log`` takes of a line that a formatter returned. Without ``args`` places with names are
    filled by what stands beside the text, and a text without such places is left as it is.
    """
    text, args = said.get("msg") or "", said.get("args")
    filled = args if isinstance(args, tuple) else (args,) if args else (said,) if "%(" in text else ()
    return said.get("level", logging.INFO), text, *filled
