"""Masters that are divided in mid-crawl, and healed: ``python -m benchmarks.split --partition available``.

Each master is in a network namespace of its own (benchmarks/kit/divisible.py; needs root). The smaller part is cut
off from
the larger one; both still reach the sites. Who asked is told by the address that the site saw.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from benchmarks.kit.divisible import SITES, DivisibleNetwork, why_not
from benchmarks.kit.measure import Claims, SiteProcess, until
from benchmarks.kit.peers import PeerProcess, Peers, user_files
from benchmarks.masters.cluster import submit
from benchmarks.masters.trial import LATENCY_S, PAGE_BYTES, Plan, Trial, Visit

TAKEN_OVER_S = 15.0
"""So long after the cut the larger part has buckets of the other one, and each part asks for what both do."""
NOTICED = "most of the masters are out of reach"
"""In the log of a master that grants nothing any more."""
NOTICED_S_MAX = 6.0
"""Consent lasts for four seconds; a busy machine and a look at the log take some more."""
VOTERS_S = 120.0
"""Voters are let in one by one, six seconds apart."""
ONE_VIEW_S = 60.0
HOSTS_MAX = 250


class DividedPeers(Peers):
    """Each in its machine, in the order in which they are started."""

    def __init__(self, folder: Path, network: DivisibleNetwork, *arguments: object) -> None:
        super().__init__(folder, network.machines, 1, *arguments, program=self._namespaced)
        self._network = network

    def start(self, data: Path | None = None, *arguments: object) -> PeerProcess:
        own = self._begun
        listen = ("--bind", f"{self._network.among(own)}:7200", "--api", f"{self._network.out(own)}:7300")
        return super().start(data, *listen, *arguments)

    def _namespaced(self, number: int) -> Sequence[object]:
        return ("-m", "benchmarks.kit.namespaced_peer", self._network.name(number - 1))


class DividedTrial(Trial):
    """``smaller`` are the numbers of the masters that are cut off: the last ones, fewer than half."""

    def __init__(self, folder: Path, what: str, plan: Plan, partition: str) -> None:
        super().__init__(folder, what, plan)
        self.smaller = range(plan.masters - (plan.masters - 1) // 2, plan.masters)
        self._partition = partition
        self.cut_s = self.healed_s = self.agreed_s = 0.0
        self.noticed_s: dict[int, float] = {}
        """When each master of the smaller part said that it grants nothing any more."""
        self.leased = 0
        """Pages that were in slaves' hands at the cut."""

    def __enter__(self) -> Self:
        plan = self.plan
        key = self.folder / "cluster.key"
        keygen = [sys.executable, "-m", "p2pcrawl", "keygen", "-o", str(key)]
        subprocess.run(keygen, env=user_files(self.folder), check=True, capture_output=True)
        with ExitStack() as stack:
            self.network = stack.enter_context(DivisibleNetwork(plan.masters, plan.hosts))
            asked = ("--pages", plan.pages, "--hosts", plan.hosts, "--size", PAGE_BYTES, "--latency", LATENCY_S)
            self.site = stack.enter_context(SiteProcess("benchmarks.kit.site", "--visits", "--prefix", SITES, *asked))
            told = ("--copies", plan.copies, "--partition", self._partition, "--key-file", key, "--loglevel", "DEBUG")
            self.peers = stack.enter_context(DividedPeers(self.folder, self.network, *told))
            settings = {"DOWNLOAD_DELAY": plan.delay_s, "ALLOW_PRIVATE_NETWORKS": ",".join(self.site.hosts)}
            self.job = submit(self.peers, self.site, settings)
            self._stack = stack.pop_all()
        self.say(f"job {self.job} is submitted")
        return self

    def until_all_vote(self) -> None:
        """Raises Overdue."""
        first = self.peers.living[0]
        until(lambda: len(first.ask("status")["majority"]["voters"]) == self.plan.masters, VOTERS_S, "all have a vote")
        self.say(f"all have a vote at {self.fetched} pages")

    def divide(self, seconds: float) -> None:
        """Cuts the smaller part off, heals after so long, and waits until all agree. Raises Overdue."""
        self.leased = int(self.peers.job(self.job)["leased"])
        self.cut_s = time.monotonic()
        self.network.cut(self.smaller)
        self.say(f"the last {len(self.smaller)} are cut off at {self.fetched} pages")
        until(lambda: self._look() - self.cut_s >= seconds, seconds + 5, every_s=0.1)
        self.network.heal()
        self.healed_s = time.monotonic()
        self.say(f"healed at {self.fetched} pages")
        self.peers.until_agreed()
        self.agreed_s = time.monotonic()
        self.say(f"all agree at {self.fetched} pages")

    def _look(self) -> float:
        """Notes who has noticed the cut by now, and returns when now is."""
        for number in self.smaller:
            if number not in self.noticed_s and NOTICED in self.peers.living[number].said():
                self.noticed_s[number] = time.monotonic()
        return time.monotonic()

    def asked_after_noticing(self, visits: Sequence[Visit]) -> int:
        """Requests of the smaller part's masters while cut, each counted from when it had noticed."""
        noticed_s = {self.network.out(number): at_s for number, at_s in self.noticed_s.items()}
        told = zip(visits, self.site.ask("/_clients"), strict=False)
        return sum(1 for v, client in told if client in noticed_s and noticed_s[client] < v.begin_s < self.healed_s)

    def sides(self, visits: Sequence[Visit]) -> tuple[list[Visit], list[Visit]]:
        """Parts the visits into those of the larger part and those of the smaller one."""
        cut_off = {self.network.out(number) for number in self.smaller}
        larger: list[Visit] = []
        smaller: list[Visit] = []
        for visit, client in zip(visits, self.site.ask("/_clients"), strict=False):
            (smaller if client in cut_off else larger).append(visit)
        return larger, smaller

    def while_cut(self, visits: Sequence[Visit], after_s: float = 0.0) -> list[Visit]:
        return [v for v in visits if self.cut_s + after_s <= v.begin_s < self.healed_s]

    def _too_early(self, visits: Sequence[Visit]) -> Iterator[tuple[float, str, float]]:
        """Yields what came too early of all together before the cut; since all agree again, whoever asked before; of
        each part by itself also meanwhile. With ``majority`` there is no excuse for the time between.
        """
        if self._partition == "majority":
            yield from super()._too_early(visits)
            return
        yield from super()._too_early([v for v in visits if v.begin_s < self.cut_s])
        # A host that both parts asked till now is left alone from the last answer that either had.
        before: dict[str, list[Visit]] = defaultdict(list)
        for visit in visits:
            if visit.begin_s < self.agreed_s:
                before[visit.host].append(visit)
        last = [max(seen, key=lambda visit: visit.end_s or visit.begin_s) for seen in before.values()]
        yield from super()._too_early([*last, *(v for v in visits if v.begin_s >= self.agreed_s)])
        for side in self.sides(visits):
            yield from super()._too_early([v for v in side if self.cut_s <= v.begin_s < self.agreed_s])


