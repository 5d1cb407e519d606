"""Checks whether a job that says it is finished is: ``python -m benchmarks.finish --crawls 100``.

Crawls of small random sites go on beside each other on a few masters. About half of them ask for a master to be killed
with -9 at a moment of their own; a new one joins at once. A kill waits until what the one before has torn is mended:
more masters lost at a time than there are copies to spare would prove nothing.

What the masters say of a job is asked for all the time, of any of them. When the first one says that it is finished,
the site must have been asked for every page, and must not be asked for anything more.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import SPIDERS, Claims, Overdue, alive, items_of, until
from benchmarks.kit.peers import Peers
from benchmarks.kit.small_sites import SmallSite, SmallSites
from p2pcrawl.master.jobs.certificate import flaws

DELAY_S = (0.05, 0.4)
KILLED_FRACTION = 0.5
"""Of the crawls, how many ask for a kill."""
LATE_MAX = 1.15
"""Of a crawl's pages, after how many at most it asks; above 1 it asks when the last one is under way."""
OVER_S = 240.0
CALM_S = 120.0
GONE_S = 30.0
LOOK_S = 0.15
AFTERMATH_S = 6.0
"""How long after its end a job is looked at, for it must not begin again."""


@dataclass
class Crawl:
    """One of them, and what came of it. ``troubles`` tells in words what must not be."""

    number: int
    seed: int
    job: int = 0
    pages: int = 0
    took_s: float = 0.0
    kills: int = 0
    again: int = 0
    final: bool = False
    troubles: list[str] = field(default_factory=list)


