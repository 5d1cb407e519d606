"""A record's visits: begun again by hand, merged by their stamps, ended once each."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.frontier.database.digest import Range, split
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.records import bucket_rows as buckets
from p2pcrawl.frontier.records import retried as aside
from p2pcrawl.frontier.records.batch import ItemRow, MovedRow, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.wire.messages.peer_messages import CopyRow, Row
from tests.unit.frontier.batches import (
    ORDERS,
    assert_counters_equal_census,
    batch_of,
    end,
    grant,
    link,
    load,
    store_with_job,
)

URL = "http://a.example/page"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = store_with_job(tmp_path / "data", clustered=True)
    yield store
    store.close()


def placed(url: str) -> NewLink:
    made = link(url)
    return made._replace(bucket=made.host % BUCKETS)


def moved(url: str, visit: int, phase: Phase, attempts: int = 1, *, reason: str = "", data: bytes = b"") -> MovedRow:
    count = len(data.split(b"\n")) if data else 0
    new = placed(url)
    return MovedRow(new, Row(1, new.link, phase, attempts, 0, 200, reason, 10, count, data, visit))


def adopt(store: Store, *rows: MovedRow):
    batch = batch_of()
    batch.moved += rows
    return store.commit(batch)


def visit(store: Store, candidate: Candidate, phase: Phase, *, items: list[bytes] = (), reason: str = ""):
    """Passes one visit from its grant to its end, counted as a master does it."""
    batch = batch_of()
    grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    end(batch, candidate, phase, items=list(items), reason=reason)
    if phase is Phase.DONE:
        batch.tallies[1]["pages"] += 1
    elif phase is not Phase.QUEUED:
        batch.tallies[1][f"{phase.name.lower()}:{reason}"] += 1
    return store.commit(batch)


def state(store: Store) -> dict[str, tuple]:
    """Each record with its items and whether it is in the queue."""
    with closing(sqlite3.connect(store.folder / FILE)) as db:
        rows = db.execute("SELECT id, url, visit, phase, attempts, losses, reason FROM record").fetchall()
        queue = {n for t in ("queue_young", "queue") for (n,) in db.execute(f"SELECT id FROM {t}")}
        kept = db.execute("SELECT record, count, data FROM item ORDER BY id").fetchall()
    items = Counter[int]()
    texts: dict[int, list[bytes]] = {}
    for record, count, data in kept:
        items[record] += count
        texts.setdefault(record, []).append(data)
    return {url: (*rest, number in queue, items[number], texts.get(number)) for number, url, *rest in rows}


def assert_in_order(store: Store) -> None:
    assert_counters_equal_census(store)
    tallies = store.tallies(1)
    whole = state(store)
    reasons = Counter(f"{Phase(s[1]).name.lower()}:{s[4]}" for s in whole.values() if s[1] in (1, 2))
    assert {n: c for n, c in tallies.items() if ":" in n and c} == reasons
    assert tallies.get("pages", 0) == sum(s[1] == Phase.DONE and not s[4] for s in whole.values())
    assert tallies.get("items", 0) == sum(s[6] for s in whole.values())
    assert all(s[5] == (s[1] == Phase.QUEUED) for s in whole.values())


# -- retry ------------------------------------------------------------------------------------


def test_retried_records_are_queued_under_a_new_visit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "RETRY_ROWS", 3)
    urls = [f"http://h{n}.example/" for n in range(10)]
    for candidate in store.commit(batch_of(map(placed, urls))).fresh[:8]:
        visit(store, candidate, Phase.FAILED, reason="http-5xx")

    changes, touched = store.retry(1, ORDERS)

    assert changes == Counter({"failed": -8, "failed:http-5xx": -8, "queued": 8})
    assert touched == {placed(u).bucket for u in urls[:8]}
    assert [(c.visit, c.attempts, c.losses) for u in urls for c in load(store, u)] == [(1, 0, 0)] * 8 + [(0, 0, 0)] * 2
    assert_in_order(store)
    assert store.retry(1, ORDERS) == ({}, set())


def test_retry_leaves_other_jobs_and_what_has_not_failed_alone(store: Store) -> None:
    one, two, three = store.commit(batch_of(placed(f"{URL}{n}") for n in range(3))).fresh
    visit(store, one, Phase.DONE)
    visit(store, two, Phase.DROPPED, reason="robots")
    before = state(store)

    assert store.retry(1, ORDERS) == ({}, set())
    assert store.retry(2, ORDERS) == ({}, set())
    assert state(store) == before
    assert three.link.url in before


def test_items_of_the_visit_before_are_replaced_when_the_new_one_is_over(store: Store) -> None:
    [one] = store.commit(batch_of([placed(URL)])).fresh
    visit(store, one, Phase.FAILED, items=[b"1", b"2"], reason="callback")
    store.retry(1, ORDERS)
    [again] = load(store, URL)
    before = state(store)[URL]

    visit(store, again, Phase.DONE, items=[b"3"])

    assert before[-1] == [b"1\n2"]
    assert state(store)[URL][-1] == [b"3"]
    assert_in_order(store)


def test_end_of_an_old_visit_does_not_end_the_new_one(store: Store) -> None:
    """Another master has begun a new visit while the page of the old one was in a slave's hands here."""
    [old] = store.commit(batch_of([placed(URL)])).fresh
    adopt(store, moved(URL, 1, Phase.QUEUED, 0))

    result = visit(store, old, Phase.DONE, items=[b"1"])

    assert state(store)[URL] == (1, Phase.QUEUED, 0, 0, "", True, 0, None)
    assert [(c.link.url, c.visit) for c in result.fresh] == [(URL, 1)]
    assert result.ended == set()
    assert_in_order(store)


