"""Manners, measured at the server: ``python -m benchmarks.politeness``.

The site notes when each request of each host begins and when its answer has been written. No two may overlap and none
may begin sooner than the delay after the end of the one before; nor while slaves are killed, nor across a kill -9 of
the whole tree and the resume after it.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.kill_slaves import kill_one
from benchmarks.kit.measure import Claims, Ended, Setup, SiteProcess, Watched, claim_items, until

KILL_TOLERANCE_S = 0.05
"""When a slave is killed, master and site learn from the kernel at nearly the same time that its requests ended; this
is how much earlier the master may have been."""
UNDER_WAY_S = 0.25
"""Where a host may be asked several things at once, some are under way while a refusal is on its way back."""
REMEMBERED_S = 0.3
"""What a host said is surely durable after this time."""


@dataclass(frozen=True)
class Manners:
    """The demands on the crawl, and what is done to it."""

    name: str
    hosts: int = 50
    pages: int = 40
    delay_s: float | None = 0.2
    """None: the default, which is none for the loopback hosts of a start URL."""
    crawl_delay_s: float = 0.0
    crawl_delay_hosts: int = 0
    busy_hosts: int = 0
    retry_after_s: int = 1
    slave_kills: int = 0
    tree_kills: int = 0
    concurrency: int = 8
    slaves: int = 2
    tolerance_s: float = 0.0


FULL = [
    Manners("delay 0.2 s"),
    Manners("delay 0.2 s, slaves killed", slave_kills=5),
    Manners("delay 0.2 s, tree killed", tree_kills=3),
    Manners("Crawl-delay 1 s on half of the hosts", hosts=50, pages=20, crawl_delay_s=1.0, crawl_delay_hosts=25),
    Manners("Crawl-delay 3 s, tree killed", hosts=10, pages=6, crawl_delay_s=3.0, crawl_delay_hosts=10, tree_kills=2),
    Manners("Retry-After 2 s on half of the hosts", busy_hosts=25, retry_after_s=2),
    Manners("Retry-After 6 s, tree killed", hosts=10, pages=12, busy_hosts=10, retry_after_s=6, tree_kills=2),
    Manners("no delay: 8 open per host at most", hosts=20, delay_s=None),
    Manners(
        "no delay: Retry-After 2 s stops a host",
        hosts=20,
        delay_s=None,
        busy_hosts=10,
        retry_after_s=2,
        tolerance_s=UNDER_WAY_S,
    ),
]


def politeness(folder: Path, manners: Manners, seed: int = 1, *, measured_by_s: float | None = None) -> Claims:
    """Watches one crawl. ``measured_by_s``: the delay that the site looks for, if not the crawl's."""
    m, chosen = manners, random.Random(seed)
    claims = Claims(f"politeness: {m.name}; {m.hosts} hosts, {m.pages} pages each, {m.slaves} slaves, seed {seed}")
    arguments: dict[str, Any] = {
        "--hosts": m.hosts,
        "--pages": m.pages,
        "--crawl-delay": m.crawl_delay_s,
        "--crawl-delay-hosts": m.crawl_delay_hosts,
        "--busy-hosts": m.busy_hosts,
        "--retry-after": m.retry_after_s,
    }
    with SiteProcess("tests.sites.polite", *(str(part) for pair in arguments.items() for part in pair)) as site:
        ended = _crawl(folder, site, manners, chosen)
        stats, visits, refused = site.stats(), site.ask("/_visits"), _refusals(site)
        tolerance_s = m.tolerance_s or (KILL_TOLERANCE_S if m.slave_kills or m.tree_kills else 0.0)
        violations = site.ask(f"/_violations?delay={measured_by_s or m.delay_s or 0.0}&tolerance={tolerance_s}")
    claims.claim("exit code", ended.code, ended.code == 0, "0")
    claims.claim("pages fetched", stats["pages"], stats["pages"] == stats["expected"], str(stats["expected"]))
    claims.note("requests", stats["requests"])
    for reason in ("overlap", "delay", "crawl-delay", "retry-after"):
        found = [v for v in violations if v["reason"] == reason]
        example = "; such as {host} {before} {target} {gap_s:.4f} s".format_map(found[0]) if found else ""
        claims.claim(f"violations: {reason}", len(found), not found, f"none{example}")
    widest = max(most_open(host) for host in visits.values())
    claims.claim("most open at one host", widest, widest <= (1 if m.delay_s else m.concurrency))
    if m.busy_hosts:
        claims.claim("refusals", refused, refused == 2 * m.busy_hosts, "2 per busy host")
    gaps = sorted(smallest_gaps(visits))
    claims.note("smallest gaps (s)", [round(gap, 4) for gap in gaps[:3]])
    claims.note("seconds", f"{ended.wall_s:.1f}")
    claim_items(claims, folder / "items.jsonl", Counter(served(visits, site.start.split(":")[2].strip("/"))))
    return claims


