"""The client for scripts at a cluster that is really there; and the example of the documentation, run as it stands."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl import Client, P2PCrawlError
from p2pcrawl.master.jobs.certificate import flaws
from p2pcrawl.model.errors import NotNow, NotThere
from tests.unit.peer.api.live import SCHEDULE, LiveCluster, live_cluster
from tests.unit.peer.test_peer import PAGES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api.md"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with live_cluster(tmp_path_factory.mktemp("live")) as live, pytest.MonkeyPatch.context() as patch:
        patch.delenv("P2PCRAWL_TOKEN", raising=False)
        patch.setenv("P2PCRAWL_PEER", live.two.api)
        yield live


async def test_job_is_told_of_with_its_items_and_certificate(cluster: LiveCluster) -> None:
    async with Client() as outside:
        job = outside.job(cluster.finished)
        end = await job.wait()
        urls = [item["url"] async for item in job.items()]
        certificate = await job.certificate()
        errors = (await job.errors())["errors"]

    assert end["state"] == "finished" and end["conserved"]
    assert len(urls) == len(set(urls)) == end["items"]
    assert list(flaws(dict(certificate))) == [] and certificate["final"]
    assert [(each["kind"], each["count"]) for each in errors] == [("http-4xx", 1)]


async def test_job_is_submitted_changed_and_ended(cluster: LiveCluster, tmp_path: Path) -> None:
    source = tmp_path / "later.py"
    source.write_text(
        "from p2pcrawl import Spider\n"
        "class Later(Spider):\n"
        "    name = 'later'\n"
        f"    start_urls = ['{cluster.site.url(PAGES - 1)}']\n"
        "    def parse(self, response):\n"
        "        yield {'url': response.url}\n"
    )
    async with Client(cluster.one.api) as outside:
        job = await outside.submit(str(source), name="later")
        await job.inject([cluster.site.url(PAGES - 1)])
        end = await job.wait()
        known = {each["label"] for each in await outside.jobs()}
        with pytest.raises(NotNow, match="cannot pause"):
            await job.pause()
        await job.delete()
        with pytest.raises(NotThere):
            await job.status()

    assert end["items"] == 1
    assert {"later", "resting"} <= known


async def test_cluster_is_told_of(cluster: LiveCluster) -> None:
    async with Client() as outside:
        told = await asyncio.gather(
            outside.status(), outside.overview(), outside.groups(), outside.buckets(), outside.hosts()
        )
        figures = await asyncio.gather(
            outside.statistics(by="day"),
            outside.job(cluster.finished).statistics(by="host"),
            outside.history(),
            outside.host("127.0.0.8"),
            outside.warnings(),
        )
        members = await outside.members()
        owner = await outside.owner(cluster.site.url(3))
        why = await outside.why(cluster.site.url(7))

    ids = {cluster.one.id, cluster.two.id}
    assert {each["id"] for each in members} == {each["id"] for each in told[1]["members"]} == ids
    assert owner["owner"] in ids
    assert figures[1]["job"] == cluster.finished
    assert figures[3]["host"] == "127.0.0.8"
    assert why["records"][0]["reason"] == "http-4xx"


async def test_events_are_heard_as_they_happen(cluster: LiveCluster) -> None:
    async with Client() as outside, asyncio.timeout(30):
        events = outside.events()
        heard = asyncio.ensure_future(anext(events))
        job = outside.job("resting")
        while not heard.done():
            await job.resume()
            await job.pause()
            await asyncio.wait([heard], timeout=1.5)

    assert heard.result()["kind"].startswith("job-")


async def test_job_that_is_not_there_is_not_found(cluster: LiveCluster) -> None:
    async with Client() as outside:
        with pytest.raises(NotThere, match="there is no job"):
            await outside.job("no such").status()
        with pytest.raises(P2PCrawlError, match="no job is named"):
            await outside.job("").status()


async def test_schedule_is_made_run_steered_and_removed(cluster: LiveCluster) -> None:
    async with Client(cluster.one.api) as outside:
        url = cluster.site.url(PAGES - 1)
        crawl = await outside.add_schedule("each-year", "@yearly", url, zone="Europe/Berlin", overlap="allow")
        feed = await outside.add_injection("feed", "@yearly", "each-year", [url])
        job = await crawl.run()
        fed = await feed.run()
        end = await job.wait()
        paused, resumed = await crawl.pause(), await crawl.resume()
        known = {each["name"]: each["does"] for each in await outside.schedules() if each["name"] != SCHEDULE}
        shown = await crawl.show()
        removed = [(await each.remove())["state"] for each in (crawl, feed)]
        with pytest.raises(NotThere, match="there is no schedule"):
            await crawl.show()

    assert (end["label"], end["pages"]) == ("each-year", 1) and fed.id == job.id
    assert known == {"each-year": f"links {url}", "feed": "1 URL into each-year"}
    assert (paused["state"], paused["next"], resumed["state"], len(resumed["next"])) == ("paused", [], "active", 3)
    assert [(run["job"], run["by_hand"]) for run in shown["runs"]] == [(job.id, True)]
    assert removed == ["removed", "removed"]


def test_example_of_the_page_runs_as_it_stands(cluster: LiveCluster, capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    code = code.replace("https://quotes.toscrape.com/", cluster.site.url(0))

    exec(compile(code, "api.md", "exec"), {"__name__": "__main__"})

    said = capsys.readouterr().out
    assert said.startswith("finished: ")
    assert "signed by 2 masters; final: True" in said
    assert said.count(" alive ") == 2
