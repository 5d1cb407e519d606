"""What spiders can ask for, each in a whole crawl of a small site. The slave runs in this process."""

# ruff: noqa: RUF012 - spiders as people write them

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from p2pcrawl import CloseSpider, Crawler, DropItem, Request, Response, Spider
from tests.sites.server import Asked, Server, TimedReply, site_answer


class SmallSite:
    """Pages by target: a body, or what makes a reply of a request. ``asked`` are the requests in their order."""

    def __init__(self) -> None:
        self.pages: dict[str, str | Callable[[Asked], TimedReply]] = {}
        self.asked: list[Asked] = []
        self._server = Server(self._answer, ["127.0.0.1"])

    async def start(self) -> None:
        self.url = f"http://127.0.0.1:{await self._server.start()}"

    async def stop(self) -> None:
        await self._server.stop()

    @property
    def targets(self) -> list[str]:
        """The targets that were asked for, but for robots.txt."""
        return [asked.target for asked in self.asked if asked.path != "/robots.txt"]

    def _answer(self, asked: Asked) -> TimedReply:
        self.asked.append(asked)
        page = self.pages.get(asked.target)
        if page is None:
            return TimedReply(site_answer("not here", 404))
        return page(asked) if callable(page) else TimedReply(site_answer(page))


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    small = SmallSite()
    await small.start()
    yield small
    await small.stop()


def links(*targets: str) -> str:
    return "<title>links</title>" + "".join(f'<a href="{target}">{target}</a>' for target in targets)


def redirect(place: str, status: int = 302, **headers: str) -> Callable[[Asked], TimedReply]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: TimedReply(site_answer("", status, headers={"Location": place, **given}))


