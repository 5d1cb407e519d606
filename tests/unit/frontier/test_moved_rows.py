"""Records that move from store to store with their buckets."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import reduce
from itertools import cycle
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.records.batch import Batch, MovedRow, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies.row_forms import copy_of_ending, copy_of_row, row_of_copy
from p2pcrawl.model.crawl.record import Phase, merged_stamp
from p2pcrawl.wire.messages.peer_messages import Row
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

HOSTS = 12
_open: list[Store] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


def begun(folder: Path) -> Store:
    _open.append(store_with_job(folder))
    return _open[-1]


def placed(url: str) -> NewLink:
    made = link(url)
    return made._replace(bucket=made.host % BUCKETS)


def posting(url: str) -> NewLink:
    new = placed(url)
    return new._replace(link=new.link._replace(extra=b"x" * 1000))


def moved(url: str, phase: Phase, attempts: int, losses: int, status: int, reason: str = "") -> MovedRow:
    new = placed(url)
    return MovedRow(new, Row(1, new.link, phase, attempts, losses, status, reason, 1))


def row_of(url: str, visit: int, phase: Phase, attempts: int, entry: bool) -> Row:
    reason = "why" if phase in (Phase.FAILED, Phase.DROPPED) else ""
    return Row(1, placed(url).link._replace(seed=entry), phase, attempts, 0, 200, reason, 1, visit=visit)


def batch_of_moved(rows: list[MovedRow]) -> Batch:
    batch = batch_of()
    batch.moved += rows
    return batch


def urls(count: int) -> list[str]:
    return [f"http://h{n % HOSTS}.example/{n}" for n in range(count)]


def empty(folder: Path) -> Store:
    store = Store(folder)
    store.add_job(1, "test", b"spec", None, batch_of())
    _open.append(store)
    return store


def move(source: Store, target: Store, buckets: set[int], *, page: int = 7, order: Random | None = None) -> int:
    """Moves rows as a hand-over does it, and returns how many."""
    count, after = 0, 0
    pages = []
    while True:
        rows, after = source.rows_of(buckets, after, page)
        if not rows:
            break
        pages.append(rows)
    if order is not None:
        order.shuffle(pages)
    for rows in pages:
        batch = batch_of()
        for row in rows:
            here = placed(row.link.url)._replace(link=row.link, job=row.job, foreign=True)
            batch.moved.append(MovedRow(here, row))
        target.commit(batch)
        count += len(rows)
    return count


def phases(store: Store) -> dict[str, int]:
    with closing(sqlite3.connect(store.folder / FILE)) as db:
        rows = db.execute("SELECT url, phase FROM record").fetchall()
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def finish(store: Store, chosen: list[str], phase: Phase = Phase.DONE, reason: str = "") -> None:
    for url in chosen:
        [candidate] = [c for c in load(store, url) if c.link.url == url]
        batch = batch_of()
        grant(batch, candidate)
        store.commit(batch)
        batch = batch_of()
        end(batch, candidate, phase, reason=reason)
        if reason:
            batch.tallies[1][f"{phase.name.lower()}:{reason}"] += 1
        store.commit(batch)


@pytest.mark.parametrize("seed", range(4))
def test_every_row_is_in_one_place_with_its_phase_after_a_move(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    source, target = begun(tmp_path / "a"), empty(tmp_path / "b")
    source.commit(batch_of([placed(u) for u in urls(60)]))
    finish(source, dice.sample(urls(60), 10))
    finish(source, dice.sample([u for u in urls(60) if phases(source)[u] == 0], 5), Phase.FAILED, "http-5xx")
    before = phases(source)
    buckets = {placed(u).bucket for u in urls(HOSTS // 2)}

    count = move(source, target, buckets, order=dice)
    tallies = source.forget(buckets, ORDERS)

    assert phases(source) | phases(target) == before
    assert not set(phases(source)) & set(phases(target))
    assert set(phases(target)) == {u for u in urls(60) if placed(u).bucket in buckets}
    assert count == len(phases(target)) == -tallies[1]["discovered"]
    assert_counters_equal_census(source)
    assert_counters_equal_census(target)
    assert target.tallies(1).get("failed:http-5xx", 0) == sum(p == Phase.FAILED for p in phases(target).values())


def test_queued_rows_are_granted_at_their_new_place_and_not_at_the_old(tmp_path: Path) -> None:
    source, target = begun(tmp_path / "a"), empty(tmp_path / "b")
    url = urls(1)[0]
    source.commit(batch_of([placed(url)]))

    move(source, target, {placed(url).bucket})
    source.forget({placed(url).bucket}, ORDERS)

    assert load(source, url) == []
    assert [c.link.url for c in load(target, url)] == [url]


def test_move_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    source, target = begun(tmp_path / "a"), empty(tmp_path / "b")
    source.commit(batch_of([placed(u) for u in urls(40)]))
    finish(source, urls(40)[:7])
    everything = set(range(BUCKETS))

    move(source, target, everything)
    once = phases(target), target.tallies(1)
    move(source, target, everything, page=11)

    assert (phases(target), target.tallies(1)) == once
    assert_counters_equal_census(target)


@pytest.mark.parametrize("phase", [Phase.DONE, Phase.FAILED, Phase.DROPPED])
def test_further_phase_wins_whichever_way_the_rows_go(tmp_path: Path, phase: Phase) -> None:
    url = urls(1)[0]
    for name, source_ended in (("x", True), ("y", False)):
        source, target = begun(tmp_path / f"{name}a"), empty(tmp_path / f"{name}b")
        source.commit(batch_of([placed(url)]))
        target.commit(batch_of([placed(url)]))
        finish(source if source_ended else target, [url], phase, "" if phase is Phase.DONE else "why")

        move(source, target, {placed(url).bucket})

        assert phases(target)[url] == phase
        assert load(target, url) == []
        assert_counters_equal_census(target)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    known=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(Phase), st.integers(0, 2), st.booleans()), min_size=1),
    ways=st.lists(st.booleans(), min_size=1),
    dice=st.randoms(use_true_random=False),
)
def test_what_is_known_of_a_url_comes_to_the_same_in_records_and_copies_in_whatever_order(
    tmp_path_factory: pytest.TempPathFactory, known: list, ways: list[bool], dice: Random
) -> None:
    """As far as any of them, and an entry if any was: whether it comes as a link or from another master."""
    url, bucket = urls(1)[0], placed(urls(1)[0]).bucket
    rows = [row_of(url, *fact) for fact in known]
    store, copies = empty(tmp_path_factory.mktemp("records")), CopyStore(tmp_path_factory.mktemp("copies"))

    for row, as_link in zip(dice.sample(rows, len(rows)), cycle(ways), strict=False):
        here = placed(url)._replace(link=row.link)
        store.commit(batch_of([here]) if as_link and not row.stamp >> 1 else batch_of_moved([MovedRow(here, row)]))
    for row in dice.sample(rows * 2, len(rows) * 2):
        copies.put([copy_of_row(replace(row), bucket)])

    [record], _ = store.rows_of({bucket}, 0, 10)
    [copy], _ = copies.rows({bucket}, b"", 10, 1 << 20)
    copies.close()
    assert record.stamp == copy.stamp == row_of_copy(copy).stamp == reduce(merged_stamp, (row.stamp for row in rows))
    [(*_, stamp)] = store.keys([Range(bucket, 0, 0)])
    assert stamp == record.stamp
    assert_counters_equal_census(store)


def test_master_is_told_of_rows_that_left_its_queue(tmp_path: Path) -> None:
    source, target = begun(tmp_path / "a"), empty(tmp_path / "b")
    url = urls(1)[0]
    source.commit(batch_of([placed(url)]))
    [candidate] = target.commit(batch_of([placed(url)])).fresh
    finish(source, [url])

    batch = batch_of()
    batch.moved.append(moved(url, Phase.DONE, 1, 0, 200))
    result = target.commit(batch)

    assert result.ended == {candidate.record}
    assert result.fresh == []


def test_page_that_another_master_had_ended_is_not_queued_when_it_is_given_back(tmp_path: Path) -> None:
    """It had come as done while a slave had it, and was granted again when the slave gave it back."""
    store = begun(tmp_path)
    one, other = store.commit(batch_of(map(placed, urls(2)))).fresh
    batch = batch_of()
    grant(batch, one)
    grant(batch, other)
    store.commit(batch)
    store.commit(batch_of_moved([moved(one.link.url, Phase.DONE, 1, 0, 200)]))

    batch = batch_of()
    batch.returned += [one.record, other.record]
    result = store.commit(batch)

    assert result.ended == {one.record}


def test_end_of_a_page_that_another_master_had_ended_is_counted_once(tmp_path: Path) -> None:
    """Its lease was open here while the other side of a partition fetched it."""
    store = begun(tmp_path)
    url = urls(1)[0]
    [candidate] = store.commit(batch_of([placed(url)])).fresh
    batch = batch_of()
    grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    batch.moved.append(moved(url, Phase.DONE, 1, 0, 200))
    store.commit(batch)

    batch = batch_of()
    end(batch, candidate, Phase.FAILED, reason="http-5xx")
    batch.tallies[1]["failed:http-5xx"] += 1
    result = store.commit(batch)

    assert result.ended == {candidate.record}
    assert phases(store)[url] == Phase.DONE
    assert_counters_equal_census(store)
    assert store.tallies(1).get("failed:http-5xx", 0) == 0


@pytest.mark.parametrize("phase", [Phase.DONE, Phase.FAILED, Phase.QUEUED])
def test_who_is_told_of_an_end_hears_of_tries_that_came_while_the_page_was_in_hand(
    tmp_path: Path, phase: Phase
) -> None:
    """Else copies would be behind the record, and what went wrong in the last try be found under no number."""
    store = begun(tmp_path)
    url = urls(1)[0]
    [candidate] = store.commit(batch_of([placed(url)])).fresh
    batch = batch_of()
    grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    batch.moved.append(moved(url, Phase.QUEUED, 2, 1, 503, "http-5xx"))
    store.commit(batch)

    batch = batch_of()
    end(batch, candidate, phase, reason="" if phase is Phase.DONE else "http-5xx")
    store.commit(batch)

    [row] = store.rows_of({placed(url).bucket}, 0, 10)[0]
    [ending] = batch.endings
    assert (ending.attempts, ending.losses) == (row.attempts, row.losses) == (2, 1)
    assert copy_of_ending(ending).stamp == row.stamp


def test_attempts_and_losses_travel(tmp_path: Path) -> None:
    target = empty(tmp_path)
    batch = batch_of()
    batch.moved.append(moved(urls(1)[0], Phase.QUEUED, 3, 2, 503, "http-5xx"))

    [fresh] = target.commit(batch).fresh

    assert (fresh.attempts, fresh.losses) == (3, 2)
    [loaded] = load(target, urls(1)[0])
    assert (loaded.attempts, loaded.losses) == (3, 2)


def test_forgotten_record_can_be_discovered_again(tmp_path: Path) -> None:
    store = begun(tmp_path)
    url = urls(1)[0]
    store.commit(batch_of([placed(url)]))
    store.forget({placed(url).bucket}, ORDERS)

    result = store.commit(batch_of([placed(url)]))

    assert [c.link.url for c in result.fresh] == [url]
    assert_counters_equal_census(store)


def test_what_was_forgotten_stays_so_after_a_restart(tmp_path: Path) -> None:
    store = begun(tmp_path)
    store.commit(batch_of([placed(u) for u in urls(30)]))
    gone = {placed(u).bucket for u in urls(3)}
    store.forget(gone, ORDERS)
    kept = phases(store)
    _open.pop().close()

    store = Store(tmp_path)

    _open.append(store)
    assert phases(store) == kept
    assert_counters_equal_census(store)


def test_rows_keep_their_referer_on_the_way(tmp_path: Path) -> None:
    source, target = begun(tmp_path / "a"), empty(tmp_path / "b")
    parent, child = urls(2)
    [p] = source.commit(batch_of([placed(parent)])).fresh
    source.commit(batch_of([placed(child)._replace(parent=p.record)]))

    move(source, target, {placed(child).bucket})

    assert [c.link.referer for c in load(target, child)] == [parent]


def test_page_of_rows_stops_behind_its_limit_of_bytes_and_nothing_is_skipped(tmp_path: Path) -> None:
    source = begun(tmp_path)
    source.commit(batch_of([posting(u) for u in urls(20)]))
    everything, seen, after = set(range(BUCKETS)), [], 0

    while True:
        rows, after = source.rows_of(everything, after, 100, 3000)
        if not rows:
            break
        assert len(rows) <= 4
        seen += [row.link.url for row in rows]

    assert sorted(seen) == sorted(phases(source))
