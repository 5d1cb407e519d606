"""A job that is deleted while a master is away: that comes back with all of it, and nothing of it stays anywhere."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from p2pcrawl.core.control import DELETED, FINISHED, Control
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.peer.answers.submission import submission_of
from simulations import Options, Plan, Simulation, Stage
from simulations.play.spiders import Walker
from simulations.world.machines import Machine

TABLES = (("frontier.db", "record"), ("frontier.db", "item"), ("copies.db", "held"))


def kept(machine: Machine, job: int) -> int:
    """Counts the rows that a machine's disk has of a job."""
    count = 0
    for file, table in TABLES:
        with closing(sqlite3.connect(f"file:{machine.folder / file}?mode=ro", uri=True)) as db:
            count += db.execute(f"SELECT count(*) FROM {table} WHERE job = ?", (job,)).fetchone()[0]
    return count


async def one_is_away_while_a_job_is_deleted(stage: Stage) -> None:
    await stage.until(lambda: stage.finished)
    one, away, other = stage.machines
    plain = submission_of(Walker, Settings(), {}, {"start_urls": stage.web.start}).plain()
    job = (await one.tell("submit", plain))["job"]

    def state(machine: Machine) -> str:
        assert machine.lead is not None
        known = machine.lead.master.jobs.get(job)
        return known.state if known is not None else ""

    await stage.until(lambda: all(state(machine) == FINISHED for machine in stage.machines))
    await stage.sync()
    stage.crash([away])
    await asyncio.sleep(10.0)
    await other.tell("delete", {"job": job})
    await asyncio.sleep(5.0)
    stage.figures["had"] = kept(away, job)
    stage.start(away)
    await stage.agree()
    await asyncio.sleep(20.0)
    stage.figures["left"] = sum(kept(machine, job) for machine in stage.machines)
    stage.figures["states"] = sorted({state(machine) for machine in stage.machines})


def run() -> dict[str, Any]:
    plan = Plan(Options(masters=3, pages=30, hosts=6, seed=4), faults=one_is_away_while_a_job_is_deleted)
    return dict(Simulation(plan).run().figures)


@pytest.mark.slow
def test_master_that_comes_back_with_a_deleted_job_keeps_nothing_of_it() -> None:
    figures = run()

    assert figures["had"] > 0
    assert (figures["left"], figures["states"]) == (0, [DELETED])


async def _drop_nothing(self: Holdings, job: int) -> int:
    return 0


def _then_before_all(self: Control, state: str, reason: str = "", certificate: bytes = b"") -> Control:
    return Control(0 if state == DELETED else self.version + 1, state, reason, certificate)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("home", "name", "broken"), [(Holdings, "drop_job", _drop_nothing), (Control, "then", _then_before_all)]
)
def test_mistake_in_deleting_shows(home: type, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, name, broken)

    figures = run()

    assert figures["left"] > 0
