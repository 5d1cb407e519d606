"""Items of pages that wait to hear whether their text was met before, as slaves let them go and take them up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest

from p2pcrawl import Response, Spider
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Drop, Failure, NoPage
from p2pcrawl.model.texts.imprint_url import is_imprint
from p2pcrawl.model.texts.text_signatures import exact_signature
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.pages.harvest import PART_LINKS
from p2pcrawl.slave.work.imprint_work import MARKED, UNASKED
from p2pcrawl.slave.work.job_run import JobRun
from p2pcrawl.wire.messages.imprints import ITEMS_BYTES_MAX, SOONER, Imprint, imprint_link, imprint_of
from p2pcrawl.wire.messages.slave_messages import Page, Task
from tests.unit.slave.media_crawls import Answers, Site, crawl
from tests.unit.slave.tasks import FakeLink, task_of

PAGE = "http://a.example/"
FIRST = "http://b.example/"
TEXT = "".join(f"<p>{' '.join(f'word{n}{k}' for k in range(40))}.</p>" for n in range(5))


class Reader(Spider):
    name = "reader"

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        yield {"url": response.url, "second": True}


def html(text: str = TEXT, around: str = "") -> bytes:
    return f"<html><body><nav>{around}</nav><article>{text}</article><footer>{around}</footer></body></html>".encode()


async def ended(task: Task, answers: Answers | None = None, spider: type[Spider] = Reader, **settings: Any) -> Page:
    """Returns the report of a task's page."""
    (page,) = await parts_of(task, answers, spider, **settings)
    return page


async def parts_of(
    task: Task, answers: Answers | None = None, spider: type[Spider] = Reader, **settings: Any
) -> list[Page]:
    """Returns all that is reported of a task's page, in its order."""
    its = Settings().updated({"robotstxt_obey": False, **settings})
    site = Site(answers or {PAGE: html()})
    run = JobRun(spider, {}, its, Networks(), lambda *_: nullcontext(site))  # type: ignore[arg-type]
    await run.open()
    link = FakeLink()
    outbox = Outbox(link)
    await run.work(task, outbox, Fence(0.0, 0.0, lambda: None))
    outbox.flush()
    await run.close()
    return [page for report in link.reports for page in report.pages]


def imprint_in(page: Page) -> Imprint:
    (link,) = [each for columns in page.links for each in columns.each()]
    found = imprint_of(link)
    assert found is not None
    return found


def judged(**changes: Any) -> Task:
    """A task whose imprint has had its verdict."""
    made = Imprint(b"s" * 16, 0, 0, fingerprint(PAGE), 0, [b'{"a":1}', b'{"a":2}'])
    link = imprint_link(msgspec.structs.replace(made, **changes), PAGE, 2, 7)
    return Task(1, 1, 1, link, 1)


async def test_items_leave_with_the_imprint_of_the_text_and_not_with_their_page() -> None:
    page = await ended(task_of(PAGE, visit=2), duplicates="mark")

    imprint = imprint_in(page)
    assert page.items == [] and page.outcome.phase == Phase.DONE
    assert [json.loads(item) for item in imprint.items] == [{"url": PAGE}, {"url": PAGE, "second": True}]
    assert (imprint.page, imprint.visit, imprint.near) == (fingerprint(PAGE), 2, 0)


async def test_items_wait_for_the_end_of_a_page_that_sends_links_ahead() -> None:
    class Leader(Spider):
        def parse(self, response: Response) -> Iterator[Any]:
            yield {"url": response.url}
            yield response.follow_all([f"/{number}" for number in range(PART_LINKS + 1)])

    *ahead, page = await parts_of(task_of(PAGE), spider=Leader, duplicates="mark")

    links = [link for columns in page.links for link in columns.each()]
    (imprint,) = [found for link in links if (found := imprint_of(link)) is not None]
    assert ahead and not any(part.items for part in [*ahead, page])
    assert [json.loads(item) for item in imprint.items] == [{"url": PAGE}]


async def test_imprint_is_sooner_than_pages_and_no_deeper_than_its_page() -> None:
    page = await ended(task_of(PAGE, depth=3, priority=5), duplicates="drop", depth_limit=3)

    (columns,) = page.links
    assert (columns.shared.depth, columns.shared.priority) == (3, 5 + SOONER)


async def test_job_that_does_not_ask_reports_items_as_ever() -> None:
    page = await ended(task_of(PAGE))

    assert len(page.items) == 2 and page.links == []


async def test_text_is_the_same_with_another_header_and_footer() -> None:
    pages = [await ended(task_of(PAGE), {PAGE: html(around=f"menu {n}")}, duplicates="drop") for n in range(2)]

    assert imprint_in(pages[0]).signature == imprint_in(pages[1]).signature


