"""Every page once, one item each, whatever is killed and when."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from benchmarks.coverage import coverage
from benchmarks.kill_slaves import kill_slaves
from benchmarks.kill_tree import kill_tree
from benchmarks.kit.measure import ROOT, Setup, SiteProcess, until

pytestmark = pytest.mark.slow

SMALL = {"hosts": 40, "size": 4_000}
SLOWED = {"CONCURRENT_REQUESTS": 24}
EVERY_FORMAT = (
    *("items.jsonl", "items.csv.gz", "items.json", "items.xml", "items.jsonl.gz", "items.jsonl.zst", "items.parquet"),
    *("parts/lines.jsonl.gz", "parts/rows.parquet"),
)


@pytest.mark.parametrize("slaves", [0, 1, 2])
def test_every_page_is_fetched_once_and_told_once(tmp_path: Path, slaves: int) -> None:
    assert coverage(tmp_path, 1_000, slaves=slaves, **SMALL).broken == []


@pytest.mark.parametrize("slaves", [0, 2])
def test_kill_of_the_tree_loses_nothing_and_refetches_only_what_was_leased(tmp_path: Path, slaves: int) -> None:
    claims = kill_tree(
        tmp_path, 1_000, kills=4, seed=slaves, slaves=slaves, outputs=EVERY_FORMAT, settings=SLOWED, **SMALL
    )

    assert claims.broken == []


def test_kill_of_slaves_loses_nothing_and_refetches_only_what_they_held(tmp_path: Path) -> None:
    assert kill_slaves(tmp_path, 1_000, kills=4, seed=1, latency_s=0.02, **SMALL).broken == []


@pytest.mark.parametrize("which", [0, 1])
def test_death_of_one_slave_is_noticed_while_the_other_lives(tmp_path: Path, which: int) -> None:
    with SiteProcess("benchmarks.kit.site", "--pages", 1_000, "--hosts", 40, "--latency", 0.02) as site:
        # A crawl that waited for its silence to become suspicious would be overdue.
        setup = Setup.of_site(tmp_path, site, settings={**SLOWED, "SLAVE_SILENCE": 3600})
        with setup.begin() as crawl:
            until(lambda: site.stats()["distinct"] >= 100 and len(crawl.slaves()) == 2, 60)
            os.kill(sorted(crawl.slaves())[which], signal.SIGKILL)
            ended = crawl.wait(60)

    assert ended.code == 0
    assert ended.certificate["done"] == 1_001
    assert ended.certificate["slave_losses"] > 0


@pytest.mark.parametrize(
    ("how", "noticed"),
    [
        ("items_after_done", "items in items.jsonl"),
        ("leases_unwritten", "refetched"),
        ("deliveries_forgotten", "items in items.jsonl"),
    ],
)
def test_broken_order_is_noticed(tmp_path: Path, how: str, noticed: str) -> None:
    program = (str(ROOT / "tests" / "acceptance" / "programs" / "broken.py"), how)

    claims = kill_tree(
        tmp_path, 1_000, kills=4, seed=3, outputs=["items.jsonl"], settings=SLOWED, program=program, **SMALL
    )

    assert noticed in {each.partition(":")[0] for each in claims.broken}
