"""Reports: in order, in batches, within a window."""

from __future__ import annotations

import asyncio

from p2pcrawl.slave.link import outbox as outbox_module
from p2pcrawl.slave.link.outbox import PAGES_MAX, Outbox
from p2pcrawl.wire.messages.slave_messages import Outcome, Page, RobotsResult
from tests.unit.slave.tasks import FakeLink, task_of


def page_of(record: int, size: int = 0) -> Page:
    return Page(record, record, 1, [], [b"x" * size] if size else [])


async def test_pages_are_reported_once_and_in_order() -> None:
    link = FakeLink()
    outbox = Outbox(link)

    for record in range(3 * PAGES_MAX + 1):
        outbox.put(page_of(record), task_of())
    outbox.flush()

    assert [p.record for r in link.reports for p in r.pages] == list(range(3 * PAGES_MAX + 1))
    assert [r.sequence for r in link.reports] == [1, 2, 3, 4]


async def test_page_without_company_is_sent_all_the_same() -> None:
    link = FakeLink()
    outbox = Outbox(link)

    outbox.put(page_of(1), task_of())
    drained = asyncio.create_task(outbox.drained())
    async with asyncio.timeout(5):
        while not link.reports:  # noqa: ASYNC110
            await asyncio.sleep(0)
    outbox.acknowledged(1)
    async with asyncio.timeout(5):
        await drained

    assert [p.record for p in link.reports[0].pages] == [1]


async def test_full_window_makes_workers_wait_until_it_is_acknowledged(monkeypatch) -> None:
    monkeypatch.setattr(outbox_module, "WINDOW_BYTES", 1000)
    link = FakeLink()
    outbox = Outbox(link)

    outbox.put(page_of(1, 600), task_of())
    outbox.flush()
    outbox.put(page_of(2, 600), task_of())
    outbox.flush()
    waiting = asyncio.create_task(outbox.room())
    await asyncio.sleep(0)
    full = not waiting.done()
    outbox.acknowledged(1)
    async with asyncio.timeout(5):
        await waiting

    assert full


async def test_acknowledgement_of_a_later_report_covers_the_earlier_ones() -> None:
    outbox = Outbox(FakeLink())
    for record in range(3):
        outbox.put(page_of(record), task_of())
        outbox.flush()

    outbox.acknowledged(3)

    async with asyncio.timeout(5):
        await outbox.drained()


async def test_report_that_cannot_be_sent_ends_the_link_instead_of_waiting_for_ever() -> None:
    link = FakeLink()
    outbox = Outbox(link)

    outbox.put_robots(RobotsResult(1, "http://a.example", "allow", "", "\udc80"))
    outbox.put(Page(1, 1, 1, outcome=Outcome(3, detail="\udc80")), task_of())
    outbox.flush()

    assert link.closed
    assert link.error is not None