def test_parts_of_a_page_whose_visit_is_over_are_dropped_and_not_counted(store: Store) -> None:
    [old] = store.commit(batch_of([placed(URL)])).fresh
    batch = batch_of()
    batch.staged = [ItemRow(old.record, 1, 2, b"1\n2")]
    store.commit(batch)
    adopt(store, moved(URL, 0, Phase.DONE, data=b"theirs"))

    batch = batch_of()
    end(batch, old, staged=True)
    batch.tallies[1].update({"items": 2, "pages": 1})
    result = store.commit(batch)

    assert result.ended == {old.record}
    assert result.staged == {}
    assert state(store)[URL][-1] == [b"theirs"]
    assert_in_order(store)


def test_items_that_came_in_parts_are_told_whole_with_the_end(store: Store) -> None:
    [one] = store.commit(batch_of([placed(URL)])).fresh
    batch = batch_of()
    batch.staged = [ItemRow(one.record, 1, 2, b"1\n2"), ItemRow(one.record, 1, 1, b"3")]
    store.commit(batch)

    batch = batch_of()
    end(batch, one, staged=True)
    result = store.commit(batch)

    assert result.staged == {one.record: (3, b"1\n2\n3")}


# -- merging ----------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [Phase.DONE, Phase.FAILED, Phase.DROPPED])
def test_newer_visit_that_is_queued_makes_an_ended_record_queued_again(store: Store, phase: Phase) -> None:
    [one] = store.commit(batch_of([placed(URL)])).fresh
    visit(store, one, phase, items=[b"1"], reason="" if phase is Phase.DONE else "why")

    result = adopt(store, moved(URL, 1, Phase.QUEUED, 0))

    assert (
        [(c.link.url, c.visit, c.attempts) for c in result.fresh]
        == [(URL, 1, 0)]
        == [(c.link.url, c.visit, c.attempts) for c in load(store, URL)]
    )
    assert state(store)[URL][-1] == [b"1"]
    assert result.touched == {placed(URL).bucket}
    assert_in_order(store)


def test_newer_visit_that_is_done_replaces_the_items(store: Store) -> None:
    [one] = store.commit(batch_of([placed(URL)])).fresh
    visit(store, one, Phase.DONE, items=[b"1", b"2"])

    result = adopt(store, moved(URL, 1, Phase.DONE, data=b"3"))

    assert state(store)[URL][-1] == [b"3"]
    assert result.ended == set()
    assert_in_order(store)


def test_row_that_changes_nothing_touches_nothing(store: Store) -> None:
    rows = [moved(f"{URL}{n}", n % 2, Phase(n % 4), n % 3) for n in range(12)]
    adopt(store, *rows)
    before = state(store)

    result = adopt(store, *rows, moved(f"{URL}3", 0, Phase.DONE))

    assert (result.touched, result.ended, result.fresh) == (set(), set(), [])
    assert state(store) == before


