"""The log as it was before Scrapy 1.0: ``log.msg(text, level=log.INFO)``."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger("scrapy")


def msg(message: object = "", level: int = logging.INFO, spider: Any = None, **_: Any) -> None:
    """Logs a line, by the spider's name if one is given."""
    (logging.getLogger(spider.name) if spider is not None else log).log(level, "%s", message)


def err(reason: object = "", why: object = "", spider: Any = None, **_: Any) -> None:
    """Logs an error, by the spider's name if one is given."""
    msg(f"{why}: {reason}" if why else reason, logging.ERROR, spider)
