"""Measures who is taken for alive, and what that costs: real peers that are killed, left alone, made to stand still, or
hard of hearing.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, Overdue, until
from benchmarks.kit.peers import GONE, PeerProcess, Peers

DETECT_S_MAX = 60.0
DETECT_P99_S = 15.0
LOOK_EVERY_S = 0.2
"""How often the others are asked, and so how fine the times are."""
IDLE_MESSAGES_PER_S, IDLE_BYTES_PER_S, IDLE_CPU_PERCENT = 20.0, 10_000.0, 2.0
STALL_S_MAX = 5.0
BETWEEN_S = 1.0
"""One that has only just gone on and stood still again would be silent for longer than 5 s, as the others see it."""
SETTLE_S = 60.0
"""How long the last verdicts on those that stood still may take."""


def percentile(values: Sequence[float], per_cent: float) -> float:
    """Returns the least of the values that so many per cent are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(per_cent) // 100) - 1)]


# -- kill -9 --------------------------------------------------------------------------------------


def detection(folder: Path, masters: int, kills: int, seed: int) -> Claims:
    """Kills one at a time with -9; each comes back with its data folder before the next is killed."""
    chosen = random.Random(seed)
    claims = Claims(f"detection: kill -9 of one of {masters} masters, {kills} kills, seed {seed}")
    all_s: list[float] = []
    each_s: list[float] = []
    again_s: list[float] = []
    unseen = 0
    with Peers(folder, masters, 0) as peers:
        for _ in range(kills):
            victim = chosen.choice(peers.living)
            os.kill(victim.pid, signal.SIGKILL)
            killed_at = time.monotonic()
            peers.drop(victim)
            seen = _seen_dead(peers, victim, killed_at)
            unseen += len(peers.living) - len(seen)
            each_s += seen
            all_s += [max(seen)] if len(seen) == len(peers.living) else []
            until(lambda v=victim: not v.running, 30, "the killed peer is gone")  # type: ignore[misc]
            began = time.monotonic()
            peers.start(victim.data)
            peers.until_agreed()
            again_s.append(time.monotonic() - began)
    claims.claim("did not notice", unseen, unseen == 0, f"none within {DETECT_S_MAX:.0f} s")
    for who, times in (("all others", all_s), ("each other", each_s)):
        p50, p99 = percentile(times, 50), percentile(times, 99)
        claims.note(f"seconds until {who} knew: p50", f"{p50:.1f}")
        claims.claim(f"seconds until {who} knew: p99", f"{p99:.1f}", p99 <= DETECT_P99_S, f"<= {DETECT_P99_S:g}")
        claims.note(f"seconds until {who} knew: least, most", f"{min(times):.1f}, {max(times):.1f}")
    claims.note(
        "seconds from restart to agreement: median, most", f"{statistics.median(again_s):.1f}, {max(again_s):.1f}"
    )
    return claims


def _seen_dead(peers: Peers, victim: PeerProcess, killed_at: float) -> list[float]:
    """Returns for each of the others that noticed, after how many seconds it did."""
    seen: list[float] = []
    waiting = list(peers.living)

    def all_know() -> bool:
        for peer in list(waiting):
            if peer.state_of(victim.id) in GONE:
                seen.append(time.monotonic() - killed_at)
                waiting.remove(peer)
        return not waiting

    with contextlib.suppress(Overdue):
        until(all_know, DETECT_S_MAX, every_s=LOOK_EVERY_S)
    return seen


# -- nothing to do --------------------------------------------------------------------------------


def idle(folder: Path, masters: int, seconds: float) -> Claims:
    """Measures what a cluster costs that has no job."""
    claims = Claims(f"idle: {masters} masters without slaves and jobs, {seconds:.0f} s")
    with Peers(folder, masters, 0) as peers:
        before = [_costs(peer) for peer in peers.living]
        _watch(seconds)
        after = [_costs(peer) for peer in peers.living]
    rates = [(b - a).per_s() for a, b in zip(before, after, strict=True)]
    limits = {"messages": IDLE_MESSAGES_PER_S, "bytes": IDLE_BYTES_PER_S, "cpu_percent": IDLE_CPU_PERCENT}
    names = {"messages": "datagrams sent/s per peer", "bytes": "bytes sent/s per peer", "cpu_percent": "CPU % per peer"}
    for name, limit in limits.items():
        values = [rate[name] for rate in rates]
        value = f"{statistics.mean(values):.1f}, {max(values):.1f}"
        claims.claim(f"{names[name]}: mean, most", value, max(values) <= limit, f"<= {limit:g}")
    return claims


@dataclass(frozen=True)
class _Costs:
    """The messages, bytes and CPU that a peer has used so far."""

    at_s: float
    messages: int
    bytes: int
    cpu_s: float

    def __sub__(self, other: _Costs) -> _Costs:
        return _Costs(
            self.at_s - other.at_s, self.messages - other.messages, self.bytes - other.bytes, self.cpu_s - other.cpu_s
        )

    def per_s(self) -> dict[str, float]:
        return {
            "messages": self.messages / self.at_s,
            "bytes": self.bytes / self.at_s,
            "cpu_percent": 100 * self.cpu_s / self.at_s,
        }


def _costs(peer: PeerProcess) -> _Costs:
    port: dict[str, Any] = peer.ask("status")["here"]["counters"]["port"]
    return _Costs(time.monotonic(), port["sent"], port["sent_bytes"], peer.cpu_s())


