"""``reextract``: a changed spider over stored pages, though the site is gone, and through kill -9."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.measure import descendants
from tests.cli.conftest import ALLOWED, Run, Start, lines_in, until
from tests.cli.forks import run_verb
from tests.demo_site import demo_site

SPIDER = """
from p2pcrawl import Spider

class Pages(Spider):
    name = "pages"

    def parse(self, response, level=0):
        yield {{"url": response.url, "level": level, {field}}}
        yield from response.follow_all(css="a", cb_kwargs={{"level": level + 1}}, callback=self.parse)
"""
OLD = SPIDER.format(field='"title": response.css("title::text").get()')
NEW = SPIDER.format(field='"title": (response.css("title::text").get() or "").upper()')


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A crawl whose raw pages are kept, of a site that is gone."""
    folder = tmp_path_factory.mktemp("crawled")
    (folder / "pages.py").write_text(OLD)
    with demo_site(pages=200, hosts=5) as site:
        domains = f"allowed_domains={','.join(site['hosts'])}"
        arguments = ("-a", f"start_urls={site['start']}", "-a", domains, *ALLOWED, "-s", "RETRY_BACKOFF=0.01")
        command = (
            "crawl",
            "pages.py",
            *arguments,
            "-O",
            "old.jsonl",
            "--data",
            "run1",
            "--warc",
            "raw",
            "--slaves",
            "2",
        )
        result = run_verb(command, home=folder, typed=None, cwd=folder, env=None)
        assert result.returncode == 0, result.stderr
    (folder / "pages.py").write_text(NEW)
    yield {"folder": folder, "arguments": arguments}


