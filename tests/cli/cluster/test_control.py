"""Steering jobs and asking about them with the verbs, through whichever peer is asked."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ALLOWED, until, urls_in
from tests.cli.peers import Cluster, RunningPeer, asked

pytestmark = pytest.mark.slow

VERBS = ("pause", "resume", "cancel", "retry")
SPIDER = """
from p2pcrawl import Spider
class Talker(Spider):
    def parse(self, response):
        yield {"url": response.url}
        yield response.follow_all()
"""


def masters_of(cluster: Cluster) -> list[RunningPeer]:
    """Two masters, and a slave's peer as the third."""
    for number in range(2):
        cluster.start("--role", "master", "--slaves", 1, "--data", f"node{number}")
    cluster.until_agreed(2)
    cluster.start("--role", "slave", "--slaves", 1, "--data", "helper")
    return cluster.peers


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("pair")) as cluster:
        (cluster.folder / "talker.py").write_text(SPIDER)
        masters_of(cluster)
        yield cluster


def submit(cluster: Cluster, site: dict[str, Any], *arguments: str, at: int = 0) -> int:
    target = [
        "talker.py",
        "-a",
        f"start_urls={site['start']}",
        "-a",
        f"allowed_domains={','.join(site['hosts'])}",
        *ALLOWED,
    ]
    told = cluster.told("submit", *target, "-s", "RETRY_BACKOFF=0.01", *arguments, "--peer", cluster.peers[at].api)
    return int(told["job"])


def job_at(peer: RunningPeer, job: int) -> dict[str, Any]:
    listed = asked(peer.api, "jobs")["jobs"]
    return next((each for each in listed if each["job"] == job), {"state": "unknown", "pages": 0, "leased": 0})


def until_all_say(cluster: Cluster, job: int, state: str) -> None:
    until(lambda: all(job_at(p, job)["state"] == state for p in cluster.peers), f"all say {state}")


@pytest.fixture(scope="module")
def finished(pair: Cluster, site: dict[str, Any]) -> int:
    """A job that has come to its end."""
    job = submit(pair, site)
    until_all_say(pair, job, "finished")
    return job


def test_paused_job_survives_kill_9_of_all_and_is_resumed_through_another_peer(
    tmp_path: Path, site: dict[str, Any]
) -> None:
    with Cluster(tmp_path) as cluster:
        (tmp_path / "talker.py").write_text(SPIDER)
        one, two, helper = masters_of(cluster)
        job = submit(cluster, site, "-s", "DOWNLOAD_DELAY=0.05")
        until(lambda: job_at(one, job)["pages"] >= 10, "ten pages")

        answer = cluster.told("pause", job, "--peer", helper.api)
        until_all_say(cluster, job, "paused")
        until(lambda: job_at(one, job)["leased"] == 0, "what was open has ended")
        before = job_at(one, job)["pages"]
        assert (answer["was"], answer["state"]) == ("running", "paused") and before < site["pages"]
        assert "1 paused" in cluster.run("status", "--peer", one.api).stdout

        for peer in (one, two, helper):
            peer.end(signal.SIGKILL)
        cluster.peers.clear()
        one, two, helper = masters_of(cluster)
        until_all_say(cluster, job, "paused")
        assert job_at(two, job)["pages"] == before

        assert cluster.told("resume", job, "--peer", two.api)["state"] == "running"
        until_all_say(cluster, job, "finished")
        result = cluster.run("results", job, "-o", "out.jsonl", "--peer", helper.api)

        assert result.returncode == 0, result.stderr
        found = urls_in(tmp_path / "out.jsonl")
        assert len(found) == len(set(found)) == site["pages"]
        assert "warning" not in result.stderr


def test_retry_visits_failed_pages_again_and_prints_how_many(pair: Cluster, finished: int) -> None:
    before = job_at(pair.peers[0], finished)

    answer = pair.told("retry", finished, "--peer", pair.peers[1].api)
    until_all_say(pair, finished, "finished")

    after = job_at(pair.peers[0], finished)
    assert answer["retried"] == before["failed"] > 0
    assert after["failed"] == before["failed"] and after["pages"] == before["pages"] and after["conserved"]
    # Each of them was asked for again, as often as it is tried.
    assert after["fetches"] - before["fetches"] >= before["failed"]


