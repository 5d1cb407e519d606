"""Settings of a job that are changed while it runs, over all masters, those that are away among them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.peer import PeerJob
from tests.unit.peer.test_control import at_rest, begun, ended, seen_all, until
from tests.unit.peer.test_peer import PAGES, lead_of, peer, site_of, spider

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient", "own_folders")]


def delay_at(one, job: int) -> float | None:  # type: ignore[no-untyped-def]
    known = lead_of(one).master.jobs.get(job)
    return known.pace.delay_s if known is not None else None


def limit_at(one, job: int) -> int | None:  # type: ignore[no-untyped-def]
    known = lead_of(one).master.jobs.get(job)
    return known.settings.closespider_pagecount if known is not None else None


async def test_change_reaches_all_masters_and_lasts_through_a_restart(tmp_path: Path) -> None:
    async with site_of() as site:
        async with AsyncExitStack() as stack:
            one, two, job = await begun(stack, tmp_path, site)
            answer = await PeerJob(two, job.id).set({"DOWNLOAD_DELAY": "0.25"})
            await until(lambda: delay_at(one, job.id) == delay_at(two, job.id) == 0.25)
            await job.pause()
            await until(lambda: at_rest("paused", job, one, two))

        async with peer(data=str(tmp_path / "one")) as one, peer(one.address, data=str(tmp_path / "two")) as two:
            assert delay_at(one, job.id) == delay_at(two, job.id) == 0.25

    assert (answer["was"], answer["set"]) == ({"DOWNLOAD_DELAY": None}, {"DOWNLOAD_DELAY": 0.25})


async def test_changes_on_both_sides_while_one_is_away_both_count(tmp_path: Path) -> None:
    async with site_of() as site:
        async with AsyncExitStack() as stack, AsyncExitStack() as second:
            one, two, job = await begun(stack, tmp_path, site, second=second)
            await job.pause()
            await until(lambda: at_rest("paused", job, one, two))
            await second.aclose()
            await job.set({"CLOSESPIDER_PAGECOUNT": 1000})

        # One that it knows and that is there would be found, and told of the change before the other is back.
        async with peer(data=str(tmp_path / "two")) as alone:
            assert lead_of(alone).master.jobs[job.id].settings.closespider_pagecount == 0
            await PeerJob(alone, job.id).set({"DOWNLOAD_DELAY": 0.5})

        async with peer(data=str(tmp_path / "one")) as one, peer(one.address, data=str(tmp_path / "two")) as again:
            await until(lambda: seen_all(one, again))
            for each in (one, again):
                await until(lambda each=each: delay_at(each, job.id) == 0.5)  # type: ignore[misc]
                await until(lambda each=each: limit_at(each, job.id) == 1000)  # type: ignore[misc]


async def test_limit_that_is_set_closes_the_job(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        _, _, job = await begun(stack, tmp_path, site)

        await job.set({"CLOSESPIDER_PAGECOUNT": 6})
        site.slow_s = 0.0
        end = await ended(job)

        assert end["reason"] == "closespider_pagecount" and end["pages"] < PAGES


async def test_cancelled_job_refuses_and_says_why(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        job = await one.submit(spider(tmp_path, site))
        await job.cancel()
        site.gate.set()

        with pytest.raises(ConfigurationError, match="it is cancelled"):
            await job.set({"DOWNLOAD_DELAY": 1})
