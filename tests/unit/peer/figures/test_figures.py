"""Questions about figures, asked of either of two masters."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.peer import Peer, PeerJob
from tests.unit.peer.test_control import begun, ended, until
from tests.unit.peer.test_peer import PAGES, peer, site_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]


async def all_wait(one: Peer, job: PeerJob) -> bool:
    """Tells whether nothing is in anybody's hands, and all hosts with a queue are to be asked later."""
    told = (await one.ask("hosts", {"job": job.id, "limit": 100}))["hosts"]
    return all(not row["leased"] and (not row["queued"] or row["next_at"] > time.time() + 60) for row in told)


async def until_equal(what: Callable[[], Awaitable[int]], count: int) -> None:
    async def equal() -> bool:
        return await what() == count

    await until(equal)


async def test_either_master_tells_what_failed_and_what_came_last_at_both(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        site.broken = set(range(40, PAGES))
        one, two, job = await begun(stack, tmp_path, site)
        site.slow_s = 0.0
        await ended(job)

        told = [await each.ask("errors", {"job": job.id}) for each in (one, two)]
        latest = [await each.ask("latest", {"job": job.id, "limit": 10}) for each in (one, two)]
        with pytest.raises(ConfigurationError, match="limit is 1 to 100"):
            await one.ask("latest", {"job": job.id, "limit": 1000})

        assert told[0] == told[1] and latest[0]["missing"] == []
        (kind,) = told[0]["errors"]
        assert (kind["kind"], kind["count"], kind["hosts"], told[0]["missing"]) == ("http-4xx", 20, 20, [])
        assert {page["status"] for page in kind["examples"]} == {404} and len(kind["examples"]) == 3
        times = [item["at"] for item in latest[0]["items"]]
        assert len(times) == 10 and times == sorted(times, reverse=True)
        assert all(item["item"] == {"url": item["url"]} for item in latest[0]["items"])


async def test_either_master_tells_why_pages_are_missing_and_lists_all_of_them(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        site.broken = set(range(40, PAGES))
        one, two, job = await begun(stack, tmp_path, site)
        site.slow_s = 0.0
        await ended(job)

        told = [await each.ask("reasons", {"job": job.id}) for each in (one, two)]
        of_all = await two.ask("reasons", {"reason": "http-404"})
        listed = [[line async for line in each.outside(job.id, "http-404")] for each in (one, two)]
        none = [line async for line in one.outside(job.id, "unknown-host")]
        with pytest.raises(ConfigurationError, match="is not a reason"):
            await one.ask("reasons", {"job": job.id, "reason": "nonsense"})

        assert told[0] == told[1] and told[0]["missing"] == []
        (gone,) = told[0]["reasons"]
        assert (gone["outcome"], gone["count"], gone["statuses"]) == ("failed", 20, {"404": 20})
        assert (of_all["job"], [each["count"] for each in of_all["reasons"]]) == (None, [20])
        lines = [b"".join(each).splitlines() for each in listed]
        assert sorted(lines[0]) == sorted(lines[1]) and len({*lines[0]}) == 20
        assert none == []


async def test_hosts_of_both_masters_are_told_by_either_with_what_makes_them_slow(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one, two, job = await begun(stack, tmp_path, site)
        await job.set({"DOWNLOAD_DELAY": 300})
        await until(lambda: all_wait(one, job))

        told = [await each.ask("hosts", {"job": job.id, "sort": "late", "limit": 50}) for each in (one, two)]
        slow = [row for row in told[0]["hosts"] if row["queued"]]
        name = slow[0]["host"]
        found = await two.ask("hosts", {"find": name})
        detail = [await each.ask("host", {"host": name}) for each in (one, two)]

        assert {row["host"]: row["queued"] for row in slow} == {
            row["host"]: row["queued"] for row in told[1]["hosts"] if row["queued"]
        }
        assert all((row["delay_s"], row["delay_from"]) == (300.0, "setting") for row in slow) and slow
        assert all(row["next_at"] > time.time() for row in slow)
        assert name in [row["host"] for row in found["hosts"]]
        assert detail[0]["owner"] == detail[1]["owner"] == slow[0]["owner"]
        with pytest.raises(ConfigurationError, match="hosts are sorted by depth, late, name"):
            await one.ask("hosts", {"sort": "size"})


async def test_nothing_is_known_of_a_host_that_nobody_asked(tmp_path: Path) -> None:
    async with peer() as one:
        found = await one.ask("host", {"host": "nowhere.example"})

        assert (found["host"], found["known"], found["queued_by_job"]) == ("nowhere.example", False, {})
        assert (await one.ask("hosts", {}))["hosts"] == []


async def test_host_is_changed_at_both_masters_by_either_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with site_of() as site:
        async with AsyncExitStack() as stack:
            one, two, job = await begun(stack, tmp_path, site)
            name = "127.0.0.15"
            answer = await two.tell("set-host", {"host": name, "delay_s": 4.5, "paused": True})
            detail = [await each.ask("host", {"host": name}) for each in (one, two)]
            changed = await one.ask("hosts", {"changed": True})
            with pytest.raises(ConfigurationError, match="say what to change"):
                await one.tell("set-host", {"host": name})

        async with peer(data=str(tmp_path / "one")) as again:
            kept = await again.ask("hosts", {"changed": True})
            await again.tell("set-host", {"host": name, "delay_s": None, "paused": False})
            end = await ended(PeerJob(again, job.id))

    assert (answer["was"], answer["set"]) == ({"delay_s": None, "paused": False}, {"delay_s": 4.5, "paused": True})
    assert answer["missing"] == []
    for row in (*detail, *changed["hosts"], *kept["hosts"]):
        assert (row["ordered_s"], row["paused"], row["delay_from"]) == (4.5, True, "a person")
        assert row["why_slow"] == "it is paused by hand"
    assert end["queued"] == 0


async def test_statistics_are_the_same_by_each_measure_at_both_masters(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        site.broken = set(range(40, PAGES))
        one, two, job = await begun(stack, tmp_path, site)
        site.slow_s = 0.0
        await ended(job)

        async def fetched() -> int:
            return int((await one.ask("statistics", {"job": job.id, "by": "day"}))["total"]["fetches"])

        await until_equal(fetched, PAGES)
        told = {by: await two.ask("statistics", {"job": job.id, "by": by}) for by in ("hour", "day", "host", "error")}
        cluster = await one.ask("statistics", {"by": "host", "limit": 5})
        with pytest.raises(ConfigurationError, match="statistics are by hour, day, host, error"):
            await one.ask("statistics", {"by": "week"})

    assert {by: sum(row["pages"] for row in told[by]["rows"]) for by in ("hour", "day")} == {"hour": 40, "day": 40}
    hosts = told["host"]["rows"]
    assert (len(hosts), sum(row["pages"] for row in hosts), sum(row["failed"] for row in hosts)) == (20, 40, 20)
    assert [(row["name"], row["failed"]) for row in told["error"]["rows"]] == [("http-4xx", 20)]
    assert len(cluster["rows"]) == 6 and cluster["rows"][-1]["name"] == "other"
    assert sum(row["pages"] for row in cluster["rows"]) == 40
