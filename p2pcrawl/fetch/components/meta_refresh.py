"""Pages that send their reader on by ``<meta http-equiv="refresh">``, as redirects."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from w3lib.html import get_base_url, get_meta_refresh

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.redirect import Redirect, resolve
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import canonical

LOOK_SIZE: Final = 4_096
"""Bytes of a page in which the tag is looked for; Scrapy looks at as many characters."""
_SIGN: Final = re.compile(rb"http-equiv\s{0,9}=\s{0,9}[\"']?refresh", re.IGNORECASE)


class MetaRefresh(Redirect):
    """Raises Redirected for a page that wants to be left for another one soon; one that wants to be loaded again is
    shown.
    """

    order = 580
    reason = "meta refresh"

    def __init__(self, settings: Settings, handled: Collection[int] | None = None) -> None:
        super().__init__(settings, handled)
        self._delay_s_max = settings.metarefresh_maxdelay
        self._ignored = settings.metarefresh_ignore_tags

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        # Lower case first: a search that knows both cases takes ten times as long.
        if b"refresh" not in answer.body[:LOOK_SIZE].lower() or not _SIGN.search(answer.body, 0, LOOK_SIZE):
            return answer
        if (
            request.method == "HEAD"
            or request.meta.get("dont_redirect")
            or "html" not in answer.headers.get("Content-Type", "html")
        ):
            return answer
        text = answer.body[:LOOK_SIZE].decode("utf-8", "replace")
        delay_s, location = get_meta_refresh(text, get_base_url(text, answer.url), "utf-8", self._ignored)
        url = resolve(request.url, location) if location else None
        if url is None or delay_s is None or delay_s >= self._delay_s_max or canonical(url) == canonical(request.url):
            return answer
        following = self._next(request, answer, url, method="GET" if request.method == "POST" else None)
        raise Redirected(following, answer.status, answer.ip)
