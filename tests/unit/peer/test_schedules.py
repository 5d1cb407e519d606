"""Schedules at whole peers: made, fired, looked at and steered through any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.scheduling.schedule_order import run_number
from p2pcrawl.model.cluster.schedule import WHY_CHARS_MAX
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere
from p2pcrawl.peer.answers.submission import submission_of
from p2pcrawl.peer.peer import Peer, PeerJob
from p2pcrawl.peer.schedules.scheduled_task import ScheduledTask, opened_task
from p2pcrawl.wire.sealed.at_rest import RestSeal
from p2pcrawl.wire.sealed.keys import KeyRing, generate_key
from tests.unit.peer.test_control import ended, until
from tests.unit.peer.test_peer import PAGES, Site, lead_of, peer, site_of, spider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]

EACH_SECOND = "* * * * * *"
NEVER_SOON = "0 0 1 1 *"


def asked(folder: Path, site: Site, **more: Any) -> dict[str, Any]:
    crawl = submission_of(spider(folder, site), Settings(), {}, {}).plain()
    return {"name": "news", "cron": NEVER_SOON, "crawl": crawl, **more}


async def runs(one: Peer) -> list[dict[str, Any]]:
    return list((await one.ask("schedule", {"schedule": "news"}))["runs"])


async def until_runs(one: Peer, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    async with asyncio.timeout(30):
        while not enough(found := await runs(one)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


async def test_each_moment_has_one_job_which_is_called_as_the_schedule_is(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        await until(lambda: len(lead_of(one).node.members()) == len(lead_of(two).node.members()) == 2)
        await two.tell("schedule-add", asked(tmp_path, site, cron=EACH_SECOND, overlap="allow"))
        await until_runs(one, lambda found: len(found) >= 3)
        await one.tell("schedule-pause", {"schedule": "news"})
        # One may have been on its way.
        told = await until_runs(one, lambda found: all(run["state"] == "finished" for run in found))
        jobs = {job["job"] for job in (await two.ask("jobs", {}))["jobs"] if job["label"] == "news"}
        last = await ended(PeerJob(one, told[-1]["job"]))

        moments = [run["at"] for run in told]
        assert moments == sorted(set(moments)) and all(at == int(at) for at in moments)
        assert {run["outcome"] for run in told} == {"started"}
        assert jobs == {run["job"] for run in told} and len(jobs) == len(told)
        assert last["pages"] == PAGES and last["conserved"]
        assert min(site.visits.values()) == max(site.visits.values()) == len(told)


async def test_run_that_two_masters_begin_is_one_job(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        await until(lambda: len(lead_of(one).node.members()) == len(lead_of(two).node.members()) == 2)
        await one.tell("schedule-add", asked(tmp_path, site))
        schedule = lead_of(one).cluster.schedules.of("news")
        assert schedule is not None
        tick = schedule.since + 1_000

        begun = await asyncio.gather(
            *(lead_of(each).schedules.beginning.begin(schedule, tick) for each in (one, two)),
        )
        end = await ended(PeerJob(one, begun[0].job))
        again = await lead_of(two).schedules.beginning.begin(schedule, tick)
        after = await ended(PeerJob(two, again.job))

        assert {run.job for run in (*begun, again)} == {run_number(schedule, tick)}
        assert end["pages"] == after["pages"] == PAGES == len(site.visits)
        assert max(site.visits.values()) == 1


async def test_run_waits_for_the_one_before_it_or_is_left_out(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        await one.tell("schedule-add", asked(tmp_path, site, cron=EACH_SECOND, overlap="queue"))
        waiting = await until_runs(one, lambda found: len(found) >= 3)
        await one.tell("schedule-add", asked(tmp_path, site, cron=EACH_SECOND, replace=True))
        skipping = await until_runs(one, lambda found: len(found) >= 3)
        site.gate.set()

        assert [run["outcome"] for run in waiting][:3] == ["started", "waiting", "waiting"]
        # What has run stays known, and is not over yet.
        assert skipping[0] == waiting[0]
        assert [run["outcome"] for run in skipping][1:3] == ["skipped", "skipped"]


async def test_queued_run_begins_when_the_one_before_it_is_over(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        await one.tell("schedule-add", asked(tmp_path, site, cron=EACH_SECOND, overlap="queue"))
        await until_runs(one, lambda found: len(found) >= 2)
        site.gate.set()
        told = await until_runs(one, lambda found: sum(run["outcome"] == "started" for run in found) >= 2)
        jobs = [run["job"] for run in told if run["outcome"] == "started"]
        await one.tell("schedule-remove", {"schedule": "news"})
        await ended(PeerJob(one, jobs[1]))

        assert jobs[0] != jobs[1]


async def test_schedule_is_kept_through_a_restart_of_the_whole_cluster(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    async with site_of() as site:
        async with peer(data=data) as one:
            await one.tell("schedule-add", asked(tmp_path, site))
            before = await one.tell("schedule-run", {"schedule": "news"})
            await ended(PeerJob(one, before["job"]))
        async with peer(data=data) as again:
            told = await again.ask("schedule", {"schedule": "news"})
            after = await again.tell("schedule-run", {"schedule": "news"})
            end = await ended(PeerJob(again, after["job"]))

    assert [run["job"] for run in told["runs"]] == [before["job"]]
    assert told["runs"][0]["by_hand"] and told["state"] == "active"
    assert after["job"] != before["job"] and end["pages"] == PAGES


async def test_urls_are_put_into_the_job_that_is_called_so(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(tmp_path, site), name="small")
        await ended(job)
        urls = [f"{site.url(1)}?more", f"{site.url(1)}?more"]
        await one.tell("schedule-add", {"name": "feed", "cron": NEVER_SOON, "inject": {"job": "small", "urls": urls}})

        run = await one.tell("schedule-run", {"schedule": "feed"})
        end = await ended(job)

        assert (run["job"], run["outcome"]) == (job.id, "started")
        assert end["pages"] == PAGES + 1


async def test_run_that_cannot_be_is_refused_with_its_reason(tmp_path: Path) -> None:
    async with peer() as one:
        fed = {"job": "nobody", "urls": ["http://a.example/"]}
        await one.tell("schedule-add", {"name": "news", "cron": EACH_SECOND, "inject": fed})

        (refused, *_) = await until_runs(one, bool)
        with pytest.raises(NotNow, match="there is no job nobody"):
            await one.tell("schedule-run", {"schedule": "news"})

    assert refused["outcome"] == "refused" and "there is no job nobody" in refused["why"]


async def test_removed_schedule_is_gone_and_its_name_is_free(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        await one.tell("schedule-add", asked(tmp_path, site))
        with pytest.raises(ConfigurationError, match="there is a schedule news already"):
            await one.tell("schedule-add", asked(tmp_path, site))
        await one.tell("schedule-remove", {"schedule": "news"})
        with pytest.raises(NotThere, match="there is no schedule 'news'"):
            await one.ask("schedule", {"schedule": "news"})
        again = await one.tell("schedule-add", asked(tmp_path, site))

        assert again["state"] == "active" and again["runs"] == []
        assert [each["name"] for each in (await one.ask("schedules", {}))["schedules"]] == ["news"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "7up"}, "a schedule cannot be called '7up'"),
        ({"name": "last"}, "'last' is taken"),
        ({"cron": "often"}, "no cron expression"),
        ({"cron": "0 0 30 2 *"}, "no cron expression"),
        ({"zone": "Mars/Olympus"}, "no time zone"),
        ({"overlap": "both"}, "overlap is skip or queue or allow"),
        ({"missed": "all"}, "missed is skip or once"),
        ({"crawl": None}, "either a crawl to submit, or URLs"),
        ({"inject": {"job": "a", "urls": ["http://a.example/"]}}, "either a crawl to submit, or URLs"),
        ({"crawl": None, "inject": {"job": "a", "urls": []}}, "name the URLs"),
        ({"crawl": None, "inject": {"job": "", "urls": ["http://a.example/"]}}, "name the job"),
        ({"crawl": None, "inject": {"job": "a", "urls": ["ftp://a.example/"]}}, "ftp"),
        ({"crawl": {"name": "x", "module": "nowhere", "module_digest": "00"}}, "module nowhere is missing"),
        ({"crawl": {"name": "x", "urls": ["http://a.example/"], "label": "x"}}, "no name of its own"),
        (
            {"crawl": {"name": "x", "urls": ["http://a.example/"], "sinks": [{"url": "s3://a/b", "replace": True}]}},
            "replaces nothing",
        ),
    ],
)
async def test_what_cannot_work_is_refused_in_one_line(change: dict[str, Any], said: str) -> None:
    plain = {"name": "news", "cron": NEVER_SOON, "crawl": {"name": "x", "urls": ["http://a.example/"]}}
    async with peer() as one:
        with pytest.raises(ConfigurationError, match=said) as caught:
            await one.tell("schedule-add", {**plain, **change})
        left = (await one.ask("schedules", {}))["schedules"]

    assert "\n" not in str(caught.value)
    assert left == []


def test_passwords_of_outputs_are_sealed_for_the_schedule_alone() -> None:
    seal = RestSeal(KeyRing.parse(generate_key()), "a")
    crawl = submission_of("http://a.example/", Settings(), {}, {}, [SinkSpec("mongodb://ada@db/a.b", secret="pass")])
    task = ScheduledTask(crawl)
    sealed = task.sealed(seal, "news")

    opened = opened_task(task.packed(), sealed, seal, "news")

    assert b"pass" not in task.packed()
    assert opened.crawl is not None and [sink.secret for sink in opened.crawl.sinks] == ["pass"]
    with pytest.raises(ConfigurationError, match="cannot be read"):
        opened_task(task.packed(), sealed, seal, "other")


def test_task_in_a_few_words_is_never_longer_than_other_masters_take() -> None:
    task = ScheduledTask(None, "n" * 5_000, ("http://a.example/",))

    assert task.summary.startswith("1 URL into nnn") and len(task.summary) == WHY_CHARS_MAX
