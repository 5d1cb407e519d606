"""The pages that failed or were dropped, one by one, and examples of links that were not followed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from p2pcrawl.frontier.database.left_out_rows import KEPT_MAX, LeftOutRow
from p2pcrawl.frontier.database.schema import FILE, open_for_reading
from p2pcrawl.frontier.reading.left_out_links import left_out_of
from p2pcrawl.frontier.reading.outside_pages import outside_after, outside_pages, some_outside
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.record import Order, Phase
from p2pcrawl.model.reason_choice import EVERY_REASON, ReasonChoice, reasons_named
from p2pcrawl.model.texts.imprint_url import imprint_url
from tests.unit.frontier.batches import batch_of, end, grant, link, store_with_job

ENDS = {"done": (Phase.DONE, ""), "gone": (Phase.FAILED, "http-4xx"), "robots": (Phase.DROPPED, "robots")}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(store_with_job(tmp_path / "data", clustered=True)) as store:
        yield store


def crawl(store: Store, count: int, hosts: int = 3) -> None:
    """Ends pages in each of the ways, by turns."""
    links = [link(f"http://h{n % hosts}.example/{tuple(ENDS)[n % 3]}/{n}") for n in range(count)]
    candidates = store.commit(batch_of(links)).fresh
    batch = batch_of()
    for candidate in candidates:
        grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    for candidate in candidates:
        phase, reason = ENDS[candidate.link.url.split("/")[3]]
        end(batch, candidate, phase, reason=reason)
    store.commit(batch)


def gathered(store: Store, choice: ReasonChoice) -> list[str]:
    found, after = [], ""
    while pages := outside_after(store.folder, 1, choice, after):
        found += [page.url for page in pages]
        after = pages[-1].place
    return found


def test_text_that_was_met_before_is_told_as_the_page_that_said_it(store: Store) -> None:
    batch, (text,) = batch_of(), store.commit(batch_of([link(imprint_url("http://a.example/7", 0, 0))])).fresh
    grant(batch, text)
    store.commit(batch)
    batch = batch_of()
    end(batch, text, Phase.DROPPED, reason="duplicate")
    store.commit(batch)

    (some,) = some_outside(store.folder, 1, Phase.DROPPED, EVERY_REASON, 3)

    assert some.url == "http://a.example/7"
    assert gathered(store, reasons_named("duplicate")) == ["http://a.example/7"]


@pytest.mark.parametrize(("reason", "share"), [("", 2), ("http-4xx", 1), ("robots", 1), ("http-200", 0)])
def test_all_pages_of_a_reason_come_once_page_by_page_and_at_once(store: Store, reason: str, share: int) -> None:
    crawl(store, 3_600, hosts=7)
    choice = reasons_named(reason)

    by_pages, at_once = gathered(store, choice), [page.url for page in outside_pages(store.folder, 1, choice)]

    assert len(by_pages) == len(set(by_pages)) == share * 1_200
    assert set(at_once) == set(by_pages)


def test_line_tells_reason_time_and_where_the_link_was(store: Store) -> None:
    crawl(store, 3)

    (line,) = [page.line() for page in outside_pages(store.folder, 1, reasons_named("http-4xx"))]

    told = json.loads(line)
    assert (told["outcome"], told["reason"], told["status"]) == ("failed", "http-4xx", 200)
    assert told["at"] > 0 and told["attempts"] == 1 and "place" not in told


def test_pages_of_a_reason_are_found_by_an_index(store: Store) -> None:
    with closing(open_for_reading(store.folder)) as db:
        for phase in (1, 2):
            plan = db.execute(
                f"EXPLAIN QUERY PLAN SELECT id FROM record WHERE job = 1 AND reason = 'x' AND phase = {phase}"
                " AND (host, id) > (5, 7) ORDER BY host, id LIMIT 9"
            ).fetchall()
            told = " ".join(row[3] for row in plan)
            assert "USING COVERING INDEX record_" in told


def test_a_few_pages_are_those_of_the_reason_and_the_phase(store: Store) -> None:
    crawl(store, 30)

    found = some_outside(store.folder, 1, Phase.DROPPED, EVERY_REASON, 4)

    assert [page.reason for page in found] == ["robots"] * 4


def test_place_that_makes_no_sense_is_the_beginning(store: Store) -> None:
    crawl(store, 6)

    assert len(outside_after(store.folder, 1, EVERY_REASON, "nonsense")) == 4


def test_examples_of_links_are_kept_to_a_bound_and_go_with_their_job(store: Store) -> None:
    batch = batch_of()
    batch.left_out += [LeftOutRow(1, "offsite", f"http://b.example/{n}", "http://a.example/") for n in range(200)]
    batch.left_out += [LeftOutRow(1, "depth", "http://a.example/deep", "")] * 3

    store.commit(batch)
    store.commit(batch)

    found = left_out_of(store.folder, 1)
    assert [each.reason for each in found] == ["depth"] + ["offsite"] * KEPT_MAX
    assert found[1].page == "http://a.example/" and left_out_of(store.folder, 2) == []
    store.empty_job(1, Order.PRIORITY)
    assert left_out_of(store.folder, 1) == []


def test_folder_that_was_written_before_there_were_examples_has_none(store: Store) -> None:
    with closing(sqlite3.connect(store.folder / FILE)) as db:
        db.execute("DROP TABLE left_out")

    assert left_out_of(store.folder, 1) == []
