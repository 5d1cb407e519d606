"""What checkers are told of a run while it goes on: what all disks hold, and who counts whom."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from p2pcrawl.frontier.copies.copy_store import CopyStore, SpoolRow
from p2pcrawl.frontier.database.schema import open_database
from p2pcrawl.model.crawl.fingerprint import fingerprint, halves
from p2pcrawl.wire.messages.peer_messages import CopyRow
from simulations.observe.alarms import listening
from simulations.observe.folders import DONE, DROPPED, QUEUED, print_of, read_rows, read_steps, through_at_each
from simulations.observe.inventory import Held, Stock
from simulations.observe.ledgers import Ledger, Ledgers
from simulations.observe.sightings import Presence, Sighting, Sightings
from simulations.play.options import Options
from simulations.whole.simulation import Simulation

JOB = 7
AGAIN = 4
"""What a second visit is further than the first."""
ONE, OTHER = "http://one.test/", "http://other.test/"
RECORD = (
    "INSERT INTO record (job, hi, lo, phase, url, host, kind, priority, depth, seed, callback, parent, found, attempts,"
    " losses, status, reason, size, ended, bucket)"
    " SELECT ?, ?, ?, ?, ?, 0, '', 0, 0, 0, '', 0, 0, 1, 0, 0, '', 0, 0, 0"
)


def record(folder: Path, url: str, phase: int) -> None:
    """A URL in a master's frontier."""
    folder.mkdir(exist_ok=True)
    frontier = open_database(folder)
    frontier.execute(RECORD, (JOB, *halves(fingerprint(url)), phase, url))
    frontier.close()


def copy(folder: Path, url: str, phase: int) -> None:
    """A URL that is held for another master."""
    folder.mkdir(exist_ok=True)
    store = CopyStore(folder)
    store.put([CopyRow(0, fingerprint(url), JOB, phase << 30, b"", 0, b"")])
    store.close()


def test_a_folder_knows_the_furthest_of_a_record_and_a_copy(tmp_path: Path) -> None:
    record(tmp_path / "m0", ONE, QUEUED)
    copy(tmp_path / "m0", ONE, DONE)

    assert read_steps(tmp_path / "m0", JOB) == {print_of(ONE): DONE}


@pytest.mark.parametrize(
    ("others", "hit", "is_known"),
    [
        ([{}], DONE, False),
        ([{ONE: DROPPED}], AGAIN + QUEUED, False),
        ([{ONE: DROPPED}], AGAIN + DONE, False),
        ([{ONE: AGAIN + DONE}], AGAIN + QUEUED, True),
        ([{ONE: DONE}, {ONE: DONE}], QUEUED, True),
        ([{ONE: DONE}, {ONE: QUEUED}], DONE, False),
        ([{ONE: DONE}, {ONE: AGAIN + DONE}], QUEUED, False),
    ],
)
def test_others_know_that_a_url_is_through_if_nobody_knows_it_to_be_further(
    others: list[dict[str, int]], hit: int, is_known: bool
) -> None:
    """What was dropped and is queued once more, or through once more, the others take for dropped."""
    sides = [{print_of(url): step for url, step in side.items()} for side in others]

    assert (print_of(ONE) in through_at_each(sides, {print_of(ONE): hit})) == is_known


def test_rows_of_one_job_are_counted_in_every_table(tmp_path: Path) -> None:
    record(tmp_path / "m0", ONE, DONE)
    copy(tmp_path / "m0", ONE, DONE)

    assert read_rows(tmp_path / "m0", JOB) == {"record": 1, "held": 1}
    assert read_rows(tmp_path / "m0", JOB + 1) == read_rows(tmp_path / "none", JOB) == {}


def ledger(machine: str, *lives: tuple[float, float, int, int]) -> Ledger:
    """Looks at a master twice a second: from when, until when, and what it had counted, at first and at last."""
    moments, fetches = list[float](), list[int]()
    for from_s, until_s, first, last in lives:
        looks = [from_s + each / 2 for each in range(round(2 * (until_s - from_s)) + 1)]
        moments += looks
        fetches += [first] * (len(looks) - 1) + [last]
    return Ledger(machine, moments, fetches)


