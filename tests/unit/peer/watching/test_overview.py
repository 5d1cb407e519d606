"""The overview of a cluster: asked of any peer, it shows all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.control import PAUSED
from p2pcrawl.peer.peer import Peer, PeerJob
from p2pcrawl.peer.watching.glance import HostGlance
from p2pcrawl.peer.watching.overview import host_lines
from tests.unit.peer.test_control import at_rest, seen_all, until
from tests.unit.peer.test_peer import HOSTS, Site, peer, site_of, spider

NUMBERS = ("pages", "items", "queued", "leased", "state")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.watching.overview.FRESH_S", 0.0)


async def overview(asked: Peer, **arguments: object) -> dict[str, Any]:
    answer: dict[str, Any] = await asked.ask("overview", dict(arguments))
    return answer


async def nothing_changes(job: PeerJob, asked: Peer) -> bool:
    """Tells whether no link is on its way any more."""
    counts = await job.status()
    return (await overview(asked))["health"]["frontier"] == counts["queued"] and counts == await job.status()


async def crawling(site: Site) -> None:
    await until(lambda: len(site.visits) >= HOSTS)


@pytest.mark.slow
async def test_any_master_shows_the_whole_cluster(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        await until(lambda: seen_all(one, two))
        site.slow_s = 0.05
        job = await one.submit(spider(tmp_path, site))
        await crawling(site)
        await job.pause()
        await until(lambda: at_rest(PAUSED, job, one, two))
        await until(lambda: nothing_changes(job, one))
        counts = await job.status()

        shown = [await overview(each) for each in (one, two)]

        for told, asked in zip(shown, (one, two), strict=True):
            assert told["asked"] == {"id": asked.id, "role": "master", "api": asked.api}
            assert {member["id"]: member["slaves"] for member in told["members"]} == {one.id: 1, two.id: 1}
            check_sums(told, counts)
        assert await replayed(two, after=shown[0]["events"][0]["id"]) >= len(shown[0]["events"]) - 1


def check_sums(told: dict[str, Any], counts: dict[str, Any]) -> None:
    """What is told of a job that is paused is what ``status`` tells of it, in whatever way it is added up."""
    queued = counts["queued"]
    assert told["agreed"] and len(told["views"]) == 1
    assert sum(member["share"] for member in told["members"]) == pytest.approx(1.0)
    assert {told["health"]["frontier"], sum(m["queued"] for m in told["members"])} == {queued}
    # Pages that slaves gave back are in no queue for a moment.
    assert 0 < sum(host["queued"] for host in told["hosts"]) <= queued
    (line,) = told["jobs"]
    assert [line[name] for name in NUMBERS] == [counts[name] for name in NUMBERS]
    assert line["left"] == {"pages": queued, "seconds": None, "why": "it is paused"}
    assert told["health"]["up"] == 2 and not told["health"]["finished"]
    kinds = Counter(event["kind"] for event in told["events"])
    assert (kinds["member-joined"], kinds["job-submitted"], kinds["job-state"]) == (2, 1, 1)


async def replayed(asked: Peer, after: str) -> int:
    """Returns how many events a stream begins with."""
    stream = asked.stream("events", {"after": after})
    first = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    return first.count(b"\nevent: ")


@pytest.mark.slow
async def test_master_that_does_not_answer_is_shown_by_what_others_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site_of() as site, peer() as one:
        async with peer(one.address) as two:
            await until(lambda: seen_all(one, two))
            job = await one.submit(spider(tmp_path, site))
            gone = two.id
        await job.wait()

        monkeypatch.setattr("p2pcrawl.peer.watching.overview.FRESH_S", 60.0)
        told, *others = await asyncio.gather(*(overview(one) for _ in range(3)))

        assert {other["at"] for other in others} == {told["at"]}
        (left,) = [member for member in told["members"] if member["id"] == gone]
        assert left["state"] == "left"
        assert left["queued"] is None and left["cpu"] is None
        assert told["health"]["finished"] and told["health"]["left"] == 1
        assert told["jobs"][0]["final"] and told["jobs"][0]["left"]["seconds"] == 0.0


def test_busiest_hosts_of_all_masters_come_first() -> None:
    few, most = (
        HostGlance("few", 1, False, 0, 0.0, "", 0.0, ""),
        HostGlance("most", 9, True, 1, 1.0, "default", 2.5, "delay"),
    )
    told = [Told("m1", [few]), Told("m2", [most])]

    lines = host_lines(told, 5, 1000.0)  # type: ignore[arg-type]

    assert [(line["host"], line["owner"], line["next_at"]) for line in lines] == [
        ("most", "m2", 1002.5),
        ("few", "m1", None),
    ]
    assert [line["host"] for line in host_lines(told, 1, 1000.0)] == ["most"]  # type: ignore[arg-type]


class Told:
    """What a master tells of its hosts."""

    def __init__(self, master: str, hosts: list[HostGlance]) -> None:
        self.master = master
        self.hosts = hosts
