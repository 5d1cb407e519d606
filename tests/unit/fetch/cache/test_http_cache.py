"""The component that answers from the HTTP cache, over a real file."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from p2pcrawl.core.caching.directives import joined_fields
from p2pcrawl.fetch.cache.cache_store import CacheStore
from p2pcrawl.fetch.cache.http_cache import HttpCache
from p2pcrawl.fetch.components.chain import Chain, Redirected
from p2pcrawl.fetch.components.cookies import Cookies
from p2pcrawl.fetch.components.redirect import Redirect
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError, IgnoreRequest
from p2pcrawl.model.outcome import Failure

URL = "http://a.example/page"
PUBLIC = "93.184.216.34"
ETAG = {"ETag": '"a"'}


class World:
    """A cache, the host behind it, and the time. ``says``: what the host answers next, or raises."""

    def __init__(self, store: CacheStore, networks: Networks | None = None, **settings: Any) -> None:
        self.now = 1_000_000_000.0
        self.counts: Counter[str] = Counter()
        self.store = store
        self.asked: list[dict[str, str]] = []
        self.says: Answer | Exception = answer_of()
        its = Settings().updated({"httpcache_enabled": True, "httpcache_policy": "rfc9111", **settings})
        self.cache = HttpCache(
            its, store, networks or Networks(), "spider", self._count, expiration_s=0.0, clock=lambda: self.now
        )
        self.chain = Chain([self.cache, Cookies(), Redirect(its)], self._fetch)

    def _count(self, name: str) -> None:
        self.counts[name.removeprefix("httpcache/")] += 1

    async def _fetch(self, request: Request) -> Answer:
        self.asked.append(joined_fields(request.headers.lines))
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    async def get(self, url: str = URL, **given: Any) -> Answer:
        return await self.chain.run(Request(url, **given))

    async def keep(self, control: str = "", body: bytes = b"old", **headers: str) -> None:
        """Has the host answer a request with this, which is then stored."""
        stored = self.counts["store"]
        lines = {"Cache-Control": control, **headers} if control else headers
        self.says = answer_of(body, **{"Date": formatdate(self.now, usegmt=True), **lines})
        await self.get()
        assert self.counts["store"] == stored + 1


def answer_of(body: bytes = b"new", status: int = 200, ip: str = PUBLIC, **headers: str) -> Answer:
    lines = CIMultiDict((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(URL, status, CIMultiDictProxy(lines), body, 0.25, ip, tuple(lines.getall("Set-Cookie", ())))


@asynccontextmanager
async def world(folder: Path, networks: Networks | None = None, **settings: Any) -> AsyncIterator[World]:
    store = CacheStore(folder, 1 << 26)
    await store.open()
    try:
        yield World(store, networks, **settings)
    finally:
        await store.close()


# -- answering ---------------------------------------------------------------------------------


async def test_fresh_answer_comes_from_the_cache_and_costs_the_host_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60", X_Page="7")
        it.now += 59

        got = await it.get()

        assert (got.body, got.status, got.headers["x-page"], got.ip) == (b"old", 200, "7", PUBLIC)
        assert (got.flags, got.asked, got.answered, got.latency_s) == (["cached"], False, False, 0.0)
        assert got.headers["Age"] == "59"
        assert len(it.asked) == 1
        assert it.counts == {"miss": 1, "store": 1, "hit": 1}


async def test_answer_is_there_for_the_next_run_of_the_spider(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60")

    async with world(tmp_path) as later:
        assert (await later.get()).body == b"old"
        assert not later.asked


async def test_head_is_answered_with_the_head_of_what_was_got(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60")

        got = await it.get(method="HEAD")

        assert (got.body, got.flags) == (b"", ["cached"])


async def test_answers_differ_by_what_the_host_chose_them_by(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        for language in ("en", "de"):
            it.says = answer_of(language.encode(), Cache_Control="max-age=60", Vary="Accept-Language")
            await it.get(headers={"Accept-Language": language})

        bodies = [(await it.get(headers={"Accept-Language": language})).body for language in ("en", "de")]

        assert bodies == [b"en", b"de"]
        assert len(it.asked) == 2


async def test_cookies_of_a_cached_answer_are_set_as_they_were(tmp_path: Path) -> None:
    async with world(tmp_path, httpcache_policy="dummy") as it:
        await it.keep(Set_Cookie="a=b")

    async with world(tmp_path, httpcache_policy="dummy") as later:
        assert (await later.get()).set_cookies == ("a=b",)
        await later.get("http://a.example/other")
        assert later.asked[0]["cookie"] == "a=b"


async def test_cached_redirect_is_followed_without_asking(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        it.says = answer_of(status=301, Location="/new", Cache_Control="max-age=60")
        with pytest.raises(Redirected) as first:
            await it.get()

        with pytest.raises(Redirected) as second:
            await it.get()

        assert [each.value.asked for each in (first, second)] == [True, False]
        assert second.value.request.url == "http://a.example/new"
        assert len(it.asked) == 1


async def test_what_is_at_an_address_that_is_closed_to_the_crawl_is_not_had_from_the_cache(tmp_path: Path) -> None:
    async with world(tmp_path, Networks(allowed=True)) as it:
        it.says = answer_of(ip="10.0.0.7", Cache_Control="max-age=60")
        await it.get()
        assert (await it.get()).flags == ["cached"]

    async with world(tmp_path) as other:
        assert not (await other.get()).flags


# -- asking whether it is still good -----------------------------------------------------------


async def test_stale_answer_is_confirmed_and_fresh_again(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=10", **ETAG)
        it.now += 11
        it.says = answer_of(b"", 304, Cache_Control="max-age=100")

        got = await it.get()

        assert it.asked[1]["if-none-match"] == '"a"'
        assert (got.body, got.status, got.flags) == (b"old", 200, ["cached"])
        assert (got.asked, got.answered, got.latency_s) == (True, True, 0.25)
        it.now += 99
        assert not (await it.get()).asked
        assert it.counts["revalidate"] == 1


async def test_conditions_do_not_stay_on_the_request(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=0", **ETAG)
        it.says = answer_of(status=302, Location="http://b.example/")

        with pytest.raises(Redirected) as caught:
            await it.get()

        assert "if-none-match" in it.asked[1]
        assert "If-None-Match" not in caught.value.request.headers


async def test_conditions_that_come_back_with_a_request_that_is_made_again_are_the_caches(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=0", **ETAG)
        it.says = answer_of(b"", 304)

        got = await it.get(headers={"If-None-Match": '"a"'})

        assert (got.status, got.body) == (200, b"old")


async def test_changed_answer_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=0", **ETAG)
        it.says = answer_of(b"new", Cache_Control="max-age=60", ETag='"b"')

        assert (await it.get()).body == b"new"
        assert (await it.get()).body == b"new"
        assert len(it.asked) == 2


async def test_answer_that_may_not_be_stored_any_more_is_dropped(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=0", **ETAG)
        it.says = answer_of(b"new", Cache_Control="no-store")
        await it.get()

        it.says = FetchError(Failure.CONNECT, "refused")

        with pytest.raises(FetchError):
            await it.get()


async def test_confirmation_of_something_else_fails_the_try_and_the_next_one_is_plain(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=0", **ETAG)
        it.says = answer_of(b"", 304, ETag='"b"')
        with pytest.raises(FetchError, match="confirms nothing"):
            await it.get()

        it.says = answer_of(b"new")

        assert (await it.get()).body == b"new"
        assert "if-none-match" not in it.asked[2]


@pytest.mark.parametrize("condition", ["If-None-Match", "Range"])
async def test_spiders_own_condition_gets_the_hosts_own_answer(condition: str, tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60", **ETAG)
        it.says = answer_of(b"", 304)

        assert (await it.get(headers={condition: "x"})).status == 304
        assert (await it.get()).body == b"old"


# -- hosts that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [FetchError(Failure.CONNECT, "refused"), answer_of(status=502)])
async def test_old_answer_stands_in_for_a_host_that_fails(fails: Answer | Exception, tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=10")
        it.now += 100
        it.says = fails

        got = await it.get()

        assert (got.body, got.flags, got.asked, got.answered) == (b"old", ["cached"], True, False)
        assert it.counts["errorrecovery"] == 1


@pytest.mark.parametrize("control", ["max-age=10, must-revalidate", "max-age=10, stale-if-error=50"])
async def test_no_old_answer_stands_in_where_its_host_does_not_want_it(control: str, tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep(control)
        it.now += 100
        it.says = FetchError(Failure.CONNECT, "refused")

        with pytest.raises(FetchError):
            await it.get()


async def test_host_that_asks_for_patience_is_heard(tmp_path: Path) -> None:
    async with world(tmp_path, httperror_allow_all=True) as it:
        await it.keep("max-age=10")
        it.now += 100
        it.says = answer_of(status=503, Retry_After="60")

        assert (await it.get()).headers["Retry-After"] == "60"


# -- changes -----------------------------------------------------------------------------------


async def test_post_is_never_answered_from_the_cache_and_voids_its_page(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60")
        it.says = answer_of(b"posted", Cache_Control="max-age=60")

        for _ in range(2):
            assert (await it.get(method="POST", body=b"x")).body == b"posted"

        it.says = answer_of(b"new")
        assert (await it.get()).body == b"new"


# -- settings ----------------------------------------------------------------------------------


async def test_request_that_asks_for_it_passes_the_cache_by(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60")
        it.says = answer_of(b"new", Cache_Control="max-age=60")

        assert (await it.get(meta={"dont_cache": True})).body == b"new"
        assert (await it.get()).body == b"old"


async def test_answers_of_one_spider_are_not_anothers(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=60")
        it.cache = HttpCache(Settings(httpcache_enabled=True), it.store, Networks(), "other", it._count)

        assert it.cache.process_request(Request(URL)) is None


async def test_replay_answers_with_whatever_was_answered_as_it_was(tmp_path: Path) -> None:
    async with world(tmp_path, httpcache_policy="dummy") as it:
        await it.keep("no-store, max-age=0")
        it.now += 1e9

        got = await it.get()

        assert (got.body, got.flags) == (b"old", ["cached"])
        assert "Age" not in got.headers
        assert (await it.get(method="POST", body=b"x")).flags == []
        assert (await it.get(method="POST", body=b"x")).flags == ["cached"]
        assert (await it.get(method="POST", body=b"y")).flags == []


async def test_replay_keeps_no_answer_that_is_tried_again(tmp_path: Path) -> None:
    async with world(tmp_path, httpcache_policy="dummy") as it:
        it.says = answer_of(status=503)
        await it.get()
        it.says = answer_of(b"new")

        assert (await it.get()).body == b"new"


async def test_answer_expires_after_the_seconds_of_the_settings(tmp_path: Path) -> None:
    async with world(tmp_path, httpcache_policy="dummy", httpcache_expiration_secs=100) as it:
        await it.keep()
        it.now += 100
        assert (await it.get()).flags == ["cached"]

        it.now += 1

        assert (await it.get()).flags == []


async def test_statuses_and_schemes_of_the_settings_are_not_stored(tmp_path: Path) -> None:
    settings = {"httpcache_ignore_http_codes": [404], "httpcache_ignore_schemes": ["https"]}
    async with world(tmp_path, httpcache_policy="dummy", **settings) as it:
        it.says = answer_of(status=404)
        await it.get()
        await it.get("https://a.example/")

        assert it.counts == {"miss": 1, "uncacheable": 1}


async def test_page_that_is_missing_is_left_out_where_no_host_is_to_be_asked(tmp_path: Path) -> None:
    async with world(tmp_path, httpcache_ignore_missing=True) as it:
        with pytest.raises(IgnoreRequest, match=f"not in the HTTP cache: {URL}"):
            await it.get()

        assert not it.asked
        assert it.counts == {"miss": 1, "ignore": 1}


async def test_request_that_wants_no_host_asked_is_left_out_when_that_would_be_needed(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.keep("max-age=10", **ETAG)
        headers = {"Cache-Control": "only-if-cached"}
        assert (await it.get(headers=headers)).body == b"old"

        it.now += 11

        with pytest.raises(IgnoreRequest):
            await it.get(headers=headers)
        assert len(it.asked) == 1


async def test_requests_that_are_one_for_the_crawl_have_one_answer(tmp_path: Path) -> None:
    async with world(tmp_path, httpcache_policy="dummy") as it:
        await it.keep()
        by_path = HttpCache(
            Settings(httpcache_enabled=True),
            it.store,
            Networks(),
            "other",
            it._count,
            lambda each: each.url[:12].encode(),
        )
        chain = Chain([by_path], it._fetch)

        flags = [(await chain.run(Request(f"{URL}?{n}"))).flags for n in range(2)]

        assert flags == [[], ["cached"]]


async def test_host_is_not_asked_offline_for_an_answer_whose_body_is_gone(tmp_path: Path) -> None:
    class Bodiless(CacheStore):
        async def body(self, found: Any, now: float) -> bytes | None:
            return None

    async with world(tmp_path, httpcache_policy="dummy") as it:
        await it.keep()
    store = Bodiless(tmp_path, 1 << 20)
    await store.open()
    try:
        it = World(store, httpcache_policy="dummy", httpcache_ignore_missing=True)
        with pytest.raises(IgnoreRequest):
            await it.get()
    finally:
        await store.close()

    assert not it.asked and it.counts == {"miss": 1, "ignore": 1}
