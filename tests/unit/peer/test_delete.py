"""Jobs that are deleted: nothing of them is kept, at masters that were away neither, and nothing brings them back."""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from p2pcrawl.core.control import CANCELLED, DELETED, FINISHED, RUNNING, Control, merged
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.peer import PeerJob
from tests.unit.peer.test_control import begun, ended, seen_all, until
from tests.unit.peer.test_peer import PAGES, peer, site_of, spider

pytestmark = pytest.mark.usefixtures("impatient", "own_folders")

KEPT = ("record", "item", "lease", "staged", "queue", "queue_young", "seen", "seen_young", "tally", "sink")


def left_in(folder: Path, job: int) -> dict[str, int]:
    """What the databases of a data folder still have of a job, by table."""
    found = {}
    for file, tables in (("frontier.db", KEPT), ("copies.db", ("held", "spool"))):
        with closing(sqlite3.connect(f"file:{folder / file}?mode=ro", uri=True)) as db:
            for table in tables:
                (found[table],) = db.execute(f"SELECT count(*) FROM {table} WHERE job = ?", (job,)).fetchone()
            if file == "copies.db":
                (found["body"],) = db.execute("SELECT count(*) FROM body").fetchone()
    return {table: count for table, count in found.items() if count}


def test_deleted_counts_over_all_and_nothing_comes_after_it() -> None:
    deleted = Control(7, FINISHED).then(DELETED)

    for other in (Control(8, RUNNING), Control(8, FINISHED, "", b"signed"), Control(3).then(CANCELLED)):
        assert merged(deleted, other) == merged(other, deleted) == deleted
    assert merged(deleted, deleted.then(RUNNING)) == deleted


async def test_nothing_is_left_of_a_job_and_its_name_is_free(tmp_path: Path) -> None:
    async with site_of() as site, peer(data=str(tmp_path / "one")) as one:
        job = await one.submit(spider(tmp_path, site), name="small")
        await ended(job)

        answer = await job.delete()
        await until(lambda: not left_in(tmp_path / "one", job.id))

        assert (answer["was"], answer["state"]) == ("finished", "deleted")
        assert (await one.ask("jobs", {}))["jobs"] == []
        with pytest.raises(ConfigurationError, match=f"job {job.id} was deleted"):
            await job.status()
        assert not (tmp_path / "one/jobs" / str(job.id)).exists()
        again = await one.submit(spider(tmp_path, site), name="small")
        assert (await ended(again))["pages"] == PAGES


async def test_job_that_runs_is_not_deleted(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        job = await one.submit(spider(tmp_path, site))

        with pytest.raises(ConfigurationError, match="it is running; `p2pcrawl cancel` ends it first"):
            await job.delete()
        site.gate.set()


async def test_cancelled_job_is_deleted_though_pages_were_in_hand(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        _, two, job = await begun(stack, tmp_path, site)
        await job.cancel()

        await PeerJob(two, job.id).delete()

        for name in ("one", "two"):
            await until(lambda name=name: not left_in(tmp_path / name, job.id))  # type: ignore[misc]


@pytest.mark.slow
async def test_master_that_was_away_deletes_what_it_has_when_it_is_back(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        async with AsyncExitStack() as second:
            one, _, job = await begun(stack, tmp_path, site, slow_s=0.0, second=second)
            await ended(job)
        answer = await job.delete()
        await until(lambda: not left_in(tmp_path / "one", job.id))
        had = left_in(tmp_path / "two", job.id)

        two = await stack.enter_async_context(peer(one.address, data=str(tmp_path / "two")))
        await until(lambda: seen_all(one, two))
        await until(lambda: not left_in(tmp_path / "two", job.id))

        assert had and answer["state"] == "deleted"
        assert not left_in(tmp_path / "one", job.id)
        assert (await two.ask("jobs", {}))["jobs"] == []


async def test_deleted_job_stays_deleted_through_a_restart_of_all(tmp_path: Path) -> None:
    async with site_of() as site:
        async with peer(data=str(tmp_path / "one")) as one:
            job = await one.submit(spider(tmp_path, site))
            await ended(job)
            await job.delete()

        async with peer(data=str(tmp_path / "one")) as one:
            await until(lambda: not left_in(tmp_path / "one", job.id))
            with pytest.raises(ConfigurationError, match="was deleted"):
                await PeerJob(one, job.id).status()
