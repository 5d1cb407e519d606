"""Queues that are cleared: what was in them is dropped and counted so, and is queued again where it is found again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.database import copied_mark
from p2pcrawl.frontier.records import cleared
from p2pcrawl.frontier.records.batch import NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.job import START_URL, idle_url
from p2pcrawl.model.crawl.record import Phase
from tests.unit.frontier.batches import ORDERS, assert_counters_equal_census, batch_of, end, grant, link, load
from tests.unit.frontier.batches import store_with_job as store_of

HOST = "http://a.example"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = store_of(tmp_path / "data", clustered=True)
    yield store
    store.close()


def placed(path: str, kind: str = "index", *, seed: bool = False) -> NewLink:
    made = link(path if "://" in path else f"{HOST}/{path}")
    return made._replace(bucket=made.host % BUCKETS, link=made.link._replace(kind=kind, seed=seed))


def found(store: Store, *links: NewLink) -> list[str]:
    """Finds links; returns the URLs that are queued because of that."""
    batch = batch_of(links)
    batch.cleared = {1} if store.tallies(1).get("dropped:cleared") else ()
    return [candidate.link.url for candidate in store.commit(batch).fresh]


def finish(store: Store, candidate: Candidate) -> None:
    batch = batch_of()
    grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    end(batch, candidate)
    batch.tallies[1]["pages"] += 1
    store.commit(batch)


def cleared_all(store: Store, *kinds: str) -> int:
    count = 0
    while gone := store.clear(1, kinds).records:
        count += len(gone)
    return count


def test_queue_of_a_kind_is_dropped_in_steps_and_the_other_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleared, "CLEAR_ROWS", 3)
    found(store, *(placed(f"i{n}") for n in range(7)), *(placed(f"d{n}", "detail") for n in range(4)))
    start = store.tallies(1)["queued"] - 11

    step = len(store.clear(1, ["index"]).records)
    gone = step + cleared_all(store, "index")

    assert step == 3
    tallies = store.tallies(1)
    assert gone == 7 + start
    assert (tallies["queued"], tallies["dropped"], tallies["dropped:cleared"]) == (4, gone, gone)
    assert [c.link.url for c in load(store, f"{HOST}/i1")] == []
    assert_counters_equal_census(store)


def test_what_is_in_a_slaves_hands_ends_as_it_would(store: Store) -> None:
    found(store, placed("held"), placed("waiting"))
    held = next(c for c in load(store, f"{HOST}/held") if c.link.url.endswith("held"))
    batch = batch_of()
    grant(batch, held)
    store.commit(batch)

    gone = store.clear(1, ["index"])
    batch = batch_of()
    end(batch, held)
    batch.tallies[1]["pages"] += 1
    result = store.commit(batch)

    assert held.record not in gone.records and not result.ended
    assert store.tallies(1)["done"] == 1
    assert_counters_equal_census(store)


def test_start_of_the_spider_is_not_cleared(store: Store) -> None:
    found(store, placed(f"{START_URL}1", seed=True), placed("page"))

    cleared_all(store, "index", "detail")

    assert [c.link.url for c in load(store, f"{START_URL}1")] == [f"{START_URL}1"]


def test_page_that_is_found_again_is_queued_again_under_a_new_visit_and_once(store: Store) -> None:
    found(store, placed("a"), placed("b"))
    cleared_all(store, "index")

    again = found(store, placed("a"), placed("a"), placed("new"))
    once_more = found(store, placed("a"))

    assert again == [f"{HOST}/new", f"{HOST}/a"] and once_more == []
    assert {c.link.url: c.visit for c in load(store, f"{HOST}/a")} == {f"{HOST}/a": 1, f"{HOST}/new": 0}
    assert_counters_equal_census(store)


def test_page_that_was_dropped_for_another_reason_stays_dropped(store: Store) -> None:
    found(store, placed("a"), placed("b"))
    (first, _) = load(store, f"{HOST}/a")
    batch = batch_of()
    grant(batch, first)
    store.commit(batch)
    batch = batch_of()
    end(batch, first, Phase.DROPPED, reason="robots")
    batch.tallies[1]["dropped:robots"] += 1
    store.commit(batch)
    cleared_all(store, "index")

    assert found(store, placed("a")) == []


def test_restart_begins_entries_anew_and_nothing_else(store: Store) -> None:
    found(store, placed("entry", seed=True), placed("page"), placed(idle_url(1, 1), seed=True))
    for candidate in [*load(store, f"{HOST}/entry"), *load(store, idle_url(1, 1))]:
        batch = batch_of()
        grant(batch, candidate)
        store.commit(batch)
        batch = batch_of()
        end(batch, candidate)
        batch.tallies[1]["pages"] += 1
        store.commit(batch)

    changes, touched = store.restart(1, ORDERS)
    again, _ = store.restart(1, ORDERS)

    assert changes["queued"] == 1 and again["queued"] == 0
    assert touched == {placed("entry").bucket}
    assert [(c.link.url, c.visit) for c in load(store, f"{HOST}/entry")] == [(f"{HOST}/entry", 1)]
    assert_counters_equal_census(store)


def test_link_that_comes_as_an_entry_later_is_one_and_is_begun_anew(store: Store) -> None:
    found(store, placed("page"), placed("other"))
    [page] = [c for c in load(store, f"{HOST}/page") if c.link.url.endswith("page")]
    finish(store, page)

    first = store.commit(batch_of([placed("page", seed=True)]))
    second = store.commit(batch_of([placed("page", seed=True), placed("page")]))
    changes, _ = store.restart(1, ORDERS)

    assert [(each.record, each.row.link.seed, each.row.stamp >> 1) for each in first.entered] == [
        (page.record, True, 0)
    ]
    assert not first.fresh and not second.entered
    assert changes["queued"] == 1
    assert {c.link.url: (c.visit, c.link.seed) for c in load(store, f"{HOST}/page")} == {
        f"{HOST}/page": (1, True),
        f"{HOST}/other": (0, False),
    }
    assert_counters_equal_census(store)


def test_mark_falls_back_before_an_entry_though_it_could_move_on_in_the_same_turn(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a master that is back after a crash does not tell others first that it is one."""
    monkeypatch.setattr(copied_mark, "STEP", 1)
    found(store, placed("page"), placed("other"))
    turn = batch_of([placed("page", seed=True)])
    turn.copied = 3

    store.commit(turn)

    assert store.uncopied() == (1, 3)


