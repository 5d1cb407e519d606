"""Pause, resume, cancel and retry through any peer; what a job's end is worth; and ``why``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.control import Control
from p2pcrawl.master.jobs.certificate import flaws
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.peer import Peer, PeerJob
from tests.unit.peer.test_peer import PAGES, Site, lead_of, peer, site_of, spider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]

LIMIT_S = 30.0


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not (await met if isinstance(met := condition(), Awaitable) else met):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def ended(job: PeerJob) -> dict[str, Any]:
    async with asyncio.timeout(LIMIT_S):
        return await job.wait()


async def held(job: PeerJob, *peers: Peer) -> list[dict[str, Any]]:
    """Returns what each of these masters by itself holds of the job, if it knows of it."""
    told = [await p.ask("counts", {"job": job.id}) for p in peers]
    return [each["counts"] for each in told if each is not None]


async def all_say(state: str, job: PeerJob, *peers: Peer) -> bool:
    return {each["state"] for each in await held(job, *peers)} == {state}


async def at_rest(state: str, job: PeerJob, *peers: Peer) -> bool:
    """Tells whether all say so, and nothing is in anybody's hands any more."""
    return await all_say(state, job, *peers) and not any(each["leased"] for each in await held(job, *peers))


async def seen_all(*peers: Peer) -> bool:
    told = [(await p.ask("members", {}))["members"] for p in peers]
    return all(len(members) == len(peers) for members in told)


async def begun(
    stack: AsyncExitStack, tmp_path: Path, site: Site, slow_s: float = 0.05, second: AsyncExitStack | None = None
) -> tuple[Peer, Peer, PeerJob]:
    """Two masters in the middle of a crawl; ``second`` is left when the second one is to stop before the first."""
    one = await stack.enter_async_context(peer(data=str(tmp_path / "one")))
    two = await (second or stack).enter_async_context(peer(one.address, data=str(tmp_path / "two")))
    await until(lambda: seen_all(one, two))
    site.slow_s = slow_s
    job = await one.submit(spider(tmp_path, site))
    await until(lambda: len(site.visits) >= 5)
    return one, two, job