def test_retry_in_words_says_how_many(pair: Cluster, finished: int) -> None:
    result = pair.run("retry", finished, "--peer", pair.peers[0].api)
    until_all_say(pair, finished, "finished")

    assert result.returncode == 0
    assert f"queued anew: job {finished} is running" in result.stdout


def test_cancelled_job_stays_so(pair: Cluster, site: dict[str, Any]) -> None:
    job = submit(pair, site, "-s", "DOWNLOAD_DELAY=5")

    first = pair.told("cancel", job, "--peer", pair.peers[1].api)
    again = pair.run("cancel", job, "--peer", pair.peers[0].api)
    refused = pair.run("resume", job, "--peer", pair.peers[0].api)

    assert first["state"] == "cancelled"
    assert again.returncode == 0 and "was cancelled already" in again.stdout
    assert refused.returncode == 2 and "cancelled, which is final" in refused.stderr
    until_all_say(pair, job, "cancelled")


@pytest.mark.parametrize("asked", range(3))
@pytest.mark.parametrize("verb", VERBS)
def test_unknown_job_gets_one_line_and_2(pair: Cluster, verb: str, asked: int) -> None:
    result = pair.run(verb, 77, "--peer", pair.peers[asked].api)

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "p2pcrawl: there is no job 77; `p2pcrawl jobs` lists them\n"


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_wrong_state_gets_one_line_and_2(pair: Cluster, finished: int, verb: str) -> None:
    result = pair.run(verb, finished, "--peer", pair.peers[2].api)

    assert (result.returncode, result.stdout) == (2, "")
    assert f"cannot {verb} job {finished}: it is finished" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pause"], "Missing argument 'JOB'"),
        (["pause", "seven"], "there is no job seven"),
        (["pause", "seven", "--last"], "either a JOB or --last"),
        (["retry", "0"], "there is no job 0"),
        (["drain", "--token-file", "nowhere"], "cannot read the token file nowhere"),
        (["certificate", "77"], "there is no job 77"),
        (["why", "nonsense"], "is not a URL"),
    ],
)
def test_mistake_gets_one_line_and_2(pair: Cluster, arguments: list[str], said: str) -> None:
    result = pair.run(*arguments, "--peer", pair.peers[0].api)

    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_certificate_is_checked_where_it_is_shown(pair: Cluster, finished: int) -> None:
    words = pair.run("certificate", finished, "--peer", pair.peers[2].api)
    certificate = pair.told("certificate", finished, "--peer", pair.peers[0].api)
    listed = job_at(pair.peers[1], finished)

    assert words.returncode == 0, words.stdout + words.stderr
    assert "signed by 2 masters" in words.stdout and "every signature holds" in words.stdout
    assert certificate["sound"] and certificate["final"] and certificate["incomplete"] == []
    assert certificate["members"] == sorted(p.ready["id"] for p in pair.peers[:2])
    assert certificate["copies"] == {"asked": 2, "kept": 2}
    for name in ("discovered", "done", "failed", "dropped", "pages", "items"):
        assert certificate["counts"][name] == listed[name]
    assert listed["certificate"]["parts"] == certificate["parts"]


def test_job_without_an_end_has_no_certificate(pair: Cluster, site: dict[str, Any]) -> None:
    job = submit(pair, site, "-s", "DOWNLOAD_DELAY=5")

    result = pair.run("certificate", job, "--peer", pair.peers[0].api)
    pair.run("cancel", job, "--peer", pair.peers[0].api)

    assert result.returncode == 1
    assert result.stderr == f"p2pcrawl: job {job} is running: it has no certificate\n"


def test_why_is_the_same_from_every_peer_and_names_owner_and_copies(
    pair: Cluster, finished: int, site: dict[str, Any]
) -> None:
    owner = pair.told("owner", site["start"], "--peer", pair.peers[0].api)

    told = [pair.told("why", site["start"], "--peer", peer.api) for peer in pair.peers]
    words = pair.run("why", site["start"], "--peer", pair.peers[2].api).stdout

    records = [next(r for r in answer["records"] if r["job"] == finished) for answer in told]
    assert records[0] == records[1] == records[2]
    assert (records[0]["phase"], records[0]["owner"]) == ("done", owner["owner"])
    assert records[0]["epoch"] == owner["epoch"]
    assert [copy["agrees"] for copy in records[0]["copies"]] == [True]
    assert f"owner {owner['owner'][:8]} at {owner['address']}" in words
    assert "robots.txt of" in words and "agrees" in words and "done: status 200" in words


