"""Pages whose callbacks are long, in a cluster of real processes: ``python -m benchmarks.masters.long_pages --items
1000000``.

One page yields as many items as asked for; others block their slaves for seconds, before or after parts of them were
sent ahead. Each page is to be fetched once, whatever stands still beside it, and each item to be there once.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from benchmarks.kit.long_spiders import PARTS
from benchmarks.kit.measure import (
    ROOT,
    SPIDERS,
    Claims,
    SiteProcess,
    ask_frontier,
    descendants,
    is_slave,
    items_of,
    peak_rss_bytes,
    until,
)
from benchmarks.kit.peers import Peers
from benchmarks.masters.cluster import claim_conserved

LONG, MANY = (Path(f"{ROOT}/benchmarks/kit/long_spiders.py:{name}") for name in ("Long", "Many"))
DELAY_S = 0.2
MIB = 1024 * 1024


def long_pages(folder: Path, items: int, blocks_s: tuple[float, ...], masters: int = 2, helpers: int = 2) -> Claims:
    """Crawls pages that block. ``blocks_s``: for how long, two pages for each, one small and one that sends parts
    ahead.
    """
    claims = Claims(f"one page with {items} items, others that block for {blocks_s} s; {masters} masters")
    with (
        SiteProcess("benchmarks.kit.site", "--pages", 60, "--hosts", 4, "--size", 2_000) as site,
        Peers(folder, masters, 1, "--copies", min(2, masters)) as peers,
    ):
        for _ in range(helpers):
            peers.start(None, "--role", "slave", "--slaves", 2)
        urls = list(site.ask("/_urls"))
        plan: dict[str, tuple[int, bool, float]] = {urls[1]: (items, False, 0.0)}
        for number, block_s in enumerate(blocks_s):
            plan[urls[2 + 2 * number]] = (0, False, block_s)
            plan[urls[3 + 2 * number]] = (0, True, block_s)
        arguments = {"start_urls": site.start, "allowed_domains": " ".join(site.hosts), "plan": json.dumps(plan)}
        began = time.monotonic()
        job = peers.submit(LONG, arguments, {"CONCURRENT_REQUESTS": 16})
        end = peers.until_over(job, 600.0)
        claims.note("seconds", f"{time.monotonic() - began:.1f}")
        for name, chosen in (("masters", [p.pid for p in peers.living]), ("slaves", _slaves(peers))):
            claims.note(f"peak RSS of the {name} (MiB)", [peak_rss_bytes([pid]) // MIB for pid in chosen])
        hits, path = site.hits(), folder / "items.jsonl"
        claims.claim("state", end["state"], end["state"] == "finished", "finished")
        claims.claim("pages fetched once", f"{sum(n == 1 for n in hits.values())} of {len(urls)}", _once(hits, urls))
        claim_conserved(claims, end)
        losses = sum(ask_frontier(p.data, "SELECT coalesce(sum(losses), 0) FROM record")[0][0] for p in peers.living)
        claims.claim("losses", losses, not losses, "none")
        claims.claim("pages given out again", end["slave_losses"], not end["slave_losses"], "none")
        peers.results(job, path)
        found = Counter(_key(item) for item in items_of(path))
        wanted = len(urls) + items + PARTS * len(blocks_s)
        claims.claim("items, each once", f"{found.total()} of {wanted}", len(found) == found.total() == wanted)
        for peer in (*peers.living, *peers.helping):
            said = [line for line in peer.said().splitlines() if "slave" in line and "WARNING" in line]
            claims.claim(f"complaints of {peer.role} {peer.id[:6]}", said[:3] or "none", not said)
    return claims


def long_start(folder: Path, requests: int, masters: int = 2, hosts: int = 4) -> Claims:
    """Runs a job whose ``start()`` yields so many requests, beside one that asks each of its hosts every 0.2 s."""
    pages = max(1_000, requests // 100)  # more than can be asked for meanwhile
    claims = Claims(f"start() with {requests} requests beside a job with a delay of {DELAY_S} s; {masters} masters")
    arguments = ["--pages", pages, "--hosts", hosts, "--size", 2_000, "--visits"]
    with (
        SiteProcess("benchmarks.kit.site", *arguments) as site,
        SiteProcess("benchmarks.kit.site", "--pages", 1, "--hosts", 1) as other,
        Peers(folder, masters, 1, "--copies", min(2, masters)) as peers,
    ):
        beside = {"start_urls": site.start, "allowed_domains": " ".join(site.hosts)}
        peers.submit(SPIDERS, beside, {"DOWNLOAD_DELAY": DELAY_S, "AUTOTHROTTLE_ENABLED": False})
        until(lambda: len(site.ask("/_visits")) > 10 * hosts, 30.0, "the other job goes on")
        began = time.monotonic()
        many = peers.submit(MANY, {"count": str(requests), "base": other.start + "?"}, {"DOWNLOAD_DELAY": 60.0})
        until(lambda: peers.job(many)["discovered"] > requests, 300.0, "all requests are known", every_s=0.5)
        ended = time.monotonic()
        claims.note("seconds till all were known", f"{ended - began:.1f}")
        claims.note("peak RSS of the masters (MiB)", [peak_rss_bytes([p.pid]) // MIB for p in peers.living])
        claims.note("peak RSS of the slaves (MiB)", [peak_rss_bytes([pid]) // MIB for pid in _slaves(peers)])
        visits = site.ask("/_visits")
        for host in site.hosts:
            at = [began, *(begin for h, _, begin, _ in visits if h == host and began < begin < ended), ended]
            waits = sorted(b - a for a, b in pairwise(at))
            claims.claim(f"longest wait of {host} (s)", f"{waits[-1]:.2f}", waits[-1] < 5.0, "< 5 s")
    return claims


def _slaves(peers: Peers) -> list[int]:
    return [pid for p in (*peers.living, *peers.helping) for pid in descendants(p.pid) if is_slave(pid)]


def _once(hits: Counter[str], urls: list[str]) -> bool:
    return set(hits) == set(urls) and set(hits.values()) == {1}


def _key(item: dict[str, object]) -> object:
    return item.get("url") or (item.get("of"), item.get("part"), item.get("n"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("items", "start"), nargs="?", default="items")
    parser.add_argument("--items", type=int, default=1_000_000, help="or requests of start()")
    parser.add_argument("--blocks", type=float, nargs="*", default=(8.0, 20.0))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.what == "start":
            return long_start(Path(folder), asked.items).print()
        return long_pages(Path(folder), asked.items, tuple(asked.blocks)).print()


if __name__ == "__main__":
    sys.exit(main())
