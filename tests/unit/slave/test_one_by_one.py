"""The base of spider middlewares asks of each request and item what is to become of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from p2pcrawl import Request, Settings, Spider
from p2pcrawl.spidermiddlewares.base import BaseSpiderMiddleware
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from tests.unit.spiders.pages import page

HANDLE = CrawlHandle(Settings(), Spider)


class NoSecrets(BaseSpiderMiddleware):
    """Leaves out requests to secrets, and marks items with the page that they are of."""

    def get_processed_request(self, request: Request, response: Any) -> Request | None:
        return None if "secret" in request.url else request

    def get_processed_item(self, item: Any, response: Any) -> Any:
        return {**item, "of": response.url if response is not None else "the start"}


YIELDED = [Request("http://a.example/secret"), Request("http://a.example/b"), {"n": 1}]


async def each(things: list[Any]) -> AsyncIterator[Any]:
    for thing in things:
        yield thing


async def listed(things: AsyncIterator[Any]) -> list[Any]:
    return [thing async for thing in things]


def test_what_is_not_overridden_passes_on_all() -> None:
    middleware = BaseSpiderMiddleware.from_crawler(HANDLE)

    assert list(middleware.process_spider_output(page(""), YIELDED)) == YIELDED
    assert middleware.crawler is HANDLE


def test_requests_and_items_of_callbacks_are_asked_about_one_by_one() -> None:
    middleware, answer = NoSecrets.from_crawler(HANDLE), page("")
    left = [YIELDED[1], {"n": 1, "of": answer.url}]

    assert list(middleware.process_spider_output(answer, YIELDED)) == left
    assert asyncio.run(listed(middleware.process_spider_output_async(answer, each(YIELDED)))) == left


def test_start_is_asked_about_too() -> None:
    middleware = NoSecrets.from_crawler(HANDLE)
    left = [YIELDED[1], {"n": 1, "of": "the start"}]

    assert list(middleware.process_start_requests(YIELDED, Spider(name="a"))) == left
    assert asyncio.run(listed(middleware.process_start(each(YIELDED)))) == left