class Stage:
    """The masters and the sites. One kill at a time, and none while ``steady`` is held."""

    def __init__(self, folder: Path, peers: Peers, sites: SmallSites, seed: int) -> None:
        self.folder, self.peers, self.sites, self.seed = folder, peers, sites, seed
        self.steady = threading.Lock()
        self.kills: list[float] = []
        self._chosen = random.Random(seed)
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._began_s = time.monotonic()

    def say(self, what: str) -> None:
        print(f"  {time.monotonic() - self._began_s:6.1f} s  {what}", file=sys.stderr, flush=True)

    # -- kills --------------------------------------------------------------------------------

    def want_kill(self) -> None:
        self._wanted.set()

    def end(self) -> None:
        self._over.set()
        self._wanted.set()

    def kill_as_wanted(self) -> None:
        """Kills a master whenever a crawl asks for it, until the end."""
        while self._wanted.wait() and not self._over.is_set():
            until(lambda: self._over.is_set() or self.calm(), CALM_S, "the cluster is mended", every_s=0.5)
            self._wanted.clear()
            if self._over.is_set():
                return
            with self.steady:
                victim = self._chosen.choice(self.peers.living)
                slaves = victim.slaves()
                self.peers.drop(victim)
                os.kill(victim.pid, signal.SIGKILL)
                self.kills.append(time.monotonic())
            until(lambda p=victim: not p.running, GONE_S, "the killed master is gone")  # type: ignore[misc]
            peer = self.peers.start()
            until(lambda s=slaves: not any(map(alive, s)), GONE_S, "its slaves are gone")  # type: ignore[misc]
            self.say(f"killed {victim.id[:8]} ({victim.folder.name}); {peer.id[:8]} ({peer.folder.name}) has joined")

    def calm(self) -> bool:
        """Tells whether all agree and every record has all its copies."""
        with contextlib.suppress(OSError):
            copies = self.peers.living[0].ask("status")["copies"]
            behind = any(copies[name] for name in ("unsynced", "uncopied", "spooled", "moving", "not_whole"))
            return not behind and self.peers.agreed()
        return False

    # -- crawls -------------------------------------------------------------------------------

    def run(self, number: int) -> Crawl:
        """Runs one crawl from its site to its results."""
        crawl = Crawl(number, self.seed + number)
        drawn = random.Random(crawl.seed)
        site = self.sites.open(number, crawl.seed)
        crawl.pages = site.pages
        kill_at = drawn.uniform(0.0, LATE_MAX) * site.pages if drawn.random() < KILLED_FRACTION else None
        try:
            self._run(crawl, site, drawn.uniform(*DELAY_S), kill_at)
        except (Overdue, RuntimeError, OSError) as error:
            crawl.troubles.append(f"{type(error).__name__}: {error}")
        finally:
            self.sites.close(site)
        again = f", {crawl.again} fetched again" if crawl.again else ""
        what = f"crawl {number} (job {crawl.job}): {site.pages} pages, {crawl.took_s:.0f} s, {crawl.kills} kills{again}"
        self.say("; ".join([what, *crawl.troubles]))
        if crawl.troubles:
            visits = [(v.host, v.target, v.begin_s, v.end_s) for v in site.visits]
            (self.folder / f"visits-{number}.json").write_text(json.dumps(visits))
        return crawl

    def _run(self, crawl: Crawl, site: SmallSite, delay_s: float, kill_at: float | None) -> None:
        arguments = {"start_urls": site.urls[0], "allowed_domains": " ".join(site.hosts)}
        with self.steady:
            crawl.job = self.peers.submit(SPIDERS, arguments, {"DOWNLOAD_DELAY": round(delay_s, 3)})
        began_s = time.monotonic()
        told, over_s = self._until_over(crawl, site, kill_at)
        crawl.took_s = over_s - began_s
        crawl.kills = sum(began_s <= at_s <= over_s for at_s in self.kills)
        (self.folder / f"end-{crawl.number}.json").write_text(json.dumps(told))
        crawl.final = bool(told["certificate"]) and told["certificate"]["final"]
        crawl.troubles += _troubles_of(told, over_s, site)
        self._watch_aftermath(crawl)
        late = sum(1 for visit in site.visits if visit.begin_s > over_s)
        crawl.troubles += [f"{late} requests after it was finished"] if late else []
        crawl.again = sum(n - 1 for n in site.hits if n > 1)
        crawl.troubles += self._troubles_of_items(crawl, site)

    def _until_over(self, crawl: Crawl, site: SmallSite, kill_at: float | None) -> tuple[dict[str, Any], float]:
        """Waits for the first answer that says so; returns it, and when it came. Raises Overdue."""
        told: dict[str, Any] = {}
        end_s = time.monotonic() + OVER_S
        while True:
            if kill_at is not None and site.fetched >= min(kill_at, site.pages):
                self.want_kill()
                kill_at = None
            with contextlib.suppress(OSError, IndexError):
                told = random.choice(self.peers.living).ask(f"jobs/{crawl.job}")
                if told["state"] != "running":
                    return told, time.monotonic()
            if time.monotonic() > end_s:
                names = ("state", "discovered", "done", "failed", "queued", "leased", "moving", "missing")
                raise Overdue(f"not over: { ({name: told.get(name) for name in names}) }, fetched {site.fetched}")
            time.sleep(LOOK_S)

    def _watch_aftermath(self, crawl: Crawl) -> None:
        """Watches that nobody who has heard of the end changes its mind; a master that has not heard of it yet may say
        so.
        """
        heard: set[str] = set()
        end_s = time.monotonic() + AFTERMATH_S
        while time.monotonic() < end_s:
            for peer in list(self.peers.living):
                with contextlib.suppress(OSError):
                    state = peer.ask(f"jobs/{crawl.job}")["state"]
                    if state == "running" and peer.id in heard:
                        crawl.troubles.append(f"{peer.id[:8]} says that it runs again")
                        return
                    if state == "finished":
                        heard.add(peer.id)
            time.sleep(1.0)

    def _troubles_of_items(self, crawl: Crawl, site: SmallSite) -> Iterator[str]:
        path = self.folder / f"items-{crawl.number}.jsonl"
        end_s = time.monotonic() + CALM_S
        while True:
            until(self.calm, end_s - time.monotonic(), "the cluster is mended", every_s=0.5)
            with self.steady:
                if self.calm():
                    self.peers.results(crawl.job, path)
                    break
        found, wanted = Counter(item["url"] for item in items_of(path)), Counter(site.urls)
        if found != wanted:
            yield f"items missing {list(wanted - found)[:3]}, too many {list(found - wanted)[:3]}"