async def crawl(
    spider: type[Spider], site: SmallSite, start: str = "/", **settings: Any
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The items and the certificate."""
    arguments = {"start_urls": site.url + start}
    settings = {"slaves": 0, "retry_backoff": 0.01, **settings}
    async with Crawler(spider, settings=settings, arguments=arguments) as crawler:
        items = [item async for item in crawler.items()]
    return items, crawler.certificate()


class Follow(Spider):
    """All links, one item per page."""

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        yield {"path": path(response), **more}
        yield response.follow_all()


class EndlessStart(Follow):
    async def start(self) -> AsyncIterator[Request]:
        [base] = self.start_urls
        for number in count():
            yield Request(f"{base}{number}")
            if number == 99:
                await asyncio.sleep(3600)


def path(response: Response) -> str:
    return "/" + response.url.split("/", 3)[3]


# -- what a request carries -----------------------------------------------------------------------


async def test_callback_gets_cb_kwargs_and_meta(site: SmallSite) -> None:
    class Carrying(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            yield response.follow(
                "/a", self.parse_a, cb_kwargs={"number": 7, "names": ["x", "y"]}, meta={"deep": {"er": 1}}
            )

        def parse_a(self, response: Response, number: int, names: list[str]) -> Iterator[Any]:
            yield {"number": number, "names": names, "meta": response.meta["deep"]}

    site.pages = {"/": "start", "/a": "a"}

    items, _ = await crawl(Carrying, site)

    assert items == [{"number": 7, "names": ["x", "y"], "meta": {"er": 1}}]


async def test_request_is_sent_as_it_was_made(site: SmallSite) -> None:
    class Posting(Spider):
        async def start(self) -> AsyncIterator[Any]:
            yield Request(
                self.start_urls[0], method="POST", body="name=value", headers={"X-Mine": "1"}, cookies={"choc": "chip"}
            )

        def parse(self, response: Response) -> Iterator[Any]:
            yield {"got": response.text}

    def echo(asked: Asked) -> TimedReply:
        return TimedReply(
            site_answer(f"{asked.method} {asked.body.decode()} {asked.header('X-Mine')} {asked.header('Cookie')}")
        )

    site.pages = {"/": echo}

    items, _ = await crawl(Posting, site)

    assert items == [{"got": "POST name=value 1 choc=chip"}]


async def test_equal_requests_are_made_once_unless_they_insist(site: SmallSite) -> None:
    class Repeating(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            for _ in range(3):
                yield response.follow("/once", self.leaf)
                yield response.follow("/thrice", self.leaf, dont_filter=True)

        def leaf(self, response: Response) -> Iterator[Any]:
            yield {"path": path(response)}

    site.pages = {"/": "start", "/once": "1", "/thrice": "3"}

    items, _ = await crawl(Repeating, site)

    assert Counter(item["path"] for item in items) == {"/once": 1, "/thrice": 3}


async def test_errback_learns_why_and_may_yield(site: SmallSite) -> None:
    class Failing(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            yield response.follow("/gone", self.parse, errback=self.failed)
            yield response.follow("/broken", self.parse, errback=self.failed, cb_kwargs={"unused": 1})

        def failed(self, failure: Any) -> Iterator[Any]:
            yield {"url": failure.request.url, "status": failure.response.status, "kind": str(failure.value.kind)}
            yield Request(failure.request.url + "/instead", self.instead)

        def instead(self, response: Response) -> Iterator[Any]:
            yield {"instead": path(response)}

    site.pages = {"/": "start", "/broken": lambda asked: TimedReply(site_answer("", 500)), "/gone/instead": "here"}

    items, certificate = await crawl(Failing, site)

    assert {"url": f"{site.url}/gone", "status": 404, "kind": "http-4xx"} in items
    assert {"url": f"{site.url}/broken", "status": 500, "kind": "http-5xx"} in items
    assert {"instead": "/gone/instead"} in items
    assert site.targets.count("/broken") == 3, "the first attempt and two retries"
    assert certificate["failed_by_reason"] == {"http-4xx": 2, "http-5xx": 1}


# -- items ----------------------------------------------------------------------------------------

told: list[str] = []


class Pipeline:
    """Drops some, changes others, tells of its life."""

    def open_spider(self, spider: Spider) -> None:
        told.append(f"open {spider.name}")

    async def process_item(self, item: dict[str, Any], spider: Spider) -> dict[str, Any]:
        if item["path"] == "/b":
            raise DropItem("not b")
        return {**item, "seen": True}

    def close_spider(self, spider: Spider) -> None:
        told.append("close")


async def test_pipelines_change_and_drop_items(site: SmallSite) -> None:
    class Piped(Follow):
        custom_settings = {"ITEM_PIPELINES": {Pipeline: 100}}

    told.clear()
    site.pages = {"/": links("/a", "/b"), "/a": "a", "/b": "b"}

    items, certificate = await crawl(Piped, site)

    assert sorted(item["path"] for item in items) == ["/", "/a"]
    assert all(item["seen"] for item in items)
    assert certificate["items_dropped"] == 1
    assert told == ["open piped", "close"]


async def test_items_may_be_dataclasses(site: SmallSite) -> None:
    @dataclass
    class Page:
        title: str
        length: int

    class Typed(Spider):
        def parse(self, response: Response) -> Page:
            return Page(response.title, len(response.body))

    site.pages = {"/": "<title>typed</title>"}

    items, _ = await crawl(Typed, site)

    assert items == [{"title": "typed", "length": 20}]


# -- order ----------------------------------------------------------------------------------------

ONE_BY_ONE = {"concurrent_requests": 1, "concurrent_requests_per_domain": 1}
TREE = {"/": links("/a", "/b"), "/a": links("/a/a", "/a/b"), "/b": links("/b/a"), "/a/a": "", "/a/b": "", "/b/a": ""}


@pytest.mark.parametrize("order", ["fifo", "priority"])
async def test_breadth_first_orders(site: SmallSite, order: str) -> None:
    site.pages = dict(TREE)

    await crawl(Follow, site, queue_order=order, **ONE_BY_ONE)

    assert site.targets == ["/", "/a", "/b", "/a/a", "/a/b", "/b/a"]


async def test_lifo_serves_first_what_was_found_last(site: SmallSite) -> None:
    site.pages = dict(TREE)

    await crawl(Follow, site, queue_order="lifo", **ONE_BY_ONE)

    strictly = ["/", "/b", "/b/a", "/a", "/a/b", "/a/a"]
    # A page's links are queued once its report is durable; the next page may have been granted with that report.
    one_behind = ["/", "/b", "/a", "/b/a", "/a/b", "/a/a"]
    assert site.targets in (strictly, one_behind)


async def test_higher_priority_is_served_first(site: SmallSite) -> None:
    class Ranked(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            if path(response) == "/":
                for rank in (1, 5, -3, 0):
                    yield response.follow(f"/{rank}", priority=rank)

    site.pages = {"/": "", "/1": "", "/5": "", "/-3": "", "/0": ""}

    await crawl(Ranked, site, **ONE_BY_ONE)

    assert site.targets == ["/", "/5", "/1", "/0", "/-3"]


async def test_index_and_detail_pages_take_turns(site: SmallSite) -> None:
    class Kinds(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            if path(response) == "/":
                yield response.follow_all([f"/index{n}" for n in range(3)], kind="index")
                yield response.follow_all([f"/detail{n}" for n in range(3)], kind="detail")

    site.pages = {"/": "", **{f"/{kind}{n}": "" for kind in ("index", "detail") for n in range(3)}}

    await crawl(Kinds, site, **ONE_BY_ONE)

    kinds = [target[1] for target in site.targets[1:]]
    assert sorted(kinds) == ["d", "d", "d", "i", "i", "i"]
    assert all(a != b for a, b in pairwise(kinds)), kinds


# -- limits ---------------------------------------------------------------------------------------


async def test_depth_limit(site: SmallSite) -> None:
    site.pages = {f"/{'d' * n}": links(f"/{'d' * (n + 1)}") for n in range(6)}

    items, certificate = await crawl(Follow, site, depth_limit=3)

    assert [item["path"] for item in items] == ["/", "/d", "/dd", "/ddd"]
    assert certificate["filtered_links"]["depth"] == 1


@pytest.mark.parametrize(("limit", "count"), [("closespider_pagecount", "pages"), ("closespider_itemcount", "items")])
async def test_crawl_closes_at_a_limit(site: SmallSite, limit: str, count: str) -> None:
    site.pages = {f"/{n}": links(f"/{n + 1}") for n in range(100)}

    _, certificate = await crawl(Follow, site, "/0", **{limit: 10})

    assert certificate["reason"] == limit
    assert certificate["state"] == "finished"
    assert 10 <= certificate[count] <= 20
    assert certificate["conserved"]


async def test_start_that_would_go_on_for_ever_does_not_keep_a_crawl_from_closing(site: SmallSite) -> None:
    site.pages = {f"/{n}": "here" for n in range(100)}

    async with asyncio.timeout(60):
        _, certificate = await crawl(EndlessStart, site, "/", closespider_pagecount=10)

    assert certificate["reason"] == "closespider_pagecount"
    assert certificate["pages"] >= 10
    assert certificate["retries_by_reason"] == {}
    assert certificate["conserved"]


async def test_crawl_closes_at_too_many_errors(site: SmallSite) -> None:
    class Raising(Follow):
        def parse(self, response: Response, **more: Any) -> Iterator[Any]:
            yield from super().parse(response)
            raise RuntimeError("always")

    site.pages = {f"/{n}": links(f"/{n + 1}") for n in range(100)}

    _, certificate = await crawl(Raising, site, "/0", closespider_errorcount=5)

    assert certificate["reason"] == "closespider_errorcount"
    assert 5 <= certificate["failed_by_reason"]["callback"] <= 10


async def test_callback_may_close_the_crawl(site: SmallSite) -> None:
    class Closing(Follow):
        def parse(self, response: Response, **more: Any) -> Iterator[Any]:
            yield {"path": path(response)}
            raise CloseSpider("seen enough")

    site.pages = {"/": links("/a")}

    items, certificate = await crawl(Closing, site)

    assert (items, certificate["reason"]) == ([{"path": "/"}], "seen enough")


# -- the way through the network ------------------------------------------------------------------


async def test_cookies_are_kept_within_a_job_and_not_beyond_it(site: SmallSite) -> None:
    def count(asked: Asked) -> TimedReply:
        before = asked.header("Cookie").removeprefix("visits=") or "0"
        return TimedReply(site_answer(links("/second"), headers={"Set-Cookie": f"visits={int(before) + 1}; Path=/"}))

    site.pages = {"/": count, "/second": count}

    for _ in range(2):
        await crawl(Follow, site)

    cookies = [(asked.target, asked.header("Cookie")) for asked in site.asked if asked.path != "/robots.txt"]
    assert cookies == [("/", ""), ("/second", "visits=1")] * 2


async def test_redirect_is_followed_with_all_that_the_request_carried(site: SmallSite) -> None:
    class Redirected(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            yield response.follow("/old", self.arrived, cb_kwargs={"mark": 3})

        def arrived(self, response: Response, mark: int) -> Iterator[Any]:
            yield {"path": path(response), "mark": mark, "from": response.meta["redirect_urls"]}

    site.pages = {"/": "", "/old": redirect("/mid", 301), "/mid": redirect("/new", Set_Cookie="way=mid"), "/new": "new"}

    items, certificate = await crawl(Redirected, site)

    assert items == [{"path": "/new", "mark": 3, "from": [f"{site.url}/old", f"{site.url}/mid"]}]
    assert certificate["redirects"] == 2
    assert [asked.header("Cookie") for asked in site.asked if asked.target == "/new"] == ["way=mid"]


async def test_redirect_loop_ends_with_its_reason(site: SmallSite) -> None:
    site.pages = {"/": redirect("/"), "/a": redirect("/b"), "/b": redirect("/a")}

    _, certificate = await crawl(Follow, site)

    assert certificate["failed_by_reason"] == {"bad-redirect": 1}


async def test_credentials_go_to_their_host_only(site: SmallSite) -> None:
    other = SmallSite()
    other._server = Server(other._answer, ["127.0.0.2"])
    other.url = f"http://127.0.0.2:{await other._server.start()}"
    other.pages = {"/": "other"}
    site.pages = {"/": lambda asked: TimedReply(site_answer(links(other.url + "/")))}

    mine = {"http_user": "me", "http_pass": "secret", "http_auth_domain": "127.0.0.1"}
    await crawl(Follow, site, **mine, allow_private_networks="127.0.0.2")
    await other.stop()

    wanted = "Basic " + base64.b64encode(b"me:secret").decode()
    assert {asked.header("Authorization") for asked in site.asked if asked.target == "/"} == {wanted}
    assert other.targets == ["/"]
    assert {asked.header("Authorization") for asked in other.asked} == {""}


async def test_robots_txt_is_obeyed(site: SmallSite) -> None:
    site.pages = {"/robots.txt": "User-agent: *\nDisallow: /closed", "/": links("/closed/a", "/open"), "/open": ""}

    _, certificate = await crawl(Follow, site)

    assert sorted(site.targets) == ["/", "/open"]
    assert certificate["dropped_by_reason"] == {"robots": 1}


async def test_passing_failures_are_retried(site: SmallSite) -> None:
    def second_time(asked: Asked) -> TimedReply:
        return TimedReply(site_answer("at last") if site.targets.count("/shy") > 1 else site_answer("", 503))

    site.pages = {"/": links("/shy"), "/shy": second_time}

    items, certificate = await crawl(Follow, site)

    assert [item["path"] for item in items] == ["/", "/shy"]
    assert certificate["retries_by_reason"] == {"http-5xx": 1}


async def test_allowed_domains_bound_the_crawl(site: SmallSite) -> None:
    class Bound(Follow):
        allowed_domains = ["127.0.0.1"]

    site.pages = {"/": links("http://127.0.0.9:1/", "/a"), "/a": ""}

    _, certificate = await crawl(Bound, site)

    assert sorted(site.targets) == ["/", "/a"]
    assert certificate["filtered_links"] == {"offsite": 1}


async def test_crawl_of_a_plain_url_tells_its_pages(site: SmallSite, tmp_path: Path) -> None:
    site.pages = {"/": links("/a"), "/a": "<title>a</title>"}

    async with Crawler(site.url + "/", output=tmp_path / "pages.jsonl", slaves=0) as crawler:
        items = [item async for item in crawler.items()]

    assert items == [
        {"url": f"{site.url}/", "status": 200, "title": "links", "depth": 0},
        {"url": f"{site.url}/a", "status": 200, "title": "a", "depth": 1},
    ]


@pytest.mark.slow
async def test_proxy_on_loopback_opens_nothing_and_hurries_nobody(site: SmallSite) -> None:
    """The start URL's address counts, not the proxy's. Nothing leaves this machine: all goes to the proxy."""
    public = "http://8.8.8.8"
    site.pages = {
        f"{public}/robots.txt": "User-agent: *\nDisallow: /closed",
        f"{public}/": links("/a", "/closed", f"{site.url}/secret"),
        f"{public}/a": "",
        "/secret": "secret",
        f"{site.url}/secret": "secret",
    }
    arguments = {"start_urls": public + "/"}

    async with Crawler(Follow, settings={"http_proxy": site.url}, arguments=arguments) as crawler:
        begun = monotonic()
        items = [item async for item in crawler.items()]
        seconds = monotonic() - begun

    assert [item["path"] for item in items] == ["/", "/a"]
    assert crawler.certificate()["dropped_by_reason"] == {"private-network": 1, "robots": 1}
    assert [asked.target for asked in site.asked] == [f"{public}/robots.txt", f"{public}/", f"{public}/a"]
    assert seconds >= 2.0, "the default delay after robots.txt and after the first page"