def test_what_was_counted_between_the_last_look_and_a_death_need_not_have_been_told() -> None:
    ledgers = Ledgers(
        {"one": ledger("m0", (1.0, 5.0, 0, 1), (13.0, 20.0, 4, 12)), "other": ledger("m1", (1.0, 5.0, 2, 6))}
    )

    assert ledgers.least_of_slices(2.0, [("m0", 5.4)]) == 12 + 6 - (4 - 0)
    assert ledgers.least_of_slices(2.0, [("m1", 5.4)]) == 12 + 6 - (6 - 2)


def test_who_was_never_there_for_long_since_it_counted_something_need_not_have_told_it() -> None:
    """It died a moment later, and lost its disk a moment after it was back."""
    for_a_moment = Ledgers({"one": ledger("m0", (1.0, 4.0, 0, 1), (55.0, 55.5, 1, 1))})
    for_long = Ledgers({"one": ledger("m0", (1.0, 4.0, 0, 1), (55.0, 57.5, 1, 1))})

    assert for_a_moment.least(2.0, []) == 0
    assert for_long.least(2.0, []) == 1


def test_an_inventory_counts_on_how_many_disks_a_url_is(tmp_path: Path) -> None:
    record(tmp_path / "m0", ONE, DONE)
    record(tmp_path / "m1", OTHER, QUEUED)
    copy(tmp_path / "m1", ONE, QUEUED)
    stock = Stock()

    stock.take(1.0, JOB, [tmp_path / "m0", tmp_path / "m1", tmp_path / "empty"])

    assert stock.inventories[0].held == {print_of(ONE): Held(DONE, 2, 1), print_of(OTHER): Held(QUEUED, 1, 0)}
    assert stock.inventories[0].disks == 3


def test_an_inventory_knows_what_is_kept_for_want_of_copies(tmp_path: Path) -> None:
    for folder, job in (("m0", JOB), ("m1", JOB + 1)):
        (tmp_path / folder).mkdir()
        store = CopyStore(tmp_path / folder)
        store.spool([SpoolRow(job, *halves(fingerprint(f"http://{folder}.test/")), 1, b"")])
        store.close()
    stock = Stock()

    stock.take(1.0, JOB, [tmp_path / "m0", tmp_path / "m1", tmp_path / "empty"])

    assert stock.inventories[0].spooled == {print_of("http://m0.test/")}


def test_sightings_tell_changes_only_and_lives_apart() -> None:
    sightings = Sightings()

    for now_s, life, counted in ((0.5, 1, "a"), (1.0, 1, "ab"), (1.5, 1, "ab"), (2.0, 3, "b")):
        sightings.look(now_s, {"m0": life}, {"m0": counted})

    assert sightings.sightings == [
        Sighting(0.5, "m0", "a", True), Sighting(1.0, "m0", "b", True), Sighting(2.0, "m0", "a", False)
    ]  # fmt: skip
    assert sightings.presences == [Presence("m0", 1, 0.5, 2.0), Presence("m0", 3, 2.0)]


@pytest.mark.slow
def test_watching_changes_nothing(monkeypatch) -> None:
    options = Options(scenario="churn", masters=3, pages=40, hosts=8)
    watched = Simulation(options).run()

    monkeypatch.setattr("simulations.play.observer.Observer.take_stock", lambda self, lost=frozenset(): None)
    monkeypatch.setattr("simulations.observe.loads.Loads.look", lambda *_: None)
    monkeypatch.setattr("simulations.observe.sightings.Sightings.look", lambda *_: None)

    assert Simulation(options).run().trace == watched.trace


# -- alarms and ailments --------------------------------------------------------------------------


class Clock:
    now = 7.0


def test_lines_at_error_and_tracebacks_are_heard_and_nothing_else() -> None:
    log = logging.getLogger("p2pcrawl.test.observing")

    with listening(Clock()) as alarms:
        log.warning("a slave is silent")
        log.error("the master failed: %s", OSError("no such disk"))
        try:
            raise KeyError("m1")
        except KeyError:
            log.warning("it goes on", exc_info=True)
    log.error("after the end")

    assert [str(alarm) for alarm in alarms.heard] == [
        "the run logged at 7.00 s: observing: the master failed: no such disk",
        "the run logged at 7.00 s: observing: it goes on: KeyError('m1')",
    ]
    assert [alarm.error for alarm in alarms.heard] == ["OSError", "KeyError"]
