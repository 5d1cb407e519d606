"""The model of acknowledgements tells what was said before it was so, and excuses what the harness itself did."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import pytest

from simulations.model.acknowledged import Acknowledged
from simulations.model.stores import Key, Lost, Stores, stamp_of
from simulations.record.disk_taps import DiskTaps

JOB = 7
PAGE: Key = (0, 1, JOB)
LINK: Key = (0, 2, JOB)
OTHER: Key = (0, 3, JOB)
QUEUED, DONE = stamp_of(0, 0, 0, 0), stamp_of(0, 3, 1, 0)


@dataclass
class Seen:
    """What somebody saw of three masters."""

    now_s: float = 100.0
    known: int = 3
    away: frozenset[str] = frozenset()
    lonely: bool = False
    behind: frozenset[str] = frozenset()
    gone: set[Key] = field(default_factory=set)
    jobs_deleted: set[int] = field(default_factory=set)
    cached: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    ring: tuple[str, ...] = ()
    slow_s: float = 0.0
    cut: float = inf

    def cut_s(self, since_s: float) -> float:
        return min(self.cut, since_s)

    def disk_s(self, node: str) -> float:
        return self.slow_s

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away

    def set_back(self, master: str) -> bool:
        return master in self.behind

    def fellows(self, master: str) -> frozenset[str]:
        return self.others - {master}

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return self.ring

    def unsynced(self, master: str) -> bool:
        return master in self.cached

    def deleted(self, job: int) -> bool:
        return job in self.jobs_deleted

    def destroyed(self, key: Key) -> bool:
        return key in self.gone

    def name(self, key: Key) -> str:
        return f"page {key[1]}"


@dataclass
class Case:
    """Three masters with two copies of everything, and what was told of them."""

    sight: Seen = field(default_factory=Seen)
    stores: Stores = field(default_factory=Stores)
    told: list[str] = field(default_factory=list)
    replicas: int = 2

    @property
    def rules(self) -> Acknowledged:
        parents = {LINK: [PAGE, OTHER]}
        return Acknowledged(self.stores, self.sight, self.replicas, {PAGE: [LINK]}, parents, self.told.append)


def test_a_copy_that_is_acknowledged_must_be_on_the_disk() -> None:
    case = Case()
    case.stores.store("m1").held[LINK] = QUEUED

    case.rules.copied("m1", [(LINK, QUEUED)], 99.0)
    case.rules.copied("m1", [(LINK, DONE)], 99.0)

    assert case.told == ["at 100.000 s m1 answered that it has a copy of page 2, and has not"]


def test_a_copy_that_was_there_and_is_dropped_by_now_was_acknowledged_truly() -> None:
    case = Case()
    case.stores.store("m1").left[LINK] = (99.5, DONE)

    case.rules.copied("m1", [(LINK, DONE)], 99.0)

    assert case.told == []


def test_a_copy_of_what_is_somebodys_own_goes_where_the_rest_of_that_is() -> None:
    case = Case()
    case.stores.store("m1").held[LINK] = QUEUED

    case.rules.took_in("m1", "m0", [(LINK, QUEUED)])
    assert case.told == [
        "at 100.000 s m1 answered m0 that it has page 2, which is its own in its view, and has it not as its own"
    ]
    case.stores.store("m1").records[LINK] = DONE
    case.rules.took_in("m1", "m0", [(LINK, QUEUED)])

    assert len(case.told) == 1


def test_what_is_settled_must_be_on_as_many_disks_as_there_are_to_be() -> None:
    case = Case()
    case.stores.store("m0").records[LINK] = QUEUED

    case.rules.settled("m0", "m2", [LINK])

    assert case.told == ["at 100.000 s m0 settled page 2 for m2 with 2 stores, and it was with m0 only"]


@pytest.mark.parametrize(("lost_s", "is_amiss"), [(50.0, False), (30.0, True)])
def test_a_disk_that_was_lost_a_moment_ago_still_counts(lost_s: float, is_amiss: bool) -> None:
    case = Case()
    case.stores.store("m0").records[LINK] = QUEUED
    case.stores.store("m1").held[LINK] = QUEUED
    case.stores.lose("m1", lost_s)

    case.rules.settled("m0", "m2", [LINK])

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize("sight", [Seen(known=1), Seen(jobs_deleted={JOB})])
def test_fewer_copies_do_where_no_more_can_be_and_none_of_what_is_deleted(sight: Seen) -> None:
    case = Case(sight)
    case.stores.store("m0").records[LINK] = QUEUED

    case.rules.settled("m0", "m2", [LINK])

    assert case.told == []


def test_a_link_that_an_owner_takes_must_be_on_its_disk_however_many_copies_it_has() -> None:
    case = Case()
    case.stores.store("m1").held[LINK] = QUEUED

    case.rules.provisional("m0", "m2", [LINK])

    assert case.told == ["at 100.000 s m0 took page 2 from m2, and has it not on its disk"]


def test_a_page_that_is_taken_in_must_be_as_far_as_it_was_told() -> None:
    case = Case()
    case.stores.store("m0").records[PAGE] = QUEUED

    case.rules.merged("m0", "m2", [(PAGE, DONE)])

    assert case.told == ["at 100.000 s m0 took in page 1 from m2, and has it not on its disk"]


def test_a_lease_must_be_on_the_disk_when_a_slave_is_told_of_it() -> None:
    case = Case()
    store = case.stores.store("m0")
    store.numbers[4], store.leases[4], store.records[PAGE] = PAGE, 9, QUEUED

    case.rules.granted("m0", "s0", [(4, 9)])
    case.rules.granted("m0", "s0", [(4, 10)])

    assert case.told == ["at 100.000 s m0 granted page 1 to s0, and has no such lease on its disk"]


def test_no_slave_is_told_of_a_lease_of_what_is_through() -> None:
    case = Case()
    store = case.stores.store("m0")
    store.numbers[4], store.leases[4], store.records[PAGE] = PAGE, 9, DONE

    case.rules.granted("m0", "s0", [(4, 9)])

    assert case.told == ["at 100.000 s m0 granted page 1 to s0, which is through, as its own disk says"]


@pytest.mark.parametrize(("ends_first", "is_amiss"), [(True, False), (False, True)])
def test_a_url_is_not_leased_again_before_its_lease_is_over(ends_first: bool, is_amiss: bool) -> None:
    case, heard = Case(), []
    ears = SimpleNamespace(has_leased_twice=lambda node, key: heard.append((node, key)))
    store = case.stores.store("m0")
    store.numbers[4], store.leases[4] = PAGE, 9
    over = [("e", 4, 9)] if ends_first else []

    DiskTaps(case.stores, lambda: 5.0, ears).committed("m0", [*over, ("l", 4, 10)])  # type: ignore[arg-type]

    assert heard == ([("m0", PAGE)] if is_amiss else [])
    assert store.leases == {4: 10}


def test_a_report_is_not_durable_while_its_page_is_queued_under_the_same_lease() -> None:
    case = Case()
    store = case.stores.store("m0")
    store.numbers[4], store.leases[4], store.records[PAGE] = PAGE, 9, QUEUED

    case.rules.reported("m0", "s0", [(4, 8)])
    case.rules.reported("m0", "s0", [(4, 9)])

    assert case.told == [
        "at 100.000 s m0 told s0 that its report of page 1 is durable, and it is not on its disk",
    ]


def test_a_report_is_not_durable_while_its_lease_is_open() -> None:
    case = Case()
    store = case.stores.store("m0")
    store.numbers[4], store.leases[4], store.records[PAGE] = PAGE, 9, DONE

    case.rules.reported("m0", "s0", [(4, 9)])

    assert case.told == [
        "at 100.000 s m0 told s0 that its report of page 1 is durable, and its lease is open still",
    ]


def test_what_is_committed_must_be_synced_when_anything_is_acknowledged() -> None:
    case = Case(Seen(cached=frozenset({"m1"})))

    case.rules.synced("m0", "m2", "Copied")
    case.rules.synced("m1", "m2", "Copied")

    assert case.told == [
        "at 100.000 s m1 sent m2 Copied while a loss of power could take away what it has committed",
    ]


@pytest.mark.parametrize(("stores", "is_amiss"), [(("m1",), True), (("m1", "m2"), False), ((), True)])
def test_a_link_is_kept_until_it_has_its_stores(stores: tuple[str, ...], is_amiss: bool) -> None:
    case = Case()
    for name in stores:
        case.stores.store(name).held[LINK] = QUEUED

    case.rules.unspooled("m0", LINK)

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize("sight", [Seen(jobs_deleted={JOB}), Seen(gone={LINK})])
def test_a_link_is_kept_no_longer_than_anybody_can_have_it(sight: Seen) -> None:
    case = Case(sight)

    case.rules.unspooled("m0", LINK)

    assert case.told == []


def test_a_link_that_has_become_the_keepers_own_need_not_be_kept() -> None:
    case = Case()
    case.stores.store("m0").records[LINK] = QUEUED

    case.rules.unspooled("m0", LINK)

    assert case.told == []


def done_with_a_link_at(*nodes: str, **more: object) -> Case:
    """A page is done at m0, and these have its link."""
    case = Case(**more)  # type: ignore[arg-type]
    case.stores.store("m0").records[PAGE] = DONE
    case.stores.store("m1").held[PAGE] = DONE
    for node in nodes:
        case.stores.store(node).held[LINK] = QUEUED
    return case


def test_no_copy_says_that_a_page_is_done_whose_link_has_fewer_copies() -> None:
    case = done_with_a_link_at("m2")

    case.rules.ended("m1", PAGE, is_copy=True)

    assert case.told == ["at 100.000 s m1 has a copy that says that page 1 is done, and page 2 was with m2 only, of 2"]


@pytest.mark.parametrize(("lost_s", "cut", "is_amiss"), [(29.0, 30.0, False), (29.0, inf, True), (-31.0, 30.0, True)])
def test_what_a_disk_had_that_was_lost_before_a_cut_nobody_could_make_good(
    lost_s: float, cut: float, *, is_amiss: bool
) -> None:
    case = done_with_a_link_at("m2", sight=Seen(cut=cut))
    case.stores.lost.append(Lost(lost_s, "m0", {LINK: QUEUED}))

    case.rules.ended("m1", PAGE, is_copy=True)

    assert bool(case.told) is is_amiss


def test_a_link_that_its_finder_keeps_has_two_stores() -> None:
    case = done_with_a_link_at("m2")
    case.stores.store("m0").spooled[LINK] = 1

    case.rules.ended("m1", PAGE, is_copy=True)

    assert case.told == []


def test_what_another_page_tells_that_is_not_through_may_wait_for_that() -> None:
    case = done_with_a_link_at()
    case.stores.store("m2").records[OTHER] = QUEUED

    case.rules.ended("m1", PAGE, is_copy=True)

    assert case.told == []


def test_an_owner_may_be_alone_with_its_own_links_while_somebody_is_away() -> None:
    case = done_with_a_link_at(sight=Seen(away=frozenset({"m2"})))
    case.stores.store("m0").records[LINK] = QUEUED

    case.rules.ended("m1", PAGE, is_copy=True)

    assert case.told == []


@pytest.mark.parametrize(("copied", "away", "is_amiss"), [(True, "", False), (False, "", True), (False, "m2", False)])
def test_items_are_brought_when_the_end_of_their_page_has_its_copies(copied: bool, away: str, is_amiss: bool) -> None:
    case = Case(Seen(away=frozenset({away} - {""})))
    case.stores.store("m0").records[PAGE] = DONE
    case.stores.store("m1").held[PAGE] = DONE if copied else QUEUED

    case.rules.brought([(PAGE, 0)])

    assert case.told == (
        ["at 100.000 s a sink is given the items of page 1, whose end m0 had only, of 2"] if is_amiss else []
    )


@pytest.mark.parametrize(("visit", "is_amiss"), [(0, False), (1, True)])
def test_who_has_a_page_in_its_next_visit_knows_the_end_of_this_one_and_of_no_later_one(
    visit: int, *, is_amiss: bool
) -> None:
    case = Case()
    case.stores.store("m0").records[PAGE] = stamp_of(1, 0, 0, 0)
    case.stores.store("m1").held[PAGE] = DONE

    case.rules.brought([(PAGE, visit)])

    assert bool(case.told) == is_amiss


def test_no_disk_knows_less_of_a_page_than_it_knew() -> None:
    case = Case()

    case.rules.goes_back("m1", PAGE, DONE, QUEUED)

    assert case.told == [
        "at 100.000 s m1 went back with page 1 on its disk, "
        "from visit 0, phase 3, 1 attempts to visit 0, phase 0, 0 attempts"
    ]


def test_taps_tell_of_what_is_committed_and_of_nothing_else() -> None:
    stores, ended, back = Stores(), list[tuple[str, Key, bool]](), list[tuple[object, ...]]()
    heard: Any = SimpleNamespace(
        has_ended=lambda node, key, *, is_copy: ended.append((node, key, is_copy)),
        has_dropped=lambda *_: None,
        has_given_up=lambda *_: None,
        goes_back=lambda *step: back.append(step),
    )
    taps = DiskTaps(stores, lambda: 5.0, heard)
    database, changes = sqlite3.connect(":memory:", isolation_level=None), list[tuple[object, ...]]()
    database.execute(
        "CREATE TABLE held (bucket, hi, lo, job, stamp, marks, PRIMARY KEY (bucket, hi, lo, job)) WITHOUT ROWID"
    )
    database.execute("CREATE TABLE spool (id INTEGER PRIMARY KEY, job, hi, lo)")
    database.execute("INSERT INTO held VALUES (1, 0, 3, 7, 0, 0)")
    tapped = taps.tap("m0", database, changes)  # type: ignore[arg-type]

    database.execute("INSERT OR REPLACE INTO held VALUES (1, 0, 1, 7, ?, 0)", (DONE,))
    database.execute("DELETE FROM held WHERE lo = 3")
    database.execute("INSERT INTO spool VALUES (1, 7, 0, 2)")
    database.execute("UPDATE held SET stamp = 3 WHERE lo = 1")
    before = stores.having(PAGE)
    taps.committed("m0", changes)  # type: ignore[arg-type]

    assert tapped
    assert before == []
    assert (stores.having(PAGE), stores.having(OTHER), stores.spooling(LINK)) == (["m0"], [], ["m0"])
    assert stores.store("m0").left[OTHER] == (5.0, QUEUED)
    assert ended == [("m0", PAGE, True)]
    assert back == [("m0", PAGE, DONE, 3)]
    database.close()


@pytest.mark.parametrize("is_kept", [False, True])
def test_host_that_asks_for_patience_has_it_on_disk_before_a_slave_forgets_that(is_kept: bool) -> None:
    case = Case()
    if is_kept:
        case.stores.store("m0").pauses[1] = 120

    case.rules.paused("m0", "s0", "h0.test", 1, 20.0)

    assert bool(case.told) is not is_kept


def test_databases_of_other_things_are_not_tapped_though_a_table_has_the_same_name() -> None:
    taps = DiskTaps(stores := Stores(), lambda: 5.0, cast("Any", None))
    database, changes = sqlite3.connect(":memory:", isolation_level=None), list[tuple[object, ...]]()
    database.execute("CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    stores.store("m0").held[PAGE] = DONE

    assert not taps.tap("m0", database, changes)  # type: ignore[arg-type]

    database.execute("INSERT INTO note VALUES ('a', 'b')")
    assert (changes, stores.store("m0").held) == ([], {PAGE: DONE})
    database.close()
