"""Measures who steps in for a master that is killed: ``python benchmarks/run.py rehoming``.

Promotion: of three masters with ``--role auto`` peers beyond them one is killed; a peer becomes a master in its place.
Re-homing: a ``--role slave`` peer's processes lose their master in mid-crawl, and hold leases of another. With
``--silent`` that master is stopped (SIGSTOP) instead: no connection ends, as when a machine or a network is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kit.measure import Claims, Overdue, SiteProcess, until
from benchmarks.kit.peers import GONE, PeerProcess, Peers
from benchmarks.masters.cluster import submit
from benchmarks.masters.membership import LOOK_EVERY_S

MASTERS = 3
AUTO_PEERS = 2
PROMOTED_S = 30.0
REHOMED_S = 30.0
WAIT_S_MAX = 90.0
PAGES, HOSTS = 60_000, 200
LATENCY_S, DELAY_S = 3.0, 0.0
"""So that every slave is needed at any moment: a host stays with the slave that has it while that one has room, and it
has none when all hosts may be asked at once and each page takes so long to come."""
WORKING_S = 120.0


# -- promotion ------------------------------------------------------------------------------------


def promotion(folder: Path, kills: int, seed: int) -> Claims:
    """Kills one master at a time with -9; it comes back as an ``auto`` peer, that is as a slave of the three."""
    claims = Claims(f"promotion: {MASTERS} masters, {AUTO_PEERS} auto peers, {kills} kill -9 of masters, seed {seed}")
    chosen = random.Random(seed)
    known: list[float] = []
    again: list[float] = []
    many = overdue = 0
    with Peers(folder, MASTERS, 1, "--masters", MASTERS, "--role", "auto") as peers:
        for _ in range(AUTO_PEERS):
            peers.start()
        claims.claim("auto peers that began as slaves", len(peers.helping), len(peers.helping) == AUTO_PEERS)
        for _ in range(kills):
            victim = chosen.choice(peers.living)
            os.kill(victim.pid, signal.SIGKILL)
            killed_at = time.monotonic()
            peers.drop(victim)
            witness = peers.living[0]
            until(lambda v=victim, w=witness: w.state_of(v.id) in GONE, WAIT_S_MAX, every_s=LOOK_EVERY_S)  # type: ignore[misc]
            known.append(time.monotonic() - killed_at)
            try:
                until(lambda: _promoted(peers), WAIT_S_MAX, every_s=LOOK_EVERY_S)
            except Overdue:
                overdue += 1
                break
            again.append(time.monotonic() - killed_at)
            peers.until_agreed()
            many += len(peers.living) > MASTERS
            until(lambda v=victim: not v.running, 30, "the killed peer is gone")  # type: ignore[misc]
            peers.start(victim.data)
        with contextlib.suppress(Overdue):
            until(lambda: all(map(_told, peers.helping)), REHOMED_S, every_s=LOOK_EVERY_S)
        astray = [peer.folder.name for peer in peers.helping if not _told(peer)]
    claims.note("kills", len(known))
    claims.claim(f"nobody was promoted in {WAIT_S_MAX:.0f} s", overdue, not overdue, "never")
    claims.claim("auto peers without a master at the end", " ".join(astray) or 0, not astray, "none")
    claims.note("seconds until another master knew: median, most", _figures(known))
    most = max(again, default=WAIT_S_MAX)
    value = _figures(again)
    claims.claim(f"seconds until {MASTERS} masters: median, most", value, most <= PROMOTED_S, f"<= {PROMOTED_S:g}")
    claims.claim("more promoted than needed", many, not many, "never")
    return claims


def _promoted(peers: Peers) -> bool:
    """Tells whether there are enough masters again, as the first of them sees it; whoever has become one is noted."""
    for peer in list(peers.helping):
        told = _told(peer)
        if told.get("role") == "master":
            # It has a port of its own now; till then its address was that of its master.
            peer.address = told["address"]
            peers.helping.remove(peer)
            peers.living.append(peer)
    alive = [m for m in peers.living[0].ask("status")["members"] if m["state"] == "alive"]
    return len(alive) >= MASTERS and len(peers.living) >= MASTERS


def _told(peer: PeerProcess) -> dict[str, str]:
    """Asks a peer about itself. A slave's answer comes through its master: there is none while that one is gone."""
    try:
        return dict(peer.ask("status", 10.0)["peer"])
    except OSError:
        return {}


