"""What is kept for the next master: in order, within bounds, for some time."""

from __future__ import annotations

import asyncio
import logging

import pytest

from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.slave.link import orphans as orphans_module
from p2pcrawl.slave.link.orphans import BATCH_PAGES, Orphanage
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.wire.messages.slave_messages import LinkColumns, OrphanPage, Orphans, Outcome, Page
from tests.unit.slave.tasks import FakeLink, task_of

DONE = Outcome(1, status=200)


def orphan(number: int, size: int = 0, outcome: Outcome | None = DONE) -> OrphanPage:
    items = [b"x" * size] if size else []
    return OrphanPage(task_of(f"http://a.example/{number}"), Page(number, number, 1, [], items, outcome))


def told(link: FakeLink) -> list[int]:
    return [o.page.record for m in link.sent if isinstance(m, Orphans) for o in m.pages]


async def test_next_master_is_told_everything_in_order_one_batch_at_a_time() -> None:
    orphanage, link = Orphanage(), FakeLink()
    for number in range(BATCH_PAGES + 5):
        orphanage.take(orphan(number))

    orphanage.attach(link)
    first = told(link)
    orphanage.adopted(1)
    orphanage.adopted(2)

    assert first == list(range(BATCH_PAGES))
    assert told(link) == list(range(BATCH_PAGES + 5))
    async with asyncio.timeout(5):
        await orphanage.empty()


async def test_what_the_next_master_did_not_adopt_goes_to_the_one_after() -> None:
    orphanage, dead, alive = Orphanage(), FakeLink(), FakeLink()
    for number in range(3):
        orphanage.take(orphan(number))

    orphanage.attach(dead)
    orphanage.detach()
    orphanage.adopted(1)
    orphanage.attach(alive)

    assert told(alive) == [0, 1, 2]


async def test_page_that_ends_after_the_move_is_told_at_once() -> None:
    orphanage, link = Orphanage(), FakeLink()
    orphanage.attach(link)

    orphanage.take(orphan(1))

    assert told(link) == [1]


async def test_page_whose_parts_were_sent_ahead_brings_only_its_links() -> None:
    page = Page(1, 1, 1, [LinkColumns(Link("", b"0" * 16, 1), ["http://a.example/2"], b"f" * 16)], [b"{}"], DONE)
    orphanage, link = Orphanage(), FakeLink()
    outbox = Outbox(FakeLink(), orphanage=orphanage)

    outbox.put(page, task_of(), whole=False)
    outbox.close()
    orphanage.attach(link)

    [kept] = [orphan for message in link.sent if isinstance(message, Orphans) for orphan in message.pages]
    assert kept.page.links == page.links
    assert (kept.page.items, kept.page.outcome) == ([], None)


@pytest.mark.parametrize("bound", ["PAGES_MAX", "BYTES_MAX"])
async def test_what_is_kept_is_bounded_and_the_log_says_what_is_dropped(bound: str, monkeypatch, caplog) -> None:
    monkeypatch.setattr(orphans_module, bound, {"PAGES_MAX": 2, "BYTES_MAX": 2_200}[bound])
    orphanage, link = Orphanage(), FakeLink()

    for number in range(3):
        orphanage.take(orphan(number, size=1_000))
    orphanage.attach(link)

    assert told(link) == [0, 1]
    assert "http://a.example/2 is dropped" in caplog.text


async def test_what_no_master_takes_in_time_is_dropped_and_the_log_says_so(monkeypatch, caplog) -> None:
    monkeypatch.setattr(orphans_module, "KEEP_S", 0.01)
    orphanage, link = Orphanage(), FakeLink()
    orphanage.take(orphan(1))

    async with asyncio.timeout(5):
        await orphanage.empty()
    orphanage.attach(link)

    assert told(link) == []
    assert "1 pages are dropped" in caplog.text


async def test_page_that_cannot_be_told_does_not_hold_up_the_others(caplog) -> None:
    caplog.set_level(logging.WARNING)
    orphanage, link = Orphanage(), FakeLink()
    orphanage.take(orphan(1, outcome=Outcome(3, detail="\udc80")))
    orphanage.attach(link)

    orphanage.take(orphan(2))
    async with asyncio.timeout(5):
        while not link.sent:  # noqa: ASYNC110
            await asyncio.sleep(0)

    assert told(link) == [2]
    assert "cannot be told" in caplog.text


async def test_outbox_leaves_behind_what_was_not_acknowledged_and_what_comes_later() -> None:
    orphanage, link = Orphanage(), FakeLink()
    outbox = Outbox(FakeLink(), orphanage=orphanage)
    for number in (1, 2):
        outbox.put(Page(number, number, 1, outcome=DONE), task_of())
        outbox.flush()
    outbox.put(Page(3, 3, 1, outcome=DONE), task_of())
    outbox.acknowledged(1)

    outbox.close()
    outbox.put(Page(4, 4, 1, outcome=DONE), task_of())
    orphanage.attach(link)
    orphanage.adopted(1)

    assert told(link) == [2, 3, 4]
