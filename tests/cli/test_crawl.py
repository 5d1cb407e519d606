"""The verb ``crawl``: what it brings back, says, and exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest

from p2pcrawl.model.cluster.placement import GroupPlacement
from tests.cli.conftest import ALLOWED, Run, Start, environment, lines_in, until, urls_in
from tests.cli.forks import ROOT

TALKER = """
from p2pcrawl import Spider
class Talker(Spider):
    start_urls = ["{start}"]
    def parse(self, response):
        print("said by the spider")
        yield {{"url": response.url}}
"""

FALLER = """
from p2pcrawl import Spider
class Faller(Spider):
    start_urls = ["{start}"]
    allowed_domains = {hosts}
    custom_settings = {{"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}}
    def parse(self, response):
        yield response.follow_all()
        raise LookupError(response.url)
"""


def test_help_and_version_load_nothing_heavy() -> None:
    code = (
        "import sys; from p2pcrawl.cli import run; run(['--help']); run(['crawl', '--help']); run(['--version']);"
        "print(sorted({'aiohttp', 'rich', 'parsel', 'msgspec', 'uvloop', 'asyncio'} & sys.modules.keys()))"
    )

    result = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)

    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "verb",
    [
        *("crawl", "demo", "shell", "fetch", "view", "parse", "board", "check", "new", "list", "settings", "why"),
        *("peer", "console", "keygen", "submit", "jobs", "status", "owner", "results", "drain"),
    ],
)
def test_help_of_each_verb_has_an_example(run: Run, verb: str) -> None:
    result = run(verb, "--help")

    assert result.returncode == 0
    assert f"p2pcrawl {verb}" in result.stdout.partition("\n")[2]


@pytest.mark.slow
@pytest.mark.parametrize("placement", list(GroupPlacement))
def test_whole_site_is_crawled_and_the_certificate_holds(
    run: Run, tmp_path: Path, site: Any, whole: list[str], placement: GroupPlacement
) -> None:
    result = run(*whole, "-o", "out.jsonl", "--json", "--slaves", 2, "-s", f"GROUP_PLACEMENT={placement}")

    assert result.returncode == 0, result.stderr
    certificate = json.loads(result.stdout)
    found = urls_in(tmp_path / "out.jsonl")
    assert len(found) == len(set(found)) == site["pages"] == certificate["pages"]
    ends = [certificate[name] for name in ("done", "failed", "dropped", "queued", "leased")]
    assert certificate["discovered"] == sum(ends)
    assert certificate["conserved"] and certificate["verified"]
    assert certificate["outputs"] == {str(tmp_path / "out.jsonl"): site["pages"]}
    assert "holds, counted record by record" in result.stderr
    assert "Traceback" not in result.stderr


def test_failed_pages_do_not_fail_the_crawl(run: Run, whole: list[str]) -> None:
    result = run(*whole, "--json", "-s", "RETRY_ENABLED=false")

    assert json.loads(result.stdout)["failed"] > 0
    assert result.returncode == 0


@pytest.mark.parametrize("path", ["nothing-here", "private/nothing"])
def test_crawl_without_a_single_page_exits_with_1(run: Run, site: Any, path: str) -> None:
    result = run("crawl", site["start"] + path, "--slaves", 0)

    assert result.returncode == 1
    assert "no page could be had" in result.stderr


@pytest.mark.parametrize("slaves", [0, 1])
def test_items_alone_are_on_standard_output_when_it_is_an_output(
    run: Run, tmp_path: Path, site: Any, slaves: int
) -> None:
    (tmp_path / "talker.py").write_text(TALKER.format(start=site["start"]))

    result = run("crawl", "talker.py", "-o", "-", "--json", "--slaves", slaves)

    assert result.stdout == json.dumps({"url": site["start"]}, separators=(",", ":")) + "\n"
    assert "said by the spider" in result.stderr
    assert json.loads(result.stderr.splitlines()[-1])["items"] == 1


@pytest.mark.parametrize("slaves", [0, 1])
def test_json_is_all_there_is_on_standard_output(run: Run, tmp_path: Path, site: Any, slaves: int) -> None:
    (tmp_path / "talker.py").write_text(TALKER.format(start=site["start"]))

    result = run("crawl", "talker.py", "--json", "--slaves", slaves)

    assert json.loads(result.stdout)["items"] == 1


@pytest.mark.slow
def test_reader_that_leaves_ends_the_crawl_with_one_line(start: Start, whole: list[str]) -> None:
    process = start(*whole, "--slaves", 1, "-o", "-", "-s", "DOWNLOAD_DELAY=0.05")
    assert process.stdout is not None and process.stderr is not None

    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()

    assert process.wait() == 1
    assert said.splitlines()[-1] == "p2pcrawl: standard output was closed by its reader"


def test_progress_is_told_in_lines_where_there_is_no_terminal(run: Run, whole: list[str]) -> None:
    result = run(*whole, "-s", "LOGSTATS_INTERVAL=0.2")

    lines = [line for line in result.stderr.splitlines() if " queued " in line and " mean " in line]
    assert lines and all(line.startswith("p2pcrawl: ") for line in lines)


def test_finished_crawl_is_not_made_again_but_fills_new_outputs(
    run: Run, tmp_path: Path, site: Any, whole: list[str]
) -> None:
    first = json.loads(run(*whole, "--data", "run1", "-o", "a.jsonl", "--json").stdout)
    again = run(*whole, "--data", "run1", "-o", "b.jsonl", "--json")

    second = json.loads(again.stdout)
    assert again.returncode == 0
    assert "finished already" in again.stderr
    assert second["fetches"] == first["fetches"]
    assert sorted(urls_in(tmp_path / "a.jsonl")) == sorted(urls_in(tmp_path / "b.jsonl"))
    assert len(urls_in(tmp_path / "a.jsonl")) == site["pages"]


def test_outputs_are_found_again_from_another_folder(run: Run, tmp_path: Path, site: Any, whole: list[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    data = tmp_path / "run1"
    run(*whole, "--data", data, "-o", "a.jsonl", "-s", "CLOSESPIDER_PAGECOUNT=20")

    result = run(*whole, "--data", data, cwd=elsewhere)

    assert result.returncode == 0, result.stderr
    found = urls_in(tmp_path / "a.jsonl")
    assert len(found) == len(set(found)) == site["pages"]


@pytest.mark.slow
def test_exception_of_a_callback_is_logged_once_and_then_counted(run: Run, tmp_path: Path, site: Any) -> None:
    (tmp_path / "faller.py").write_text(FALLER.format(start=site["start"], hosts=site["hosts"]))

    result = run("crawl", "faller.py", "--slaves", 1, "--json")

    assert result.stderr.count("Traceback") == 1
    assert f"faller.py:9 was raised {site['pages']} times" in result.stderr
    assert json.loads(result.stdout)["failed_by_reason"]["callback"] == site["pages"]


@pytest.mark.slow
def test_log_file_has_the_log_of_slaves_too(run: Run, tmp_path: Path, site: Any) -> None:
    (tmp_path / "faller.py").write_text(FALLER.format(start=site["start"], hosts=site["hosts"]))

    result = run("crawl", "faller.py", "--slaves", 1, "--logfile", "log.txt")

    assert "Traceback" not in result.stderr
    assert "LookupError" in (tmp_path / "log.txt").read_text()


@pytest.mark.slow
def test_log_for_machines_is_one_object_a_line_also_of_slaves(run: Run, tmp_path: Path, site: Any) -> None:
    (tmp_path / "faller.py").write_text(FALLER.format(start=site["start"], hosts=site["hosts"]))

    run("crawl", "faller.py", "--slaves", 1, "--logfile", "log.jsonl", "--log-format", "json")

    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    states = [line["fields"]["state"] for line in lines if line["event"] == "job-state"]
    assert states == ["finished"]
    assert any("LookupError" in line["text"] for line in lines if line["logger"] == "faller")


def test_slaves_find_the_package_without_being_installed(run: Run, tmp_path: Path, site: Any) -> None:
    (tmp_path / "talker.py").write_text(TALKER.format(start=site["start"]))

    assert run("crawl", ROOT.joinpath(tmp_path, "talker.py"), "--slaves", 1).returncode == 0


def test_killed_crawl_goes_on_and_says_what_was_interrupted(
    start: Start, run: Run, tmp_path: Path, site: Any, whole: list[str]
) -> None:
    output = tmp_path / "out.jsonl"
    process = start(*whole, "--slaves", 1, "--data", "run1", "-o", output, "-s", "DOWNLOAD_DELAY=0.1")
    until(lambda: lines_in(output) >= 5, "five items")
    process.kill()
    process.wait()

    result = run(*whole, "--data", "run1", "-o", output, "--json")

    assert result.returncode == 0, result.stderr
    assert "going on with links" in result.stderr
    interrupted = json.loads(result.stdout)["interrupted"]
    assert ("had been interrupted" in result.stderr) == (interrupted > 0)
    found = urls_in(output)
    assert len(found) == len(set(found)) == site["pages"]


def test_start_url_on_this_machine_may_redirect_within_what_the_user_allows(run: Run, site: Any) -> None:
    with build_opener(ProxyHandler({})).open(site["control"] + "/_truth") as answer:
        moved = json.load(answer)["expected_redirects"][0]

    result = run(
        "crawl",
        moved,
        "--slaves",
        "0",
        "-a",
        f"allowed_domains={','.join(site['hosts'])}",
        *ALLOWED,
        "-s",
        "CLOSESPIDER_PAGECOUNT=1",
        "--json",
    )

    certificate = json.loads(result.stdout)
    assert certificate["redirects"] >= 1 and certificate["discovered"] > 2
    assert "private-network" not in certificate["dropped_by_reason"]


def test_articles_are_extracted_of_urls_without_a_spider(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    result = run(
        "crawl", site["start"], "--extract", "article", "--slaves", "0", "-s", "DEPTH_LIMIT=1", "-O", "a.jsonl"
    )

    items = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert result.returncode == 0
    assert items and all(list(item) == ["url", "title", "text", "date", "author"] for item in items)


def test_extraction_of_a_spider_is_a_usage_error(run: Run) -> None:
    result = run("crawl", "talker.py", "--extract", "article")

    assert result.returncode == 2
    assert "--extract is for URLs without a spider; talker.py is none" in result.stderr


def board_of(site: dict[str, Any], folder: Path) -> Path:
    path = folder / "library.toml"
    lines = [f'entries = ["{site["start"]}"]', f"domains = {site['hosts']}", 'output = ["library.jsonl"]']
    lines += ["[fields]", 'heading = "h1::text"', "[settings]", 'ALLOW_PRIVATE_NETWORKS = "127.0.0.0/8"']
    path.write_text("\n".join(lines))
    return path


@pytest.mark.slow
def test_board_is_crawled_without_code(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    board_of(site, tmp_path)

    result = run("crawl", "library.toml", "--slaves", "1")

    items = [json.loads(line) for line in (tmp_path / "library.jsonl").read_text().splitlines()]
    assert result.returncode == 0 and f"library finished: {site['pages']} pages" in result.stderr
    # The entry is a page that only leads on.
    assert len(items) == len({item["url"] for item in items}) == site["pages"] - 1
    assert all(set(item) == {"url", "heading"} for item in items)


def test_board_is_checked_against_a_page(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    board_of(site, tmp_path)

    result = run("board", "check", "library.toml", "--json")

    told = json.loads(result.stdout)
    (page,) = told["pages"]
    assert result.returncode == 0
    assert told["outputs"] == [{"address": str(tmp_path / "library.jsonl"), "local": True}]
    assert (page["url"], page["type"], page["rule"]) == (site["start"], "navigation", "entries")
    assert page["by"] == "entry"
    guessed = [found["count"] for rule, found in page["links"].items() if ", guessed: " in rule]
    assert sum(guessed) > 1


def test_type_of_a_page_and_its_rule_are_kept_and_counted(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    board_of(site, tmp_path)

    crawl = run("crawl", "library.toml", "--slaves", "0", "--data", "run1", "--json")
    why = run("why", site["start"], "--data", "run1")
    told = json.loads(run("why", site["start"], "--data", "run1", "--json").stdout)

    certificate = json.loads(crawl.stdout)
    assert certificate["page_types"]["navigation"] >= 1
    assert sum(certificate["page_types"].values()) == certificate["pages"]
    assert certificate["page_types"]["article"] == certificate["items"]
    assert "taken for navigation as one of the entries" in why.stdout
    assert told["records"][0]["page_type"] == "navigation:entry entries"


def test_output_that_cannot_be_is_a_mistake_in_a_board(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('entries = ["https://example.com/"]\noutput = ["mysql://ada:s3cret@db/"]\n')

    result = run("board", "check", "bad.toml")

    assert result.returncode == 2
    assert "mysql://" in result.stderr and "names no database" in result.stderr
    assert "s3cret" not in result.stderr


def test_mistake_in_a_board_is_a_usage_error_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('entries = ["https://example.com/"]\ndpeth = 3\n')

    result = run("crawl", "bad.toml")

    assert result.returncode == 2
    assert "board bad.toml, line 2: a board has no key 'dpeth'; did you mean depth?" in result.stderr
