"""Answers from stored pages, in place of the web's."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure, Filter
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.memory import Memory
from p2pcrawl.slave.pages.scope import Scope
from p2pcrawl.slave.rereading import rereading
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.stores.warc.page_index import PageIndex
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_folder import WarcFolder
from tests.unit.slave.tasks import task_of
from tests.unit.stores.warc.conftest import raw_page_of

URL = "http://site.example/p/1"


@asynccontextmanager
async def fetcher_of(folder: Path, **page: Any) -> AsyncIterator[Fetcher]:
    """Stores one page, and opens the way to it."""
    warcs = WarcFolder(WarcPlace(folder))
    await warcs.keep(raw_page_of(1, **page))
    await warcs.close()
    with closing(PageIndex(folder / "stored.db")) as index:
        index.read([folder], lambda name, files, pages: None)
    async with (
        rereading(folder / "stored.db") as open_fetcher,
        open_fetcher(Settings(), Networks((), True)) as fetcher,
    ):
        yield fetcher


async def test_answer_is_as_it_was_and_nobody_was_asked(tmp_path: Path) -> None:
    head = b"HTTP/1.1 404 Not Found\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: gzip\r\n\r\n"
    packed = gzip.compress(b"gone, sorry")
    async with fetcher_of(tmp_path, status=404, head=head, body=packed, is_encoded=True) as fetcher:
        answer = await fetcher.fetch(Request(URL))
        cut = await fetcher.fetch(Request(URL), cut=4)

    assert (answer.status, answer.body, answer.protocol) == (404, b"gone, sorry", "HTTP/1.1")
    assert answer.set_cookies == ("a=1", "b=2") and "content-encoding" not in answer.headers
    assert not answer.asked and cut.body == b"gone"


async def test_what_is_not_stored_fails_as_such(tmp_path: Path) -> None:
    async with fetcher_of(tmp_path) as fetcher:
        for request in (Request("http://site.example/new"), Request(URL, method="POST", body=b"x")):
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(request)

            assert caught.value.kind is Failure.NOT_STORED


async def test_page_of_which_only_the_beginning_is_stored_fails_as_it_did(tmp_path: Path) -> None:
    async with fetcher_of(tmp_path, truncated="length") as fetcher:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(URL))

    assert caught.value.kind is Failure.TOO_LARGE


def test_pages_that_are_only_read_lead_nowhere_and_what_they_ask_for_is_counted() -> None:
    harvest = Harvest(task_of(), Settings(), Scope(()), Memory(), follows=False)

    harvest.add_links(LinkBatch(["http://a.example/1", "http://a.example/2"]))
    harvest.add_request(Request("http://a.example/3", dont_filter=True))
    harvest.add_redirect(Request("http://a.example/4"))

    assert harvest.take().links == [] and harvest.filtered == {Filter.NOT_FOLLOWED: 4}


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("stored", "body"),
    [
        (b"4\r\n<p>a\r\n2;x=y\r\nbc\r\n0\r\n\r\n", b"<p>abc"),
        (b"0\r\n\r\n", b""),
        (b"<p>abc", b"<p>abc"),
        (b"4\r\n<p>a", b"4\r\n<p>a"),
    ],
)
async def test_framing_of_chunks_that_others_keep_is_no_part_of_the_body(
    stored: bytes, body: bytes, tmp_path: Path
) -> None:
    async with fetcher_of(tmp_path, head=CHUNKED, body=stored) as fetcher:
        answer = await fetcher.fetch(Request(URL))

    assert answer.body == body
