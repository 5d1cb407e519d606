"""``crawl --warc``: each page that is reported is in a WARC file, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.measure import descendants
from tests.cli.conftest import Run, Start, lines_in, until, urls_in
from tests.cli.raw_files import answers_in
from tests.small_disks import mounted_disk


@pytest.mark.parametrize("slaves", [0, 2])
def test_each_page_and_robots_txt_is_kept_once(run: Run, whole: list[str], tmp_path: Path, slaves: int) -> None:
    result = run(*whole, "-o", "pages.jsonl", "--warc", "raw", "--slaves", slaves)

    assert result.returncode == 0, result.stderr
    assert f"  raw pages: in {tmp_path / 'raw'}\n" in result.stderr
    kept = list(answers_in(tmp_path / "raw"))
    pages = [url for url, status in kept if status == "200" and not url.endswith("/robots.txt")]
    assert sorted(pages) == sorted(urls_in(tmp_path / "pages.jsonl"))
    assert len([url for url, _ in kept if url.endswith("/robots.txt")]) == 5
    assert {path.suffix for path in (tmp_path / "raw").iterdir()} == {".gz", ".cdxj"}
    assert sum(map(lines_in, (tmp_path / "raw").glob("*.cdxj"))) == len(kept)


def test_output_in_warc_is_a_place_for_raw_pages(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    small = ("-o", "news.warc.gz", "--warc-size", "500")

    result = run("crawl", site["start"], "-s", "DEPTH_LIMIT=1", *small, "--slaves", 0)

    assert result.returncode == 0, result.stderr
    assert len(list(tmp_path.glob("news-*.warc.gz"))) > 1
    assert "news.warc.gz" not in result.stderr


@pytest.mark.slow
def test_page_that_was_reported_is_kept_though_all_processes_are_killed(
    run: Run, start: Start, whole: list[str], tmp_path: Path
) -> None:
    command = [*whole, "-o", "pages.jsonl", "--warc", "raw", "--slaves", "2", "--data", "run", "--warc-size", "20kB"]
    crawl = start(*command, "-s", "DOWNLOAD_DELAY=0.02")
    until(lambda: lines_in(tmp_path / "pages.jsonl") > 40, "some pages")
    for pid in reversed(descendants(crawl.pid)):
        os.kill(pid, signal.SIGKILL)
    crawl.wait()
    left_open = [path.name.removesuffix(".open") for path in (tmp_path / "raw").glob("*.warc.gz.open")]

    again = run(*command)

    assert again.returncode == 0, again.stderr
    assert left_open
    assert not list((tmp_path / "raw").glob("*.open"))
    kept = {url for url, _ in answers_in(tmp_path / "raw")}
    assert set(urls_in(tmp_path / "pages.jsonl")) <= kept
    assert all((tmp_path / "raw" / name.replace(".warc.gz", ".cdxj")).exists() for name in left_open)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, 48 KiB large, that is full of something. Only root can make one."""
    with mounted_disk(tmp_path / "raw", "48k") as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("slaves", [0, 2])
def test_disk_without_room_ends_the_crawl_which_goes_on_when_there_is_some(
    run: Run, whole: list[str], tmp_path: Path, small_disk: Path, slaves: int
) -> None:
    command = [*whole, "-o", "pages.jsonl", "--warc", "raw", "--data", "run", "--slaves", str(slaves)]

    full = [run(*command) for _ in range(3 - slaves)]
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    again = run(*command)

    for ended in full:
        assert ended.returncode == 1
        assert "no room left to write" in ended.stderr and "make room and resume" in ended.stderr
        assert "Traceback" not in ended.stderr and "never retrieved" not in ended.stderr
    assert again.returncode == 0, again.stderr
    assert "slave-lost" not in again.stderr
    assert set(urls_in(tmp_path / "pages.jsonl")) <= {url for url, _ in answers_in(tmp_path / "raw")}


def test_folder_that_cannot_be_is_told_before_anything_is_fetched(
    run: Run, site: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "raw").touch()

    result = run("crawl", site["start"], "--warc", "raw")

    assert result.returncode == 2
    assert result.stderr.startswith("p2pcrawl: cannot keep raw pages in")
    assert result.stderr.count("\n") == 1
