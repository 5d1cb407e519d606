"""The model of jobs tells what is called finished too soon, and states and answers that do not follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from simulations.model.endings import FINAL, FINISHED, RUNNING, Endings, JobRow
from simulations.model.stores import Key, Stores
from tests.simulations.judging.test_acknowledged import DONE, JOB, PAGE, QUEUED, Seen


@dataclass
class SeenWithAll(Seen):
    """What somebody saw who knows who can be asked."""

    there: frozenset[str] = frozenset({"m0", "m1"})
    injected: bool = False

    def present(self) -> frozenset[str]:
        return self.there

    def injecting(self) -> bool:
        return self.injected

    def named(self, ids: Iterable[str]) -> frozenset[str]:
        return frozenset(ids)

    def departed(self) -> frozenset[str]:
        return frozenset({"m8"})


@dataclass
class Case:
    """Two masters with a page that has ended, and what was told of them."""

    sight: SeenWithAll = field(default_factory=SeenWithAll)
    told: list[str] = field(default_factory=list)
    settled: list[Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores()
        self.stores.store("m0").records[PAGE] = DONE
        self.stores.store("m1").held[PAGE] = QUEUED
        self.rules = Endings(self.stores, self.sight, lambda job: self.settled, self.told.append)

    def becomes(self, *rows: JobRow, at: str = "m0") -> list[str]:
        """Returns what is told when a disk has a job in one state after the other."""
        for row in rows:
            self.rules.stored(at, JOB, row)
        return self.told


BEGUN = JobRow(RUNNING, "", 1)
OVER = JobRow(FINISHED, "", 2)


def test_a_job_is_finished_when_all_of_it_is_through() -> None:
    assert Case().becomes(BEGUN, OVER) == []


@pytest.mark.parametrize(
    ("sight", "is_amiss"),
    [(SeenWithAll(), True), (SeenWithAll(there=frozenset({"m0"})), False), (SeenWithAll(injected=True), False)],
)
def test_no_job_is_finished_while_a_page_is_queued_where_anybody_can_be_asked(
    sight: SeenWithAll, is_amiss: bool
) -> None:
    case = Case(sight)
    case.stores.store("m1").held[0, 9, JOB] = QUEUED

    told = case.becomes(BEGUN, OVER)

    assert told == (
        [f"at 100.000 s m0 has job {JOB} finished while page 9 is queued on the disk of m1"] if is_amiss else []
    )


@pytest.mark.parametrize(("missing", "is_amiss"), [(("m8", "m9"), True), (("m9",), False)])
def test_nobody_misses_one_that_left_in_order(missing: tuple[str, ...], is_amiss: bool) -> None:
    told = Case().becomes(BEGUN, OVER._replace(certificate=b"an end", missing=missing))

    assert told == ([f"at 100.000 s m0 has job {JOB} finished, and misses m8, which left in order"] if is_amiss else [])


@pytest.mark.parametrize(("signers", "is_amiss"), [(("m0",), True), (("m0", "m1"), False)])
def test_whoever_signed_was_asked_though_it_was_cut_off_a_moment_ago(signers: tuple[str, ...], is_amiss: bool) -> None:
    case = Case(SeenWithAll(there=frozenset({"m0"})))
    case.stores.store("m0").held[0, 9, JOB] = QUEUED
    case.stores.store("m1").records[0, 9, JOB] = DONE

    told = case.becomes(BEGUN, OVER._replace(signers=signers))

    assert bool(told) == is_amiss


def test_nor_while_a_link_is_kept_that_nobody_has() -> None:
    case = Case()
    case.stores.store("m1").spooled[0, 9, JOB] = 1

    assert case.becomes(OVER) == [f"at 100.000 s m0 has job {JOB} finished while page 9 is queued on the disk of m1"]


def test_a_job_that_was_closed_is_over_with_pages_queued() -> None:
    case = Case()
    case.stores.store("m1").held[0, 9, JOB] = QUEUED

    assert case.becomes(JobRow(FINISHED, "closespider_pagecount", 2)) == []


@pytest.mark.parametrize(("signers", "is_amiss"), [(("m0", "m1"), False), (("m1",), True)])
def test_a_final_end_is_signed_by_those_who_have_what_was_settled(signers: tuple[str, ...], is_amiss: bool) -> None:
    case = Case(settled=[PAGE])
    del case.stores.store("m1").held[PAGE]

    assert bool(case.becomes(JobRow(FINISHED, "", 2, True, signers))) == is_amiss


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (OVER, BEGUN, "has job 7 running, version 1, after finished, version 2"),
        (BEGUN, JobRow("paused", "", 1), "changed job 7 from running to paused under version 1"),
        (BEGUN, JobRow("cancelled", "", 2), "has job 7 cancelled under version 2"),
        (JobRow("cancelled", "", FINAL), JobRow("deleted", "", FINAL), ""),
    ],
)
def test_states_follow_each_other_with_versions_that_grow(before: JobRow, after: JobRow, told: str) -> None:
    case = Case()
    case.rules.found("m1", {JOB: JobRow("deleted", "", FINAL)})

    assert case.becomes(before, after) == ([f"at 100.000 s m0 {told}"] if told else [])


def test_a_change_that_another_one_made_keeps_its_version() -> None:
    case = Case()
    case.becomes(JobRow("paused", "", 1), at="m1")

    assert case.becomes(BEGUN, JobRow("paused", "", 1)) == []


def test_a_person_is_told_of_a_job_what_is_on_the_disk() -> None:
    case = Case()
    case.becomes(BEGUN)

    case.rules.said("m0", JOB, RUNNING)
    case.rules.said("m0", JOB, "paused")
    case.rules.said("m1", JOB, RUNNING)

    assert case.told == [
        f"at 100.000 s m0 told a person that job {JOB} is paused, and its disk says running",
        f"at 100.000 s m1 told a person that job {JOB} is running, and its disk says nothing of it",
    ]


def test_masters_tell_each_other_of_jobs_what_is_on_their_disks() -> None:
    case = Case()
    case.becomes(OVER)

    case.rules.mirrored("m0", JOB, RUNNING, 1)
    case.rules.mirrored("m0", JOB, FINISHED, 2)
    case.rules.mirrored("m0", JOB, RUNNING, 3)

    assert case.told == [f"at 100.000 s m0 says of job {JOB} running, version 3, and its disk says finished, version 2"]
