"""The spider that the documentation begins with, run in each of the ways in which a spider can be run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.measure import ROOT, SiteProcess, items_of
from p2pcrawl import Crawler
from tests.acceptance.programs.quotes import Quotes
from tests.sites.quotes import all_quotes

pytestmark = pytest.mark.slow

PROGRAM = ROOT / "tests" / "acceptance" / "programs" / "quotes.py"
EXPECTED = sorted((quote.text, quote.author) for quote in all_quotes())


@pytest.fixture
def site() -> Iterator[SiteProcess]:
    with SiteProcess("tests.sites.quotes") as process:
        yield process


def run(arguments: Sequence[object], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def told(items: Iterator[dict[str, Any]] | Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((item["text"], item["author"]) for item in items)


@pytest.mark.parametrize("slaves", [0, 2])
@pytest.mark.parametrize("target", [PROGRAM, f"{PROGRAM}:Quotes", "tests.acceptance.programs.quotes:Quotes"])
def test_from_the_command_line(site: SiteProcess, tmp_path: Path, target: object, slaves: int) -> None:
    verb = ["-m", "p2pcrawl", "crawl", target, "-o", "quotes.csv", "--slaves", slaves]

    done = run([*verb, "-a", f"start_urls={site.start}"], tmp_path)

    assert done.returncode == 0, done.stderr
    assert told(items_of(tmp_path / "quotes.csv")) == EXPECTED
    assert site.stats()["hits"] == {"/robots.txt": 1, "/": 1, **{f"/page/{n}/": 1 for n in range(2, 11)}}


def test_unchanged_but_for_its_start_url_as_a_script(site: SiteProcess, tmp_path: Path) -> None:
    text = PROGRAM.read_text().replace("https://quotes.toscrape.com/", site.start)
    (tmp_path / "quotes.py").write_text(text)

    done = run(["quotes.py"], tmp_path)

    assert done.returncode == 0, done.stderr
    assert told(items_of(tmp_path / "quotes.jsonl")) == EXPECTED


def test_subclass_in_a_script_of_its_own(site: SiteProcess, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from p2pcrawl import Crawler\n"
        "from tests.acceptance.programs.quotes import Quotes\n\n\n"
        f"class Mine(Quotes):\n    name = 'mine'\n    start_urls = ['{site.start}']\n\n\n"
        "if __name__ == '__main__':\n"
        "    print('crawling')\n"
        "    Crawler(Mine, output='mine.json', slaves=2).run()\n"
    )

    done = run(["mine.py"], tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("crawling") == 1, "the slaves ran the script's main block"
    assert told(items_of(tmp_path / "mine.json")) == EXPECTED


@pytest.mark.parametrize("slaves", [0, 2])
async def test_items_as_they_come(site: SiteProcess, slaves: int) -> None:
    async with Crawler(Quotes, arguments={"start_urls": site.start}, slaves=slaves) as crawler:
        items = [item async for item in crawler.items()]

    assert told(items) == EXPECTED
    assert crawler.finished
    assert crawler.certificate()["items"] == 100


def test_to_standard_output(site: SiteProcess, tmp_path: Path) -> None:
    done = run(["-m", "p2pcrawl", "crawl", PROGRAM, "-o", "-", "-a", f"start_urls={site.start}"], tmp_path)

    assert done.returncode == 0, done.stderr
    assert told([json.loads(line) for line in done.stdout.splitlines()]) == EXPECTED


def test_second_run_in_a_data_folder_adds_nothing(site: SiteProcess, tmp_path: Path) -> None:
    verb = ["-m", "p2pcrawl", "crawl", PROGRAM, "-o", "quotes.xml", "--data", "kept", "-a", f"start_urls={site.start}"]

    for _ in range(2):
        assert run(verb, tmp_path).returncode == 0

    assert told(items_of(tmp_path / "quotes.xml")) == EXPECTED
    assert sum(site.stats()["hits"].values()) == 11
