"""Three peers as one: every face gives the same answers, and a submitted crawl is everybody's work."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cli.conftest import ALLOWED, until, urls_in
from tests.cli.peers import Cluster, asked

pytestmark = pytest.mark.slow

SPIDER = """
from p2pcrawl import Spider
class Talker(Spider):
    def parse(self, response):
        print("said by the spider")
        yield {"url": response.url, "title": response.title}
        yield response.follow_all()
"""


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three masters with a slave each; at the end they leave in order."""
    with Cluster(tmp_path_factory.mktemp("trio")) as cluster:
        for number in range(3):
            cluster.start("--role", "master", "--slaves", 1, "--data", f"node{number}")
        cluster.until_agreed(3)
        yield cluster
        ends = [peer.end(signal.SIGTERM) for peer in cluster.peers]
        assert ends == [(0, "")] * 3, [peer.log for peer in cluster.peers]


@pytest.fixture(scope="module")
def crawled(trio: Cluster, site: Any) -> dict[str, Any]:
    """The demo site, crawled by all three; submitted at the second one."""
    (trio.folder / "talker.py").write_text(SPIDER)
    target = [
        "talker.py",
        "-a",
        f"start_urls={site['start']}",
        "-a",
        f"allowed_domains={','.join(site['hosts'])}",
        *ALLOWED,
    ]
    end: dict[str, Any] = trio.told(
        "submit", *target, "-s", "RETRY_BACKOFF=0.01", "--wait", "-o", "out.jsonl", "--peer", trio.peers[1].api
    )
    return end


def test_every_peer_tells_the_same_members_and_view(trio: Cluster) -> None:
    def views_of_others() -> set[str]:
        # What a member said of its view last, which may be a moment old.
        return {m["view"] for m in asked(trio.peers[0].api, "status")["members"]}

    until(lambda: len(views_of_others()) == 1, "all have told of the same view")
    seen = [trio.told("status", "--peer", peer.api) for peer in trio.peers]

    members = [{(m["id"], m["address"], m["state"], m["weight"], m["share"]) for m in s["members"]} for s in seen]
    assert members[0] == members[1] == members[2] and len(members[0]) == 3
    assert {s["view"] for s in seen} == {m["view"] for m in seen[0]["members"]}
    assert sum(m["share"] for m in seen[0]["members"]) == pytest.approx(1, abs=0.01)
    assert [s["peer"]["api"] for s in seen] == [p.api for p in trio.peers]


def test_status_table_has_a_row_for_each_member(trio: Cluster) -> None:
    result = trio.run("status", "--peer", trio.peers[0].api)

    assert result.returncode == 0
    for peer in trio.peers:
        row = next(line for line in result.stdout.splitlines() if line.startswith(peer.ready["id"][:8]))
        assert peer.address in row and "alive" in row and peer.api in row


@pytest.mark.parametrize("key", ["host", "domain", "url"])
def test_owner_is_the_same_from_every_peer(trio: Cluster, key: str) -> None:
    owners = set()
    for number in range(4):
        url = f"http://www{number}.example.com/page"
        answers = [trio.told("owner", url, "--key", key, "--peer", peer.api) for peer in trio.peers]
        assert answers[0] == answers[1] == answers[2]
        owner = answers[0]
        assert owner["serving"] and owner["slave"] is not None and owner["epoch"][1] == owner["owner"]
        assert "note" not in owner
        owners.add(owner["owner"])
    assert len(owners) == 1 if key == "domain" else owners


def test_owner_in_words_names_the_master(trio: Cluster) -> None:
    told = trio.told("owner", "http://example.com/", "--peer", trio.peers[0].api)

    words = trio.run("owner", "http://example.com/", "--peer", trio.peers[1].api).stdout

    assert told["owner"][:8] in words and told["address"] in words and f"epoch   {told['epoch'][0]}" in words


def test_submitted_site_is_crawled_by_all_and_each_page_is_there_once(
    trio: Cluster, crawled: dict[str, Any], site: Any
) -> None:
    found = urls_in(trio.folder / "out.jsonl")

    assert len(found) == len(set(found)) == site["pages"] == crawled["pages"] == crawled["items"]
    assert crawled["state"] == "finished" and crawled["conserved"] and crawled["missing"] == []
    assert sum(crawled["masters"].values()) == site["pages"]


def test_pages_are_those_of_the_hosts_that_a_master_owns(trio: Cluster, crawled: dict[str, Any]) -> None:
    owned: dict[str, int] = dict.fromkeys((peer.ready["id"] for peer in trio.peers), 0)
    owners: dict[str, str] = {}
    for url in urls_in(trio.folder / "out.jsonl"):
        host = url.split("/")[2]
        if host not in owners:
            owners[host] = trio.told("owner", url, "--peer", trio.peers[0].api)["owner"]
        owned[owners[host]] += 1

    assert crawled["masters"] == owned