# -- re-homing ------------------------------------------------------------------------------------


def rehoming(folder: Path, kills: int, slaves: int, silent: bool) -> Claims:
    """Kills the master that leads a remote peer's slaves in mid-crawl, and brings it back with its data folder."""
    how = "SIGSTOP" if silent else "kill -9"
    claims = Claims(f"re-homing: {how} of the master of {slaves} remote slaves, {kills} times, {MASTERS} masters")
    attached: list[float] = []
    working: list[float] = []
    idle = overdue = 0
    with (
        SiteProcess(
            "benchmarks.kit.site", "--pages", PAGES, "--hosts", HOSTS, "--size", 4000, "--latency", LATENCY_S
        ) as site,
        Peers(folder, MASTERS, 0) as peers,
    ):
        helper = peers.start(None, "--role", "slave", "--slaves", slaves)
        submit(peers, site, {"DOWNLOAD_DELAY": DELAY_S})
        for _ in range(kills):
            try:
                _until_led(peers.living, helper, slaves, 1, WORKING_S)
            except Overdue:
                idle += 1
                break
            victim = max(peers.living, key=lambda master: len(_led([master], helper)))
            others = [peer for peer in peers.living if peer is not victim]
            os.kill(victim.pid, signal.SIGSTOP if silent else signal.SIGKILL)
            killed_at = time.monotonic()
            peers.drop(victim)
            try:
                for figures, leases in ((attached, 0), (working, 1)):
                    _until_led(others, helper, slaves, leases, WAIT_S_MAX)
                    figures.append(time.monotonic() - killed_at)
            except Overdue:
                overdue += 1
            finally:
                victim.kill()
            peers.start(victim.data)
            peers.until_agreed()
        pages = site.stats()["distinct"]
    claims.note("times that it was done", len(working) + overdue)
    claims.claim(f"no leases for all in {WORKING_S:.0f} s beforehand", idle, not idle, "never")
    claims.claim(f"not working again in {WAIT_S_MAX:.0f} s", overdue, not overdue, "never")
    claims.note("seconds until another master led them: median, most", _figures(attached))
    most = max(working, default=WAIT_S_MAX)
    value = _figures(working)
    claims.claim("seconds until all held its leases: median, most", value, most <= REHOMED_S, f"<= {REHOMED_S:g}")
    claims.claim("pages fetched meanwhile", pages, 0 < pages < PAGES, f"some, less than all {PAGES}")
    return claims


def _until_led(masters: Sequence[PeerProcess], helper: PeerProcess, slaves: int, leases: int, timeout_s: float) -> None:
    """Waits until so many of a peer's slave processes, as it has them now, were seen with these masters, holding so
    many leases at least, each at its time. Raises Overdue.
    """
    seen: set[int] = set()

    def all_seen() -> bool:
        seen.update(_led(masters, helper, leases))
        return len(seen.intersection(helper.slaves())) >= slaves

    until(all_seen, timeout_s, f"{slaves} slaves have {leases} leases or more", every_s=0.1)


def _led(masters: Sequence[PeerProcess], helper: PeerProcess, leases: int = 0) -> set[int]:
    """Returns those of a peer's slave processes that are with these masters, holding so many leases at least."""
    sessions = [s for master in masters for s in master.ask("status", 10.0)["here"]["slaves"]]
    return {s["pid"] for s in sessions if s["leases"] >= leases}.intersection(helper.slaves())


def _figures(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f}, {max(seconds):.1f}" if seconds else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=["promotion", "rehoming"], nargs="*", default=["promotion", "rehoming"])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--slaves", type=int, default=2, help="of the remote peer")
    parser.add_argument("--silent", action="store_true", help="re-homing: stop the master in place of killing it")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    code = 0
    for what in o.what:
        with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as name:
            folder = Path(name)
            if what == "promotion":
                claims = promotion(folder, o.kills, o.seed)
            else:
                claims = rehoming(folder, o.kills, o.slaves, o.silent)
        code |= claims.print()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
