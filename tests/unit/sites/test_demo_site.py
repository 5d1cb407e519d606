"""The synthetic site tells the truth about itself: a plain, obedient crawl of it finds just what it says."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

import aiohttp
import pytest
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.demo.process import site_process
from p2pcrawl.demo.site import DemoSite
from p2pcrawl.model.crawl.url import canonical, host_of, origin_of


class PlainCrawl:
    """The simplest crawl that can be right; it shares no code with p2pcrawl but the canonical form."""

    def __init__(self, session: aiohttp.ClientSession, hosts: list[str]) -> None:
        self._session, self._hosts = session, set(hosts)
        self._robots: dict[str, RobotFileParser] = {}
        self._seen: set[str] = set()
        self.ends: dict[int, set[str]] = {}
        self.disallowed: set[str] = set()

    async def run(self, url: str) -> None:
        wave = [url]
        self._seen = {canonical(url)}
        while wave:
            found = await asyncio.gather(*(self._visit(url) for url in wave))
            wave = []
            for url in (url for urls in found for url in urls):
                key = canonical(url)
                if key not in self._seen and host_of(url) in self._hosts:
                    self._seen.add(key)
                    wave.append(url)

    async def _visit(self, url: str) -> list[str]:
        if not await self._allowed(url):
            self.disallowed.add(canonical(url))
            return []
        for _ in range(3):
            async with self._session.get(url, allow_redirects=False) as response:
                body = await response.read()
            if response.status not in (429, 500, 503):
                break
        self.ends.setdefault(response.status, set()).add(canonical(url))
        if response.status != 200:
            return [urljoin(url, response.headers["Location"])] if "Location" in response.headers else []
        hrefs = (a.attributes.get("href") for a in LexborHTMLParser(body).css("a[href]"))
        links = [urljoin(url, href.strip()) for href in hrefs if href]
        return [link for link in links if link.startswith("http://")]

    async def _allowed(self, url: str) -> bool:
        origin = origin_of(url)
        if origin not in self._robots:
            async with self._session.get(origin + "/robots.txt") as response:
                rules = RobotFileParser()
                rules.parse((await response.text()).splitlines() if response.status == 200 else [])
            self._robots[origin] = rules
        return self._robots[origin].can_fetch("p2pcrawl", url)


@pytest.mark.parametrize("seed", [1, 2])
async def test_obedient_crawl_finds_exactly_what_the_site_expects(seed: int) -> None:
    site = DemoSite(pages=400, hosts=12, seed=seed)
    start = await site.start()

    async with aiohttp.ClientSession() as session:
        crawl = PlainCrawl(session, site.hosts)
        await crawl.run(start)
    await site.stop()

    assert crawl.ends[200] == site.expected
    assert {
        url for status, urls in crawl.ends.items() if 300 <= status < 400 for url in urls
    } == site.expected_redirects
    assert {url for status, urls in crawl.ends.items() if status >= 400 for url in urls} == site.failing
    assert crawl.disallowed == site.disallowed
    assert site.stats()["repeated"] == 0
    assert site.stats()["disallowed_hit"] == 0


async def test_site_has_pages_of_every_kind_and_some_that_nobody_may_find() -> None:
    site = DemoSite(pages=1000, hosts=40)
    await site.start()
    await site.stop()

    kinds = [site.expected, site.expected_redirects, site.failing, site.disallowed]

    assert all(kinds) and site.flaky < site.expected
    assert sum(map(len, kinds)) == len(set().union(*kinds)) < 1000


async def test_same_seed_plans_the_same_site() -> None:
    paths: list[Counter[str]] = []
    for _ in range(2):
        site = DemoSite(pages=300, hosts=8, seed=7)
        await site.start()
        await site.stop()
        paths.append(Counter(url.split("/", 3)[3] for url in site.expected))

    assert paths[0] == paths[1]


async def test_site_in_its_own_process_tells_truth_and_statistics() -> None:
    async with (
        site_process("p2pcrawl.demo.site", "--pages", "300", "--hosts", "8") as ready,
        aiohttp.request("GET", ready["start"]) as page,
    ):
        async with aiohttp.request("GET", ready["control"] + "/_truth") as response:
            truth = json.loads(await response.text())
        async with aiohttp.request("GET", ready["control"] + "/_stats") as response:
            stats = json.loads(await response.text())

    assert page.status == 200
    assert len(truth["expected"]) == ready["pages"]
    assert ready["start"] in truth["expected"]
    assert stats["requests"] == 1
