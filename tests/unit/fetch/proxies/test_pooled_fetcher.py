"""Fetching through a pool, in a web that is made up: each proxy does what its name says."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from p2pcrawl.fetch.components.robots import fetch_robots
from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.fetch.proxies import keeper as keeper_module
from p2pcrawl.fetch.proxies.pooled_fetcher import PooledFetcher, proxy_pool
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, FetchError
from p2pcrawl.model.outcome import Failure

CHECK = "http://check.example/"


class Web:
    """Answers as the proxies do that it is asked through; ``asked`` counts by proxy and host."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.banned: set[str] = set()
        self.truth = b"the truth"

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        proxy = str(request.meta.get("proxy") or "").partition("//")[2].partition(":")[0]
        host = request.url.split("/")[2]
        self.asked[proxy, host] += 1
        await asyncio.sleep(0)
        if proxy.startswith("dead"):
            raise FetchError(Failure.PROXY, "refused")
        if proxy.startswith("mute") and request.url != CHECK:
            raise FetchError(Failure.FIRST_BYTE_TIMEOUT, "no answer in time")
        if proxy.startswith("lying"):
            return Answer(request.url, 200, {}, b"buy this", 0.01)
        if proxy in self.banned and request.url != CHECK:
            return Answer(request.url, 429, {"Retry-After": "7"}, b"", 0.01)
        return Answer(request.url, 200, {}, self.truth if request.url == CHECK else b"page", 0.01)

    def through(self, host: str = "a.example") -> set[str]:
        """Returns the proxies by which a host was asked."""
        return {proxy for proxy, asked in self.asked if asked == host}


@asynccontextmanager
async def pool(web: Web, *names: str, **settings: Any) -> AsyncIterator[PooledFetcher]:
    proxies = [f"http://{name}:8080" for name in names]
    its = Settings().updated({"proxy_pool": proxies, "proxy_check_url": CHECK, "proxy_check_timeout": 0.2, **settings})
    async with proxy_pool(its, web, Networks()) as pooled:
        yield pooled


def page(url: str = "http://a.example/", **meta: Any) -> Request:
    return Request(url, meta=meta)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - the pool has no event for what a test waits for
            await asyncio.sleep(0.01)


async def test_only_proxies_that_bring_the_truth_are_used() -> None:
    web = Web()

    async with pool(web, "good-1", "dead-1", "lying-1", "good-2") as pooled:
        for _ in range(50):
            await pooled.fetch(page())

    assert web.through() <= {"good-1", "good-2"}
    assert web.asked["lying-1", "check.example"] == 1


async def test_no_request_goes_past_the_pool_when_nothing_in_it_works() -> None:
    web = Web()

    async with pool(web, "dead-1", "lying-1", connect_timeout=0.1) as pooled:
        with pytest.raises(FetchError) as failed:
            await pooled.fetch(page())

    assert failed.value.kind is Failure.PROXY
    assert web.through() == set()


async def test_check_page_that_cannot_be_had_lets_nobody_through() -> None:
    class Away(Web):
        async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
            if request.url == CHECK and not request.meta["proxy"]:
                raise FetchError(Failure.CONNECT, "refused")
            return await super().fetch(request, cut=cut)

    web = Away()

    async with pool(web, "good-1", connect_timeout=0.1) as pooled:
        with pytest.raises(FetchError):
            await pooled.fetch(page())

    assert web.through() == set()


async def test_page_by_a_pattern_needs_no_answer_without_a_proxy() -> None:
    web = Web()

    async with pool(web, "good-1", "lying-1", proxy_check_pattern="tr[u]th") as pooled:
        await pooled.fetch(page())

    assert web.through("check.example") == {"good-1", "lying-1"}
    assert web.through() == {"good-1"}


async def test_without_a_check_page_all_are_taken_for_good_until_they_fail() -> None:
    web = Web()

    async with pool(web, "dead-1", "dead-2", "good-1", proxy_check_url="") as pooled:
        answers = [await pooled.fetch(page()) for _ in range(10)]

    assert {answer.body for answer in answers} == {b"page"}
    assert web.asked["dead-1", "a.example"] <= 1


