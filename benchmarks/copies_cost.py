"""Measures what copies cost: ``python -m benchmarks.copies_cost``. The same crawl with each number of copies in turn.

The crawls are interleaved, so that a machine that is busy for a while slows all of them alike.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kit.measure import Claims, SiteProcess
from benchmarks.kit.peers import Peers
from benchmarks.masters.cluster import CONCURRENCY, claim_conserved, crawl


def copies_cost(
    folder: Path, pages: int, hosts: int, masters: int, slaves: int, copies: Sequence[int], rounds: int
) -> Claims:
    """Crawls with each number of copies in turn. Nothing is claimed of the figures: they are for comparing."""
    claims = Claims(f"cost of copies: {pages} pages, {hosts} hosts, {masters} masters with {slaves} slaves, no delay")
    settings = {"CONCURRENT_REQUESTS": CONCURRENCY, "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY}
    cpu_ms: dict[int, list[float]] = defaultdict(list)
    rate: dict[int, list[float]] = defaultdict(list)
    with SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", hosts) as site:
        for number in range(rounds):
            for each in copies:
                site.ask("/_reset")
                with Peers(folder / f"{number}-{each}", masters, slaves, "--copies", each) as peers:
                    done = crawl(peers, site, settings)
                stats = site.stats()
                once = stats["distinct"] == stats["requests"] == pages
                claims.claim(f"pages fetched, {each} copies, round {number + 1}", stats["requests"], once, "each once")
                claim_conserved(claims, done.end)
                cpu_ms[each].append(1000 * done.cpu_s / pages)
                rate[each].append(pages / stats["span"])
    for each in copies:
        claims.note(f"CPU ms/page, {each} copies: median, all", _figures(cpu_ms[each], ".2f"))
        claims.note(f"pages/s, {each} copies: median, all", _figures(rate[each], ".0f"))
    return claims


def _figures(values: Sequence[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({', '.join(format(value, form) for value in values)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--masters", type=int, default=3)
    parser.add_argument("--slaves", type=int, default=1, help="of each master")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        return copies_cost(Path(folder), o.pages, o.hosts, o.masters, o.slaves, o.copies, o.rounds).print()


if __name__ == "__main__":
    raise SystemExit(main())
