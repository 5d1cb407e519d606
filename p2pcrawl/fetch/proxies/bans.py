"""The signs by which a host says that it keeps a proxy out."""

from __future__ import annotations

import importlib
import re
from typing import Any, Final

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError

BODY_MAX: Final = 64 * 1024
"""Bytes of a page in which the pattern is looked for."""


class BanSigns:
    """By status, by a pattern in the page, or as a class of the user's says. Raises ConfigurationError for one that
    cannot be made.
    """

    def __init__(self, settings: Settings) -> None:
        self._codes = frozenset(settings.proxy_ban_codes)
        self._pattern = re.compile(settings.proxy_ban_pattern.encode()) if settings.proxy_ban_pattern else None
        self._judge = _judge_of(settings.proxy_ban_class) if settings.proxy_ban_class else None

    def seen(self, request: Request, answer: Answer) -> str:
        """Returns what says so, in words; "" for an ordinary answer."""
        if answer.status in self._codes:
            return f"status {answer.status}"
        if self._pattern is not None and self._pattern.search(answer.body[:BODY_MAX]):
            return "its page says so"
        if self._judge is not None and self._judge.is_banned(request, answer):
            return "by the judgement of PROXY_BAN_CLASS"
        return ""


def _judge_of(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)()
    except Exception as error:
        raise ConfigurationError(f"PROXY_BAN_CLASS {path} cannot be made: {type(error).__name__}: {error}") from error
