"""Boards of a job that change while it runs: all masters come to know, and somebody does what follows, whoever dies."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.frontier.database.schema import FILE as FRONTIER_FILE
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.board_changes.board_keeping import BoardKeeping
from p2pcrawl.master.board_changes.entries import bring_entries
from p2pcrawl.master.jobs.job import Job, pack_job, unpack_settled, unpack_spec
from p2pcrawl.model.boards.job_board import REMOVED, JobBoard, mark_of
from p2pcrawl.spiders.boards.board import Revisit
from p2pcrawl.wire.messages.slave_messages import Page, Task
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import FakeMaster, books, eventually, read, records, settled, submit, town_of

pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.usefixtures("impatient")]

HOSTS = 6
ENTRIES = [f"http://wine{n % HOSTS}.example/{n}" for n in range(2 * HOSTS)]
"""Of two at a host, the second waits for an hour."""
TEXT = f"entries = {ENTRIES}"


def nothing_found(task: Task) -> Page:
    return page_of(task)


def keeping_of(house: FakeMaster, brought: Counter[str] | None = None, **options: Any) -> BoardKeeping:
    async def counted(job: Job) -> dict[str, Counter[str]]:
        return {"wine": brought or Counter()}

    return BoardKeeping(
        house.master.company,
        house.master.admission,
        house.master.aside.drop_board,
        options.pop("hasten", house.master.turns.hasten),
        leads=house.cluster.completion.falls_to_us,
        brought=counted,
        spread=house.cluster.spread,
        **options,
    )


@asynccontextmanager
async def kept_town(folder: Path):
    async with town_of(folder, "1", "2", "3", answer=nothing_found) as (town, houses):
        town.look()
        await eventually(lambda: settled(houses))
        # Nothing of it ends while the test looks at it.
        job = await submit(houses[1], download_delay=3_600.0)
        keepings = [keeping_of(house) for house in houses]
        try:
            yield houses, job, keepings
        finally:
            for keeping in keepings:
                await keeping.close()


def entries_at(rows: list[tuple[str, int]]) -> set[str]:
    return {url for url, _ in rows if "wine" in url}


def ended(houses: list[FakeMaster]) -> int:
    """Counts the entries that are in no queue any more."""
    counts = [house.master.jobs[77].counts for house in houses]
    return sum(each["dropped:board-gone"] + each["pages"] for each in counts)


async def everywhere(houses: list[FakeMaster]) -> set[str]:
    found: set[str] = set()
    for house in houses:
        found |= entries_at(await records(house))
    return found


async def test_board_is_known_to_all_and_its_entries_are_in_when_the_call_returns(tmp_path: Path) -> None:
    async with kept_town(tmp_path) as (houses, job, keepings):
        await keepings[1].put(job, "wine", JobBoard(1, TEXT))

        boards = [house.master.jobs[77].spec.boards["wine"] for house in houses]
        found = await everywhere(houses)

    assert boards[0].text == TEXT
    assert len(set(boards)) == 1
    assert found == set(ENTRIES)


async def test_entries_come_though_the_master_dies_that_has_told_of_their_board(tmp_path: Path) -> None:
    async with kept_town(tmp_path) as (houses, job, keepings):
        # As far as it comes: durable here, and told, and nothing more.
        await houses[1].master.admission.take_boards(job, {"wine": JobBoard(5_000, TEXT)})
        await houses[1].cluster.spread(job)
        await houses[1].crash()
        keepings[0].start()
        left = [houses[0], houses[2]]

        await eventually(lambda: houses[0].master.jobs[77].unsettled == [])
        found = await everywhere(left)

    assert found == set(ENTRIES)


async def test_queue_of_a_board_that_was_taken_away_is_dropped_at_each_master(tmp_path: Path) -> None:
    async with kept_town(tmp_path) as (houses, job, keepings):
        for keeping in keepings:
            keeping.start()
        await keepings[1].put(job, "wine", JobBoard(1, TEXT))

        await keepings[2].put(houses[2].master.jobs[77], "wine", JobBoard(1, TEXT, closed=REMOVED))
        await eventually(lambda: all(house.master.jobs[77].unsettled == [] for house in houses))
        await eventually(lambda: ended(houses) == HOSTS * 2)
        counts = await books(houses)

    # What was in a slave's hands has ended as it would.
    assert counts["dropped:board-gone"] > 0
    assert counts["dropped:board-gone"] + counts["pages"] == 2 * HOSTS


async def test_entries_that_come_behind_the_end_of_their_board_are_dropped_as_those_before(tmp_path: Path) -> None:
    """They were queued again, and ended only when a slave was to ask for them, which is in an hour here."""
    async with kept_town(tmp_path) as (houses, job, keepings):
        await keepings[1].put(job, "wine", JobBoard(1, TEXT))
        await keepings[2].put(houses[2].master.jobs[77], "wine", JobBoard(1, TEXT, closed=REMOVED))
        for keeping in keepings:
            keeping.start()
        await eventually(lambda: all(house.master.jobs[77].unsettled == [] for house in houses))
        late = [f"http://wine{n}.example/late" for n in range(HOSTS)]

        # By a master that looked after the board as it was.
        master = houses[0].master
        urls = [*ENTRIES, *late]
        await bring_entries(master.company, master.admission, master.jobs[77], urls, lambda url: mark_of("wine"))

        await eventually(lambda: ended(houses) == len(urls))


async def test_board_that_has_reached_its_limit_is_closed_for_all(tmp_path: Path) -> None:
    async with kept_town(tmp_path) as (houses, _, keepings):
        await keepings[0].put(houses[0].master.jobs[77], "wine", JobBoard(1, TEXT + "\n[limits]\npages = 5"))
        keepings[0] = keeping_of(houses[0], Counter(pages=5))
        keepings[0].start()

        await eventually(lambda: all(h.master.jobs[77].spec.boards["wine"].closed for h in houses))
        closed = {house.master.jobs[77].spec.boards["wine"].closed for house in houses}

    assert closed == {"limits.pages"}


async def test_change_and_what_was_done_of_it_outlive_a_master(tmp_path: Path) -> None:
    async with kept_town(tmp_path) as (houses, job, keepings):
        await keepings[1].put(job, "wine", JobBoard(1, TEXT))
        await houses[1].master.handover.stored()
        [(_, _, packed, _, _)] = await houses[1].master.recorder.run(Store.jobs)

    assert unpack_spec(packed).boards == job.spec.boards
    assert unpack_settled(packed) == {"wine": job.spec.boards["wine"].version}
    assert unpack_settled(pack_job(job)) == unpack_settled(packed)


async def test_pages_of_a_board_carry_its_mark_to_their_owners(tmp_path: Path) -> None:
    async with kept_town(tmp_path) as (houses, job, keepings):
        await keepings[1].put(job, "wine", JobBoard(1, TEXT))
        question = "SELECT callback FROM record WHERE url LIKE '%wine%'"
        marks = {row for house in houses for row in await read(house, FRONTIER_FILE, question)}

    assert marks == {(mark_of("wine"),)}


async def test_waiting_pages_of_a_changed_board_are_hastened_once_and_again_where_buckets_have_come(
    tmp_path: Path,
) -> None:
    hastened, view = list[str](), [7]

    async def hasten(job: Job, mark: str, revisit: Revisit) -> int:
        hastened.append(f"{mark} {revisit.navigation:g}")
        return 0

    async with kept_town(tmp_path) as (houses, job, keepings):
        keepings[1] = keeping_of(houses[1], hasten=hasten, view=lambda: view[0])
        await keepings[1].put(job, "wine", JobBoard(1, f"{TEXT}\n[revisit]\nnavigation = 60"))
        for view[0] in (7, 0, 8, 8):
            await keepings[1].look_after(job)

    assert hastened == [f"{mark_of('wine')} 60"] * 2
