"""Jobs that read stored pages in a cluster: each page once, wherever it is stored, and nobody is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.peer import Peer, PeerJob
from tests.unit.peer.test_control import ended, seen_all, until
from tests.unit.peer.test_peer import PAGES, Site, peer, site_of, spider

pytestmark = pytest.mark.usefixtures("own_folders")

CHANGED = {"DOWNLOAD_DELAY": 0, "ROBOTSTXT_OBEY": False, "RETRY_ENABLED": False}


def changed(path: str) -> str:
    """Changes the spider: other items, and none of the first pages."""
    file = Path(path)
    text = file.read_text().replace(
        "yield {'url': response.url}", "yield {'url': response.url, 'status': response.status}"
    )
    file.write_text(text)
    return path


async def read_again(peer_asked: Peer, path: str, of: PeerJob, **settings: object) -> PeerJob:
    return await peer_asked.submit(changed(path), settings={**CHANGED, "STORED_PAGES_OF": of.id, **settings})


async def urls_of(job: PeerJob) -> list[str]:
    return sorted([item["url"] async for item in job.items() if item["status"] == 200])


def all_of(site: Site) -> list[str]:
    return sorted(site.url(number) for number in range(PAGES))


@pytest.mark.slow
async def test_each_page_is_read_once_and_nobody_is_asked_though_it_is_stored_where_its_owner_is_not(
    tmp_path: Path,
) -> None:
    async with site_of() as site, peer(warc=tmp_path / "raw1") as one, peer(one.address, warc=tmp_path / "raw2") as two:
        path = spider(tmp_path, site)
        crawled = await one.submit(path, settings={"SHARD_KEY": "url"})
        await ended(crawled)
        visits = site.visits.copy()
        # What it takes over is stored on the machines of the others.
        async with peer(one.address, warc=tmp_path / "raw3") as three:
            await until(lambda: seen_all(one, two, three))
            again = await read_again(two, path, crawled)
            end = await ended(again)
            found = await urls_of(again)
            read = [line async for line in three.stream("read", {"job": again.id})]

        assert (end["pages"], end["failed"], end["conserved"]) == (PAGES, 0, True)
        assert found == all_of(site)
        assert sum(piece.count(b"\n") for piece in read) == PAGES
        assert site.visits == visits
        assert all(end["masters"].values()), "each has read some"


async def test_page_that_was_stored_by_nobody_fails_as_such(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        path = spider(tmp_path, site)
        crawled = await one.submit(path)
        await ended(crawled)
        visits = site.visits.copy()

        end = await ended(await read_again(one, path, crawled))

        assert end["failed_by_reason"] == {"not-stored": PAGES}
        assert site.visits == visits


async def test_there_has_to_be_a_job_whose_pages_are_stored(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        with pytest.raises(ConfigurationError, match="no job 7 whose stored pages"):
            await one.submit(spider(tmp_path, site), settings={"STORED_PAGES_OF": 7})
