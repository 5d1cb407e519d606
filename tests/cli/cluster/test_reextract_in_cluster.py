"""``reextract`` in a cluster: each machine reads what it has stored, though the site is gone, and through kill -9."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.parent import ends_with_us
from tests.cli.conftest import ALLOWED, ENDS_S, environment, until
from tests.cli.peers import Cluster, RunningPeer, asked
from tests.demo_site import demo_site

PAGES = 200
SPIDER = """
from p2pcrawl import Spider

class Pages(Spider):
    name = "pages"

    def parse(self, response, level=0):
        number = int("".join(filter(str.isdigit, response.url.rpartition("/")[2])) or 0)
        if {read}:
            yield {{"url": response.url, "level": level, "number": number, "title": {title}}}
        if {more}:
            yield {{"url": response.url, "more": number}}
        yield from response.follow_all(css="a", cb_kwargs={{"level": level + 1}}, callback=self.parse)
"""
OLD = SPIDER.format(read="True", title="number", more="False")
NEW = SPIDER.format(read="number % 7", title="-number if number % 5 == 0 else number", more="number % 11 == 0")


@contextmanager
def crawled(folder: Path) -> Iterator[tuple[Cluster, list[tuple[RunningPeer, tuple[object, ...]]], list[str]]]:
    """A cluster of three with a job whose raw pages it has kept, of a site that is gone; the options of each peer,
    and the arguments of the spider.
    """
    (folder / "pages.py").write_text(OLD)
    with Cluster(folder) as cluster:
        options = [("--data", f"n{n}", "--warc", f"raw{n}", "--slaves", "1") for n in (1, 2, 3)]
        peers = [(cluster.start(*each), each) for each in options]
        cluster.until_agreed(3)
        with demo_site(pages=PAGES, hosts=3) as site:
            domains = f"allowed_domains={','.join(site['hosts'])}"
            arguments = ["-a", f"start_urls={site['start']}", "-a", domains, *ALLOWED]
            result = cluster.run(
                "submit", "pages.py", "--name", "pages", "--peer", peers[0][0].api, "--wait", "-o", "old.jsonl",
                *arguments, "-s", "SHARD_KEY=url", "-s", "RETRY_BACKOFF=0.01",
            )  # fmt: skip
        assert result.returncode == 0, result.stderr
        (folder / "pages.py").write_text(NEW)
        yield cluster, peers, arguments


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def assert_exact(folder: Path, told: dict[str, Any]) -> None:
    """The differences are those that arithmetic says."""
    old = {item["url"]: item for item in lines_of(folder / "old.jsonl")}
    gone = [item for item in old.values() if item["number"] % 7 == 0]
    more = [item for item in old.values() if item["number"] % 11 == 0]
    # On a page with both, what was there before has changed into what is there now.
    both = [item for item in gone if item["number"] % 11 == 0]
    titles = [item for item in old.values() if item["number"] % 5 == 0 and item["number"] % 7 and item["number"]]
    found = told["differences"]
    assert found["changed"] == len(titles) + len(both) and found["not_compared"] == 0
    assert (found["removed"], found["added"]) == (len(gone) - len(both), len(more) - len(both))
    new = lines_of(folder / "new.jsonl")
    assert len(new) == len(old) - len(gone) + len(more) == told["items"]
    assert all(item["level"] == old[item["url"]]["level"] for item in new if "level" in item)
    assert len(lines_of(folder / "diff.jsonl")) == found["changed"] + found["removed"] + found["added"]


@pytest.mark.slow
def test_each_machine_reads_its_pages_and_differences_are_exact(tmp_path: Path) -> None:
    with crawled(tmp_path) as (cluster, peers, arguments):
        # It has no files, and gets its pages through its master.
        cluster.start("--role", "slave", "--slaves", "1", "--data", "n4")
        result = cluster.run(
            "reextract", "pages.py", "--job", "pages", "--peer", peers[1][0].api, "-O", "new.jsonl",
            "--diff", "diff.jsonl", "--json", *arguments,
        )  # fmt: skip

        assert result.returncode == 0, result.stderr
        told = json.loads(result.stdout)
        assert told["failed"] == 0 and told["pages"] == len(lines_of(tmp_path / "old.jsonl"))
        assert all(told["masters"].values())
        assert_exact(tmp_path, told)


@pytest.mark.soak
def test_what_was_on_the_machine_of_a_killed_master_is_read_when_it_is_back(tmp_path: Path) -> None:
    with crawled(tmp_path) as (cluster, peers, arguments):
        slow = NEW.replace("number = int", "await asyncio.sleep(0.5)\n        number = int")
        slow = "import asyncio\n" + slow.replace("def parse", "async def parse").replace("yield from", "yield")
        (tmp_path / "pages.py").write_text(slow)
        command = [sys.executable, "-m", "p2pcrawl", "reextract", "pages.py", "--job", "pages", "--peer"]
        command += [peers[0][0].api, "-O", "new.jsonl", "--diff", "diff.jsonl", "--json", "--name", "again", *arguments]
        command += ["-s", "RETRY_FAILED_AFTER=2", "-s", "RETRY_FAILED_TIMES=30"]
        reading = subprocess.Popen(
            command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=ends_with_us(),
        )  # fmt: skip
        until(
            lambda: any(j["pages"] > 10 for j in asked(peers[0][0].api, "jobs")["jobs"] if j["label"] == "again"),
            "it reads",
        )

        peers[2][0].end(signal.SIGKILL)
        cluster.start(*peers[2][1])
        out, said = reading.communicate(timeout=ENDS_S)

    assert reading.returncode == 0, said
    told = json.loads(out)
    assert told["failed"] == 0 and not told["away"]
    assert_exact(tmp_path, told)
