"""A round as it is played: a site, machines and a job; strikes by the clock; healing; and the evidence."""

from __future__ import annotations

import contextlib
import heapq
import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.chaos.draws import DrawnRound
from benchmarks.chaos.evidence import Asked, Evidence
from benchmarks.chaos.judge import port_of
from benchmarks.chaos.machines import Machine, Machines, attempt, plain
from benchmarks.chaos.receiver import received
from benchmarks.chaos.strikes import Passed, Striker
from benchmarks.kit.divisible import OUT, SITES, DivisibleNetwork
from benchmarks.kit.measure import ROOT, SPIDERS, Overdue, SiteProcess, items_of, until
from benchmarks.kit.parent import ends_with_us
from benchmarks.masters.trial import copies_of, records_of

LATENCY_S = 0.05
PAGE_BYTES = 4_000
SPARE = 2
"""Machines that may join."""
ENDS_S = 150.0
"""How long the job may take to its end when all is healed, besides the time of the crawl itself."""
QUIET_S = 20.0
REST_S = 60.0
DELIVERED_S = 75.0
"""Sinks that were away are left alone for up to 30 s."""
OVER = ("finished", "incomplete", "cancelled")
Say = Callable[[str], None]


class Hook:
    """The webhook receiver of a round, which can be taken away."""

    def __init__(self, folder: Path, host: str) -> None:
        self.kept = folder / "received.jsonl"
        self.kept.touch()
        with contextlib.closing(socket.create_server((host, 0))) as free:
            self._host, self._port = host, int(free.getsockname()[1])
        self.url = f"http://{host}:{self._port}/items?batch=10"
        self._process: subprocess.Popen[bytes] | None = None
        self.serve(True)

    def serve(self, there: bool) -> None:
        """Starts it, or kills it with -9."""
        if not there:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._process = None
        elif self._process is None:
            command = [sys.executable, "-m", "benchmarks.chaos.receiver", self._host, str(self._port), str(self.kept)]
            self._process = subprocess.Popen(
                command, cwd=ROOT, start_new_session=True, preexec_fn=ends_with_us(), stdout=subprocess.DEVNULL
            )
            until(self._answers, 30.0, "the receiver listens")

    def _answers(self) -> bool:
        try:
            socket.create_connection((self._host, self._port), 1.0).close()
        except OSError:
            return False
        return True


def play(drawn: DrawnRound, folder: Path, say: Say, lacking: Mapping[str, str]) -> tuple[Evidence, list[str]]:
    """Plays a round to its end. Returns the evidence, and what happened, a line each.

    ``lacking`` names what this machine cannot do, and why: a plain folder and loopback take its place.
    """
    with ExitStack() as stack:
        disk = "folder" if drawn.disk in lacking else drawn.disk
        network = None
        if drawn.network == "namespaces" and "namespaces" not in lacking:
            network = stack.enter_context(DivisibleNetwork(drawn.masters + SPARE, drawn.hosts))
        options = ("--pages", drawn.pages, "--hosts", drawn.hosts, "--size", PAGE_BYTES, "--latency", LATENCY_S)
        prefix = ("--prefix", SITES) if network else ()
        site = stack.enter_context(SiteProcess("benchmarks.kit.site", "--visits", *prefix, *options))
        hook = Hook(folder, f"{OUT}.1" if network else "127.0.0.1") if drawn.webhook else None
        if hook is not None:
            stack.callback(hook.serve, False)
        told = ("--copies", drawn.copies, "--partition", drawn.partition)
        machines = stack.enter_context(Machines(folder, drawn.masters, disk, network, told))
        return _Round(drawn, site, machines, network, hook, folder, say).play()


