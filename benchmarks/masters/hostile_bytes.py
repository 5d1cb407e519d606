"""A peer under hostile bytes: ``python benchmarks/run.py hostile_bytes``.

Two masters crawl a site; a stranger in a process of its own overhears one of them and attacks the port and the API of
the other (benchmarks.kit.attacker). The one that is attacked must go on: answer its API all the while, crawl, know its
members, and end the crawl as if nothing had been.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, SiteProcess, Watched, peak_rss_bytes
from benchmarks.kit.peers import PeerProcess, Peers, p2pcrawl
from benchmarks.masters.cluster import claim_conserved, submit
from benchmarks.masters.membership import percentile

HOSTS = 40
DELAY_S = 1.0
AFTER_S = 20.0
"""How much longer the crawl takes than the attack, about."""
ASK_EVERY_S = 0.25
ANSWER_S = 2.0
IDLE_S_MAX = 5.0
RSS_MIB_MAX = 50
REASONS = ("short", "long", "version", "unknown-key", "replayed", "forged")
"""For which a datagram is dropped, and for each of which the attacker gives cause."""


def hostile_bytes(folder: Path, seconds: float, seed: int) -> Claims:
    claims = Claims(f"hostile bytes: {seconds:.0f} s at a master's port and API, in mid-crawl, seed {seed}")
    pages = int(HOSTS * (seconds + AFTER_S) / DELAY_S)
    overheard = folder / "overheard"

    def program(number: int) -> Sequence[object]:
        return p2pcrawl(number) if number == 1 else ("-m", "benchmarks.kit.recorded_peer", overheard)

    with (
        SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", HOSTS, "--size", 4000) as site,
        Peers(folder, 2, 1, program=program) as peers,
    ):
        victim = peers.living[0]
        number = submit(peers, site, {"DOWNLOAD_DELAY": DELAY_S})
        before, rss_bytes = _counters(victim), peak_rss_bytes([victim.pid])
        command = (
            "-m",
            "benchmarks.kit.attacker",
            victim.address,
            victim.api,
            overheard,
            "--seconds",
            seconds,
            "--seed",
            seed,
        )
        with Watched([sys.executable, *map(str, command)], folder / "attacker") as attacker:
            answers_s, refused, idle_s, fetched = _watch(attacker, victim, site)
            sent = Counter[str](json.loads(attacker.wait(10).out))
        after = _counters(victim)
        grown_mib = (peak_rss_bytes([victim.pid]) - rss_bytes) >> 20
        end = peers.until_over(number, 10 * AFTER_S + seconds)
        stats = site.stats()
        agreed = peers.agreed()
        said = victim.said()
    _note_attack(claims, sent, before, after)
    claims.note(
        "seconds until the API answered: median, p99",
        f"{percentile(answers_s, 50):.3f}, {percentile(answers_s, 99):.3f}",
    )
    claims.claim(
        "API calls, of them not answered",
        f"{len(answers_s) + refused}, {refused}",
        not refused,
        f"all in {ANSWER_S:g} s",
    )
    claims.claim("pages fetched under attack", fetched, 0 < fetched < pages, f"some, less than all {pages}")
    claims.claim("most seconds without a page", f"{idle_s:.1f}", idle_s <= IDLE_S_MAX, f"<= {IDLE_S_MAX:g}")
    claims.claim("memory grown (MiB)", grown_mib, grown_mib <= RSS_MIB_MAX, f"<= {RSS_MIB_MAX}")
    deaths = sum(word == "died" for _, word in victim.told())
    claims.claim("members taken for dead", deaths, not deaths, "none")
    claims.claim("one view of the two masters", agreed, agreed)
    claims.claim("tracebacks in its log", said.count("Traceback"), "Traceback" not in said, "none")
    claims.claim("state", end["state"], end["state"] == "finished", "finished")
    claim_conserved(claims, end)
    claims.claim("pages fetched", stats["distinct"], stats["distinct"] == pages, "all")
    claims.claim("fetched twice", stats["duplicates"], not stats["duplicates"], "none")
    return claims


def _watch(attacker: Watched, victim: PeerProcess, site: SiteProcess) -> tuple[list[float], int, float, int]:
    """Measures while the attack lasts how fast the API answered, how often it did not, how long no page came, how many
    did.
    """
    answers_s: list[float] = []
    refused = 0
    first = last = site.stats()["distinct"]
    since_s, idle_s = time.monotonic(), 0.0
    while attacker.running:
        asked_s = time.monotonic()
        try:
            victim.ask("status", ANSWER_S)
            answers_s.append(time.monotonic() - asked_s)
        except OSError:
            refused += 1
        if (now := site.stats()["distinct"]) > last:
            last, since_s = now, time.monotonic()
        idle_s = max(idle_s, time.monotonic() - since_s)
        time.sleep(ASK_EVERY_S)
    return answers_s, refused, idle_s, last - first


def _counters(peer: PeerProcess) -> dict[str, Counter[str]]:
    told: dict[str, Any] = peer.ask("status")["here"]["counters"]
    return {part: Counter(numbers) for part, numbers in told.items()}


def _note_attack(
    claims: Claims, sent: Counter[str], before: dict[str, Counter[str]], after: dict[str, Counter[str]]
) -> None:
    """Reports what was sent, and what became of the datagrams."""
    for kind, number in sorted(sent.items()):
        claims.note(f"sent: {kind}", number)
    dropped = after["datagrams"] - before["datagrams"]
    claims.note("datagrams received, opened", f"{(after['port'] - before['port'])['received']}, {dropped['opened']}")
    for reason in REASONS:
        claims.claim(f"dropped: {reason}", dropped[reason], dropped[reason] > 0, "some")
    for part in ("gossip", "directory"):
        malformed = after[part]["malformed"]
        claims.claim(f"{part}: opened, but malformed", malformed, not malformed, "none")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as name:
        return hostile_bytes(Path(name), o.seconds, o.seed).print()


if __name__ == "__main__":
    raise SystemExit(main())
