"""Pages that are visited again: found when they are due, begun once, and their items kept while nothing is new."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.records import due_visits
from p2pcrawl.frontier.records.batch import Committed
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies.row_forms import copy_of_candidate, copy_of_ending, row_of_copy
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import NoPage
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
from tests.unit.frontier.test_visits import adopt, moved

PAGES = [f"http://a.example/{n}" for n in range(6)]
NEW = "http://a.example/new"
NOW = 1_800_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = store_with_job(tmp_path / "data", clustered=True)
    store.commit(batch_of([link(url) for url in PAGES]))
    yield store
    store.close()


def ended(
    store: Store,
    candidate: Candidate,
    due: int,
    *,
    items: list[bytes] = (),
    reason: str = "",
    phase: Phase = Phase.DONE,
    past: bytes = b"past",
    keeps: bool = False,
) -> Committed:
    batch = batch_of()
    grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    end(batch, candidate, phase, items=list(items), reason=reason)
    batch.endings[0] = batch.endings[0]._replace(due=due, past=past, keeps=keeps)
    if due and phase is not Phase.QUEUED:
        batch.tallies[1]["again"] += 1
    if phase is Phase.DONE:
        batch.tallies[1]["pages"] += 1
    elif phase is Phase.FAILED:
        batch.tallies[1][f"failed:{reason}"] += 1
    return store.commit(batch)


def begun(store: Store, *records: int, put_off: list[tuple[int, int]] = ()) -> list[Candidate]:
    return list(store.begin_visits(1, records, list(put_off), ORDERS).candidates)


def candidates(store: Store) -> dict[str, Candidate]:
    return {candidate.link.url: candidate for candidate in load(store, PAGES[0])}


def items_of(store: Store) -> list[tuple[str, int, list[bytes]]]:
    return [(page.url, page.visit, page.items) for page in store.pages_after(1, 0, 100, 10_000)[0]]


def test_pages_are_found_in_the_order_in_which_they_are_due(store: Store) -> None:
    known = candidates(store)
    for url, late in zip(PAGES, (50, -10, 30, 0, 20, 10), strict=True):
        ended(store, known[url], NOW - late)

    due = store.due_visits(1, NOW, 4)

    assert [visit.record for visit in due] == [known[PAGES[n]].record for n in (0, 2, 4, 5)]
    assert store.due_visits(2, NOW, 4) == []


def test_visit_that_begins_is_queued_once_with_what_is_known_of_its_page(store: Store) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW, past=b"what was learnt")

    [again] = begun(store, page.record)
    twice = begun(store, page.record)

    assert (again.visit, again.due, again.past, again.attempts) == (1, NOW, b"what was learnt", 0)
    assert twice == []
    assert load(store, PAGES[0])[0].record == page.record
    assert store.due_visits(1, NOW, 4) == []
    assert_counters_equal_census(store)
    assert store.tallies(1)["again"] == store.census(1)["again"] == 0


def test_page_that_is_put_off_is_overdue_until_its_turn(store: Store) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW - 100)

    begun(store, put_off=[(page.record, NOW + 50)])

    assert store.due_visits(1, NOW, 4) == []
    assert store.lateness(1, NOW, 3_600) == (1, NOW - 100)
    assert [visit.record for visit in store.due_visits(1, NOW + 50, 4)] == [page.record]


def test_items_of_a_page_that_says_nothing_new_stay_those_of_the_visit_that_brought_them(store: Store) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW, items=[b'{"n":1}'])
    for _ in range(3):
        [again] = begun(store, page.record)
        ended(store, again, NOW, reason=NoPage.UNCHANGED, keeps=True)

    assert items_of(store) == [(PAGES[0], 0, [b'{"n":1}'])]
    assert store.tallies(1)["items"] == 1


def test_items_of_a_page_that_changed_take_the_place_of_the_earlier_ones(store: Store) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW, items=[b'{"n":1}'])
    [second] = begun(store, page.record)
    ended(store, second, NOW, reason=NoPage.UNCHANGED, keeps=True)
    [third] = begun(store, page.record)

    ended(store, third, NOW, items=[b'{"n":2}'])

    assert items_of(store) == [(PAGES[0], 2, [b'{"n":2}'])]


def test_visit_in_vain_leaves_items_and_past_where_they_are(store: Store) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW, items=[b'{"n":1}'])
    [again] = begun(store, page.record)
    ended(store, again, 0, phase=Phase.QUEUED, reason="connect")
    [retried] = load(store, PAGES[0])[:1]

    ended(store, retried, NOW + 60, phase=Phase.FAILED, reason="connect", past=retried.past, keeps=True)

    assert items_of(store) == [(PAGES[0], 0, [b'{"n":1}'])]
    assert (retried.past, retried.due) == (b"past", NOW)
    assert_counters_equal_census(store)
    assert store.tallies(1)["again"] == store.census(1)["again"] == 1


@pytest.mark.parametrize("phase", [Phase.QUEUED, Phase.FAILED, Phase.DONE])
def test_copies_of_a_visit_have_the_items_of_the_one_before(store: Store, phase: Phase) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW, items=[b'{"n":1}'])
    [again] = begun(store, page.record)

    committed = ended(store, again, NOW, phase=phase, reason="unchanged", keeps=phase is not Phase.QUEUED)

    batch = batch_of()
    end(batch, again, phase)
    row = row_of_copy(copy_of_ending(batch.endings[0], kept=committed.kept[page.record]))
    assert (row.items, row.data, row.told, row.visit) == (1, b'{"n":1}', 0, 1)


def test_record_that_moves_takes_its_next_visit_along(store: Store, tmp_path: Path) -> None:
    page = candidates(store)[PAGES[0]]
    ended(store, page, NOW, items=[b"{}"])
    [again] = begun(store, page.record)
    ended(store, again, NOW + 600, reason=NoPage.UNCHANGED, keeps=True)
    rows = {row.link.url: row for row in store.rows_of([page.bucket], 0, 100)[0]}
    other = store_with_job(tmp_path / "other", clustered=True)

    batch = batch_of()
    batch.moved.append(moved(PAGES[0], 0, Phase.DONE)._replace(row=rows[PAGES[0]]))
    other.commit(batch)

    [visit] = other.due_visits(1, NOW + 600, 9)
    [third] = begun(other, visit.record)
    assert (third.visit, third.past) == (2, b"past")
    assert items_of(other) == [(PAGES[0], 0, [b"{}"])]
    assert_counters_equal_census(other)
    other.close()


def test_visit_that_goes_on_elsewhere_comes_with_the_items_of_the_one_before(store: Store) -> None:
    begins = moved(NEW, 1, Phase.QUEUED, data=b'{"n":1}')
    begins.row.told, begins.row.past, begins.row.due = 0, b"past", NOW

    committed = adopt(store, begins)

    [candidate] = [each for each in committed.fresh if each.link.url == NEW]
    row = row_of_copy(copy_of_candidate(candidate, committed.kept[candidate.record]))
    assert (row.items, row.told, row.past, row.due) == (1, 0, b"past", NOW)


def test_visits_that_a_clock_has_put_too_far_off_are_brought_back(store: Store) -> None:
    known = candidates(store)
    ended(store, known[PAGES[0]], NOW + 10_000_000)
    ended(store, known[PAGES[1]], NOW + 50)

    brought = store.bring_back_visits(1, NOW + 100)

    assert brought == 1
    assert len(store.due_visits(1, NOW + 100, 9)) == 2


def test_host_that_is_down_leaves_its_pages_due_again(store: Store) -> None:
    page = candidates(store)[PAGES[0]]

    store.abandon(1, page.host, 100, {"index": NOW + 60})

    assert len(store.due_visits(1, NOW + 60, 99)) == len(PAGES)
    assert store.tallies(1)["again"] == store.census(1)["again"] == len(PAGES)
    assert_counters_equal_census(store)


def test_pages_that_are_retried_by_hand_or_forgotten_are_not_due_any_more(store: Store) -> None:
    known = candidates(store)
    ended(store, known[PAGES[0]], NOW, phase=Phase.FAILED, reason="connect")
    ended(store, known[PAGES[1]], NOW)

    store.retry(1, ORDERS)
    retried = store.tallies(1)["again"]
    store.forget([0], ORDERS)

    assert retried == 1
    assert store.tallies(1)["again"] == 0


def test_row_of_a_peer_that_knows_no_revisits_is_of_the_visit_that_it_names(store: Store) -> None:
    later = moved(PAGES[0], 2, Phase.DONE, data=b"{}")
    assert isinstance(later.row, Row)

    adopt(store, later)

    assert items_of(store) == [(PAGES[0], 2, [b"{}"])]


def test_page_that_was_changed_since_its_visit_is_due_at_once_and_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, now = candidates(store), int(time.time())
    for url in PAGES[:3]:
        ended(store, known[url], now + 100_000)
    changes = {PAGES[0]: now + 50, PAGES[1]: now - 50, PAGES[2]: now + 5_000, PAGES[3]: now + 50}

    monkeypatch.setattr(time, "time", lambda: now + 100.0)
    store.commit(batch_of([link(url)._replace(changed=changed) for url, changed in changes.items()]))

    assert [visit.record for visit in store.due_visits(1, now + 100, 9)] == [known[PAGES[0]].record]
    assert store.tallies(1)["again"] == store.census(1)["again"] == 3
    assert_counters_equal_census(store)


def test_pages_of_a_board_are_due_sooner_in_steps_and_no_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_visits, "HASTEN_ROWS", 2)
    known = candidates(store)
    for number, due in enumerate((NOW + 500, NOW + 50, NOW - 1, 0)):
        ended(store, known[PAGES[number]], due)
    ended(store, known[PAGES[4]], 0, phase=Phase.DROPPED, reason="offsite")

    seen, after, sooner = list[str](), 0, 0
    for _ in range(10):
        step = store.hasten_some(1, "", after, NOW, lambda page: seen.append(page.url) or (page.due != NOW + 50) * NOW)
        after, sooner = step.after, sooner + step.sooner
        if not after:
            break

    assert set(seen) == {PAGES[0], PAGES[1], PAGES[3]}
    assert sooner == 2
    assert {visit.record for visit in store.due_visits(1, NOW, 9)} == {known[PAGES[n]].record for n in (0, 2, 3)}
    assert_counters_equal_census(store)
    assert store.hasten_some(1, "another", 0, NOW, lambda page: NOW).sooner == 0
