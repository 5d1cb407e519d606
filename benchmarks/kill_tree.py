"""kill -9 of the whole process tree at random moments of one crawl: ``python -m benchmarks.kill_tree``.

The kills come when the site has served random numbers of pages, and a random moment later; one comes while the crawl
is starting, one when the last page has just been served.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.kit.measure import Claims, Ended, Setup, SiteProcess, Watched, claim_items, open_leases, until

LATER_S = 0.2


def kill_tree(
    folder: Path,
    pages: int,
    hosts: int,
    kills: int,
    seed: int,
    *,
    slaves: int = 2,
    outputs: Sequence[str] = ("items.jsonl", "items.csv.gz"),
    latency_s: float = 0.005,
    size: int = 20_000,
    settings: Mapping[str, object] | None = None,
    program: Sequence[str] = ("-m", "p2pcrawl"),
) -> Claims:
    """Kills and resumes one crawl, and counts at the site."""
    chosen = random.Random(seed)
    claims = Claims(f"kill -9 of the tree: {pages} pages, {hosts} hosts, {slaves} slaves, {kills} kills, seed {seed}")
    moments = [0, *sorted(chosen.randrange(1, pages) for _ in range(kills - 2)), pages]
    leases: dict[tuple[int, int], str] = {}
    done = 0
    arguments = ("--pages", pages, "--hosts", hosts, "--size", size, "--latency", latency_s)
    with SiteProcess("benchmarks.kit.site", *arguments) as site:
        setup = Setup.of_site(folder, site, outputs, slaves=slaves, settings=settings or {}, program=program)
        for moment in moments:
            # At least a little is fetched before each kill, or resumed crawls would all be killed at their start.
            least = min(pages, site.stats()["distinct"] + chosen.randrange(1, max(2, pages // kills // 2)))
            with setup.begin() as crawl:
                if _reached(crawl, site, max(moment, least) if moment else 0, chosen.uniform(0, LATER_S)):
                    crawl.kill()
                    done += 1
                    leases.update(open_leases(folder / "data"))
        ended = setup.run(180 + pages / 50)
        hits = site.hits()
    _claim(claims, ended, hits, Counter(leases.values()), pages)
    claims.claim("kills", done, done >= kills - 1, f"{kills}, but for the last if it came too late")
    for name in outputs:
        claim_items(claims, folder / name, list(hits))
    return claims


def _reached(crawl: Watched, site: SiteProcess, moment: int, later_s: float) -> bool:
    """Waits for the moment; False when the crawl ended before it."""
    until(lambda: not crawl.running or site.stats()["distinct"] >= moment, 300, f"{moment} pages are served")
    at = time.monotonic() + later_s
    until(lambda: not crawl.running or time.monotonic() >= at, 10, "the moment")
    return crawl.running


def _claim(claims: Claims, ended: Ended, hits: Counter[str], leases: Counter[str], pages: int) -> None:
    refetched = {url: n - 1 for url, n in hits.items() if n > 1}
    unexplained = {url: n for url, n in refetched.items() if n > leases[url]}
    certificate, total = ended.certificate, leases.total()
    claims.claim("exit code", ended.code, ended.code == 0, "0")
    claims.claim("pages fetched", len(hits), len(hits) == pages, "all")
    claims.claim("refetched", sum(refetched.values()), sum(refetched.values()) <= total, f"<= {total} leases open")
    claims.claim("refetched without a lease", len(unexplained), not unexplained, "none")
    claims.claim("interrupted", certificate["interrupted"], certificate["interrupted"] == total, str(total))
    claims.claim("conserved", certificate["conserved"], certificate["conserved"] is True)
    claims.claim("done", certificate["done"], certificate["done"] == certificate["discovered"] == pages + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--slaves", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        every = ("items.jsonl", "items.csv.gz", "items.json", "items.xml.gz")
        return kill_tree(
            Path(folder),
            options.pages,
            options.hosts,
            options.kills,
            options.seed,
            slaves=options.slaves,
            outputs=every,
        ).print()


if __name__ == "__main__":
    raise SystemExit(main())
