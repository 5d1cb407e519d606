"""Marks: which sinks have the items of a page, wherever its record goes; and never one that has them not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.frontier.copies.copy_store import CopyStore, Mark
from p2pcrawl.frontier.records.batch import MovedRow
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.wire.messages.peer_messages import Row
from tests.unit.frontier.batches import batch_of, copy_row, end, grant, link, place_of, store_with_job

SINKS = [("mongodb://db/shop", "{}"), ("s3://bucket/pages", "{}")]
MONGO, S3 = 1, 2
URLS = [f"http://a.example/{n}" for n in range(4)]


class Stores:
    """Stores of several masters, opened as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.open: list[Store] = []

    def one(self, name: str) -> Store:
        store = store_with_job(self._folder / name)
        store.carry_sinks(1, SINKS, "{}")
        self.open.append(store)
        return store


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    stores = Stores(tmp_path)
    yield stores
    for store in stores.open:
        store.close()


@pytest.fixture
def held(tmp_path: Path) -> Iterator[CopyStore]:
    store = CopyStore(tmp_path)
    yield store
    store.close()


def crawl(store: Store, *urls: str, items: int = 1) -> int:
    """Lets these pages end with items; the number of the last ones."""
    candidates = store.commit(batch_of([link(url) for url in urls])).fresh
    batch = batch_of()
    for candidate in candidates:
        grant(batch, candidate)
        end(batch, candidate, items=[b"{}"] * items)
    return store.commit(batch).last_item


def passed(store: Store, sink: int, last: int) -> None:
    batch = batch_of()
    batch.delivered.append((1, SINKS[sink][0], last, "{}"))
    store.commit(batch)


def rows(store: Store) -> dict[str, Row]:
    return {row.link.url: row for row in store.rows_of([0], 0, 1000)[0]}


def take_in(store: Store, *came: Row) -> None:
    batch = batch_of()
    batch.moved = [MovedRow(link(row.link.url), row) for row in came]
    store.commit(batch)


def test_page_is_marked_for_the_sinks_that_have_come_past_it(stores: Stores) -> None:
    store = stores.one("a")
    crawl(store, URLS[0])
    here = crawl(store, URLS[1])
    crawl(store, URLS[2])

    passed(store, 0, here)
    passed(store, 1, here - 1)

    assert [rows(store)[url].marks for url in URLS[:3]] == [MONGO | S3, MONGO, 0]


def test_marks_are_known_after_a_restart(stores: Stores, tmp_path: Path) -> None:
    store = stores.one("a")
    passed(store, 1, crawl(store, URLS[0]))
    store.close()

    again = stores.one("a")

    assert rows(again)[URLS[0]].marks == S3


def test_page_that_comes_to_another_master_keeps_its_marks_behind_the_cursors_there(stores: Stores) -> None:
    one, other = stores.one("a"), stores.one("b")
    passed(one, 0, crawl(one, URLS[0]))
    passed(other, 1, crawl(other, *URLS[1:]))

    take_in(other, rows(one)[URLS[0]])

    assert rows(other)[URLS[0]].marks == MONGO


def test_page_that_goes_to_and_fro_is_never_marked_by_the_cursor_of_its_former_owner(stores: Stores) -> None:
    one, other = stores.one("a"), stores.one("b")
    crawl(one, URLS[0])
    take_in(other, rows(one)[URLS[0]])
    one.forget([0], {1: batch_of().orders[1]})
    passed(one, 0, crawl(one, *URLS[1:]))

    take_in(one, rows(other)[URLS[0]])

    assert rows(one)[URLS[0]].marks == 0


def test_marks_of_one_visit_with_as_many_items_are_joined(stores: Stores) -> None:
    one, other = stores.one("a"), stores.one("b")
    passed(one, 0, crawl(one, URLS[0], items=2))
    passed(other, 1, crawl(other, URLS[0], items=2))

    take_in(other, rows(one)[URLS[0]])

    assert rows(other)[URLS[0]].marks == MONGO | S3


def test_mark_for_fewer_items_than_are_here_does_not_count(stores: Stores) -> None:
    one, other = stores.one("a"), stores.one("b")
    passed(one, 0, crawl(one, URLS[0], items=1))
    crawl(other, URLS[0], items=2)

    take_in(other, rows(one)[URLS[0]])

    assert rows(other)[URLS[0]].marks == 0


def test_what_a_sink_has_of_an_earlier_visit_is_no_mark_of_the_next(stores: Stores) -> None:
    one, other = stores.one("a"), stores.one("b")
    passed(one, 0, crawl(one, URLS[0]))
    marked = rows(one)[URLS[0]]
    later = Row(1, marked.link, Phase.DONE, 1, 0, 200, "", 1, items=1, data=b"{}", visit=1)

    take_in(other, later, marked)
    take_in(one, later)

    assert rows(other)[URLS[0]].marks == 0
    assert rows(one)[URLS[0]].marks == 0


def test_pages_that_a_sink_has_are_told_with_what_a_mark_needs(stores: Stores) -> None:
    store = stores.one("a")
    first = crawl(store, URLS[0], items=3)
    last = crawl(store, URLS[1])

    (page,) = store.brought(1, first, last, 10)

    row = rows(store)[URLS[1]]
    assert (page.last, page.fingerprint, page.stamp, page.items) == (last, row.link.fingerprint, row.stamp, row.items)


def mark_of(row, stamp: int, items: int, marks: int = 1) -> Mark:
    return Mark(*place_of(row), stamp, items, marks)


def test_copy_is_marked_for_just_the_visit_and_number_of_items_that_it_has(held: CopyStore) -> None:
    row = copy_row(1, 2, 3, 1, 7, b"row", b"ab")
    held.put([row])

    held.mark([mark_of(row, 6, 2), mark_of(row, 8, 2), mark_of(row, 7, 1), mark_of(row, 7, 2, S3)])
    held.mark([mark_of(copy_row(1, 9, 9, 1, 7), 7, 0)])

    ((kept,), _) = held.rows([1], b"", 10, 1000)
    assert kept.marks == S3


def test_newer_copy_is_not_marked_by_what_sinks_had_of_the_older(held: CopyStore) -> None:
    old, new = copy_row(1, 2, 3, 1, 6, b"row", b"ab"), copy_row(1, 2, 3, 1, 8, b"row", b"cd")
    held.put([old])
    held.mark([mark_of(old, 6, 2)])

    held.put([new])
    held.mark([mark_of(old, 6, 2)])

    ((kept,), _) = held.rows([1], b"", 10, 1000)
    assert (kept.stamp, kept.marks) == (8, 0)


def test_equal_copies_join_their_marks(held: CopyStore) -> None:
    one, other = copy_row(1, 2, 3, 1, 7, b"row", b"ab"), copy_row(1, 2, 3, 1, 7, b"row", b"cd")
    one.marks, other.marks = MONGO, S3

    held.put([one])
    held.put([other])

    ((kept,), _) = held.rows([1], b"", 10, 1000)
    assert kept.marks == MONGO | S3