async def test_pause_through_the_other_master_stops_all_and_resume_goes_on(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, two, job = await begun(stack, tmp_path, site)

        answer = await PeerJob(two, job.id).pause()
        await until(lambda: at_rest("paused", job, one, two))
        visited = site.visits.total()
        status = await job.status()

        assert (answer["was"], answer["state"], answer["missing"]) == ("running", "paused", [])
        assert status["state"] == "paused" and status["queued"] > 0 and visited < PAGES

        site.slow_s = 0.0
        assert (await job.resume())["state"] == "running"
        end = await ended(job)

        assert end["pages"] == PAGES and max(site.visits.values()) == 1
        assert end["certificate"]["final"] and list(flaws(end["certificate"])) == []


async def test_nothing_is_granted_while_a_job_is_paused(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, two, job = await begun(stack, tmp_path, site)
        await job.pause()
        await until(lambda: at_rest("paused", job, one, two))
        visited = site.visits.total()

        # Another job goes on beside it, from its start to its end.
        other = await one.submit(str(tmp_path / "small.py"), settings={"closespider_pagecount": 10})
        await ended(other)

        fetched = (await other.status())["pages"]
        assert site.visits.total() - visited == fetched
        assert (await job.status())["state"] == "paused"


async def test_paused_job_is_paused_after_a_restart_of_all_and_can_go_on(tmp_path: Path) -> None:
    async with site_of() as site:
        async with AsyncExitStack() as stack:
            one, two, job = await begun(stack, tmp_path, site)
            await job.pause()
            await until(lambda: at_rest("paused", job, one, two))
        visited = site.visits.total()
        site.slow_s = 0.0

        async with peer(data=str(tmp_path / "one")) as one, peer(one.address, data=str(tmp_path / "two")) as two:
            await until(lambda: seen_all(one, two))
            assert await all_say("paused", job, one, two)
            await PeerJob(two, job.id).resume()
            end = await ended(PeerJob(one, job.id))

        assert visited < PAGES and end["pages"] == PAGES


async def test_master_that_was_away_learns_of_a_change_when_it_is_back(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        async with AsyncExitStack() as second:
            one, two, job = await begun(stack, tmp_path, site, second=second)
            await job.pause()
            await until(lambda: at_rest("paused", job, one, two))
        await job.cancel()

        two = await stack.enter_async_context(peer(one.address, data=str(tmp_path / "two")))
        await until(lambda: all_say("cancelled", job, two))

        assert await all_say("cancelled", job, one, two)


async def test_cancelled_job_is_cancelled_everywhere_and_for_good(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, two, job = await begun(stack, tmp_path, site)

        await PeerJob(two, job.id).cancel()
        await until(lambda: at_rest("cancelled", job, one, two))

        assert (await ended(job))["state"] == "cancelled"
        for verb in ("pause", "resume", "retry"):
            with pytest.raises(ConfigurationError, match="which is final"):
                await getattr(job, verb)()
        assert (await job.cancel())["was"] == "cancelled"


async def test_change_made_elsewhere_in_ignorance_does_not_undo_a_cancel(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        _, two, job = await begun(stack, tmp_path, site)
        master = lead_of(two).master
        await job.cancel()
        await until(lambda: all_say("cancelled", job, two))

        await master.admission.mirror(master.jobs[job.id].spec, Control(1000, "running"))

        assert await all_say("cancelled", job, two)


async def test_retry_visits_the_failed_pages_of_all_masters_again_and_no_others(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        site.broken = {50, 51, 52, 53, 54, 55, 56, 57, 58, 59}
        _, two, job = await begun(stack, tmp_path, site, slow_s=0.0)
        first = await ended(job)
        assert (first["failed"], first["pages"]) == (10, PAGES - 10), first
        site.broken.clear()

        others = await PeerJob(two, job.id).retry(reason="unknown-host")
        answer = await PeerJob(two, job.id).retry(reason="http-404")
        await until(lambda: site.visits.total() >= PAGES + 10)
        end = await ended(job)

        assert (others["retried"], others["state"]) == (0, "finished")
        assert (answer["retried"], answer["was"], answer["state"]) == (10, "finished", "running")
        assert (end["failed"], end["pages"], end["conserved"]) == (0, PAGES, True)
        assert {site.visits[site.url(n)] for n in range(50)} == {1}
        assert {site.visits[site.url(n)] for n in range(50, 60)} == {2}
        items = [item["url"] async for item in job.items()]
        assert sorted(items) == sorted(site.url(n) for n in range(PAGES))
        assert end["certificate"]["counts"]["failed"] == 0


async def test_retry_of_a_job_without_failures_leaves_it_as_it_is(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(tmp_path, site))
        before = await ended(job)

        answer = await job.retry()

        assert (answer["retried"], answer["state"]) == (0, "finished")
        assert await job.status() == before


async def test_finished_job_cannot_be_resumed_and_the_line_says_what_to_do(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(tmp_path, site))
        await ended(job)

        with pytest.raises(ConfigurationError, match=f"cannot resume job {job.id}: it is finished; `p2pcrawl retry`"):
            await job.resume()


async def test_unknown_job_is_the_same_mistake_at_a_master_and_at_a_slave(tmp_path: Path) -> None:
    async with peer() as one, Peer(join=(one.address,), role="slave", slaves=1) as helper:
        for asked in (one, helper):
            for verb in ("pause", "resume", "cancel", "retry"):
                with pytest.raises(ConfigurationError, match="there is no job 5"):
                    await getattr(PeerJob(asked, 5), verb)()
            with pytest.raises(ConfigurationError, match="there is no job 5"):
                [item async for item in PeerJob(asked, 5).items()]


async def test_slave_gathers_the_items_of_all_masters(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, _, job = await begun(stack, tmp_path, site, slow_s=0.0)
        await ended(job)
        helper = await stack.enter_async_context(Peer(join=(one.address,), role="slave", slaves=1))

        items = [item["url"] async for item in PeerJob(helper, job.id).items()]

        assert sorted(items) == sorted(site.url(n) for n in range(PAGES))


async def test_certificate_names_its_masters_and_lasts_through_a_restart(tmp_path: Path) -> None:
    async with site_of() as site:
        async with AsyncExitStack() as stack:
            one, two, job = await begun(stack, tmp_path, site, slow_s=0.0)
            end = await ended(job)
            await until(lambda: all_say("finished", job, one, two))

        async with peer(data=str(tmp_path / "two")) as again:
            kept = (await PeerJob(again, job.id).status())["certificate"]

        assert kept == end["certificate"]
        assert kept["members"] == sorted([one.id, two.id]) and kept["missing"] == []
        assert kept["copies"] == {"asked": 2, "kept": 2} and kept["incomplete"] == []
        assert (kept["counts"]["pages"], kept["conserved"], kept["final"]) == (PAGES, True, True)
        assert list(flaws(json.loads(json.dumps(kept)))) == []


async def test_lone_master_certifies_one_copy(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        end = await ended(await one.submit(spider(tmp_path, site)))

        assert end["certificate"]["copies"] == {"asked": 2, "kept": 1}


async def test_why_is_answered_by_the_owner_whoever_is_asked(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        site.broken = {59}
        one, two, job = await begun(stack, tmp_path, site, slow_s=0.0)
        await ended(job)
        for number in (0, 7, 59):
            url = site.url(number)
            owner = (await one.ask("owner", {"url": url}))["owner"]

            told = [await asked.ask("why", {"url": url}) for asked in (one, two)]
            record = told[0]["records"][0]

            assert told[0]["records"] == told[1]["records"] and told[0]["seen"]
            assert (record["owner"], record["serving"], record["whole"]) == (owner, True, True)
            assert record["phase"] == ("failed" if number == 59 else "done")
            assert [copy["agrees"] for copy in record["copies"]] == [True], record["copies"]
            if number:
                assert record["found_on"][0] == site.url((number - 1) // 2)


async def test_why_of_a_page_in_hand_names_the_slave_and_since_when(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, two, _ = await begun(stack, tmp_path, site, slow_s=0.0)
        site.gate.clear()
        await until(lambda: bool(site.waiting))
        url = next(iter(site.waiting))

        record = (await two.ask("why", {"url": url}))["records"][0]
        site.gate.set()

        assert record["phase"] == "queued" and record["lease"]["attempt"] == 1
        assert record["lease"]["at"] == "here" and 0 <= record["lease"]["since_s"] < LIMIT_S
        holder = next(p for p in (one, two) if p.id == record["owner"])
        slaves = (await holder.ask("local", {}))["slaves"]
        assert record["lease"]["session"] in [slave["session"] for slave in slaves]


async def test_why_of_what_was_never_seen_has_hints(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, _, job = await begun(stack, tmp_path, site, slow_s=0.0)
        await ended(job)

        told = await one.ask("why", {"url": site.url(0) + "/nothing"})

        assert not told["seen"] and told["hints"]


async def test_job_is_incomplete_while_a_bucket_is_not_whole_and_finished_when_it_is(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        ownership = lead_of(one).cluster.ownership
        await until(lambda: ownership.owned > 0)
        # What epoch 1 of this bucket knew died with its owner.
        epoch = ownership.counters[5]
        ownership.recall({5: Standing(epoch, 1)})
        job = await one.submit(spider(tmp_path, site))

        end = await ended(job)
        status = await one.ask("status", {})
        assert (end["state"], end["pages"], end["not_whole"]) == ("incomplete", PAGES, [5])
        assert end["certificate"]["incomplete"] == [5] and not end["certificate"]["final"]
        assert any("1 bucket is not whole" in warning for warning in status["warnings"])

        ownership.recall({5: Standing(epoch)})
        await until(lambda: all_say("finished", job, one))

        assert (await job.status())["certificate"]["final"]


async def test_finished_job_runs_again_for_work_that_nobody_knew_of(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(tmp_path, site))
        first = await ended(job)
        url = site.url(PAGES + 7)

        # As a master tells that comes back with its disk.
        lost = Link(url, fingerprint(url), depth=1)
        await lead_of(one).master.ground.mailbox.arrive(job.id, [lost])
        await until(lambda: site.visits[url] == 1)
        await until(lambda: all_say("finished", job, one))

        end = await job.status()
        assert (end["pages"], end["certificate"]["counts"]["pages"]) == (first["pages"] + 1, PAGES + 1)


async def test_items_are_there_once_though_a_master_leaves_while_they_are_gathered(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack, AsyncExitStack() as second:
        one, _, job = await begun(stack, tmp_path, site, slow_s=0.0, second=second)
        await ended(job)
        items = job.items()

        found = [(await anext(items))["url"]]
        await second.aclose()
        found += [item["url"] async for item in items]

        assert sorted(found) == sorted(site.url(n) for n in range(PAGES))
        assert one.role == "master"
