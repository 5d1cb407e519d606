"""The HTTP cache with a policy of people's own, and a middleware of theirs in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl import Request, Spider
from p2pcrawl.downloadermiddlewares.httpcache import HttpCacheMiddleware
from p2pcrawl.extensions.httpcache import DummyPolicy, RFC2616Policy
from p2pcrawl.fetch.cache.spiders_caches import Caches
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.cache_policy import CachePolicy
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, FetchError, NotConfigured
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.middlewares.policy_cache import cache_of
from tests.unit.slave.test_run import answer_of, pages_of
from tests.unit.slave.test_stand_ins import BUILT_IN, handle_of

HERE = __name__
NOBODY = FetchError(Failure.CONNECT, "nobody is there")


class Reading(Spider):
    name = "reading"

    def parse(self, response: Any) -> Any:
        yield {"title": response.title, "cached": "cached" in response.flags}


class WithoutTitle(DummyPolicy):
    def should_cache_response(self, response: Any, request: Request) -> bool:
        return response.title != "Banned" and super().should_cache_response(response, request)


class NotTheFirst(DummyPolicy):
    def should_cache_request(self, request: Request) -> bool:
        return not request.url.endswith("/first")


class Doubting(DummyPolicy):
    keeps = False

    def is_cached_response_fresh(self, cachedresponse: Any, request: Request) -> bool:
        return False

    def is_cached_response_valid(self, cachedresponse: Any, response: Any, request: Request) -> bool:
        return self.keeps


class Keeping(Doubting):
    keeps = True


class ByTheRules(RFC2616Policy):
    """Changes nothing."""


class Mine(HttpCacheMiddleware):
    async def process_request(self, request: Request, spider: Any = None) -> Any:
        got = await super().process_request(request, spider)
        return got if got is None else got.replace(body=got.body.replace(b"Page", b"Mine"))


def titled(title: str) -> Answer:
    return answer_of(body=f"<title>{title}</title>".encode())


async def crawled(folder: Path, answer: Answer | Exception, policy: str = "", **settings: Any) -> list[bytes]:
    cache = {"httpcache_enabled": True, "httpcache_dir": str(folder)}
    named = {"httpcache_policy": f"{HERE}.{policy}"} if policy else {}
    (page,) = await pages_of(Reading, answer, **cache, **named, **settings)
    return page.items


async def test_answer_that_the_policy_does_not_want_is_not_stored(tmp_path: Path) -> None:
    await crawled(tmp_path, titled("Banned"), "WithoutTitle")
    second = await crawled(tmp_path, titled("Page"), "WithoutTitle")
    third = await crawled(tmp_path, NOBODY, "WithoutTitle")

    assert second == [b'{"title":"Page","cached":false}']
    assert third == [b'{"title":"Page","cached":true}']


async def test_request_that_the_policy_keeps_from_the_cache_passes_it_by() -> None:
    policy = NotTheFirst(Settings())

    assert not policy.should_cache_request(Request("http://a.example/first"))
    assert policy.should_cache_request(Request("http://a.example/second"))


@pytest.mark.parametrize(
    ("policy", "then", "last"), [("Doubting", b"New", b"New"), ("Keeping", b"Page", b"Page")], ids=["new", "kept"]
)
async def test_host_is_asked_for_what_the_policy_doubts(tmp_path: Path, policy: str, then: bytes, last: bytes) -> None:
    await crawled(tmp_path, titled("Page"), policy)

    asked = await crawled(tmp_path, titled("New"), policy)
    stored = await crawled(tmp_path, NOBODY)

    assert [then in item for item in asked] == [True]
    assert [last in item for item in stored] == [True]


async def test_policy_of_rules_stands_on_them(tmp_path: Path) -> None:
    headers = {"Content-Type": "text/html", "Cache-Control": "max-age=60"}
    fresh = Answer("http://a.example/", 200, headers, b"<title>Page</title>", 0.1, "93.184.216.34")
    for answer in (fresh, NOBODY):
        assert b"Page" in (await crawled(tmp_path / "fresh", answer, "ByTheRules"))[0]

    await crawled(tmp_path / "other", titled("Page"), "ByTheRules")

    assert await crawled(tmp_path / "other", NOBODY, "ByTheRules") == []


async def test_middleware_stands_in_the_place_of_the_cache(tmp_path: Path) -> None:
    own = {f"{BUILT_IN}.httpcache.HttpCacheMiddleware": None, f"{HERE}.Mine": 900}

    first = await crawled(tmp_path, titled("Page"), downloader_middlewares=own)
    second = await crawled(tmp_path, NOBODY, downloader_middlewares=own)

    assert (first, second) == ([b'{"title":"Page","cached":false}'], [b'{"title":"Mine","cached":true}'])


def test_middleware_takes_no_part_without_a_cache() -> None:
    with pytest.raises(NotConfigured):
        HttpCacheMiddleware.from_crawler(handle_of())


def test_policy_is_named_by_its_path_and_travels() -> None:
    settings = Settings().updated({"HTTPCACHE_POLICY": "shop.policies.Mine"})

    assert Settings().updated(settings.differences()).httpcache_policy == "shop.policies.Mine"
    assert Settings().updated({"HTTPCACHE_POLICY": "RFC9111"}).httpcache_policy is CachePolicy.RFC9111


@pytest.mark.parametrize("name", ["clever", "scrapy.extensions.httpcache.Clever", "shop.policies."])
def test_policy_that_cannot_be_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(ConfigurationError, match="dummy, rfc9111, or names a class of your own"):
        Settings().updated({"HTTPCACHE_POLICY": name})


def test_policy_that_is_not_there_is_said_when_the_crawl_begins() -> None:
    handle = handle_of(httpcache_enabled=True, httpcache_policy=f"{HERE}.Missing")

    with pytest.raises(ConfigurationError, match="no Missing"):
        cache_of(handle.settings, Networks(), handle)


def test_cache_without_a_policy_of_its_own_is_the_plain_one() -> None:
    handle = handle_of(httpcache_enabled=True)

    caches, cache = cache_of(handle.settings, Networks(), handle)

    assert isinstance(caches, Caches) and cache is caches.pages
    assert cache_of(handle_of().settings, Networks(), handle) == (None, None)