def split(folder: Path, plan: Plan, seconds: float, partition: str) -> Claims:
    with DividedTrial(folder, f"split for {seconds:g} s, --partition {partition}", plan, partition) as trial:
        trial.until_fetched(plan.pages // 10)
        if partition == "majority":
            trial.until_all_vote()
        trial.divide(seconds)
        claims = trial.claims
        view_s = trial.agreed_s - trial.healed_s
        claims.claim("seconds from healing to one view, all served", f"{view_s:.1f}", view_s <= ONE_VIEW_S, "<= 60")
        left = plan.pages - trial.fetched
        claims.claim("pages not fetched when healed", left, left > 0, "some")
        smaller = trial.sides([Visit(*each) for each in trial.site.ask("/_visits")])[1]
        asked = sum(1 for visit in smaller if visit.begin_s < trial.agreed_s)
        visits = trial.conclude(refetched_max=asked + trial.leased)
        _tell_sides(trial, visits, partition)
    return claims


def _tell_sides(trial: DividedTrial, visits: Sequence[Visit], partition: str) -> None:
    claims = trial.claims
    larger, smaller = trial.sides(visits)
    late = [len(trial.while_cut(side, TAKEN_OVER_S)) for side in (larger, smaller)]
    name = f"requests while cut, after {TAKEN_OVER_S:g} s, of the"
    claims.claim(f"{name} larger part", late[0], late[0] > 0, "some")
    if partition == "majority":
        noticed = [at_s - trial.cut_s for at_s in trial.noticed_s.values()]
        value = ", ".join(f"{after_s:.1f}" for after_s in noticed)
        holds = len(noticed) == len(trial.smaller) and max(noticed) <= NOTICED_S_MAX
        claims.claim("seconds until each of the smaller part noticed", value, holds, f"<= {NOTICED_S_MAX:g}, all")
        after = trial.asked_after_noticing(visits)
        claims.claim("requests of the smaller part after it noticed", after, after == 0, "none")
        if cut_off := trial.while_cut(smaller):
            last_s = max(visit.begin_s for visit in cut_off) - trial.cut_s
            claims.note("its last request, seconds after the cut", f"{last_s:.1f}")
    else:
        claims.claim(f"{name} smaller part", late[1], late[1] > 0, "some")
    both = {v[:2] for v in trial.while_cut(larger)} & {v[:2] for v in trial.while_cut(smaller)}
    claims.note("URLs asked for by both parts while cut", len(both))
    claims.note("requests of the smaller part while cut, all", len(trial.while_cut(smaller)))
    claims.note("pages in slaves' hands at the cut", trial.leased)
    for what, count in _again(trial, larger, smaller).items():
        claims.note(f"asked for again {what}", count)


def _again(trial: DividedTrial, larger: Sequence[Visit], smaller: Sequence[Visit]) -> dict[str, int]:
    """Counts by their time the requests that were not the first for their page, robots.txt apart."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    found: Counter[str] = Counter()
    parted = [(visit, "larger") for visit in larger] + [(visit, "smaller") for visit in smaller]
    for visit, part in sorted(parted, key=lambda each: each[0].begin_s):
        if visit.target == "/robots.txt":
            continue
        seen[visit[:2]] += 1
        if seen[visit[:2]] == 1:
            continue
        if visit.begin_s < trial.cut_s:
            found["before the cut"] += 1
        elif visit.begin_s < trial.healed_s:
            found[f"while cut, by the {part} part"] += 1
        elif visit.begin_s < trial.agreed_s:
            found["until all agreed"] += 1
        else:
            found["later"] += 1
    return dict(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partition", choices=["available", "majority"], default="available")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the parts are cut off")
    parser.add_argument("--masters", type=int, default=5)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--pages", type=int, default=4_500)
    parser.add_argument("--hosts", type=int, default=60, help=f"at most {HOSTS_MAX}")
    parser.add_argument("--delay", type=float, default=2.0, help="seconds between two requests of one host")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--keep", type=Path, help="a new folder that keeps the logs and data of all peers")
    o = parser.parse_args()
    if reason := why_not():
        print(f"split: {reason}; NOT RUN", file=sys.stderr)
        return 1
    if not 1 <= o.hosts <= HOSTS_MAX:
        parser.error(f"--hosts {o.hosts}: 1 to {HOSTS_MAX}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = Plan(
        pages=o.pages,
        hosts=o.hosts,
        delay_s=o.delay,
        masters=o.masters,
        copies=o.copies,
        seed=o.seed,
    )
    with ExitStack() as stack:
        folder = o.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="p2pcrawl-")))
        folder.mkdir(parents=True, exist_ok=True)
        return split(folder, plan, o.seconds, o.partition).print()


if __name__ == "__main__":
    raise SystemExit(main())
