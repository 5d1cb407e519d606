"""The store: one transaction per batch, and what a crash leaves."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.frontier.records import store as store_module
from p2pcrawl.frontier.records.batch import HostRow, ItemRow
from p2pcrawl.frontier.records.seen import SeenFilter
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import StorageError
from tests.unit.frontier.batches import assert_counters_equal_census, batch_of, end, grant, link, load, store_with_job


@pytest.fixture
def store(tmp_path: Path):
    store = store_with_job(tmp_path / "data")
    yield store
    store.close()


def copy_of(store: Store, to: Path) -> Path:
    """Copies what is on the disk at this moment, as a crash would leave it."""
    to.mkdir(parents=True)
    for file in store.folder.iterdir():
        if file.name.startswith("frontier.db") and not file.name.endswith("-shm"):
            shutil.copy(file, to / file.name)
    return to


def test_link_becomes_a_record_once_however_often_it_is_found(store: Store) -> None:
    first = store.commit(batch_of([link("http://a.example/1"), link("http://a.example/1"), link("http://a.example/2")]))
    second = store.commit(batch_of([link("http://a.example/2"), link("http://a.example/3")]))

    assert [c.link.url for c in first.fresh] == ["http://a.example/1", "http://a.example/2"]
    assert [c.link.url for c in second.fresh] == ["http://a.example/3"]
    assert_counters_equal_census(store)


def test_job_of_another_master_is_there_in_its_own_state_or_not_at_all(store: Store) -> None:
    """It was there as one that runs, till another transaction said how it stands."""
    store.add_job(2, "other", b"spec", None, batch_of(), "cancelled", "by a person")

    assert store.jobs()[-1] == (2, "other", b"spec", "cancelled", "by a person")


def test_jobs_do_not_share_their_records(store: Store) -> None:
    store.add_job(2, "other", b"", link("http://start.example/", job=2), batch_of())

    fresh = store.commit(batch_of([link("http://a.example/"), link("http://a.example/", job=2)])).fresh

    assert [c.job for c in fresh] == [1, 2]


def test_batch_that_fails_leaves_nothing_behind(store: Store) -> None:
    before = store.census(1), store.tallies(1)

    batch = batch_of([link("http://a.example/")])
    batch.specs[1] = object()  # Written last, and nothing that the database could keep.

    with pytest.raises(StorageError):
        store.commit(batch)

    assert (store.census(1), store.tallies(1)) == before
    assert [c.link.url for c in store.commit(batch_of([link("http://a.example/")])).fresh] == ["http://a.example/"]


def test_record_that_is_done_leaves_its_queue(store: Store) -> None:
    one, two = store.commit(batch_of([link("http://a.example/1"), link("http://a.example/2")])).fresh

    batch = batch_of()
    end(batch, one)
    store.commit(batch)

    assert [c.record for c in load(store, "http://a.example/")] == [two.record]
    assert_counters_equal_census(store)


def test_record_that_failed_an_attempt_comes_back_with_its_attempts(store: Store) -> None:
    (one,) = store.commit(batch_of([link("http://a.example/1")])).fresh
    batch = batch_of()
    grant(batch, one)
    store.commit(batch)

    batch = batch_of()
    one.losses = 1
    end(batch, one, Phase.QUEUED, reason="connect")
    store.commit(batch)

    assert [(c.attempts, c.losses) for c in load(store, "http://a.example/")] == [(1, 1)]
    assert store.census(1)["leased"] == 0


def test_done_is_never_undone_by_a_late_ending(store: Store) -> None:
    (one,) = store.commit(batch_of([link("http://a.example/1")])).fresh
    batch = batch_of()
    end(batch, one)
    store.commit(batch)

    late = batch_of()
    end(late, one, Phase.FAILED)
    late.tallies.clear()
    store.commit(late)

    assert store.census(1)["done"] == 1


def test_loads_go_through_a_queue_in_rank_order_and_piece_by_piece(store: Store) -> None:
    store.commit(batch_of(link(f"http://a.example/{n}", priority=n % 3) for n in range(30)))

    whole = load(store, "http://a.example/")
    pieces = []
    while piece := _after(store, pieces[-1] if pieces else None):
        pieces += piece

    assert whole == pieces
    assert [c.rank for c in whole] == sorted(c.rank for c in whole)
    assert [c.link.priority for c in whole] == [2] * 10 + [1] * 10 + [0] * 10


def _after(store: Store, last):
    from p2pcrawl.core.bench.candidate import LOWEST, Want, host_key

    batch = batch_of()
    batch.wants = [Want(1, host_key("http://a.example/"), "index", last.rank if last else LOWEST, 7)]
    return store.commit(batch).loaded[0][1]


def test_page_that_was_redirected_to_has_no_referer_from_disk_either(store: Store) -> None:
    (old,) = store.commit(batch_of([link("http://a.example/old")])).fresh
    store.commit(batch_of([link("http://b.example/new", parent=old.record)]))
    store.commit(batch_of([link("http://c.example/", parent=old.record)]))

    before = load(store, "http://b.example/")[0].link.referer
    batch = batch_of()
    end(batch, old, reason="redirect")
    store.commit(batch)

    assert before == "http://a.example/old"
    assert load(store, "http://b.example/")[0].link.referer == ""


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    story=st.lists(st.lists(st.integers(0, 60), max_size=20), min_size=1, max_size=12),
    young=st.sampled_from([1, 8, 1000]),
)
def test_generations_merge_without_losing_or_doubling_a_record(story, young, tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setattr(store_module, "MERGE_STEP", 3)
    store = store_with_job(tmp_path_factory.mktemp("data"), young_max=young)
    known: set[int] = set()
    try:
        for numbers in story:
            fresh = store.commit(batch_of(link(f"http://h{n % 4}.example/{n}") for n in numbers)).fresh
            assert {int(c.link.url.rpartition("/")[2]) for c in fresh} == set(numbers) - known
            known |= set(numbers)
        for _ in range(5):
            store.commit(batch_of())
        queued = [c.link.url for host in range(4) for c in load(store, f"http://h{host}.example/")]
        assert sorted(queued) == sorted(f"http://h{n % 4}.example/{n}" for n in known)
        assert_counters_equal_census(store)
    finally:
        store.close()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.lists(st.integers(0, 40), max_size=8), st.integers(0, 4), st.sampled_from([*Phase]), st.booleans()
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_crash_between_commits_leaves_what_was_committed(steps, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("crash")
    store = store_with_job(folder / "live", young_max=5)
    open_, queued, snapshots = [], [], []
    try:
        for numbers, grants, phase, ends in steps:
            batch = batch_of(link(f"http://a.example/{n}") for n in numbers)
            if ends and open_:
                end(batch, one := open_.pop(0), phase, items=[b"1"] if phase is Phase.DONE else [])
                if phase is Phase.QUEUED:
                    queued.append(one)
            taken, queued = queued[:grants], queued[grants:]
            for candidate in taken:
                grant(batch, candidate)
            open_ += taken
            queued += store.commit(batch).fresh
            expected = (store.census(1), store.tallies(1), len(store.items_after(1, 0, 1000)))
            snapshots.append((copy_of(store, folder / str(len(snapshots))), expected, len(open_)))
    finally:
        store.close()

    for copy, (census, tallies, items), leased in snapshots:
        again = Store(copy)
        try:
            assert (again.census(1), again.tallies(1), len(again.items_after(1, 0, 1000))) == (census, tallies, items)
            assert census["leased"] == leased
            assert again.recover() == leased
            assert again.recover() == 0
            assert again.census(1) == census | {"leased": 0}
            assert again.tallies(1).get("interrupted", 0) == leased
            assert_counters_equal_census(again)
        finally:
            again.close()


def test_attempts_of_interrupted_leases_count(store: Store, tmp_path: Path) -> None:
    (one,) = store.commit(batch_of([link("http://a.example/1")])).fresh
    batch = batch_of()
    grant(batch, one)
    store.commit(batch)

    again = Store(copy_of(store, tmp_path / "copy"))
    try:
        assert again.recover() == 1
        assert [c.attempts for c in load(again, "http://a.example/")] == [1]
    finally:
        again.close()


def test_parts_of_a_page_become_items_with_its_end_and_not_before(store: Store) -> None:
    (one,) = store.commit(batch_of([link("http://a.example/1")])).fresh
    batch = batch_of()
    batch.staged = [ItemRow(one.record, 1, 1, b"1"), ItemRow(one.record, 1, 1, b"2")]
    store.commit(batch)
    before = store.items_after(1, 0, 10)

    batch = batch_of()
    batch.staged = [ItemRow(one.record, 1, 1, b"3")]
    end(batch, one, staged=True)
    store.commit(batch)

    assert before == []
    assert [data for _, data in store.items_after(1, 0, 10)] == [b"1", b"2", b"3"]


def test_parts_of_a_page_that_was_lost_are_dropped(store: Store, tmp_path: Path) -> None:
    (one,) = store.commit(batch_of([link("http://a.example/1")])).fresh
    batch = batch_of()
    batch.staged = [ItemRow(one.record, 1, 1, b"1")]
    store.commit(batch)
    again = Store(copy_of(store, tmp_path / "copy"))
    try:
        again.recover()
        batch = batch_of()
        end(batch, one, staged=True)
        again.commit(batch)

        assert again.items_after(1, 0, 10) == []
    finally:
        again.close()


def test_items_are_read_in_pieces_that_fit_into_memory(store: Store) -> None:
    batch = batch_of()
    batch.items = [ItemRow(1, 1, 1, bytes(3 << 20)) for _ in range(8)]
    store.commit(batch)

    pieces, last = [], 0
    while rows := store.items_after(1, last, 100):
        pieces.append(len(rows))
        last = rows[-1][0]

    assert sum(pieces) == 8
    assert max(pieces) <= 4


def test_queues_are_found_in_key_order_across_generations(tmp_path: Path) -> None:
    store = store_with_job(tmp_path, young_max=10)
    try:
        store.commit(batch_of(link(f"http://h{n}.example/") for n in range(12)))
        store.commit(batch_of(link(f"http://h{n}.example/") for n in range(20)))
        found, cursor = [], None
        while some := store.queues_after(cursor, 3):
            found += some
            cursor = some[-1]
    finally:
        store.close()

    assert len(found) == 21
    assert found == sorted(set(found))


def test_longer_pause_of_a_host_outlives_a_shorter_one(store: Store) -> None:
    for seconds in (600.0, 5.0):
        batch = batch_of()
        batch.pauses = [(7, seconds)]
        store.commit(batch)

    ((host, seconds),) = store.pauses()

    assert host == 7
    assert 500 < seconds <= 600


def test_pause_is_never_longer_than_the_host_asked_for(store: Store, monkeypatch) -> None:
    batch = batch_of()
    batch.pauses = [(7, 10.0)]
    store.commit(batch)
    earlier = time.time() - 10_000

    with monkeypatch.context() as patched:
        patched.setattr(store_module.time, "time", lambda: earlier)
        pauses = store.pauses()

    assert pauses == [(7, 10.0)]


def test_robots_txt_of_a_host_comes_with_its_queue(store: Store) -> None:
    one = link("http://a.example/1")
    batch = batch_of([one])
    batch.hosts = [HostRow(one.host, "http://a.example", "agent", "rules", b"", "", 2.0)]
    store.commit(batch)
    batch = batch_of()
    from p2pcrawl.core.bench.candidate import LOWEST, Want

    batch.wants = [Want(1, one.host, "index", LOWEST, 10)]

    [told] = store.commit(batch).hosts[one.host]

    assert (told.key, told.origin, told.crawl_delay_s) == (one.host, "http://a.example", 2.0)


def test_filter_that_is_being_built_again_never_calls_a_known_link_new(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(store_module, "REBUILD_STEP", 7)
    urls = [f"http://a.example/{n}" for n in range(50)]
    store = store_with_job(tmp_path)
    store.commit(batch_of(map(link, urls)))
    store.close()

    store = Store(tmp_path, filter_=SeenFilter(first_capacity=20, capacity_max=300))
    try:
        for _ in range(12):
            assert store.commit(batch_of(map(link, urls))).fresh == []
    finally:
        store.close()


def test_files_of_an_abandoned_host_stay_queued_and_are_asked_for_by_nobody(tmp_path: Path) -> None:
    store = store_with_job(tmp_path, young_max=2)
    files = [f"http://down.example/{n}.pdf" for n in range(5)]
    page, other = "http://down.example/", "http://up.example/a.pdf"
    waited_for = [new._replace(link=new.link._replace(callback=FILE_CALLBACK)) for new in map(link, [*files, other])]
    store.commit(batch_of([link(page), *waited_for]))

    given_up = [store.give_up(1, host_key(page), 3) for _ in range(3)]
    abandoned = store.abandon(1, host_key(page), 10)[0]

    assert [(waiting, bool(buckets)) for waiting, buckets in given_up] == [(5, True), (5, True), (5, False)]
    assert abandoned["failed"] == 1
    assert_counters_equal_census(store)
    waiting = load(store, page)
    assert sorted(candidate.link.url for candidate in waiting) == files
    assert all(candidate.asks_nobody for candidate in waiting)
    assert not load(store, other)[0].asks_nobody
    store.close()


def test_abandoned_host_fails_in_pieces_and_the_counters_stay_right(tmp_path: Path) -> None:
    store = store_with_job(tmp_path, young_max=10)
    down, up = [f"http://down.example/{n}" for n in range(25)], "http://up.example/"
    store.commit(batch_of(link(url) for url in [*down, up]))
    store.commit(batch_of(link(f"http://down.example/late{n}") for n in range(5)))
    batch = batch_of()
    held = load(store, down[0])[0]
    grant(batch, held)
    store.commit(batch)

    changes = []
    while not changes or changes[-1]["failed"] == 10:
        changes.append(store.abandon(1, host_key(down[0]), 10)[0])
        assert_counters_equal_census(store)

    assert [c["failed"] for c in changes] == [10, 10, 9]
    assert [c.record for c in load(store, down[0])] == [held.record]
    assert len(load(store, up)) == 1
    assert store.tallies(1)["failed:host-down"] == 29
    assert {reason for _, reason, _ in store.troubles(1, 100)} == {"host-down"}
    store.close()