def test_jobs_are_the_same_from_every_peer(trio: Cluster, crawled: dict[str, Any]) -> None:
    def job_in(listed: dict[str, Any]) -> dict[str, Any]:
        return next(job for job in listed["jobs"] if job["job"] == crawled["job"])

    def finished_at(api: str) -> bool:
        return bool(job_in(asked(api, "jobs"))["state"] == "finished")

    until(lambda: all(finished_at(p.api) for p in trio.peers), "all know that it is finished")
    jobs = [job_in(trio.told("jobs", "--peer", peer.api)) for peer in trio.peers]
    names = ("name", "state", "pages", "queued", "leased", "items", "failed", "dropped")
    assert len({tuple(job[name] for name in names) for job in jobs}) == 1
    assert jobs[0]["name"] == "talker" and jobs[0]["pages"] == crawled["pages"]
    assert f"{crawled['job']}" in trio.run("jobs", "--peer", trio.peers[0].api).stdout


@pytest.mark.parametrize("name", ["again.jsonl", "again.csv", "again.json", "again.csv.gz"])
def test_results_hold_each_item_once_however_often_they_are_fetched(
    trio: Cluster, crawled: dict[str, Any], site: Any, name: str
) -> None:
    for _ in range(2):
        result = trio.run("results", crawled["job"], "-o", name, "--peer", trio.peers[2].api)
        assert result.returncode == 0, result.stderr

    assert f"{site['pages']:,} items in {name}" in result.stderr
    assert [path.name for path in trio.folder.glob(".*again*")] == []
    if name == "again.csv":
        with open(trio.folder / name, newline="") as file:
            assert len({row["url"] for row in csv.DictReader(file)}) == site["pages"]
    if name == "again.json":
        assert len({item["url"] for item in json.loads((trio.folder / name).read_text())}) == site["pages"]


def test_results_go_to_standard_output(trio: Cluster, crawled: dict[str, Any], site: Any) -> None:
    result = trio.run("results", crawled["job"], "-o", "-", "--peer", trio.peers[0].api)

    assert len({json.loads(line)["url"] for line in result.stdout.splitlines()}) == site["pages"]


def test_submit_without_wait_answers_with_the_job(trio: Cluster, site: Any) -> None:
    arguments = ["submit", site["start"], "-s", "DEPTH_LIMIT=1", "--peer", trio.peers[0].api]

    job = trio.told(*arguments)["job"]

    def state() -> str:
        listed = asked(trio.peers[2].api, "jobs")["jobs"]
        return next((str(j["state"]) for j in listed if j["job"] == job), "")

    until(lambda: state() == "finished", "the job is finished")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["submit", "nothing.py"], "nothing.py"),
        (["submit", "example.com"], "did you mean https://example.com"),
        (["submit", "http://127.0.0.1:9/", "-s", "DOWNLOAD_DELAY=never"], "DOWNLOAD_DELAY"),
        (["submit", "http://127.0.0.1:9/", "-o", "out.jsonl"], "out.jsonl is a file"),
        (["submit", "http://127.0.0.1:9/", "-o", "out.pdf", "--wait"], "cannot tell the format"),
        (["submit", "http://127.0.0.1:9/", "--token-file", "nowhere"], "cannot read the token file nowhere"),
        (["submit", "http://127.0.0.1:9/", "--token-file", "talker.py"], "talker.py is no token file"),
        (["owner", "nonsense"], "is not a URL"),
        (["results", "77", "-o", "x.jsonl"], "there is no job 77"),
        (["results", "77", "-o", "x.pdf"], "cannot tell the format"),
        (["results", "seven", "-o", "x.jsonl"], "there is no job seven"),
    ],
)
def test_mistake_gets_one_line_and_2(trio: Cluster, crawled: Any, arguments: list[str], said: str) -> None:
    result = trio.run(*arguments, "--peer", trio.peers[0].api)

    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert said in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_project_of_several_files_travels_to_all_masters(trio: Cluster, site: Any) -> None:
    project = trio.folder / "project"
    (project / "kit").mkdir(parents=True)
    (project / "kit/__init__.py").write_text("")
    (project / "kit/marks.py").write_text(
        "import json, pathlib\nMARK = json.loads((pathlib.Path(__file__).parent / 'mark.json').read_text())\n"
        "class Marked:\n    def process_item(self, item):\n        return {**item, 'mark': MARK}\n"
    )
    (project / "kit/mark.json").write_text('"travelled"')
    (project / "shop.py").write_text(
        "from p2pcrawl import Spider\nfrom kit.marks import Marked\n"
        "class Shop(Spider):\n    custom_settings = {'ITEM_PIPELINES': {Marked: 1}}\n"
        "    def parse(self, response):\n        yield {'url': response.url}\n        yield response.follow_all()\n"
    )
    target = [
        "project/shop.py",
        "-a",
        f"start_urls={site['start']}",
        "-a",
        f"allowed_domains={','.join(site['hosts'])}",
    ]

    trio.told("submit", *target, *ALLOWED, "--wait", "-o", "marked.jsonl", "--name", "marked")

    items = [json.loads(line) for line in (trio.folder / "marked.jsonl").read_text().splitlines()]
    assert len(items) > 50 and {item["mark"] for item in items} == {"travelled"}