async def test_ban_ends_the_attempt_and_the_next_one_goes_through_another_proxy() -> None:
    web = Web()
    web.banned = {"good-1"}
    kinds = []

    async with pool(web, "good-1", "good-2") as pooled:
        await until(lambda: len(web.through("check.example")) == 3)
        for _ in range(20):
            try:
                await pooled.fetch(page())
            except FetchError as error:
                kinds.append(error.kind)

    assert kinds in ([], [Failure.BANNED])
    assert web.asked["good-1", "a.example"] <= 1
    assert web.asked["good-2", "a.example"] >= 19


async def test_all_rest_when_all_are_banned_and_other_hosts_go_on() -> None:
    web = Web()
    web.banned = {"good-1"}

    async with pool(web, "good-1") as pooled:
        with pytest.raises(FetchError, match=r"keeps the proxy .* out"):
            await pooled.fetch(page())
        with pytest.raises(FetchError, match=r"all 1 proxies rest for a\.example"):
            await pooled.fetch(page())

    assert web.asked["good-1", "a.example"] == 1


async def test_page_that_is_the_same_through_so_many_is_passed_on_at_last() -> None:
    web = Web()
    web.banned = {"good-1"}

    async with pool(web, "good-1", proxy_retry_times=3) as pooled:
        answer = await pooled.fetch(page(retry_times=3))

    assert answer.status == 429


@pytest.mark.parametrize("sign", [{"proxy_ban_pattern": "pag."}, {"proxy_ban_class": f"{__name__}.OnPages"}])
async def test_bans_are_told_by_pattern_and_class(sign: dict[str, str]) -> None:
    async with pool(Web(), "good-1", proxy_ban_codes="", **sign) as pooled:
        with pytest.raises(FetchError) as failed:
            await pooled.fetch(page())

    assert failed.value.kind is Failure.BANNED


class OnPages:
    def is_banned(self, request: Request, answer: Answer) -> bool:
        return answer.body == b"page"


class Sources:
    async def proxies(self) -> list[str]:
        return ["good-9:8080"]


async def test_answer_that_never_comes_is_no_fault_of_the_host() -> None:
    web = Web()

    async with pool(web, "mute-1") as pooled:
        with pytest.raises(FetchError) as failed:
            await pooled.fetch(page())

    assert failed.value.kind is Failure.PROXY
    assert "through http://mute-1:8080" in str(failed.value)


async def test_session_keeps_its_proxy_and_others_spread() -> None:
    web = Web()
    names = [f"good-{n}" for n in range(20)]

    async with pool(web, *names) as pooled:
        await until(lambda: len(web.through("check.example")) == 21)
        for _ in range(20):
            await pooled.fetch(page("http://one.example/", cookiejar=1))
            await pooled.fetch(page("http://two.example/", session="b"))
            await pooled.fetch(page("http://any.example/"))

    assert len(web.through("one.example")) == 1
    assert len(web.through("two.example")) == 1
    assert len(web.through("any.example")) > 5


async def test_host_keeps_its_proxy_where_that_is_wanted() -> None:
    web = Web()

    async with pool(web, *[f"good-{n}" for n in range(20)], proxy_sticky="host") as pooled:
        for _ in range(20):
            await pooled.fetch(page())

    assert len(web.through()) == 1


@pytest.mark.parametrize(("given", "used"), [("http://own:1", "own"), ("", ""), (None, "")])
async def test_request_that_names_its_proxy_has_it(given: str | None, used: str) -> None:
    web = Web()

    async with pool(web, "good-1") as pooled:
        await pooled.fetch(page(proxy=given))

    assert web.through() == {used}


async def test_request_is_left_as_it_was() -> None:
    request = page()

    async with pool(Web(), "good-1") as pooled:
        await pooled.fetch(request)

    assert request.meta == {}


