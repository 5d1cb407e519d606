"""The verb ``demo``, and that its checks can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.cli.screen.summary import CrawlEnd
from p2pcrawl.demo.run import checks_of
from tests.cli.conftest import Run, urls_in

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
    result = run("demo", "--pages", 200, "--hosts", 5, "--output", output)

    assert result.returncode == 0, result.stderr
    assert "all 8 checks passed" in result.stderr
    assert str(tmp_path / output) in result.stderr
    if output.endswith(".jsonl"):
        assert len(urls_in(tmp_path / output)) > 100


def failed(
    truth: dict[str, Any] = TRUTH,
    stats: dict[str, int] = STATS,
    certificate: dict[str, Any] = CERTIFICATE,
    urls: list[str] = URLS,
) -> list[str]:
    ending = CrawlEnd([certificate], seconds=1.0, pages=2, interrupted=False, resumable="")
    return [check.claim for check in checks_of(truth, stats, ending, urls) if not check.good]


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


def test_demo_refuses_an_output_that_it_cannot_read_back(run: Run) -> None:
    result = run("demo", "--output", "-")

    assert result.returncode == 2
    assert "must be a file" in result.stderr
