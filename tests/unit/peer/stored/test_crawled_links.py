"""The links of a job whose stored pages are read: all of them, or the start waits."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.peer.stored import crawled_links
from p2pcrawl.peer.stored.crawled_links import CrawledLinks
from p2pcrawl.wire.messages.slave_messages import LinksTold, SeekLinks

URL = "http://h1.example/"
AWAY = SimpleNamespace(id="c" * 40)


class Others:
    """One other master, which has one page. ``lacking``: how many of its buckets lack something."""

    me = "a"

    def __init__(self) -> None:
        self.away: list[SimpleNamespace] = []
        self.lacking = 0
        self.told = 0

    def members(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(id="b")]

    def missing(self) -> list[SimpleNamespace]:
        return self.away

    async def query(self, node: str, what: str, asked: dict[str, Any], decoder: object) -> dict[str, Any]:
        pages = []
        if not asked["after"]:
            self.told += 1
            link = Link(URL, fingerprint(URL))
            pages = [[link.fingerprint.hex(), 1, "", b64encode(msgspec.msgpack.encode(link)).decode()]]
        return {"pages": pages, "mark": "1 1", "settled": True, "lacking": self.lacking}


def links_of(others: Others, folder: Path) -> CrawledLinks:
    peers: Any = others
    nobody: Any = None
    return CrawledLinks(peers, folder, nobody)


async def told(links: CrawledLinks) -> tuple[list[str], str]:
    """Returns what the start of a job gets, and why it has to ask again."""
    urls: list[str] = []
    answer: LinksTold | None = None
    while answer is None or answer.links:
        answer = await links.next(SeekLinks(1, 7, 3, again=answer is None))
        urls += [link.url for link in answer.links]
    return urls, answer.trouble


async def test_links_are_told_when_who_has_the_rest_is_back_and_has_brought_it(tmp_path: Path) -> None:
    others = Others()
    links = links_of(others, tmp_path)
    others.lacking, others.away = 2, [AWAY]
    first = await told(links)
    others.away = []
    second = await told(links)
    others.lacking = 0

    assert first == ([], "not all pages are known here: cccccccc is away")
    assert second == ([], "not all pages are known here: 2 buckets are not whole")
    assert others.told == 0
    assert await told(links) == ([URL], "")


async def test_who_goes_while_links_are_told_is_waited_for(tmp_path: Path) -> None:
    others = Others()
    links = links_of(others, tmp_path)

    part = await links.next(SeekLinks(1, 7, 3, again=True))
    others.lacking, others.away = 2, [AWAY]
    end = await links.next(SeekLinks(2, 7, 3, again=False))

    assert [link.url for link in part.links] == [URL]
    assert end.trouble == "not all pages are known here: cccccccc is away"


async def test_what_nobody_has_brought_for_a_while_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawled_links, "BROUGHT_S", 0.0)
    others = Others()
    others.lacking = 2

    assert await told(links_of(others, tmp_path)) == ([URL], "")