def row_strategy() -> st.SearchStrategy[MovedRow]:
    """Rows whose stamp says everything of them, as between masters that agree."""

    def made(page: int, visit: int, phase: Phase, attempts: int) -> MovedRow:
        said = b"%d of %d after %d" % (page, visit, attempts) if phase is Phase.DONE else b""
        reason = "why" if phase in (Phase.FAILED, Phase.DROPPED) else ""
        return moved(f"http://h{page}.example/", visit, phase, attempts, reason=reason, data=said)

    return st.builds(made, st.integers(0, 3), st.integers(0, 2), st.sampled_from(Phase), st.integers(0, 2))


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(row_strategy(), min_size=1, max_size=10), dice=st.randoms(use_true_random=False))
def test_rows_come_to_the_same_in_whatever_order_and_however_often_they_come(
    rows: list[MovedRow], dice: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    best: dict[str, MovedRow] = {}
    for row in rows:
        best[row.new.link.url] = max(row, best.get(row.new.link.url, row), key=lambda each: each.row.stamp)
    again = rows + dice.sample(rows, len(rows) // 2)
    dice.shuffle(again)
    parts = [again[n : n + 3] for n in range(0, len(again), dice.randint(1, 3))]

    store = store_with_job(tmp_path_factory.mktemp("data"))
    try:
        for part in parts:
            adopt(store, *part)
        whole = state(store)
        queue = [c.record for row in best.values() for c in load(store, row.new.link.url)]
        assert_in_order(store)
    finally:
        store.close()

    assert len(whole) == len(best) + 1
    for url, row in ((url, each.row) for url, each in best.items()):
        reason = row.reason if row.phase != Phase.QUEUED else ""
        assert whole[url][:5] == (row.visit, row.phase, row.attempts, 0, reason)
        if row.phase == Phase.DONE:
            assert whole[url][-1] == [row.data]
    assert len(queue) == sum(each.row.phase == Phase.QUEUED for each in best.values())


# -- buckets ----------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(row_strategy(), max_size=12), nonce=st.binary(min_size=16, max_size=16))
def test_frontier_and_copies_of_the_same_records_have_the_same_sums_and_keys(
    rows: list[MovedRow], nonce: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("data")
    store, copies = Store(folder, clustered=True), CopyStore(folder)
    try:
        store.add_job(1, "test", b"", None, batch_of())
        adopt(store, *rows)
        copies.put([CopyRow(r.new.bucket, r.new.link.fingerprint, 1, r.row.stamp, b"", 0, b"") for r in rows])
        whole = [Range(bucket, 0, 0) for bucket in {r.new.bucket for r in rows}]
        asked = [*whole, *(part for where in whole for part in split(where))]

        assert store.digests(nonce, asked) == copies.digests(nonce, asked)
        assert sorted(store.keys(whole)) == sorted(copies.keys(whole))
    finally:
        store.close()
        copies.close()


def test_records_are_told_by_their_keys_as_they_are_page_by_page(store: Store) -> None:
    rows = [moved(f"http://h{n % 3}.example/{n}", n % 2, Phase(n % 4), 1, data=b"%d" % n) for n in range(20)]
    adopt(store, *rows)
    bucket = rows[0].new.bucket
    told, after = [], 0
    while page := store.rows_of({bucket}, after, 3):
        if not page[0]:
            break
        told += page[0]
        after = page[1]

    keys = [(hi, lo, job) for hi, lo, job, _ in store.keys([Range(bucket, 0, 0)])]
    found = store.rows_by_key(bucket, [*keys, (1, 2, 3), (*halves(rows[1].new.link.fingerprint), 1)])

    by_url = {row.link.url: row for row in told}
    assert len(told) == len(by_url) == sum(row.new.bucket == bucket for row in rows)
    assert {row.link.url: row for row in found} == by_url
    assert {url: row.visit for url, row in by_url.items()} == {
        r.new.link.url: r.row.visit for r in rows if r.new.bucket == bucket
    }


def test_buckets_are_forgotten_in_steps_and_the_rest_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "FORGET_ROWS", 3)
    rows = [moved(f"http://h{n % 5}.example/{n}", 0, Phase(n % 4), 1, data=b"%d" % n) for n in range(40)]
    adopt(store, *rows)
    gone = {rows[0].new.bucket, rows[1].new.bucket}
    before = state(store)

    tallies = store.forget(gone, ORDERS)

    assert state(store) == {u: s for u, s in before.items() if placed(u).bucket not in gone}
    assert -tallies[1]["discovered"] == sum(row.new.bucket in gone for row in rows)
    assert_in_order(store)
    assert len(adopt(store, *rows).touched) == len(gone)
    assert state(store).keys() == before.keys()
    assert_in_order(store)


def test_number_of_an_item_that_an_output_has_seen_is_not_given_again(tmp_path: Path) -> None:
    """Else what moves away would make the output believe that it has what comes next."""
    store = store_with_job(tmp_path)
    store.add_sink(1, "out", "{}", 0)
    adopt(store, moved(URL, 0, Phase.DONE, data=b"1"))
    [(number, _)] = store.items_after(1, 0, 10)
    batch = batch_of()
    batch.delivered = [(1, "out", number, "0")]
    store.commit(batch)
    store.forget({placed(URL).bucket}, ORDERS)
    store.close()

    store = Store(tmp_path)
    adopt(store, moved(f"{URL}2", 0, Phase.DONE, data=b"2"))

    assert [data for _, data in store.items_after(1, number, 10)] == [b"2"]
    store.close()