def _troubles_of(told: dict[str, Any], over_s: float, site: SmallSite) -> Iterator[str]:
    """Yields what is wrong with the end of a job."""
    if told["state"] != "finished":
        yield f"it is {told['state']}"
    missed = site.targets - {(v.host, v.target) for v in site.visits if v.begin_s <= over_s}
    if missed:
        yield f"FALSE END: {len(missed)} pages had not been asked for, such as {sorted(missed)[0]}"
    certificate = told["certificate"]
    if certificate is None:
        yield "it has no certificate"
        return
    yield from flaws(certificate)
    counts = certificate["counts"]
    # The start of the spider is a record, too.
    if not counts["discovered"] == counts["done"] == site.pages + 1:
        names = ("discovered", "done", "failed", "dropped", "queued", "leased")
        yield f"its certificate counts { ({name: counts[name] for name in names}) } of {site.pages} pages"


def finish(folder: Path, crawls: int, masters: int, beside: int, seed: int) -> Claims:
    """Runs small crawls, ``beside`` of them under way at any moment."""
    claims = Claims(
        f"finish: {crawls} crawls of small random sites, {beside} at a time, {masters} masters, seed {seed}"
    )
    with SmallSites() as sites, Peers(folder, masters, 1, "--loglevel", "DEBUG") as peers:
        stage = Stage(folder, peers, sites, seed)
        with ThreadPoolExecutor(beside + 1) as pool:
            killer = pool.submit(stage.kill_as_wanted)
            try:
                ended = list(pool.map(stage.run, range(crawls)))
            finally:
                stage.end()
            killer.result()
        until(stage.calm, CALM_S, "the cluster is mended", every_s=0.5)
        told = {job["job"]: job for job in peers.living[0].ask("jobs")["jobs"]}
    killed = sum(1 for crawl in ended if crawl.kills)
    claims.claim("kills", len(stage.kills), len(stage.kills) > 0, "some")
    claims.claim("crawls during which a master was killed", killed, killed >= crawls // 3, f">= {crawls // 3}")
    claims.note("pages", sum(crawl.pages for crawl in ended))
    claims.note("fetched again", sum(crawl.again for crawl in ended))
    claims.note("seconds of a crawl, at most", f"{max(crawl.took_s for crawl in ended):.0f}")
    claims.note("certificates that were final at once", sum(1 for crawl in ended if crawl.final))
    troubled = [crawl for crawl in ended if crawl.troubles]
    such = f"; crawl {troubled[0].number}: {troubled[0].troubles[0]}" if troubled else ""
    claims.claim("crawls with a trouble", len(troubled), not troubled, f"none{such}")
    gone = [c.job for c in ended if not (told[c.job]["done"] == told[c.job]["discovered"] == c.pages + 1)]
    claims.claim("jobs whose records are not all there at the end", len(gone), not gone, f"none {gone[:3] or ''}")
    begun = [c.job for c in ended if told[c.job]["state"] != "finished"]
    claims.claim("jobs that are not finished at the end", len(begun), not begun, f"none {begun[:3] or ''}")
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crawls", type=int, default=100)
    parser.add_argument("--masters", type=int, default=3)
    parser.add_argument("--beside", type=int, default=8, help="crawls at a time")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--keep", type=Path, help="a new folder that keeps the logs and data of all peers")
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        folder = o.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="p2pcrawl-")))
        folder.mkdir(parents=True, exist_ok=True)
        return finish(folder, o.crawls, o.masters, o.beside, o.seed).print()


if __name__ == "__main__":
    raise SystemExit(main())