async def test_liar_that_was_honest_is_found_when_its_period_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "LOOK_S", 0.01)
    monkeypatch.setattr(keeper_module, "LEARN_AGAIN_S", 0.0)

    class Turning(Web):
        turned = False

        async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
            if self.turned and "turning" in str(request.meta.get("proxy")):
                return Answer(request.url, 200, {}, b"buy this", 0.01)
            return await super().fetch(request, cut=cut)

    web = Turning()
    async with pool(web, "turning-1", "good-1", proxy_check_period=0.05) as pooled:
        await until(lambda: len(web.through("check.example")) == 3)
        web.turned = True
        checks = web.asked["good-1", "check.example"]
        await until(lambda: web.asked["good-1", "check.example"] >= checks + 3)
        web.asked.clear()
        bodies = {(await pooled.fetch(page())).body for _ in range(20)}

    assert bodies == {b"page"}


async def test_check_page_that_changes_makes_nobody_a_liar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "LOOK_S", 0.01)
    monkeypatch.setattr(keeper_module, "LEARN_AGAIN_S", 0.0)
    web = Web()

    async with pool(web, "good-1", "good-2", proxy_check_period=0.05) as pooled:
        await until(lambda: len(web.through("check.example")) == 3)
        web.truth = b"the truth of today"
        checks = web.asked["good-1", "check.example"]
        await until(lambda: web.asked["good-1", "check.example"] >= checks + 3)
        answer = await pooled.fetch(page())

    assert answer.body == b"page"


async def test_candidates_come_from_files_commands_and_classes(tmp_path: Any) -> None:
    file = tmp_path / "proxies.txt"
    file.write_text("# ours\ngood-1:8080\n\nnonsense\nhttp://user:secret@good-2:8080\n")
    web = Web()
    sources = [f"file:{file}", "command:echo good-3:8080", f"class:{__name__}.Sources", "file:/no/such/file"]

    async with pool(web, proxy_pool=sources) as pooled:
        await pooled.fetch(page())
        await until(lambda: len(web.through("check.example")) == 5)

    assert web.through("check.example") == {"", "good-1", "user", "good-3", "good-9"}


@pytest.mark.parametrize("source", ["ftp://x:1", "class:no.such.Class", "proxies.txt", "http://p:1/path"])
async def test_source_that_is_none_is_told(source: str) -> None:
    with pytest.raises(ConfigurationError, match="PROXY_POOL"):
        async with pool(Web(), proxy_pool=[source]):
            pass


async def test_list_of_strangers_cannot_name_private_addresses_or_names() -> None:
    class Listing(Web):
        async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
            if request.url == "https://lists.example/all":
                assert not request.meta["proxy"]
                lines = ["127.0.0.1:22", "10.0.0.1:80", "169.254.169.254:80", "[::1]:80", "inner.example:80"]
                lines += ["localhost:80", "93.184.216.34:3128", "http://2130706433:80"]
                lines += [f"93.184.216.35:{port}" for port in range(1, 1_000)]
                return Answer(request.url, 200, {}, "\n".join(lines).encode(), 0.01)
            return await super().fetch(request, cut=cut)

    web = Listing()

    async with pool(web, proxy_pool=["url:https://lists.example/all"]) as pooled:
        await pooled.fetch(page())
        await until(lambda: sum(host == "check.example" for _, host in web.asked.elements()) >= 12)

    assert web.through("check.example") == {"", "93.184.216.34", "93.184.216.35"}
    assert web.asked["93.184.216.35", "check.example"] == 10


async def test_check_page_out_of_bounds_is_told_once_and_lets_nobody_through(caplog: pytest.LogCaptureFixture) -> None:
    class Bounded(Web):
        async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
            raise Blocked("it is private")

    async with pool(Bounded(), "good-1", "good-2", proxy_check_pattern="x", connect_timeout=0.1) as pooled:
        with pytest.raises(FetchError, match="none of 2 proxies can be used"):
            await pooled.fetch(page())

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "PROXY_CHECK_URL is out of bounds, so that no proxy can be verified: it is private"
    ]


async def test_robots_txt_comes_through_the_pool_and_a_ban_is_no_rule_of_the_host() -> None:
    web = Web()
    web.banned = {"good-1"}

    async with pool(web, "good-1") as pooled:
        text = await fetch_robots(pooled, "http://a.example", Settings(), lambda host: asyncio.sleep(0))

    assert web.through() == {"good-1"}
    assert (text.verdict, text.reason.partition(":")[0]) == ("disallow", "banned")
