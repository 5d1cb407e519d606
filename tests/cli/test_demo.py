"""The verb ``demo``, and that its checks can fail."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.measure import alive, descendants
from p2pcrawl.demo.checks import checks_of
from tests.cli.conftest import ENDS_S, Run, Start, until, urls_in

TRUTH = {
    "expected": ["http://a/1", "http://a/2"],
    "disallowed": ["http://a/no"],
    "failing": ["http://a/bad"],
    "expected_redirects": ["http://a/moved"],
}
STATS = {"repeated": 0, "disallowed_hit": 0}
CERTIFICATE = {"failed": 1, "redirects": 1, "verified": True}
URLS = ["http://a/1", "http://a/2"]


@pytest.mark.slow
@pytest.mark.parametrize("output", ["pages.jsonl", "there/pages.csv.gz"])
def test_demo_passes_its_own_checks(run: Run, tmp_path: Path, output: str) -> None:
    result = run("demo", "--one", "--pages", 200, "--hosts", 5, "--output", output)

    assert result.returncode == 0, result.stderr
    assert "all 8 checks passed" in result.stderr
    assert str(tmp_path / output) in result.stderr
    if output.endswith(".jsonl"):
        assert len(urls_in(tmp_path / output)) > 100


@pytest.mark.slow
def test_cluster_of_the_demo_lives_through_a_death_and_takes_a_new_master_in(run: Run, tmp_path: Path) -> None:
    result = run("demo", "--pages", 400, "--hosts", 10, "--seconds", 8, "--slaves", 0, "--output", "pages.jsonl")

    assert result.returncode == 0, result.stderr
    assert "all 10 checks passed" in result.stderr
    assert "kill -9" in result.stderr
    assert "joins" in result.stderr
    assert "final: nobody who may know of more is missing" in result.stderr
    assert len(urls_in(tmp_path / "pages.jsonl")) > 300


@pytest.mark.slow
@pytest.mark.parametrize(("ended_by", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_masters_of_the_demo_end_with_it(start: Start, ended_by: int, code: int) -> None:
    demo = start("demo", "--pages", 200, "--hosts", 5)
    assert demo.stderr is not None
    while "to a host" not in demo.stderr.readline():
        assert demo.poll() is None
    below = descendants(demo.pid)

    demo.send_signal(ended_by)

    demo.communicate(timeout=ENDS_S)
    assert demo.returncode == code
    assert len(below) > 3
    until(lambda: not any(map(alive, below)), "all have ended")


def failed(
    truth: dict[str, Any] = TRUTH,
    stats: dict[str, int] = STATS,
    certificate: dict[str, Any] = CERTIFICATE,
    urls: list[str] = URLS,
) -> list[str]:
    return [check.claim for check in checks_of(truth, stats, certificate, urls) if not check.good]


def test_all_checks_hold_for_a_correct_crawl() -> None:
    assert failed() == []


@pytest.mark.parametrize(
    ("wrong", "claim"),
    [
        pytest.param({"urls": URLS[:1]}, "all 2 pages are in the output", id="missing"),
        pytest.param({"urls": [*URLS, URLS[0]]}, "each is there exactly once", id="twice"),
        pytest.param({"urls": [*URLS, "http://a/3"]}, "nothing else is", id="strange"),
        pytest.param({"stats": STATS | {"repeated": 1}}, "no page was fetched again without need", id="refetched"),
        pytest.param(
            {"stats": STATS | {"disallowed_hit": 1}}, "1 pages that robots.txt forbids were left alone", id="robots"
        ),
        pytest.param(
            {"certificate": CERTIFICATE | {"failed": 2}}, "1 broken pages are reported as failed", id="failed"
        ),
        pytest.param({"certificate": CERTIFICATE | {"redirects": 0}}, "1 redirects were followed", id="redirects"),
        pytest.param(
            {"certificate": CERTIFICATE | {"verified": False}},
            "discovered = done + failed + dropped + queued + leased, counted record by record",
            id="not-conserved",
        ),
    ],
)
def test_each_check_fails_for_what_it_is_about(wrong: dict[str, Any], claim: str) -> None:
    assert failed(**wrong) == [claim]


def test_pages_that_a_killed_master_had_in_hand_may_be_fetched_again_and_no_more() -> None:
    spared = list(checks_of(TRUTH, STATS | {"repeated": 2}, CERTIFICATE, URLS, spare=2))
    beyond = list(checks_of(TRUTH, STATS | {"repeated": 3}, CERTIFICATE, URLS, spare=2))

    assert all(check.good for check in spared)
    assert [check.detail for check in beyond if not check.good] == ["it can have had 2 at most"]


def test_demo_refuses_an_output_that_it_cannot_read_back(run: Run) -> None:
    result = run("demo", "--output", "-")

    assert result.returncode == 2
    assert "must be a file" in result.stderr