class _Round:
    def __init__(
        self,
        drawn: DrawnRound,
        site: SiteProcess,
        machines: Machines,
        network: DivisibleNetwork | None,
        hook: Hook | None,
        folder: Path,
        say: Say,
    ) -> None:
        self._drawn, self._site, self._machines, self._hook = drawn, site, machines, hook
        self._folder, self._out = folder, say
        self._striker = Striker(
            machines, network, drawn.copies, f"{drawn.seed}/{drawn.number}", hook.serve if hook else None
        )
        self._said: list[str] = []
        self._evidence = Evidence(
            drawn.copies, drawn.delay_s, drawn.partition, drawn.hosts, drawn.loses_more, port=port_of(site.start)
        )

    def play(self) -> tuple[Evidence, list[str]]:
        self._job = self._submit()
        self._began_s = time.monotonic()
        evidence = self._evidence
        try:
            self._be_struck()
            self._heal()
            self._until_over()
            self._collect()
        except (Overdue, RuntimeError, OSError) as error:
            evidence.overdue.append(" ".join(str(error).split())[:600])
        self._close()
        return evidence, self._said

    def _say(self, what: str) -> None:
        line = f"{time.monotonic() - self._began_s:6.1f} s  {what}"
        self._said.append(line)
        self._out(line)

    def _submit(self) -> int:
        site, drawn = self._site, self._drawn
        options = ["-a", f"start_urls={site.start}", "-a", f"allowed_domains={' '.join(site.hosts)}"]
        options += ["-s", f"DOWNLOAD_DELAY={drawn.delay_s}", "-s", f"ALLOW_PRIVATE_NETWORKS={','.join(site.hosts)}"]
        options += ["-o", self._hook.url] if self._hook is not None else []
        return int(plain(self._machines.run("submit", SPIDERS, *options, "--json"))["job"])

    # -- what happens ---------------------------------------------------------------------------

    def _be_struck(self) -> None:
        """Strikes and undoes by the clock; what comes late because the one before took long comes then."""
        due: list[tuple[float, int, Any]] = [(s.at_s, n, s) for n, s in enumerate(self._drawn.strikes)]
        heapq.heapify(due)
        count = len(due)
        while due:
            at_s, _, what = heapq.heappop(due)
            while time.monotonic() - self._began_s < at_s:
                self._machines.look()
                time.sleep(0.1)
            self._tell_ends()
            if isinstance(what, tuple):
                name, undo = what
                self._say(f"undone: {name}")
                undo()
                continue
            try:
                undo = self._striker.strike(what)
            except Passed as why:
                self._say(f"passed over: {what}: {why}")
                continue
            self._evidence.strikes += 1
            self._say(f"{what}; {self._fetched()} pages")
            if undo is not None:
                count += 1
                heapq.heappush(due, (time.monotonic() - self._began_s + what.for_s, count, (str(what), undo)))

    def _tell_ends(self) -> None:
        for machine in self._machines.ended_by_themselves():
            self._say(f"the peer of machine {machine.number} has ended: {machine.may_end or 'by itself'}")

    def _heal(self) -> None:
        self._striker.raise_all()
        self._say(f"all is healed at {self._fetched()} pages")
        self._until_agreed()
        agreed_s = time.monotonic()
        for cut in self._striker.cuts:
            cut.agreed_s = agreed_s
        self._say("all agree")
        if not self._drawn.loses_more:
            self._forget_the_gone()

    def _forget_the_gone(self) -> None:
        for gone in self._machines.gone_ids:
            attempt(lambda gone=gone: self._machines.run("forget", gone), 20)  # type: ignore[misc]

    def _until_agreed(self) -> None:
        """Waits for one view. Whoever's disk was full may end meanwhile, and is brought back."""

        def agreed() -> bool:
            for machine in list(self._machines.ended_by_themselves()):
                self._say(f"the peer of machine {machine.number} has ended: {machine.may_end or 'by itself'}")
                self._striker.raise_all()
            return self._machines.agreed()

        until(agreed, 120.0, f"all {len(self._machines.well())} masters agree after healing", every_s=0.5)
        for machine in self._machines.all:
            machine.may_end = ""

    def _fetched(self) -> int:
        return int(self._site.stats()["distinct"])

    def _until_over(self) -> None:
        """Waits for the end; where more was lost than can be borne, for a time in which nothing happens.

        Then nobody is missed any more, so that buckets have to be named that are not whole.
        """
        evidence, drawn = self._evidence, self._drawn
        self._until_final_or_quiet()
        if drawn.loses_more and self._machines.gone_ids:
            self._forget_the_gone()
            self._until_final_or_quiet()
        self._say(
            f"the job is {evidence.job.get('state')}, {len(evidence.job.get('not_whole') or ())} buckets not whole"
        )

    def _until_final_or_quiet(self) -> None:
        evidence, drawn = self._evidence, self._drawn
        quiet_since, requests = time.monotonic(), -1

        def over() -> bool:
            nonlocal quiet_since, requests
            try:
                evidence.job = self._machines.ask(f"jobs/{self._job}")
            except OSError as error:
                evidence.job = evidence.job or {"state": f"not told: {error}"}
            job = evidence.job
            if (now := self._site.stats()["requests"]) != requests:
                requests, quiet_since = now, time.monotonic()
            final = bool((job.get("certificate") or {}).get("final"))
            if final and job.get("state") == "finished":
                evidence.final_s = time.monotonic()
                return True
            quiet = time.monotonic() - quiet_since > QUIET_S
            return drawn.loses_more and quiet and job.get("state") in (*OVER, "running")

        crawl_s = drawn.pages / drawn.hosts * (drawn.delay_s + LATENCY_S)
        try:
            until(over, ENDS_S + 2 * crawl_s, "the job is finished, and its certificate final", every_s=0.5)
        except Overdue as error:
            raise Overdue(f"{error}; it is {evidence.job.get('state')}") from None

    # -- the evidence ---------------------------------------------------------------------------

    def _collect(self) -> None:
        evidence, drawn = self._evidence, self._drawn
        evidence.urls = list(self._site.ask("/_urls"))
        lines = self._folder / "items.jsonl"
        self._results(lines)
        evidence.items["the file"] = [item["url"] for item in items_of(lines)] if lines.exists() else []
        if drawn.into_sqlite:
            table = self._folder / "items.db"
            self._results(f"sqlite:///{table}?table=pages")
            with contextlib.closing(sqlite3.connect(table)) as database:
                evidence.items["SQLite"] = [url for (url,) in database.execute("SELECT url FROM pages")]
        if self._hook is not None:
            self._hook.serve(True)
            with contextlib.suppress(Overdue):
                wanted = len(set(evidence.items["the file"]))
                until(lambda: len(set(self._brought())) >= wanted, DELIVERED_S, every_s=1.0)
            evidence.items["the webhook"] = self._brought()
        self._look_at_disks()

    def _results(self, where: Path | str) -> None:
        attempt(lambda: self._machines.run("results", self._job, "-o", where))

    def _brought(self) -> list[str]:
        assert self._hook is not None
        return received(self._hook.kept)

    def _look_at_disks(self) -> None:
        """Counts the records on all disks, once the copies are at rest."""

        def at_rest() -> bool:
            with contextlib.suppress(OSError):
                copies = self._machines.ask("status")["copies"]
                return not any(copies[name] for name in ("unsynced", "uncopied", "spooled", "moving"))
            return False

        with contextlib.suppress(Overdue):
            until(at_rest, REST_S, every_s=0.5)
        owned: Counter[bytes] = Counter()
        stamps: dict[bytes, list[int]] = defaultdict(list)
        living: list[Machine] = [machine for machine in self._machines.all if machine.up]
        for machine in living:
            for print_, stamp in records_of(machine.disk.data, self._job):
                owned[print_] += 1
                stamps[print_].append(stamp)
            for print_, stamp in copies_of(machine.disk.data, self._job):
                stamps[print_].append(stamp)
        least = min(self._drawn.copies, len(living))
        evidence = self._evidence
        evidence.records = len(stamps)
        evidence.few = sum(1 for known in stamps.values() if known.count(max(known)) < least)
        evidence.astray = sum(1 for print_ in stamps if owned[print_] != 1)

    def _close(self) -> None:
        """Ends everything, and takes down what only shows then."""
        evidence, machines = self._evidence, self._machines
        self._tell_ends()
        if any(machine.up for machine in machines.all):
            machines.end_all()
        evidence.left_over = machines.left_over()
        visits, clients = self._site.ask("/_visits"), self._site.ask("/_clients")
        evidence.asked = [Asked(*visit, client) for visit, client in zip(visits, clients, strict=False)]
        evidence.urls = evidence.urls or list(self._site.ask("/_urls"))
        evidence.ends = machines.ends
        evidence.cuts, evidence.thawed_s = self._striker.cuts, self._striker.thawed_s
        evidence.lost_disks = self._striker.lost_disks
        for name, text in machines.logs():
            if found := tracebacks(text):
                evidence.logs[name] = found
        (self._folder / "round.json").write_text(json.dumps({"draws": str(self._drawn), "said": self._said}))


def tracebacks(text: str) -> list[str]:
    """Returns the last line of each traceback in a log, where its lines may be indented."""
    found, margin = [], None
    for line in text.splitlines():
        bare = line.lstrip()
        if bare.startswith("Traceback (most recent call last)"):
            margin = len(line) - len(bare)
        elif margin is not None and bare and len(line) - len(bare) <= margin:
            margin = None
            found.append(f"a traceback: {bare[:300]}")
    return found