def test_why_of_a_data_folder_and_of_a_peer_tell_the_same_history(
    pair: Cluster, finished: int, site: dict[str, Any]
) -> None:
    asked = pair.told("why", site["start"], "--peer", pair.peers[0].api)
    record = next(r for r in asked["records"] if r["job"] == finished)
    folder = next(f"node{n}" for n in range(2) if pair.peers[n].ready["id"] == record["owner"])

    read = pair.told("why", site["start"], "--data", folder)

    same = next(r for r in read["records"] if r["job"] == finished)
    assert {name: record[name] for name in same} == same


def test_why_of_what_was_never_seen_is_1_and_says_what_may_explain_it(pair: Cluster, finished: int) -> None:
    result = pair.run("why", "http://example.com/", "--peer", pair.peers[1].api)

    assert result.returncode == 1
    assert "never seen" in result.stdout and "off site" in result.stdout


def test_why_without_folder_and_peer_says_how_to_name_one(tmp_path: Path) -> None:
    with Cluster(tmp_path) as nobody:
        result = nobody.run("why", "http://example.com/")

    assert result.returncode == 2
    assert "no peer runs on this machine" in result.stderr and result.stderr.count("\n") == 1


def test_certificate_without_a_missing_master_is_not_final_until_it_is_back(
    tmp_path: Path, site: dict[str, Any]
) -> None:
    with Cluster(tmp_path) as cluster:
        (tmp_path / "talker.py").write_text(SPIDER)
        one, two, _ = masters_of(cluster)
        job = submit(cluster, site, "-s", "DOWNLOAD_DELAY=0.05")
        until(lambda: job_at(one, job)["pages"] >= 10, "ten pages")

        two.end(signal.SIGKILL)
        del cluster.peers[1:]
        until_all_say(cluster, job, "finished")
        result = cluster.run("certificate", job, "--peer", one.api)
        certificate = json.loads(cluster.run("certificate", job, "--peer", one.api, "--json").stdout)
        status = cluster.run("status", "--peer", one.api).stdout

        assert result.returncode == 1
        assert f"missing: {two.ready['id'][:8]}" in result.stdout and "not final" in result.stdout
        assert certificate["sound"] and not certificate["final"] and certificate["incomplete"] == []
        assert certificate["copies"] == {"asked": 2, "kept": 1} and certificate["members"] == [one.ready["id"]]
        assert f"1 master is missing ({two.ready['id'][:8]} since " in status

        cluster.start("--role", "master", "--slaves", 1, "--data", "node1")
        until(lambda: cluster.run("certificate", job, "--peer", one.api).returncode == 0, "the certificate is final")
        cluster.run("results", job, "-o", "out.jsonl", "--peer", one.api)
        assert len(set(urls_in(tmp_path / "out.jsonl"))) == len(urls_in(tmp_path / "out.jsonl")) == site["pages"]


def test_newcomer_that_cannot_run_a_job_is_named_in_the_status(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "only_here.py").write_text(SPIDER)
    has_it = {"PYTHONPATH": f"{tmp_path / 'here'}:{Path(__file__).resolve().parents[3]}"}
    with Cluster(tmp_path) as cluster:
        one = cluster.start("--role", "master", "--slaves", 1, "--data", "one", env=has_it)
        job = cluster.run(
            "submit", "only_here:Talker", "-a", "start_urls=http://127.0.0.1:9/", "-s", "DOWNLOAD_DELAY=30",
            "--peer", one.api, env=has_it,
        )  # fmt: skip
        assert job.returncode == 0, job.stderr

        two = cluster.start("--role", "master", "--slaves", 1, "--data", "two")

        warning = f"warning: {two.ready['id'][:8]} cannot run a job: module only_here is missing"
        until(lambda: warning in cluster.run("status", "--peer", one.api).stdout, "the status names it")
