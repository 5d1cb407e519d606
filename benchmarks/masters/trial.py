"""A crawl by several masters that something happens to, and what must be true of it all the same.

The site says what was fetched and when, ``p2pcrawl results`` what came of it. Whoever makes a measurement decides what
happens in between: :class:`Trial` starts the cluster and the crawl, kills, and claims at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from benchmarks.kit.measure import Claims, Overdue, SiteProcess, alive, claim_items, until
from benchmarks.kit.peers import PeerProcess, Peers
from benchmarks.masters.cluster import submit
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.crawl.record import stamp_of

REFETCHED_MAX = 0.01
"""Of all pages: what may be asked for again when masters die; in small crawls one page of each host, for each may have
one in hand."""
GONE_S = 30.0
SYNCED_S = 30.0
"""How long the last copies may take when the job is over."""
LATENCY_S = 0.05
"""Of each answer, so that there are pages in a slave's hands at any moment."""
PAGE_BYTES = 4_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a trial: what is crawled, and by whom."""

    pages: int
    hosts: int
    delay_s: float
    masters: int
    copies: int
    seed: int
    orphans: bool = False
    """The slaves are peers of their own: they outlive their master and work for another one."""

    def __str__(self) -> str:
        slaves = "a remote slave" if self.orphans else "a slave"
        return (
            f"{self.pages} pages, {self.hosts} hosts, {self.delay_s:g} s apart, "
            f"{self.masters} masters with {slaves} each, {self.copies} copies, seed {self.seed}"
        )

    @property
    def crawl_s(self) -> float:
        """The time that the crawl lasts at least: each host has as many pages as any other."""
        return self.pages / self.hosts * (self.delay_s + LATENCY_S)


class Visit(NamedTuple):
    """A request, as the site tells of it."""

    host: str
    target: str
    begin_s: float
    end_s: float | None


class Death(NamedTuple):
    """Masters that were killed at one instant, and the hosts that were theirs."""

    at_s: float
    hosts: frozenset[str]


class Trial:
    """``claims`` grows with what is found out; ``deaths`` tells who was killed when."""

    def __init__(self, folder: Path, what: str, plan: Plan, outputs: Sequence[str] = ()) -> None:
        """``outputs``: the sinks of the crawl, by their addresses."""
        self.folder, self.plan, self._outputs = folder, plan, outputs
        self.claims = Claims(f"{what}: {plan}")
        self.chosen = random.Random(plan.seed)
        self.deaths: list[Death] = []
        self._stack = ExitStack()
        self._lingering = 0
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        plan = self.plan
        with ExitStack() as stack:
            asked = ("--pages", plan.pages, "--hosts", plan.hosts, "--size", PAGE_BYTES, "--latency", LATENCY_S)
            self.site = stack.enter_context(SiteProcess("benchmarks.kit.site", "--visits", *asked))
            slaves = 0 if plan.orphans else 1
            self.peers = stack.enter_context(
                Peers(self.folder, plan.masters, slaves, "--copies", plan.copies, "--loglevel", "DEBUG")
            )
            for _ in range(plan.masters if plan.orphans else 0):
                self.peers.start(None, "--role", "slave", "--slaves", 1)
            self.job = submit(self.peers, self.site, {"DOWNLOAD_DELAY": plan.delay_s}, self._outputs)
            self._stack = stack.pop_all()
        self.say(f"job {self.job} is submitted")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def say(self, what: str) -> None:
        """Prints a line with how many copies are behind at this moment, as far as anybody tells."""
        copies: dict[str, int] = {}
        with contextlib.suppress(OSError):
            copies = self.peers.living[0].ask("status", 5.0)["copies"] if self.peers.living else {}
        behind = ", ".join(f"{name} {n}" for name, n in copies.items() if n and name not in ("asked", "held"))
        print(f"  {time.monotonic() - self._began_s:6.1f} s  {what}; {behind or '-'}", file=sys.stderr, flush=True)

    # -- what happens -------------------------------------------------------------------------

    @property
    def fetched(self) -> int:
        return int(self.site.stats()["distinct"])

    def until_fetched(self, pages: int, timeout_s: float = 300.0) -> None:
        until(lambda: self.fetched >= pages, timeout_s, f"{pages} pages are fetched", every_s=0.05)

    def wait(self, seconds: float) -> bool:
        """Lets the crawl go on; False when all pages have been asked for meanwhile."""
        end_s = time.monotonic() + seconds
        until(lambda: time.monotonic() >= end_s or self.fetched >= self.plan.pages, seconds + 60, every_s=0.2)
        return self.fetched < self.plan.pages

    def kill(self, victims: Sequence[PeerProcess]) -> None:
        """Kills the masters alone with -9, all at one instant: their slaves find out by themselves."""
        hosts = self._hosts_of({peer.id for peer in victims})
        slaves = [pid for peer in victims for pid in peer.slaves()]
        for peer in victims:
            os.kill(peer.pid, signal.SIGKILL)
        at_s = time.monotonic()
        self.deaths.append(Death(at_s, hosts))
        for peer in victims:
            self.peers.drop(peer)
            until(lambda p=peer: not p.running, GONE_S, "the killed master is gone")  # type: ignore[misc]
        self.say(f"killed {', '.join(f'{p.id[:8]} ({p.folder.name})' for p in victims)} at {self.fetched} pages")
        try:
            until(lambda: not any(map(alive, slaves)), GONE_S, "its slaves are gone")
        except Overdue:
            self._lingering += 1
            for pid in filter(alive, slaves):
                os.kill(pid, signal.SIGKILL)

    def start(self, data: Path | None = None, *arguments: object) -> PeerProcess:
        peer = self.peers.start(data, *arguments)
        self.say(f"{peer.id[:8]} ({peer.folder.name}) is ready")
        return peer

    def _hosts_of(self, masters: Collection[str]) -> frozenset[str]:
        """Returns the hosts of these masters by what another master knows; nothing when there is none."""
        witness = next((peer for peer in self.peers.living if peer.id not in masters), None)
        if witness is None:
            return frozenset()
        port = urlsplit(self.site.start).port
        found = set()
        for host in self.site.hosts:
            with contextlib.suppress(OSError):
                if witness.owner_of(f"http://{host}:{port}/")["owner"] in masters:
                    found.add(host)
        return frozenset(found)

    # -- what must be true --------------------------------------------------------------------

    def conclude(self, *, refetched_max: int | None = None) -> list[Visit]:
        """Waits for the end of the job and claims what has to hold of every crawl; the visits of the site."""
        claims, pages = self.claims, self.plan.pages
        end = self._until_over()
        visits = [Visit(*each) for each in self.site.ask("/_visits")]
        (self.folder / "visits.json").write_text(json.dumps([*visits]))
        hits = self.site.hits()
        again = {url: n - 1 for url, n in hits.items() if n > 1}
        most = max(int(REFETCHED_MAX * pages), self.plan.hosts) if refetched_max is None else refetched_max
        claims.claim("pages fetched", len(hits), len(hits) == pages, "all")
        claims.claim("fetched again", sum(again.values()), sum(again.values()) <= most, f"<= {most}")
        if end:
            claims.claim("done", end["done"], end["done"] == end["discovered"] == pages + 1, f"{pages} and the start")
            claims.claim("conserved", end["conserved"], end["conserved"] is True)
            claims.claim("buckets that are not whole", len(end["not_whole"]), not end["not_whole"], "none")
        early = sorted(self._too_early(visits))
        such = f"; such as {early[0][1]} at {early[0][2]:.2f}: {early[0][0]:.3f} s" if early else ""
        claims.claim(f"less than {self.plan.delay_s:g} s apart", len(early), not early, f"none{such}")
        claims.claim("slaves that outlived their master", self._lingering, not self._lingering, "none")
        self._claim_copies()
        self.peers.results(self.job, self.folder / "items.jsonl")
        claim_items(claims, self.folder / "items.jsonl", self.site.ask("/_urls"))
        return visits

    def _claim_copies(self) -> None:
        """Claims that all records are on the disks of those that live, whatever they say of it."""

        def at_rest() -> bool:
            copies = self.peers.living[0].ask("status")["copies"]
            return not any(copies[name] for name in ("unsynced", "uncopied", "spooled", "moving"))

        with contextlib.suppress(Overdue):
            until(at_rest, SYNCED_S, every_s=0.5)
        owned: Counter[bytes] = Counter()
        stamps: dict[bytes, list[int]] = defaultdict(list)
        for peer in self.peers.living:
            for print_, stamp in records_of(peer.data, self.job):
                owned[print_] += 1
                stamps[print_].append(stamp)
            for print_, stamp in copies_of(peer.data, self.job):
                stamps[print_].append(stamp)
        least = min(self.plan.copies, len(self.peers.living))
        few = sum(1 for known in stamps.values() if known.count(max(known)) < least)
        self.claims.claim("records on the disks", len(stamps), len(stamps) == self.plan.pages + 1, "all")
        self.claims.claim(f"of them, on fewer than {least} disks as they are", few, not few, "none")
        astray = sum(1 for print_ in stamps if owned[print_] != 1)
        self.claims.claim("of them, in no frontier or in several", astray, not astray, "none")

    def _until_over(self) -> dict[str, Any]:
        """Waits for the end of the job, and returns how it ended; reports how it stands at each master, when it does
        not end.
        """
        found: dict[str, Any] = {}

        def over() -> bool:
            with contextlib.suppress(OSError):
                found.update(self.peers.job(self.job))
            return found.get("state") in ("finished", "incomplete", "cancelled")

        try:
            until(over, 90 + 2 * self.plan.crawl_s, every_s=0.5)
        except Overdue:
            names = ("state", "discovered", "done", "failed", "queued", "leased", "moving", "missing")
            self.say(f"the job is not over: { ({name: found.get(name) for name in names}) }")
            self.claims.claim("state", found.get("state"), False, "finished")
            return {}
        self.say(f"the job is {found['state']}")
        self.claims.claim("state", found["state"], found["state"] == "finished", "finished")
        return found

    def _too_early(self, visits: Sequence[Visit]) -> Iterator[tuple[float, str, float]]:
        """Yields the seconds between two requests of one host where they are too few; the host, and when it was."""
        of_host: dict[str, list[Visit]] = defaultdict(list)
        for visit in visits:
            of_host[visit.host].append(visit)
        for host, seen in of_host.items():
            seen.sort(key=lambda visit: visit.begin_s)
            for before, visit in pairwise(seen):
                gap_s = visit.begin_s - before.end_s if before.end_s is not None else -1.0
                if gap_s < self.plan.delay_s:
                    yield gap_s, f"{host}{before.target}, {visit.target}", visit.begin_s - self._began_s


def records_of(data: Path, job: int) -> Iterator[tuple[bytes, int]]:
    """Yields the fingerprint and stamp of each record that a master owns."""
    sql = "SELECT hi, lo, seed, visit, phase, attempts, losses FROM record WHERE job = ?"
    for hi, lo, seed, *reached in ask_store(data / "frontier.db", sql, job):
        yield pack_halves(hi, lo), stamp_of(*reached, entry=bool(seed))


def copies_of(data: Path, job: int) -> Iterator[tuple[bytes, int]]:
    """Yields the fingerprints and stamps of what a master holds for others."""
    for hi, lo, stamp in ask_store(data / "copies.db", "SELECT hi, lo, stamp FROM held WHERE job = ?", job):
        yield pack_halves(hi, lo), stamp


def ask_store(path: Path, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    """Reads a store without changing it."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        return store.execute(sql, parameters).fetchall()


def rate(visits: Sequence[Visit], hosts: Collection[str], since_s: float, until_s: float) -> float:
    """Requests a second that these hosts got."""
    counted = Counter(since_s <= v.begin_s < until_s for v in visits if v.host in hosts)
    return counted[True] / (until_s - since_s)