async def test_page_without_main_text_is_told_by_its_body() -> None:
    page = await ended(task_of(PAGE), {PAGE: b"<p>a\n  b"}, duplicates="drop", duplicates_near=3)

    imprint = imprint_in(page)
    assert (imprint.signature, imprint.near) == (exact_signature(b"<p>a b"), 0)


async def test_long_text_is_told_by_bands_where_near_ones_are_asked_for() -> None:
    page = await ended(task_of(PAGE), duplicates="drop", duplicates_near=3)

    imprint = imprint_in(page)
    assert (len(imprint.signature), imprint.near, imprint.band) == (8, 3, 0)


class Failing(Reader):
    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        raise RuntimeError("no more")


async def test_failed_page_keeps_its_items_for_it_is_asked_for_again() -> None:
    page = await ended(task_of(PAGE), spider=Failing, duplicates="drop")

    assert (page.outcome.reason, len(page.items)) == (Failure.CALLBACK, 1)


class Heavy(Reader):
    def parse(self, response: Response) -> Iterator[Any]:
        yield {"text": "x" * ITEMS_BYTES_MAX}


async def test_items_that_are_too_much_to_travel_go_out_and_are_counted() -> None:
    page = await ended(task_of(PAGE), spider=Heavy, duplicates="drop")

    assert len(page.items) == 1 and page.links == []
    assert any(name.endswith(UNASKED) and count == 1 for name, count in page.outcome.stats.items())


async def test_items_of_a_text_that_was_not_met_come_out() -> None:
    page = await ended(judged(), duplicates="drop")

    assert page.items == [b'{"a":1}', b'{"a":2}']
    assert (page.outcome.phase, page.outcome.reason) == (Phase.DONE, NoPage.ORIGINAL)


async def test_items_of_a_text_that_was_met_are_dropped_with_the_reason() -> None:
    page = await ended(judged(first=FIRST), duplicates="drop")

    assert page.items == []
    assert (page.outcome.phase, page.outcome.reason) == (Phase.DROPPED, Drop.DUPLICATE)
    assert FIRST in page.outcome.detail


async def test_marked_items_say_of_which_page_they_are_duplicates_and_others_that_they_are_none() -> None:
    marked = await ended(judged(first=FIRST), duplicates="mark", duplicates_field="same")
    original = await ended(judged(), duplicates="mark", duplicates_field="same")

    assert [json.loads(item)["same"] for item in marked.items] == [{"url": FIRST, "distance": 0}] * 2
    assert [json.loads(item)["same"] for item in original.items] == [None, None]
    assert marked.outcome.reason == NoPage.MARKED
    assert any(name.endswith(MARKED) and count == 2 for name, count in marked.outcome.stats.items())


async def test_text_that_was_not_met_by_one_band_is_asked_for_by_the_next() -> None:
    page = await ended(judged(signature=b"s" * 8, near=2, band=1), duplicates="drop", duplicates_near=2)

    onward = imprint_in(page)
    assert (onward.band, onward.items, page.items) == (2, [b'{"a":1}', b'{"a":2}'], [])
    assert page.outcome.reason == NoPage.ASKED_ON


async def test_text_that_was_met_by_any_band_is_asked_for_no_more() -> None:
    page = await ended(judged(signature=b"s" * 8, near=2, band=1, first=FIRST, distance=2), duplicates="drop")

    assert page.links == [] and page.outcome.reason == Drop.DUPLICATE
    assert "but for 2 of 64 bits" in page.outcome.detail


async def test_items_of_a_text_that_was_met_come_out_marked_behind_its_last_band() -> None:
    met = await ended(judged(signature=b"s" * 8, near=3, band=1, first=FIRST, distance=2), duplicates="mark")

    onward = imprint_in(met)
    assert (onward.band, onward.first, onward.distance, met.items) == (3, FIRST, 2, [])
    assert met.outcome.reason == NoPage.MET

    out = await ended(judged(signature=b"s" * 8, near=3, band=3, first=FIRST, distance=2), duplicates="mark")
    assert [json.loads(item)["duplicate_of"] for item in out.items] == [{"url": FIRST, "distance": 2}] * 2


async def test_imprint_that_cannot_be_read_fails() -> None:
    task = judged()

    page = await ended(Task(1, 1, 1, task.link._replace(extra=b"nonsense"), 1), duplicates="drop")

    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.ITEM)


@pytest.mark.parametrize("new_slaves", [False, True])
async def test_items_go_from_band_to_band_whichever_slaves_have_them(new_slaves: bool) -> None:
    site = Site({PAGE: html()})

    crawled = await crawl(Reader, site, new_slaves=new_slaves, duplicates="mark", duplicates_near=3)

    assert [is_imprint(url) for url in crawled.granted] == [False, True, True, True, True]
    assert [item["duplicate_of"] for item in crawled.items] == [None, None]
    assert crawled.asked == [PAGE]
