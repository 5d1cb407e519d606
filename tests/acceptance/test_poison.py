"""A page that takes its slave down, or holds it for ever, is put aside; the rest of the crawl is complete."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.measure import ROOT, Claims, Ended, Setup, SiteProcess, ask_frontier, claim_items

pytestmark = pytest.mark.slow

PAGES = 600
POISON = 597
"""A leaf of the site's tree: nothing is only to be found behind it."""
SPIDER = str(ROOT / "tests" / "acceptance" / "programs" / "poison.py")


def crawl(folder: Path, how: str, slaves: int = 2, **settings: object) -> tuple[Ended, list[str], str]:
    """Crawls a site with a poisoned page. Returns how that ended, all pages, and the poisoned one among them."""
    pids = folder / "pids"
    pids.mkdir()
    with SiteProcess("benchmarks.kit.site", "--pages", PAGES, "--hosts", 30, "--size", 3000) as site:
        setup = Setup.of_site(folder, site, target=SPIDER, slaves=slaves, settings=settings)
        setup.arguments = {**setup.arguments, "how": how, "page": str(POISON), "pids": str(pids)}
        ended = setup.run(180)
        urls: list[str] = site.ask("/_urls")
    return ended, urls, urls[POISON]


def record_of(folder: Path, url: str) -> dict[str, Any]:
    names = ("id", "phase", "reason", "attempts", "losses")
    return dict(
        zip(names, ask_frontier(folder, f"SELECT {', '.join(names)} FROM record WHERE url = ?", url)[0], strict=True)
    )


def details_of(folder: Path, record: int) -> list[str]:
    return [detail for (detail,) in ask_frontier(folder, "SELECT detail FROM attempt WHERE record = ?", record)]


def items_are(folder: Path, urls: list[str]) -> list[str]:
    claims = Claims("items")
    claim_items(claims, folder / "items.jsonl", urls)
    return claims.broken


@pytest.mark.parametrize("slaves", [1, 2])
def test_page_that_kills_its_slave_is_put_aside_and_nothing_else_is(tmp_path: Path, slaves: int) -> None:
    ended, urls, poisoned = crawl(tmp_path, "kill", slaves, SLAVE_LOSSES_MAX=3)

    assert ended.code == 0
    record = record_of(tmp_path / "data", poisoned)
    assert (record["phase"], record["reason"], record["losses"]) == (2, "slave-lost", 3)
    assert ended.certificate["failed_by_reason"] == {"slave-lost": 1}
    assert ended.certificate["conserved"]
    assert items_are(tmp_path, [url for url in urls if url != poisoned]) == []


def test_death_of_a_slave_is_noticed_though_its_child_lives_on(tmp_path: Path) -> None:
    try:
        ended, urls, poisoned = crawl(tmp_path, "fork", SLAVE_LOSSES_MAX=3)
    finally:
        for left in (tmp_path / "pids").iterdir():
            os.kill(int(left.name), signal.SIGKILL)

    assert ended.certificate["failed_by_reason"] == {"slave-lost": 1}
    assert items_are(tmp_path, [url for url in urls if url != poisoned]) == []


def test_callback_that_never_returns_costs_its_slave_and_is_put_aside(tmp_path: Path) -> None:
    ended, urls, poisoned = crawl(tmp_path, "hang", SLAVE_LOSSES_MAX=3, SLAVE_SILENCE=2.5)

    assert ended.code == 0
    assert ended.certificate["failed_by_reason"] == {"slave-lost": 1}
    assert record_of(tmp_path / "data", poisoned)["losses"] == 3
    assert items_are(tmp_path, [url for url in urls if url != poisoned]) == []


@pytest.mark.parametrize("how", ["loop", "spin"])
def test_page_in_whose_parser_a_slave_is_lost_fails_alone_and_costs_the_others_nothing(
    tmp_path: Path, how: str
) -> None:
    ended, urls, poisoned = crawl(tmp_path, how)

    assert ended.code == 0
    assert ended.certificate["failed_by_reason"] == {"too-slow": 1}
    record = record_of(tmp_path / "data", poisoned)
    assert (record["phase"], record["attempts"], record["losses"]) == (2, 1, 0)
    assert ask_frontier(tmp_path / "data", "SELECT sum(losses), max(attempts) FROM record") == [(0, 1)]
    assert items_are(tmp_path, [url for url in urls if url != poisoned]) == []


@pytest.mark.parametrize("slaves", [0, 2])
def test_callback_that_raises_fails_its_page_with_the_traceback_and_keeps_what_it_yielded(
    tmp_path: Path, slaves: int
) -> None:
    ended, urls, poisoned = crawl(tmp_path, "raise", slaves)

    assert ended.code == 0
    record = record_of(tmp_path / "data", poisoned)
    assert (record["phase"], record["reason"]) == (2, "callback")
    (detail,) = details_of(tmp_path / "data", record["id"])
    assert "RuntimeError: this page is poison" in detail
    assert "poison.py" in detail
    assert items_are(tmp_path, urls) == []


def test_page_without_poison_is_not_put_aside(tmp_path: Path) -> None:
    """The control: it is the poison that makes the difference."""
    ended, urls, _ = crawl(tmp_path, "none")

    assert ended.certificate["failed"] == 0
    assert items_are(tmp_path, urls) == []
