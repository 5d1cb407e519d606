"""The programs of ``examples/`` run as they are, in processes of their own, as somebody who tries them would."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.kit.measure import ROOT, SiteProcess, items_of
from benchmarks.kit.parent import ends_with_us
from tests.sites.quotes import AUTHORS

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
RUNS_S = 120


@pytest.fixture
def site() -> Iterator[SiteProcess]:
    with SiteProcess("tests.sites.quotes") as process:
        yield process


def run(name: str, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    environment = {"PATH": "", "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUNS_S)


def test_spider_with_two_kinds_of_pages(site: SiteProcess, tmp_path: Path) -> None:
    done = run("quotes.py", site.start, "authors.jsonl", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert sorted((item["name"], item["born"]) for item in items_of(tmp_path / "authors.jsonl")) == sorted(
        (name, born) for name, born, _ in AUTHORS
    )
    assert done.stdout.startswith("10 authors from ")


def test_spider_whose_rules_follow_its_links(site: SiteProcess, tmp_path: Path) -> None:
    done = run("rules.py", site.start, "authors.jsonl", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert sorted((item["name"], item["born"]) for item in items_of(tmp_path / "authors.jsonl")) == sorted(
        (name, born) for name, born, _ in AUTHORS
    )


def test_items_with_files_that_are_fetched_once(tmp_path: Path) -> None:
    with SiteProcess("tests.sites.bookstore") as bookstore:
        first = run("covers.py", bookstore.start, "covers.jsonl", "covers", folder=tmp_path)
        again = run("covers.py", bookstore.start, "again.jsonl", "covers", folder=tmp_path)

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    found = [list(items_of(tmp_path / name)) for name in ("covers.jsonl", "again.jsonl")]
    assert [len({item["name"] for item in items}) for items in found] == [60, 60]
    assert [{item["files"][0]["status"] for item in items} for items in found] == [{"downloaded"}, {"uptodate"}]
    assert {len(item["price"].partition(".")[2]) for item in found[0]} == {2}
    assert len(list((tmp_path / "covers" / "full").iterdir())) == 60


def test_cluster_in_one_script(site: SiteProcess, tmp_path: Path) -> None:
    done = run("cluster.py", site.start, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    first, *pages, last = done.stdout.splitlines()
    assert first.startswith("three masters: ")
    assert len(pages) == 10
    assert last.startswith("the job is finished")


def test_simulation_with_faults_of_ones_own(tmp_path: Path) -> None:
    done = run("two_lose_power.py", 5, folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("was away at") == 2


def test_crawl_inside_a_web_application(site: SiteProcess, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(EXAMPLES / "web_app.py"), str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us()) as app:
        try:
            assert app.stdout is not None and app.stdout.readline()  # It says so when it serves.
            begun = ask(port, "POST", f"/crawls?url={site.start}")
            lines = ask(port, "GET", f"/crawls/{json.loads(begun)['crawl']}").splitlines()
        finally:
            app.terminate()

    urls = [json.loads(line)["url"] for line in lines]
    assert site.start in urls
    assert len(urls) == len(set(urls)) > 10


def ask(port: int, method: str, target: str) -> str:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=RUNS_S)) as connection:
        connection.request(method, target)
        return connection.getresponse().read().decode()
