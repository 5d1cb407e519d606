"""kill -9 of single slaves, again and again in one crawl: ``python -m benchmarks.kill_slaves``."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import tempfile
from pathlib import Path

from benchmarks.kit.measure import Claims, Setup, SiteProcess, Watched, claim_items, until


def kill_slaves(
    folder: Path,
    pages: int,
    hosts: int,
    kills: int,
    seed: int,
    *,
    slaves: int = 2,
    latency_s: float = 0.005,
    size: int = 20_000,
) -> Claims:
    """Kills a random slave whenever a random number of pages has been served."""
    chosen = random.Random(seed)
    claims = Claims(f"kill -9 of slaves: {pages} pages, {hosts} hosts, {slaves} slaves, {kills} kills, seed {seed}")
    moments = sorted(chosen.randrange(1, max(2, pages * 9 // 10)) for _ in range(kills))
    killed: set[int] = set()
    outputs = ("items.jsonl", "items.csv.gz")
    with SiteProcess(
        "benchmarks.kit.site", "--pages", pages, "--hosts", hosts, "--size", size, "--latency", latency_s
    ) as site:
        with Setup.of_site(folder, site, outputs, slaves=slaves).begin() as crawl:
            for moment in moments:
                until(lambda m=moment: not crawl.running or site.stats()["distinct"] >= m, 300, f"{moment} pages")  # type: ignore[misc]
                kill_one(crawl, chosen, killed)
            ended = crawl.wait(180 + pages / 50)
        hits = site.hits()
    certificate, refetched = ended.certificate, sum(n - 1 for n in hits.values())
    claims.claim("exit code", ended.code, ended.code == 0, "0")
    claims.claim("slaves killed", len(killed), len(killed) == kills, str(kills))
    claims.claim("pages fetched", len(hits), len(hits) == pages, "all")
    losses = certificate["slave_losses"]
    claims.claim("refetched", refetched, refetched <= losses, f"<= {losses} leases lost")
    claims.claim("leases lost", losses, losses > 0, "above 0")
    claims.claim("conserved", certificate["conserved"], certificate["conserved"] is True)
    claims.claim("done", certificate["done"], certificate["done"] == certificate["discovered"] == pages + 1)
    for name in outputs:
        claim_items(claims, folder / name, list(hits))
    return claims


def kill_one(crawl: Watched, chosen: random.Random, killed: set[int]) -> None:
    """Kills one slave that was not killed before, waiting for one if need be."""
    living = until(
        lambda: not crawl.running or [pid for pid in crawl.slaves() if pid not in killed], 60, "a slave to kill"
    )
    if living is not True:
        victim = chosen.choice(living)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
            killed.add(victim)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--slaves", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        return kill_slaves(
            Path(folder), options.pages, options.hosts, options.kills, options.seed, slaves=options.slaves
        ).print()


if __name__ == "__main__":
    raise SystemExit(main())