def test_module_that_a_peer_lacks_is_refused(trio: Cluster) -> None:
    folder = trio.folder / "elsewhere"
    folder.mkdir(exist_ok=True)
    (folder / "only_here.py").write_text(SPIDER)

    result = trio.run(
        "submit", "only_here:Talker", "-a", "start_urls=http://127.0.0.1:9/", "--peer", trio.peers[0].api,
        env={"PYTHONPATH": f"{folder}:{Path(__file__).resolve().parents[3]}"},
    )  # fmt: skip

    assert result.returncode == 2
    assert "module only_here is missing on a peer of the cluster" in result.stderr


def test_any_peer_of_the_cluster_here_is_asked_but_for_what_is_about_one_itself(trio: Cluster) -> None:
    anybody, itself = trio.run("status"), trio.run("drain")

    assert anybody.returncode == 0 and "3 masters" in anybody.stdout
    assert itself.returncode == 2 and "3 peers run on this machine" in itself.stderr
    assert all(peer.api in itself.stderr for peer in trio.peers)
    assert trio.run("status", env={"P2PCRAWL_PEER": trio.peers[0].api}).returncode == 0


@pytest.mark.parametrize("path", ["jobs", "drain", "keys", "jobs/1/pause", "jobs/1/urls", "members/x/forget"])
@pytest.mark.parametrize("token", ["", "Bearer ", "Bearer 00", "Basic 00", "Bearer \u00e9"])
async def test_change_without_the_token_is_refused(trio: Cluster, path: str, token: str) -> None:
    headers = {"Authorization": token} if token else {}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"http://{trio.peers[0].api}/v1/{path}", json={}, headers=headers) as answer,
    ):
        assert answer.status == 401
        assert "bearer token" in (await answer.json())["error"]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil"])
async def test_foreign_host_name_is_refused(trio: Cluster, method: str, host: str) -> None:
    token = (trio.folder / "node0" / "token").read_text().strip()
    headers = {"Host": host, "Authorization": f"Bearer {token}"}
    path = "status" if method == "GET" else "keys"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://{trio.peers[0].api}/v1/{path}", headers=headers) as answer,
    ):
        assert answer.status == 403


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"a": 1}', b'{"name": 3}', b"{}", b'{"name": "x"}', b"\xff"])
async def test_nonsense_submission_is_refused_with_a_reason(trio: Cluster, body: bytes) -> None:
    token = (trio.folder / "node0" / "token").read_text().strip()
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"http://{trio.peers[0].api}/v1/jobs", data=body, headers={"Authorization": f"Bearer {token}"}
        ) as answer,
    ):
        assert answer.status == 400
        assert (await answer.json())["error"]


def test_token_is_for_its_owner_alone(trio: Cluster) -> None:
    for number in range(3):
        for name in ("token", "identity"):
            assert (trio.folder / f"node{number}" / name).stat().st_mode & 0o077 == 0


def test_scrapy_project_is_crawled_by_all_as_it_is(trio: Cluster, site: Any) -> None:
    files = {
        "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
        "shop/__init__.py": "",
        "shop/settings.py": "SPIDER_MODULES = ['shop']\nITEM_PIPELINES = {'shop.pipes.Mark': 1}\nMY_WORD = 'ours'\n",
        "shop/pipes.py": "from scrapy.utils.project import get_project_settings\n"
        "WORD = get_project_settings()['MY_WORD']\n"
        "class Mark:\n    def process_item(self, item, spider):\n        return {**item, 'word': WORD}\n",
        "shop/pages.py": "import scrapy\nclass Pages(scrapy.Spider):\n    name = 'pages'\n"
        "    def parse(self, response):\n        yield {'url': response.url}\n"
        "        yield from response.follow_all(css='a')\n",
    }
    for name, text in files.items():
        (trio.folder / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (trio.folder / "project" / name).write_text(text)
    hosts = ("-a", f"start_urls={site['start']}", "-a", f"allowed_domains={','.join(site['hosts'])}", *ALLOWED)

    end = trio.told(
        "submit", "--scrapy", trio.folder / "project", "pages", *hosts, "-s", "DEPTH_LIMIT=2", "--wait",
        "-o", "unchanged.jsonl", "--peer", trio.peers[2].api,
    )  # fmt: skip

    items = [json.loads(line) for line in (trio.folder / "unchanged.jsonl").read_text().splitlines()]
    assert end["state"] == "finished"
    assert len({item["url"] for item in items}) == end["items"] == end["pages"] > 10
    assert {item["word"] for item in items} == {"ours"}