def _watch(seconds: float) -> None:
    until_s = time.monotonic() + seconds
    until(lambda: time.monotonic() >= until_s, seconds + 60, every_s=0.5)


# -- standing still -------------------------------------------------------------------------------


def stalls(folder: Path, masters: int, stalled: int, seconds: float, seed: int) -> Claims:
    """Makes so many stand still at a time, each for up to 5 s, then another; nobody may be taken for dead."""
    chosen = random.Random(seed)
    claims = Claims(f"stalls: {stalled} of {masters} masters at a time, {seconds:.0f} s, seed {seed}")
    with Peers(folder, masters, 0) as peers:
        before = _verdicts(peers)
        stops, total_s = _stall(peers.living, stalled, seconds, chosen)
        claims.note("stalls, their mean length", f"{stops}, {total_s / max(1, stops):.1f} s")
        _claim_verdicts(claims, peers, before)
    return claims


def _stall(peers: Sequence[PeerProcess], at_a_time: int, seconds: float, chosen: random.Random) -> tuple[int, float]:
    """Stops and continues peers in turn. Returns how many stalls there were and how long they were together. All run
    again at the end.
    """
    end_s = time.monotonic() + seconds
    standing: dict[PeerProcess, float] = {}
    stops, total_s = 0, 0.0
    resting: dict[PeerProcess, float] = {}
    try:
        while (now := time.monotonic()) < end_s:
            for peer in [p for p, until_s in standing.items() if until_s <= now]:
                os.kill(peer.pid, signal.SIGCONT)
                del standing[peer]
                resting[peer] = now + BETWEEN_S
            while len(standing) < at_a_time:
                able = [p for p in peers if p not in standing and resting.get(p, 0.0) <= now]
                if not able:
                    break
                peer = chosen.choice(able)
                length_s = chosen.uniform(0.0, STALL_S_MAX)
                os.kill(peer.pid, signal.SIGSTOP)
                standing[peer] = time.monotonic() + length_s
                stops, total_s = stops + 1, total_s + length_s
            time.sleep(0.01)
    finally:
        for peer in standing:
            os.kill(peer.pid, signal.SIGCONT)
    return stops, total_s


# -- hearing badly --------------------------------------------------------------------------------


def loss(folder: Path, masters: int, fraction: float, seconds: float, seed: int) -> Claims:
    """Loses so much of all datagrams, and nobody may be taken for dead; who is killed at the end is found out."""
    claims = Claims(f"loss: {masters} masters, {fraction:.0%} of the datagrams lost, {seconds:.0f} s, seed {seed}")

    def lossy(number: int) -> tuple[object, ...]:
        return ("-m", "benchmarks.kit.lossy_peer", fraction, f"{seed}/{number}")

    with Peers(folder, masters, 0, program=lossy) as peers:
        verdicts, before = _verdicts(peers), _datagrams(peers)
        _watch(seconds)
        sent, received = (b - a for a, b in zip(before, _datagrams(peers), strict=True))
        _claim_verdicts(claims, peers, verdicts)
        victim = peers.living[-1]
        os.kill(victim.pid, signal.SIGKILL)
        killed_at = time.monotonic()
        peers.drop(victim)
        seen = _seen_dead(peers, victim, killed_at)
        until(lambda: not victim.running, 30, "the killed peer is gone")
        unseen = len(peers.living) - len(seen)
    lost = 1 - received / sent
    claims.claim("datagrams sent, of them lost", f"{sent}, {lost:.1%}", abs(lost - fraction) < 0.02, f"{fraction:.0%}")
    claims.claim("did not notice a kill -9 at the end", unseen, not unseen, f"none within {DETECT_S_MAX:.0f} s")
    claims.note("seconds until the others knew: first, last", f"{min(seen):.1f}, {max(seen):.1f}" if seen else "never")
    return claims


def _datagrams(peers: Peers) -> tuple[int, int]:
    """Returns how many all ports have sent and received; what is on its way hardly counts over minutes."""
    ports = [peer.ask("status")["here"]["counters"]["port"] for peer in peers.living]
    return sum(port["sent"] for port in ports), sum(port["received"] for port in ports)


# -- verdicts -------------------------------------------------------------------------------------


def _claim_verdicts(claims: Claims, peers: Peers, before: Counter[str]) -> None:
    """Claims that nobody has died since, and that in the end all agree on that."""
    try:
        until(peers.agreed, SETTLE_S, every_s=1.0)
        agreed = True
    except Overdue:
        agreed = False
    verdicts = _verdicts(peers)
    verdicts.subtract(before)
    states = Counter(m["state"] for peer in peers.living for m in peer.ask("status")["members"])
    claims.note("suspicions (each peer's own count)", verdicts["suspected"])
    claims.claim("false deaths (each peer's own count)", verdicts["died"], verdicts["died"] == 0, "none")
    claims.claim(f"one view within {SETTLE_S:.0f} s after", agreed, agreed)
    claims.claim("states at the end", dict(states), set(states) == {"alive"}, "alive")


def _verdicts(peers: Peers) -> Counter[str]:
    """Counts the verdicts in all logs, so that nobody has to be asked while he stands still and no verdict is
    missed.
    """
    return Counter(word for peer in peers.living for _, word in peer.told())
