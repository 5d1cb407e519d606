"""A full disk stops the crawl, cleanly; with some space it goes on, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.kit.measure import Claims, Setup, SiteProcess, ask_frontier, claim_items
from tests.small_disks import mounted_disk

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
PAGES = 2_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, 24 MiB large. Only root can make one."""
    with mounted_disk(tmp_path / "disk", "24m") as folder:
        yield folder


@pytest.mark.parametrize(("full", "slaves"), [("data", 0), ("data", 2), ("output", 2), ("both", 2)])
def test_full_disk_stops_the_crawl_which_goes_on_when_there_is_space(
    tmp_path: Path, small_disk: Path, full: str, slaves: int
) -> None:
    roomy = tmp_path / "roomy"
    roomy.mkdir()
    data = (roomy if full == "output" else small_disk) / "data"
    outputs = [(roomy if full == "data" else small_disk) / name for name in ("items.jsonl", "items.csv.gz")]
    ballast = small_disk / "ballast"
    # Room to begin, not to end: an output needs some 100 KiB for all items, the write-ahead log several MiB.
    ballast.write_bytes(bytes(24 * MIB - (48 * 1024 if full == "output" else 1536 * 1024)))

    with SiteProcess("benchmarks.kit.site", "--pages", PAGES, "--hosts", 40, "--size", 3000) as site:
        setup = replace(Setup.of_site(tmp_path, site, slaves=slaves), data=data, outputs=outputs)
        stopped = setup.run(120)
        again = setup.run(120)
        ballast.unlink()
        ended = setup.run(120)
        hits = site.hits()

    for each in (stopped, again):
        assert each.code == 1, each.said
        assert "is full; nothing is lost" in each.said or "no room left to write" in each.said
        assert "Traceback" not in each.said
    assert ended.code == 0, ended.said
    claims = Claims("after the disk was full")
    for output in outputs:
        claim_items(claims, output, list(hits))
    assert claims.broken == []
    assert len(hits) == PAGES
    assert ended.certificate["conserved"]
    assert sum(n - 1 for n in hits.values()) <= ended.certificate["interrupted"]
    assert ask_frontier(data, "PRAGMA integrity_check") == [("ok",)]
