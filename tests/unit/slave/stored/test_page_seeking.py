"""What a slave asks of stored pages: pieces are put together, and who waits is told when nobody will answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import FetchError, P2PCrawlError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.stored.page_seeking import PageSeeking
from p2pcrawl.wire.messages.slave_messages import LinksTold, PageTold, SeekLinks

AT = "a" * 40
KEY = bytes(16)


def answered(*answers: dict[str, Any]) -> tuple[PageSeeking, list[Any]]:
    """Makes one whose questions get these answers, in turn."""
    asked: list[Any] = []
    waiting = list(answers)

    def send(question: Any) -> None:
        asked.append(question)
        kind = LinksTold if isinstance(question, SeekLinks) else PageTold
        asyncio.get_running_loop().call_soon(lambda: seeking.told(kind(question.number, **waiting.pop(0))))

    seeking = PageSeeking(send)
    return seeking, asked


async def test_pieces_of_a_page_are_put_together() -> None:
    first = {"at": AT, "url": "u", "status": 200, "head": b"h", "body": b"one ", "size": 8}
    seeking, asked = answered(first, {"at": AT, "body": b"page", "size": 8})

    page = await seeking.page(7, KEY, 100)

    assert page is not None and (page.url, page.status, page.head, page.body) == ("u", 200, b"h", b"one page")
    assert [(question.at, question.offset) for question in asked] == [("", 0), (AT, 4)]


async def test_page_that_is_nowhere_is_none_and_one_that_may_be_away_fails_as_such() -> None:
    seeking, _ = answered({}, {"trouble": "a machine is away", "away": True}, {"trouble": "damaged"})

    nowhere = await seeking.page(7, KEY, 100)

    assert nowhere is None
    for kind in (Failure.RAW_PAGE_AWAY, Failure.NOT_STORED):
        with pytest.raises(FetchError) as caught:
            await seeking.page(7, KEY, 100)
        assert caught.value.kind is kind


async def test_links_come_in_parts_until_there_are_none() -> None:
    links = [Link("http://a.example/1", KEY), Link("http://a.example/2", KEY)]
    seeking, asked = answered({"links": links[:1]}, {"links": links[1:]}, {})

    found = [part async for part in seeking.links(7, 3)]

    assert found == [links[:1], links[1:]]
    assert [(question.job, question.of, question.again) for question in asked] == [
        (7, 3, True),
        (7, 3, False),
        (7, 3, False),
    ]


async def test_links_that_cannot_be_told_are_no_end() -> None:
    seeking, _ = answered({"links": [Link("http://a.example/1", KEY)]}, {"trouble": "a master does not answer"})

    with pytest.raises(P2PCrawlError, match="does not answer"):
        [part async for part in seeking.links(7, 3)]


async def test_nobody_waits_when_the_session_is_over() -> None:
    seeking = PageSeeking(lambda question: None)
    waiting = asyncio.create_task(seeking.page(7, KEY, 100))
    await asyncio.sleep(0)

    seeking.over()

    with pytest.raises(FetchError):
        await waiting
