"""The spider that simulations run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Self

from p2pcrawl import Request, Spider
from p2pcrawl.model.errors import CloseSpider, DontCloseSpider
from p2pcrawl.slave.media.media_pipeline import MediaPipeline
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.signal_names import spider_idle
from p2pcrawl.spiders.page.response import Response

from ..world.web import RULE

SEEN = "pages_seen"
"""The stat in which a spider counts its callbacks."""
SIZES_COUNTED = "SIZES_COUNTED"
"""The setting of a job whose spider notes the sizes of pages, too:"""
LONGEST, SHORTEST, LATEST = "page_longest", "page_shortest", "page_latest"
"""of the longest, of the shortest, and of the last one."""


def note(spider: Spider, response: Response) -> None:
    """Counts a callback, and the size of its page if the job wants that."""
    stats, size = spider.crawler.stats, len(response.body)
    stats.inc_value(SEEN)
    if spider.settings.getbool(SIZES_COUNTED):
        stats.max_value(LONGEST, size)
        stats.min_value(SHORTEST, size)
        stats.set_value(LATEST, size)


def item_of(url: str, body: bytes) -> dict[str, Any]:
    """Makes the item of a page: two of them are equal where their URLs are, and all that the pages say."""
    return {"url": url, "says": blake2b(body, digest_size=8).hexdigest()}


def items_of(url: str, body: bytes) -> list[dict[str, Any]]:
    """Makes all items of a page: that of its URL, and those of what it says besides, each under a URL of its own."""
    first = item_of(url, body)
    return [first, *(first | {"url": f"{url}#{number}"} for number in range(1, 1 + body.count(RULE.encode())))]


def page_of(name: str) -> str:
    """Returns the URL of the page that an item is of which has this one."""
    return name.partition("#")[0]


class Walker(Spider):
    """Follows every link and takes the items of each page, one before the links and the others behind them; counts its
    callbacks.
    """

    name = "walker"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        note(self, response)
        first, *others = items_of(response.url, response.body)
        yield first
        yield response.follow_all()
        yield from others


class Picker(Walker):
    """Takes the items of each page that it is given, and follows no link."""

    name = "picker"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        note(self, response)
        yield from items_of(response.url, response.body)


def reread(url: str, body: bytes) -> dict[str, Any]:
    """Makes the item of a page as the changed spider makes it."""
    return item_of(url, body) | {"bytes": len(body)}


class Rereader(Walker):
    """Reads pages that were stored, for other items; takes its time, so that something may happen meanwhile."""

    name = "rereader"
    think_s = 3.0

    async def parse(self, response: Response, **_: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        note(self, response)
        await asyncio.sleep(self.think_s)
        yield reread(response.url, response.body)
        yield response.follow_all()


class Insister(Walker):
    """Wants the job to go on when it is idle for the first time, as its slave sees it."""

    name = "insister"
    asked = 0

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.on_idle, spider_idle)
        return spider

    def on_idle(self) -> None:
        self.asked += 1
        if self.asked == 1:
            raise DontCloseSpider


CLOSES_AFTER = "CLOSES_AFTER"
"""The setting that tells a closer after how many callbacks, in one slave, it has enough;"""
ENOUGH = "enough"
"""and what it says then."""


class Closer(Walker):
    """Closes the job when it has seen enough."""

    name = "closer"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield from super().parse(response)
        if self.crawler.stats.get_value(SEEN, 0) >= self.settings.getint(CLOSES_AFTER):
            raise CloseSpider(ENOUGH)


class Fruitless(Walker):
    """Follows every link, and takes nothing."""

    name = "fruitless"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        note(self, response)
        yield response.follow_all()


class Thinker(Spider):
    """Follows every link, and goes on to think about the page for longer than a session of a slave lasts."""

    name = "thinker"
    think_s = 7.0

    async def parse(self, response: Response, **_: Any) -> AsyncIterator[Any]:
        note(self, response)
        yield item_of(response.url, response.body)
        yield response.follow_all()
        await asyncio.sleep(self.think_s)


class Latecomer(Walker):
    """Begins at one start URL, and comes with the others when the crawl has long met what they open."""

    name = "latecomer"
    late_s = 20.0

    async def start(self) -> AsyncIterator[Any]:
        first, *others = self.start_urls
        yield Request(first)
        await asyncio.sleep(self.late_s)
        for url in others:
            yield Request(url)


class Kept(MediaPipeline):
    """Has an item wait for its files, and keeps of each what its host said."""

    def get_media_requests(self, item: Any, info: Any) -> Iterator[Request]:
        for url in item["file_urls"]:
            yield Request(url)

    def media_downloaded(self, response: Any, request: Request, info: Any, *, item: Any = None) -> int:
        return int(response.status)

    def item_completed(self, results: list[tuple[bool, Any]], item: Any, info: Any) -> Any:
        if len(results) != len(item["file_urls"]):
            raise ValueError(f"{len(results)} results for {len(item['file_urls'])} files")
        item["files"] = [result for ok, result in results if ok]
        return item


class Collector(Walker):
    """Follows every link, and takes one item from each page, which waits for files at the hosts that the page leads
    to.
    """

    name = "collector"
    custom_settings: Mapping[str, Any] | None = {"ITEM_PIPELINES": {Kept: 1}}

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        name = response.url.partition("//")[2].replace("/", "-")
        hosts = dict.fromkeys(link.split("/", 3)[2] for link in response.links)
        yield item_of(response.url, response.body) | {
            "file_urls": [f"http://{host}/file/{name}" for host in list(hosts)[:FILES]]
        }
        yield response.follow_all()


FILES = 3
"""Of each item, at most."""


class Repeater(Walker):
    """Follows every link, and takes one item from each page, of which those are dropped whose text was met before."""

    name = "repeater"
    custom_settings: Mapping[str, Any] | None = {
        "ARTICLE_READER": "resiliparse",
        "DUPLICATES": "drop",
        "DUPLICATES_NEAR": 2,
    }


class Marker(Walker):
    """Follows every link, and takes one item from each page, marked where its text was met before."""

    name = "marker"
    custom_settings: Mapping[str, Any] | None = {
        "ARTICLE_READER": "resiliparse",
        "DUPLICATES": "mark",
        "DUPLICATES_NEAR": 2,
    }


class Beginner(Walker):
    """Begins at one start URL; with the others somebody else comes."""

    name = "beginner"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(next(iter(self.start_urls)))


PERIOD_S = 45.0
"""After which a page is due again."""


class Returner(Walker):
    """Visits each page several times, and comes to its end with the last round."""

    name = "returner"
    rounds = 3
    custom_settings: Mapping[str, Any] | None = {"REVISIT_INDEX": PERIOD_S, "REVISIT_ROUNDS": rounds}


THOROUGH: frozenset[type[Spider]] = frozenset({Walker, Thinker, Latecomer, Beginner, Returner, Repeater, Marker})
"""Those that get everywhere and take one item from each page: what they left undone is somebody's fault."""
OF_EACH_PAGE: frozenset[type[Spider]] = THOROUGH - {Repeater} | {Collector}
"""Those that take one item from each page, now or when its files are had."""
ONE_EACH: frozenset[type[Spider]] = THOROUGH - {Repeater, Marker}
"""Those of which each page that is done has one item of its own, from its end on."""
SEVERAL: frozenset[type[Spider]] = frozenset({Walker, Insister, Latecomer, Beginner})
"""Those that take all items of a page that says several things."""
