"""Measures how long the hosts of a killed master wait, by how many links there are: ``python -m
benchmarks.masters.heirs --rows
9999``.

Three masters crawl hosts that answer at once, one request a second each. Each has its part of ``--rows`` links queued,
written into the stopped masters' frontiers, and copied by themselves. Then one is killed with -9.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.kit.measure import Claims, Overdue, SiteProcess, ask_frontier, until
from benchmarks.kit.peers import PeerProcess, Peers
from benchmarks.masters.cluster import submit
from benchmarks.masters.trial import Visit
from p2pcrawl.core.ring.ring_choice import table_after
from p2pcrawl.frontier.records.batch import Batch, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Order, ShardKey

MASTERS = 3
COPIES = 2
HOSTS = 100
PAGES = 60 * HOSTS
"""Of the site itself: the job must not be over before it is paused."""
DELAY_S = 1.0
BATCH = 20_000
SYNC_S = 1_800.0
WAIT_S = 300.0
DYING_S = 1.0
"""What is asked for so soon after the kill may still be the dead master's slave."""


def measure(folder: Path, rows: int) -> Claims:
    claims = Claims(f"a death with {rows:,} links on {MASTERS} masters, {HOSTS} hosts, {DELAY_S:g} s apart")
    with SiteProcess("benchmarks.kit.site", "--visits", "--pages", PAGES, "--hosts", HOSTS, "--size", 1_000) as site:
        masters = Peers(folder, MASTERS, 1, "--copies", COPIES)
        with masters as peers:
            job = submit(peers, site, {"DOWNLOAD_DELAY": DELAY_S, "ROBOTSTXT_OBEY": False})
            peers.run("pause", job)
            ids = [peer.id for peer in peers.living]
            datas = {NodeId(peer.id): peer.data for peer in peers.living}
            for peer in list(peers.living):
                peer.kill()
                peers.drop(peer)
            _fill(datas, job, site, rows)
            for id in ids:
                peers.start(datas[NodeId(id)])
            began_s = time.monotonic()
            until(lambda: _at_rest(peers), SYNC_S, "all copies are made", every_s=1.0)
            _say(f"{rows:,} links, copied in {time.monotonic() - began_s:.0f} s")
            peers.run("resume", job)
            until(lambda: len(_asked(site)) == HOSTS, WAIT_S, "all hosts are asked", every_s=0.5)
            victim = peers.living[1]
            hosts = _hosts_of(peers, victim, site)
            waited = _kill(peers, victim, site, hosts)
    claims.note("hosts of the killed master", len(hosts))
    claims.claim("of them, asked again", len(waited), len(waited) == len(hosts), "all")
    if waited:
        claims.note("seconds to the first, the median and the last", ", ".join(f"{s:.1f}" for s in _three(waited)))
    claims.note("load of this machine, last minute", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return claims


def _kill(peers: Peers, victim: PeerProcess, site: SiteProcess, hosts: frozenset[str]) -> list[float]:
    """Seconds from the kill to each host's next request."""
    site.ask("/_reset")
    os.kill(victim.pid, signal.SIGKILL)
    at_s = time.monotonic()
    peers.drop(victim)
    first: dict[str, float] = {}

    def asked() -> bool:
        for visit in map(Visit._make, site.ask("/_visits")):
            since_s = visit.begin_s - at_s
            if visit.host in hosts and since_s > DYING_S:
                first[visit.host] = min(since_s, first.get(visit.host, since_s))
        return len(first) == len(hosts)

    with contextlib.suppress(Overdue):
        until(asked, WAIT_S, every_s=1.0)
    return sorted(first.values())


def _three(waited: list[float]) -> tuple[float, float, float]:
    return waited[0], waited[len(waited) // 2], waited[-1]


def _asked(site: SiteProcess) -> set[str]:
    return {Visit(*each).host for each in site.ask("/_visits")}


def _hosts_of(peers: Peers, master: PeerProcess, site: SiteProcess) -> frozenset[str]:
    port = urlsplit(site.start).port
    witness = next(peer for peer in peers.living if peer is not master)
    return frozenset(h for h in site.hosts if witness.owner_of(f"http://{h}:{port}/")["owner"] == master.id)


def _at_rest(peers: Peers) -> bool:
    for peer in peers.living:
        status = peer.ask("status", 60.0)
        if any(status["copies"][name] for name in ("unsynced", "uncopied", "spooled", "moving")):
            return False
    return peers.agreed()


# -- filling --------------------------------------------------------------------------------------


def _fill(datas: dict[NodeId, Path], job: int, site: SiteProcess, rows: int) -> None:
    """Writes each owner's links into its frontier, as if they had been found; nobody has copies any more."""
    table = table_after(RingName.RENDEZVOUS, (), {}, dict.fromkeys(sorted(datas), 1), COPIES)
    for data in datas.values():
        for file in data.glob("copies.db*"):
            file.unlink()
    parts: dict[NodeId, list[NewLink]] = defaultdict(list)
    stores = {id: Store(data, clustered=True) for id, data in datas.items()}
    try:
        for link in _links(job, site, rows):
            part = parts[table[link.bucket][0]]
            part.append(link)
            if len(part) >= BATCH:
                _write(stores[table[link.bucket][0]], part)
        for id, part in parts.items():
            _write(stores[id], part)
    finally:
        for store in stores.values():
            store.close()
    found = sum(ask_frontier(data, "SELECT count(*) FROM record")[0][0] for data in datas.values())
    _say(f"{found:,} links are written")


def _write(store: Store, links: list[NewLink]) -> None:
    if links:
        store.commit(Batch(links=links[:], orders=defaultdict(lambda: Order.FIFO)))
        links.clear()


def _links(job: int, site: SiteProcess, rows: int) -> Iterator[NewLink]:
    keys, port = Keys(), urlsplit(site.start).port
    for number in range(rows):
        url = f"http://{site.hosts[number % HOSTS]}:{port}/queued/{number}"
        link = Link(url, fingerprint(url), depth=1, callback="parse")
        yield NewLink(link, job, *keys.place(ShardKey.HOST, link.url, link.fingerprint), foreign=True)


def _say(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000], help="links (default: %(default)s)")
    options = parser.parse_args()
    code = 0
    for rows in options.rows:
        with tempfile.TemporaryDirectory(prefix="p2pcrawl-heirs-") as folder:
            code |= measure(Path(folder), rows).print()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