def items(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_title(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return sorted((item["url"], item["level"]) for item in found)


@pytest.mark.slow
def test_items_of_all_pages_come_anew_with_what_callbacks_had_been_given(
    run: Run, crawled: dict[str, Any], tmp_path: Path
) -> None:
    folder = crawled["folder"]

    result = run(
        "reextract", folder / "pages.py", "--warc", folder / "raw", "--of", folder / "run1",
        *crawled["arguments"], "-O", "new.jsonl", "--diff", "diff.jsonl", "--json", "--slaves", "2",
    )  # fmt: skip

    assert result.returncode == 0, result.stderr
    old, new = items(folder / "old.jsonl"), items(tmp_path / "new.jsonl")
    told, diff = json.loads(result.stdout), items(tmp_path / "diff.jsonl")
    assert without_title(new) == without_title(old) and {item["level"] for item in new} > {0, 1}
    assert all(item["title"] == item["title"].upper() for item in new)
    assert (told["fetches"], told["filtered_links"]["not-followed"] > 120, told["verified"]) == (0, True, True)
    differing = [item for item in old if item["title"] != item["title"].upper()]
    assert told["differences"]["changed"] == len(diff) == len(differing)
    assert told["differences"]["fields"] == {"title": len(diff)}
    assert told["differences"]["same"] == len(old) - len(diff)


@pytest.mark.slow
def test_run_that_was_killed_goes_on_and_each_item_is_there_once(
    run: Run, start: Start, crawled: dict[str, Any], tmp_path: Path
) -> None:
    folder = crawled["folder"]
    slow = tmp_path / "slow.py"
    slow.write_text("import time\n" + NEW.replace("        yield {", "        time.sleep(0.02)\n        yield {", 1))
    command = (
        "reextract", slow, "--warc", folder / "raw", "--of", folder / "run1", *crawled["arguments"],
        "-o", "new.jsonl", "--data", "again", "--slaves", "2",
    )  # fmt: skip

    first = start(*command)
    until(lambda: lines_in(tmp_path / "new.jsonl") > 20, "some items")
    for pid in reversed([first.pid, *descendants(first.pid)]):
        os.kill(pid, signal.SIGKILL)
    first.wait()
    killed_at = lines_in(tmp_path / "new.jsonl")
    result = run(*command)

    assert result.returncode == 0, result.stderr
    assert "going on with pages" in result.stderr
    assert killed_at < len(items(folder / "old.jsonl"))
    assert without_title(items(tmp_path / "new.jsonl")) == without_title(items(folder / "old.jsonl"))


def test_without_the_crawls_records_pages_go_to_parse_and_are_compared_by_a_field(
    run: Run, crawled: dict[str, Any], tmp_path: Path
) -> None:
    folder = crawled["folder"]

    result = run(
        "reextract", folder / "pages.py", "--warc", folder / "raw", *crawled["arguments"], "-O", "new.jsonl",
        "--against", folder / "old.jsonl", "--key", "url", "--json", "--slaves", 0,
    )  # fmt: skip

    told = json.loads(result.stdout)
    assert "all went to parse()" in result.stderr
    assert told["differences"]["added"] == 0 and told["differences"]["changed"] > 100
    assert {item["level"] for item in items(tmp_path / "new.jsonl")} == {0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--warc", "nowhere"], "nowhere is not a folder with WARC files"),
        (["--warc", "empty"], "there are no WARC files"),
        (["--warc", "empty", "--of", "empty"], "is not a p2pcrawl data folder"),
        (["--warc", "empty", "--diff", "d.jsonl"], "--diff wants something to compare with"),
        (["--warc", "empty", "--key", "url"], "--key says by which fields"),
        (["--warc", "empty", "--job", "7"], "--job says which job of --of"),
        (["--warc", "empty", "--against", "no.jsonl"], "no.jsonl: No such file"),
        (["--warc", "empty", "--resume", "7"], "--resume is for clusters"),
        ([], "give --warc DIR with the pages, or --job JOB of a cluster"),
        (["--job", "7", "--of", "empty"], "--of wants the files of this machine"),
        (["--job", "7", "--resume", "8", "-o", "https://a.example/hook"], "--resume begins no job"),
        (["--job", "7", "--key", "url"], "--key says by which fields"),
    ],
)
def test_mistake_is_one_line_and_2(run: Run, tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "pages.py").write_text(NEW)

    result = run("reextract", "pages.py", "-a", "start_urls=http://a.example/", *arguments)

    assert result.returncode == 2 and said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_damaged_file_is_told_and_what_stands_before_the_damage_is_read(
    run: Run, crawled: dict[str, Any], tmp_path: Path
) -> None:
    folder, damaged = crawled["folder"], tmp_path / "raw"
    shutil.copytree(folder / "raw", damaged)
    largest = max(damaged.glob("*.warc.gz"), key=lambda path: path.stat().st_size)
    os.truncate(largest, largest.stat().st_size // 2)

    result = run(
        "reextract", folder / "pages.py", "--warc", damaged, *crawled["arguments"], "-O", "new.jsonl", "--json",
        "--slaves", 0,
    )  # fmt: skip

    assert json.loads(result.stdout)["left_out"]["damaged-files"] == 1
    assert f"{largest} is damaged: nothing was read from byte" in result.stderr
    assert "1 files are damaged" in result.stderr and items(tmp_path / "new.jsonl")


def test_folder_that_is_kept_of_a_crawl_is_not_taken_for_a_reextraction(
    run: Run, crawled: dict[str, Any], tmp_path: Path
) -> None:
    folder = crawled["folder"]
    shutil.copytree(folder / "run1", tmp_path / "copy")

    result = run(
        "reextract", folder / "pages.py", "--warc", folder / "raw", "--of", folder / "run1", "--data", "copy",
        *crawled["arguments"],
    )  # fmt: skip

    assert result.returncode == 2 and "is kept of a crawl; use another --data folder" in result.stderr


def test_crawl_does_not_go_on_with_what_is_kept_of_a_reextraction(
    run: Run, crawled: dict[str, Any], tmp_path: Path
) -> None:
    folder = crawled["folder"]
    kept = (*crawled["arguments"], "--data", "again")
    run("reextract", folder / "pages.py", "--warc", folder / "raw", *kept, "--slaves", 0)

    result = run("crawl", folder / "pages.py", *kept)

    assert result.returncode == 2 and "is kept of a re-extraction; use another --data folder" in result.stderr


def test_crawl_of_one_machine_has_no_job_whose_stored_pages_it_could_read(run: Run, tmp_path: Path) -> None:
    result = run("crawl", "http://a.example/", "-s", "STORED_PAGES_OF=7")

    assert result.returncode == 2 and "STORED_PAGES_OF names a job of a cluster" in result.stderr
