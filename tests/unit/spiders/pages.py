"""Responses for tests, from a few words."""

from __future__ import annotations

from collections.abc import Mapping

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.page.answer_kinds import response_of
from p2pcrawl.spiders.page.response import Response

URL = "https://example.com/shop/list.html"


def page(
    body: bytes | str,
    url: str = URL,
    content_type: str = "text/html; charset=utf-8",
    headers: Mapping[str, str] | None = None,
    request: Request | None = None,
    depth: int = 0,
) -> Response:
    data = body.encode() if isinstance(body, str) else body
    answer = Answer(url, 200, {"Content-Type": content_type, **(headers or {})}, data)
    return response_of(answer, request or Request(url), depth)
