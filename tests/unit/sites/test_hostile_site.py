"""The hostile site's traps are real, and its ordinary hosts are ordinary."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import aiohttp
import brotli
import pytest

from p2pcrawl.model.outcome import Drop, Failure
from tests.sites import bombs
from tests.sites.bombs import zstd
from tests.sites.hostile import HostileSite
from tests.sites.server import loopback_addresses

SIZE = 8 * 1024**2
SMALLER_BY = 500
LIMIT_S = 60.0

linux_only = pytest.mark.skipif(len(loopback_addresses("127.0.2", 2)) < 2, reason="needs many loopback addresses")


WIDE = {zstd.DecompressionParameter.window_log_max: 31}
INFLATE = {
    bombs.gzip_bomb: gzip.decompress,
    bombs.gzip_members_bomb: gzip.decompress,
    bombs.gzip_twice_bomb: lambda data: gzip.decompress(gzip.decompress(data)),
    bombs.deflate_bomb: zlib.decompress,
    bombs.raw_deflate_bomb: lambda data: zlib.decompress(data, -15),
    bombs.brotli_bomb: brotli.decompress,
    bombs.zstd_bomb: zstd.decompress,
    bombs.zstd_frames_bomb: zstd.decompress,
    bombs.zstd_window_bomb: lambda data: zstd.decompress(data, options=WIDE),
}


@pytest.mark.parametrize("bomb", INFLATE, ids=lambda bomb: bomb.__name__)
def test_bomb_is_a_correct_body_of_zeros_in_few_bytes(bomb: bombs.Bomb) -> None:
    packed = b"".join(bomb(SIZE))

    assert len(packed) < SIZE / SMALLER_BY
    assert INFLATE[bomb](packed) == bytes(SIZE)


@linux_only
async def test_ordinary_pages_and_the_index_are_served() -> None:
    site = HostileSite()
    await site.start()

    async with aiohttp.ClientSession() as session:
        for url in [site.url, *sorted(site.ordinary)]:
            async with session.get(url) as response:
                assert response.status == 200
    await site.stop()

    assert site.stats()["ordinary_hit"] == len(site.ordinary) == 200
    assert site.forbidden_hits == []


@linux_only
async def test_every_trap_answers_or_hangs_and_stopping_ends_them_all() -> None:
    site = HostileSite()
    await site.start()

    async def spring(name: str) -> None:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(), auto_decompress=False) as session,
                session.get(site.trap_urls[name], allow_redirects=False) as response,
            ):
                await response.content.readexactly(100_000)
        except (aiohttp.ClientError, asyncio.IncompleteReadError):
            pass

    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as clients:
        springs = {name: clients.create_task(spring(name)) for name in site.traps}
        while set(site.trap_hits) != set(site.traps):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await springs["endless-body"]
        await site.stop()

    assert set(site.trap_hits) == set(site.traps)
    assert site.sent_bytes["endless-body"] > 100_000


@linux_only
async def test_request_that_reaches_the_private_page_is_remembered() -> None:
    site = HostileSite()
    await site.start()

    async with aiohttp.request("GET", site.trap_urls["redirect-mapped"]) as response:
        assert response.status == 200
    await site.stop()

    assert [url.rpartition("/")[2] for url in site.forbidden_hits] == ["private"]


@linux_only
def test_expected_ends_are_words_of_the_model() -> None:
    words = {*map(str, Failure), *map(str, Drop), "done", "redirected"}

    assert set().union(*(trap.ends | trap.then for trap in HostileSite().traps.values())) <= words
