"""The verbs that look at one page: ``why`` in a data folder, ``shell`` on the network."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest

from p2pcrawl.cli.why import run_why
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.wire.messages.slave_messages import Outcome
from tests.cli.conftest import ALLOWED, Run, Start, lines_in, until
from tests.cli.forks import run_verb
from tests.unit.master.fake_slaves import Site, Slaves, crawl, page_of


@pytest.fixture
def truth(site: dict[str, Any]) -> dict[str, Any]:
    with build_opener(ProxyHandler({})).open(site["control"] + "/_truth") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, whole: list[str]) -> Path:
    """The data folder of a crawl of the whole site, which the verbs here only read."""
    folder = tmp_path_factory.mktemp("whole")
    assert run_verb([*whole, "--data", folder / "run1"], home=folder).returncode == 0
    return folder / "run1"


def record(run: Run, url: str, data: Path) -> dict[str, Any]:
    result = run("why", url, "--data", data, "--json")
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert len(found["records"]) == 1
    only: dict[str, Any] = found["records"][0]
    return only


async def test_why_tells_of_a_page_whose_host_is_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    down = Slaves(lambda task: site(task) if task.link.url.startswith(START_URL) else page_of(task, outcome=unanswered))
    site, unanswered = Site([f"http://a.example/{n}" for n in range(30)]), Outcome(Phase.QUEUED, "connect")
    await crawl(tmp_path, down, host_down_after=1e-9)

    code = run_why("http://a.example/29", tmp_path, as_json=False)

    told = capsys.readouterr().out
    assert code == 0
    assert "failed: host-down" in told
    assert "all else that was queued for its host" in told


@pytest.mark.parametrize("as_json", [True, False])
async def test_why_tells_no_passwords(tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    url = "http://user:geheim@a.example/page"
    refused = Outcome(
        Phase.FAILED, "connect", "proxy http://u:geheim@10.0.0.1:3128 refused: Authorization: Basic geheim"
    )
    site = Site([url])
    slaves = Slaves(lambda task: site(task) if task.link.url.startswith(START_URL) else page_of(task, outcome=refused))
    await crawl(tmp_path, slaves)

    run_why(url, tmp_path, as_json=as_json)

    told = capsys.readouterr().out
    assert "a.example/page" in told and "refused" in told
    assert "geheim" not in told


def test_why_tells_of_each_fate(run: Run, data: Path, site: Any, truth: Any) -> None:
    start = record(run, site["start"], data)
    failing = next(r for r in (record(run, url, data) for url in truth["failing"]) if r["status"] == 500)
    hidden = record(run, truth["disallowed"][0], data)
    moved = record(run, truth["expected_redirects"][0], data)

    assert (start["phase"], start["status"], start["depth"], start["items"]) == ("done", 200, 0, 1)
    assert start["start_url"] and start["found_on"] == []
    assert (failing["phase"], failing["reason"], failing["attempts"]) == ("failed", "http-5xx", 3)
    assert [(t["number"], t["status"]) for t in failing["troubles"]] == [(1, 500), (2, 500), (3, 500)]
    assert failing["found_on"][-1] == site["start"]
    assert (hidden["phase"], hidden["reason"], hidden["host"]["robots"]) == ("dropped", "robots", "forbidden")
    assert (moved["phase"], moved["reason"]) == ("done", "redirect")


def test_why_tells_in_words_where_a_page_was_found(run: Run, data: Path, site: Any, truth: Any) -> None:
    said = run("why", truth["failing"][0], "--data", data).stdout

    assert "failed: http-" in said
    assert f"<- {site['start']}" in said or f"on {site['start']}" in said
    assert "robots.txt of" in said


def test_why_gives_hints_for_what_was_never_seen(run: Run, data: Path, site: Any) -> None:
    offsite = run("why", "http://example.com/", "--data", data)
    other_scheme = run("why", site["start"].replace("http://", "https://"), "--data", data)

    assert (offsite.returncode, other_scheme.returncode) == (1, 1)
    assert "never seen" in offsite.stdout and "off site" in offsite.stdout
    assert f"seen in another form: {site['start']}" in other_scheme.stdout


def test_why_takes_a_folder_for_its_own_page_and_for_no_other(run: Run, data: Path, site: Any) -> None:
    folder = site["start"].rstrip("/") + "/"
    own_page, other = run("why", f"{folder}index.html", "--data", data), run("why", f"{folder}nothing", "--data", data)

    assert f"seen in another form: {folder}\n" in own_page.stdout
    assert "another form" not in other.stdout


def test_why_answers_while_the_crawl_goes_on(
    start: Start, run: Run, tmp_path: Path, site: Any, whole: list[str]
) -> None:
    output = tmp_path / "out.jsonl"
    process = start(*whole, "--data", "run1", "-o", output, "-s", "DOWNLOAD_DELAY=0.2")
    until(lambda: lines_in(output) >= 2, "two items")

    said = run("why", site["start"], "--data", "run1")

    assert process.poll() is None
    assert said.returncode == 0
    assert f"running in process {process.pid}" in said.stdout


def test_queued_page_has_a_place_in_its_queue(run: Run, tmp_path: Path, whole: list[str]) -> None:
    run(*whole, "--data", "run1", "-s", "CLOSESPIDER_PAGECOUNT=1", "-s", "CONCURRENT_REQUESTS=1")
    with closing(sqlite3.connect(tmp_path / "run1" / FILE)) as connection:
        rows = "SELECT url FROM record WHERE phase = 0 AND host = (SELECT host FROM record WHERE phase = 0 LIMIT 1)"
        urls = [url for (url,) in connection.execute(rows + " ORDER BY id")]

    first, last = (record(run, url, tmp_path / "run1") for url in (urls[0], urls[-1]))

    assert (first["phase"], last["phase"]) == ("queued", "queued")
    assert first["queue"] == {"position": 1, "length": len(urls)}
    assert last["queue"] == {"position": len(urls), "length": len(urls)}


def test_shell_prints_the_value_of_code(run: Run, site: Any) -> None:
    result = run("shell", site["start"], "-c", "n = 1; response.status + n")

    assert (result.returncode, result.stdout) == (0, "201\n")
    assert f"200 {site['start']}" in result.stderr


def test_shell_runs_what_is_piped_in(run: Run, site: Any) -> None:
    code = "links = response.links\nfetch(links[0])\nresponse.url == links[0]\n"

    result = run("shell", site["start"], typed=code)

    assert (result.returncode, result.stdout) == (0, "True\n")


def test_shell_shows_the_verdict_of_robots_but_fetches(run: Run, truth: Any) -> None:
    result = run("shell", truth["disallowed"][0], "-c", "response.status")

    assert result.stdout == "200\n"
    assert "robots.txt: forbids it" in result.stderr


def test_shell_shows_pages_with_an_error_status(run: Run, site: Any) -> None:
    result = run("shell", site["start"] + "nothing-here", "-c", "response.status")

    assert (result.returncode, result.stdout) == (0, "404\n")


def test_shell_shows_each_step_of_a_redirect(run: Run, truth: Any) -> None:
    # From one host of this machine to another, which a URL alone does not open.
    result = run("shell", truth["expected_redirects"][0], *ALLOWED, "-c", "request.url == response.url")

    assert result.stdout == "True\n"
    assert ", on to http://" in result.stderr


def test_shell_goes_through_the_pool_of_proxies_and_never_past_it(run: Run, site: Any) -> None:
    result = run("shell", site["start"], "-s", "PROXY_POOL=127.0.0.1:1", "-c", "response.status")

    assert (result.returncode, result.stdout) == (1, "")
    assert "could not be fetched: proxy" in result.stderr


def test_shell_fails_with_one_line_when_there_is_no_page(run: Run) -> None:
    result = run("shell", "http://127.0.0.1:1/", "-c", "1")

    assert result.returncode == 1
    assert result.stderr.startswith("p2pcrawl: http://127.0.0.1:1/ could not be fetched: connect")
    assert len(result.stderr.splitlines()) == 1


def test_exception_of_code_is_shown_without_our_own_frames(run: Run, site: Any) -> None:
    result = run("shell", site["start"], "-c", "1 / 0")

    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr
    assert "shell.py" not in result.stderr


def test_why_tells_all_reasons_of_a_folder_and_exports_their_pages(
    run: Run, tmp_path: Path, data: Path, truth: dict[str, Any]
) -> None:
    listed = tmp_path / "missing.jsonl"

    told = json.loads(run("why", "--summary", "--data", data, "--json").stdout)
    words = run("why", "--summary", "--data", data)
    exported = run("why", "--urls", "--data", data, "-o", listed)

    pages = [json.loads(line) for line in listed.read_text().splitlines()]
    counts = {each["reason"]: each["count"] for each in told["reasons"] if each["outcome"] != "filtered"}
    assert exported.returncode == words.returncode == 0 and counts
    assert {reason: sum(page["reason"] == reason for page in pages) for reason in counts} == counts
    assert len(pages) == sum(counts.values())
    assert all(page["at"] and page["reason"] in words.stdout for page in pages)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reason", "no-such-nam"], "did you mean no-such-name"),
        (["--urls", "--reason", "offsite"], "leave no records"),
        (["--summary", "nobody"], "there is no job nobody"),
        (["--summary", "-o", "x.jsonl"], "-o FILE is for --urls"),
        (["--urls", "-o", "x.unknown"], "cannot tell the format"),
    ],
)
def test_why_refuses_what_cannot_be_told_in_one_line(run: Run, data: Path, arguments: list[str], said: str) -> None:
    result = run("why", *arguments, "--data", data)

    assert result.returncode == 2 and said in result.stderr
    assert len(result.stderr.splitlines()) == 1