def test_link_that_is_an_entry_in_the_same_batch_is_one(store: Store) -> None:
    [fresh] = store.commit(batch_of([placed("page"), placed("page", seed=True)])).fresh

    assert fresh.link.seed


# -- boards that were taken away ------------------------------------------------------------------


def of_board(path: str, mark: str, kind: str = "index") -> NewLink:
    made = placed(path, kind)
    return made._replace(link=made.link._replace(callback=mark))


def test_queue_of_one_board_is_dropped_and_those_of_others_stay(store: Store) -> None:
    found(store, of_board("a1", "board_a"), of_board("a2", "board_a", "detail"), of_board("b1", "board_b"))
    others = store.tallies(1)["queued"] - 2

    gone = len(store.clear(1, ["index", "detail"], "board_a").records)

    tallies = store.tallies(1)
    assert (gone, tallies["queued"], tallies["dropped:board-gone"]) == (2, others, 2)
    assert not store.clear(1, ["index", "detail"], "board_a").records
    assert_counters_equal_census(store)


def test_page_of_a_board_that_comes_back_is_queued_where_it_is_found(store: Store) -> None:
    found(store, of_board("a1", "board_a"))
    store.clear(1, ["index"], "board_a")

    batch = batch_of([of_board("a1", "board_a")])
    batch.cleared = {1}
    fresh = [candidate.link.url for candidate in store.commit(batch).fresh]

    assert fresh == [f"{HOST}/a1"]
    assert store.tallies(1)["dropped:board-gone"] == 0
    assert_counters_equal_census(store)


def test_pages_of_a_board_that_was_taken_away_are_visited_no_more(store: Store) -> None:
    found(store, of_board("a1", "board_a"), of_board("b1", "board_b"))
    for candidate in [c for c in load(store, f"{HOST}/a1") if "1" in c.link.url]:
        batch = batch_of()
        grant(batch, candidate)
        store.commit(batch)
        batch = batch_of()
        end(batch, candidate)
        batch.endings[0] = batch.endings[0]._replace(due=100, past=b"past")
        batch.tallies[1].update(pages=1, again=1)
        store.commit(batch)

    step, rest = store.cease(1, "board_a"), store.cease(1, "board_a")

    assert (step.changes, len(step.records), len(rest.records)) == ({"again": -1}, 1, 0)
    assert [visit.record for visit in store.due_visits(1, 200, 10)] != []
    assert store.tallies(1)["again"] == 1
