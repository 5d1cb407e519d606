"""Memory and rate of a frontier of millions: ``python -m benchmarks.frontier_memory``.

Store and workbench are fed as a master feeds them: links in batches, each committed in one transaction, what is new put
on the workbench, and what the workbench wants loaded with the next commit. Half as many links again are repeats.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kit.measure import Claims
from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import Pace
from p2pcrawl.frontier.records.batch import Batch, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.slave.tuning import tune_collector

BATCH = 2_000
WANTS_MAX = 256
MIB = 1024 * 1024


class Feeder:
    """One job whose links come from nowhere."""

    def __init__(self, folder: Path, hosts: int, seed: int) -> None:
        settings = Settings()
        self._random = random.Random(seed)
        self._hosts = hosts
        self._keys = [host_key(f"http://host-{number}.example/") for number in range(hosts)]
        self._store = Store(folder)
        self._bench = Workbench(memory=settings.frontier_memory)
        self._orders = {1: settings.queue_order}
        self._bench.open_job(1, Pace.of(settings))
        url = f"{START_URL}1"
        start = NewLink(Link(url, fingerprint(url, salt="job 1"), seed=True), 1, host_key(url), 0)
        committed = self._store.add_job(1, "memory", b"", start, Batch(orders=self._orders))
        self._bench.add(committed.fresh)
        self.queued = 1
        self.busy_s = 0.0

    def feed(self, count: int) -> None:
        """Feeds ``count`` more URLs into the queue."""
        for links in self._batches(count):
            began_s = time.perf_counter()
            batch = Batch(links=links, orders=self._orders, wants=self._bench.wants(WANTS_MAX))
            committed = self._store.commit(batch)
            self._bench.add(committed.fresh)
            for want, candidates in committed.loaded:
                self._bench.loaded(want, candidates)
            self.busy_s += time.perf_counter() - began_s
            self.queued += len(committed.fresh)

    def close(self) -> None:
        self._store.close()

    def _batches(self, count: int) -> Iterator[list[NewLink]]:
        first, last = self.queued, self.queued + count
        for begin in range(first, last, BATCH):
            new = range(begin, min(last, begin + BATCH))
            again = [self._random.randrange(1, begin + 1) for _ in range(len(new) // 2)]
            yield [self._link(number) for number in (*new, *again)]

    def _link(self, number: int) -> NewLink:
        host = number * 2_654_435_761 % self._hosts
        url = f"http://host-{host}.example/section-{number % 97}/article-{number}.html"
        depth = 1 + number % 7
        return NewLink(Link(url, fingerprint(url), depth), 1, self._keys[host], 0, parent=1)


def resident_bytes() -> int:
    found = re.search(r"VmRSS:\s*(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def frontier_memory(folder: Path, urls: int, hosts: int, rss_mib_max: int, *, steps: int = 5, seed: int = 1) -> Claims:
    """Feeds ``urls`` in ``steps`` and weighs after each."""
    claims = Claims(f"frontier: {urls:,} queued URLs over {hosts:,} hosts, seed {seed}")
    tune_collector()
    feeder = Feeder(folder, hosts, seed)
    rates, most = [], 0
    for _ in range(steps):
        busy_s, before = feeder.busy_s, feeder.queued
        feeder.feed(urls // steps)
        rates.append((feeder.queued - before) / (feeder.busy_s - busy_s))
        most = max(most, resident_bytes() // MIB)
        print(f"  {feeder.queued:>10,} queued  {rates[-1]:>8,.0f}/s  {resident_bytes() // MIB:>4} MiB", flush=True)
    disk = sum(file.stat().st_size for file in folder.iterdir())
    feeder.close()
    claims.claim("queued", f"{feeder.queued:,}", feeder.queued == urls + 1, "all, and the start")
    claims.claim("resident memory (MiB)", most, most <= rss_mib_max, f"<= {rss_mib_max}")
    claims.claim("URLs/s, first step", f"{rates[0]:,.0f}", True)
    claims.claim("URLs/s, last step", f"{rates[-1]:,.0f}", rates[-1] >= rates[0] / 2, "at least half of the first")
    claims.note("disk (MiB)", disk // MIB)
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=5_000_000)
    parser.add_argument("--hosts", type=int, default=50_000)
    parser.add_argument("--rss", type=int, default=400, help="MiB")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="p2pcrawl-"))
    try:
        return frontier_memory(folder, options.urls, options.hosts, options.rss).print()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    raise SystemExit(main())
