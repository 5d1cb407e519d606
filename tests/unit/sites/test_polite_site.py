"""The polite site sees every breach of manners, and none where there is none."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from tests.sites.polite import PoliteSite, Visit
from tests.sites.server import site_process


def site_with(*visits: Visit, **options: int | float) -> tuple[PoliteSite, str]:
    site = PoliteSite(hosts=1, **options)  # type: ignore[arg-type]
    site.visits[site.hosts[0]] = list(visits)
    return site, site.hosts[0]


def reasons(site: PoliteSite, delay_s: float, tolerance_s: float = 0.0) -> list[str]:
    return [violation.reason for violation in site.violations(delay_s, tolerance_s)]


def test_request_that_begins_before_the_previous_answer_ended_overlaps() -> None:
    site, _ = site_with(Visit("/", 1.0, 2.0, 200), Visit("/p1", 1.5, 1.6, 200), Visit("/p2", 1.9, 3.0, 200))

    assert reasons(site, 0.2) == ["overlap", "overlap"]
    assert reasons(site, 0.0) == []


def test_delay_counts_from_the_end_of_the_previous_answer() -> None:
    site, _ = site_with(Visit("/", 1.0, 2.0, 200), Visit("/p1", 2.15, 2.2, 200), Visit("/p2", 2.5, 2.6, 200))

    assert reasons(site, 0.2) == ["delay"]
    assert reasons(site, 0.2, tolerance_s=0.1) == []


def test_crawl_delay_holds_from_robots_txt_on() -> None:
    site, _ = site_with(
        Visit("/", 0.0, 0.1, 200),
        Visit("/robots.txt", 0.5, 0.6, 200),
        Visit("/p1", 1.0, 1.1, 200),
        Visit("/p2", 2.2, 2.3, 200),
        crawl_delay_s=1.0,
        crawl_delay_hosts=1,
    )

    assert reasons(site, 0.2) == ["crawl-delay"]


def test_retry_after_shuts_the_host_for_all_pages_until_it_is_over() -> None:
    refused = Visit("/p3", 1.0, 1.1, 429, retry_after_s=2.0)
    site, _ = site_with(refused, Visit("/p4", 1.05, 1.2, 200), Visit("/p5", 2.0, 2.1, 200), Visit("/p3", 3.2, 3.3, 200))

    assert reasons(site, 0.0) == ["retry-after"]


def test_request_that_never_ended_is_overlapped_by_the_next() -> None:
    site, _ = site_with(Visit("/", 1.0), Visit("/p1", 9.0, 9.1, 200))

    assert reasons(site, 0.2) == ["overlap"]


@pytest.mark.parametrize("at_once", [False, True])
async def test_real_requests_are_recorded_with_begin_and_end(at_once: bool) -> None:
    site = PoliteSite(hosts=2, pages=6, latency_s=0.01, busy_hosts=1)
    await site.start()

    async with aiohttp.ClientSession() as session:

        async def ask(url: str) -> int:
            async with session.get(url) as response:
                await response.read()
                return response.status

        if at_once:
            await asyncio.gather(*map(ask, sorted(site.expected)))
        else:
            for url in sorted(site.expected):
                await ask(url)
    await site.stop()

    stats = site.stats()
    assert (stats["requests"], stats["open"], stats["statuses"]) == (12, 0, {"200": 11, "429": 1})
    assert ("overlap" in reasons(site, 0.001)) == at_once


async def test_site_in_its_own_process_tells_violations() -> None:
    async with (
        site_process("tests.sites.polite", "--hosts", "3", "--pages", "2") as ready,
        aiohttp.ClientSession() as session,
    ):
        for path in ("", "p1"):
            async with session.get(ready["start"] + path) as response:
                assert response.status == 200
        async with session.get(ready["control"] + "/_violations?delay=3600") as response:
            violations = await response.json()

    assert [violation["reason"] for violation in violations] == ["delay"]