def _crawl(folder: Path, site: SiteProcess, m: Manners, chosen: random.Random) -> Ended:
    """Crawls the site to its end; kills and resumes the crawl, and kills its slaves, as the manners have it."""
    settings: dict[str, object] = {"CONCURRENT_REQUESTS_PER_DOMAIN": m.concurrency}
    if m.delay_s is not None:
        settings["DOWNLOAD_DELAY"] = m.delay_s
    setup = Setup.of_site(folder, site, slaves=m.slaves, settings=settings)
    total = m.hosts * m.pages
    for moment in sorted(chosen.randrange(total // 10, total * 9 // 10) for _ in range(m.tree_kills)):
        with setup.begin() as crawl:
            if m.busy_hosts:
                _when_refused(site, crawl)
            else:
                _when_served(site, crawl, moment)
            crawl.kill()
    with setup.begin() as crawl:
        killed: set[int] = set()
        for moment in sorted(chosen.randrange(total // 10, total * 9 // 10) for _ in range(m.slave_kills)):
            _when_served(site, crawl, moment)
            kill_one(crawl, chosen, killed)
        return crawl.wait(120 + 4 * m.pages * max(m.delay_s or 0.0, m.crawl_delay_s))


def most_open(visits: Iterable[Mapping[str, Any]]) -> int:
    """Returns how many requests of a host were open at once."""
    steps = sorted(
        step
        for visit in visits
        for step in ((visit["start_s"], 1), *([(visit["end_s"], -1)] if visit["end_s"] is not None else []))
    )
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def smallest_gaps(visits: Mapping[str, list[dict[str, Any]]]) -> Iterable[float]:
    """Yields for each host the shortest time from the end of an answer to the next request."""
    for host in visits.values():
        gaps = [b["start_s"] - a["end_s"] for a, b in pairwise(host) if a["end_s"] is not None]
        if gaps:
            yield min(gaps)


def served(visits: Mapping[str, list[dict[str, Any]]], port: str) -> set[str]:
    """Counts the pages that answered 200."""
    return {
        f"http://{host}:{port}{visit['target']}"
        for host, seen in visits.items()
        for visit in seen
        if visit["status"] == 200 and visit["target"] != "/robots.txt"
    }


def _when_served(site: SiteProcess, crawl: Watched, pages: int) -> None:
    until(lambda: not crawl.running or site.stats()["pages"] >= pages, 300, f"{pages} pages are served")


def _when_refused(site: SiteProcess, crawl: Watched) -> None:
    """Waits for a refusal that is new, and until the crawl has surely noted it."""
    before = _refusals(site)
    until(lambda: not crawl.running or _refusals(site) > before, 300, "a refusal")
    at = time.monotonic() + REMEMBERED_S
    until(lambda: not crawl.running or time.monotonic() > at, 10)


def _refusals(site: SiteProcess) -> int:
    statuses = site.stats()["statuses"]
    return int(statuses.get("429", 0) + statuses.get("503", 0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    code = 0
    for manners in FULL:
        if options.only in manners.name:
            with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
                code |= politeness(Path(folder), manners, options.seed).print()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
