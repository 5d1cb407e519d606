"""Peers as a cluster, as real processes on loopback: ``python -m benchmarks.masters.cluster cluster --masters 5``.

The first word says what is measured: cluster, one_site, joins (crawls; here), detection, idle, stalls, loss (who is
taken for alive; benchmarks/masters/membership.py).
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.kit.measure import SPIDERS, Claims, Overdue, SiteProcess, ask_frontier, claim_items, items_of, until
from benchmarks.kit.peers import PeerProcess, Peers
from benchmarks.masters.membership import detection, idle, loss, stalls

OWNED_FRACTION = 0.95
"""How much of what a master fetched is to be of hosts that it owns at the end: some may have been handed over."""
CONCURRENCY = 64


@dataclass(frozen=True)
class Crawled:
    """One job that has ended."""

    job: int
    end: dict[str, Any]
    cpu_s: float


def crawl(
    peers: Peers, site: SiteProcess, settings: Mapping[str, object] | None = None, timeout_s: float = 600.0
) -> Crawled:
    """Crawls all of a site, to its end."""
    before_s = peers.cpu_s()
    number = submit(peers, site, settings)
    end = peers.until_over(number, timeout_s)
    return Crawled(number, end, peers.cpu_s() - before_s)


def submit(
    peers: Peers, site: SiteProcess, settings: Mapping[str, object] | None = None, outputs: Sequence[str] = ()
) -> int:
    """Submits a crawl of all of a site, and returns the job's number."""
    arguments = {"start_urls": site.start, "allowed_domains": " ".join(site.hosts)}
    return peers.submit(SPIDERS, arguments, settings, outputs)


# -- one job over many masters --------------------------------------------------------------------


def cluster(
    folder: Path, pages: int, hosts: int, masters: int, slaves: int, *, size: int = 20_000, beside_one: bool = True
) -> Claims:
    """Crawls every page once, each by the owner of its host; and the same site by one master alone, to compare."""
    claims = Claims(f"cluster: {pages} pages, {hosts} hosts, {masters} masters with {slaves} slaves each")
    settings = {"CONCURRENT_REQUESTS": CONCURRENCY, "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY}
    with SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", hosts, "--size", size) as site:
        with Peers(folder / "many", masters, slaves) as peers:
            done = crawl(peers, site, settings)
            stats, hits = site.stats(), site.hits()
            claims.claim("state", done.end["state"], done.end["state"] == "finished", "finished")
            claims.claim("pages fetched", stats["distinct"], stats["distinct"] == pages, "all")
            claims.claim("fetched twice", stats["duplicates"], stats["duplicates"] == 0, "none")
            claims.claim("robots.txt", stats["robots"], stats["robots"] == hosts, "one per host")
            claim_conserved(claims, done.end)
            claim_owners(claims, peers, done, hits)
            claim_same_owner(claims, peers, random.Random(7).sample(sorted(hits), min(20, pages)))
            peers.results(done.job, folder / "items.jsonl")
            claim_items(claims, folder / "items.jsonl", list(hits))
            note_speed(claims, f"{masters} masters", stats, done, pages)
        if beside_one:
            site.ask("/_reset")
            with Peers(folder / "one", 1, slaves) as peers:
                done = crawl(peers, site, settings)
                claims.claim("pages fetched by 1 master", done.end["pages"], site.stats()["distinct"] == pages, "all")
                note_speed(claims, "1 master", site.stats(), done, pages)
    return claims


def claim_owners(claims: Claims, peers: Peers, done: Crawled, hits: Mapping[str, int]) -> None:
    """Claims that each master's own records are those of the hosts that are its by ``owner``, and so are its sums."""
    owners = {host: peers.living[0].owner_of(f"http://{host}/")["owner"] for host in {host_of(u) for u in hits}}
    expected = Counter(owners[host_of(url)] for url in hits)
    handed_over = sum(peer.ask("status")["here"]["handed_over"] for peer in peers.living)
    claims.note("buckets handed over", handed_over)
    for number, peer in enumerate(peers.living, 1):
        fetched = pages_of(peer, done.job)
        own = sum(n for host, n in fetched.items() if owners.get(host) == peer.id)
        total = fetched.total()
        value = f"{own} of {total}, its hosts have {expected[peer.id]}"
        holds = own >= OWNED_FRACTION * total and own >= OWNED_FRACTION * expected[peer.id]
        claims.claim(f"pages of master {number} that it owns", value, holds, f">= {OWNED_FRACTION:.0%}")
        told = done.end["masters"].get(peer.id)
        claims.claim(f"pages of master {number} as the job tells", told, told == total, str(total))


def claim_same_owner(claims: Claims, peers: Peers, urls: list[str]) -> None:
    differing = [url for url in urls if len({str(sorted(p.owner_of(url).items())) for p in peers.living}) != 1]
    value = f"{len(urls) - len(differing)} of {len(urls)} URLs"
    claims.claim(
        "same owner from all masters", value, not differing, f"all{'' if not differing else f', not {differing[0]}'}"
    )


def claim_conserved(claims: Claims, end: Mapping[str, Any]) -> None:
    claims.claim("conserved", end["conserved"], end["conserved"] is True)
    claims.claim("masters that did not tell", len(end["missing"]), not end["missing"], "none")
    names = ("done", "failed", "dropped", "queued", "leased")
    value = f"{end['discovered']} = " + " + ".join(f"{end[name]} {name}" for name in names)
    claims.claim("discovered", value, end["discovered"] == end["done"], "all done")


def note_speed(claims: Claims, who: str, stats: Mapping[str, Any], done: Crawled, pages: int) -> None:
    claims.note(f"pages/s, {who}", f"{pages / stats['span']:.0f}")
    claims.note(f"CPU ms/page, {who}", f"{1000 * done.cpu_s / pages:.2f}")


def pages_of(peer: PeerProcess, job: int) -> Counter[str]:
    """Counts the pages that a master fetched itself, by host, as its own data folder says."""
    rows = ask_frontier(peer.data, "SELECT url FROM record WHERE job = ? AND size > 0 AND status = 200", job)
    return Counter(host_of(url) for (url,) in rows)


def host_of(url: str) -> str:
    return urlsplit(url).netloc


# -- one host for all masters ---------------------------------------------------------------------


def one_site(folder: Path, pages: int, masters: int, slaves: int, delay_s: float = 0.1) -> Claims:
    """Crawls a host with a delay, its URLs spread over all masters."""
    claims = Claims(f"one_site: {pages} pages of one host, {delay_s} s apart, {masters} masters, SHARD_KEY=url")
    with (
        SiteProcess("tests.sites.polite", "--hosts", "1", "--pages", str(pages)) as site,
        Peers(folder, masters, slaves) as peers,
    ):
        settings = {"SHARD_KEY": "url", "DOWNLOAD_DELAY": delay_s}
        done = crawl(peers, site, settings, 60 + 10 * pages * (delay_s + 0.02))
        stats, violations = site.stats(), site.ask(f"/_violations?delay={delay_s}")
        visits = next(iter(site.ask("/_visits").values()))
        peers.results(done.job, folder / "items.jsonl")
        everything = [f"{site.start}{path}" for path in ("", *map("p{}".format, range(1, pages)))]
        claims.claim("state", done.end["state"], done.end["state"] == "finished", "finished")
        claims.claim("pages fetched", stats["pages"], stats["pages"] == pages, "all")
        claims.claim("fetched twice", stats["repeated"], stats["repeated"] == 0, "none")
        claim_conserved(claims, done.end)
        shares = sorted(done.end["masters"].values())
        claims.claim("pages by master", shares, len(shares) == masters and shares[0] > 0, "all fetch")
        claims.claim("violations of the delay", len(violations), not violations, f"none{_example(violations)}")
        span_s = visits[-1]["start_s"] - visits[0]["start_s"]
        rate, limit = (len(visits) - 1) / span_s, 1 / delay_s
        claims.claim("requests/s", f"{rate:.2f}", rate <= limit, f"<= {limit:g}")
        claim_items(claims, folder / "items.jsonl", everything)
    return claims


def _example(violations: list[dict[str, Any]]) -> str:
    if not violations:
        return ""
    return "; such as {reason}: {before} {target} {gap_s:.4f} s".format_map(min(violations, key=lambda v: v["gap_s"]))


# -- masters that come and go ---------------------------------------------------------------------


def joins(
    folder: Path, pages: int, hosts: int, masters: int, slaves: int, *, size: int = 20_000, delay_s: float = 0.5
) -> Claims:
    """Lets a master join when a quarter is fetched, and the last of the first ones leave when half is.

    The delay gives them the time to do so: without it the crawl is over before a peer has started.
    """
    claims = Claims(f"joins: {pages} pages, {hosts} hosts, {masters} masters, one joins and one leaves in mid-crawl")
    items = folder / "items.jsonl"
    with (
        SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", hosts, "--size", size) as site,
        Peers(folder, masters, slaves) as peers,
    ):
        leaver = peers.living[-1]
        number = submit(peers, site, {"DOWNLOAD_DELAY": delay_s})
        _when_fetched(site, pages // 4)
        joiner = peers.start()
        joined_at = site.stats()["distinct"]
        _when_fetched(site, pages // 2)
        left_at = site.stats()["distinct"]
        code = leaver.leave()
        peers.drop(leaver)
        claims.note("pages fetched when it was ready, and when one left", f"{joined_at}, {left_at}")
        claims.claim("those were in mid-crawl", left_at < pages, left_at < pages)
        claims.claim("exit code of the one that left", code, code == 0, "0")
        with _told_of(claims, "the job"):
            end = peers.until_over(number, 60 + 4 * delay_s * pages / hosts)
            claims.claim("state", end["state"], end["state"] == "finished", "finished")
            claim_conserved(claims, end)
        stats = site.stats()
        claims.claim("pages fetched", stats["distinct"], stats["distinct"] == pages, "all")
        claims.note("fetched again", stats["duplicates"])
        kept = {peer.id: _kept_items(peer, number) for peer in [*peers.living, leaver]}
        fetched = [_fetches(peer, number) for peer in (joiner, leaver)]
        claims.claim("fetched by the one that joined", fetched[0], fetched[0] > 0, "some")
        claims.note("fetched by the one that left", fetched[1])
        claims.note("items that the one that left took with it", len(kept[leaver.id]))
        everything = set(site.ask("/_urls"))
        nowhere = everything - set().union(*kept.values())
        claims.claim("pages without an item in any data folder", len(nowhere), not nowhere, "none")
        peers.results(number, items)
        without = everything - {item["url"] for item in items_of(items)}
        claims.claim("pages missing from the results while it is away", len(without), not without, "none")
        peers.start(leaver.data)
        peers.until_agreed()
        peers.results(number, items)
        told = Counter(item["url"] for item in items_of(items))
        missing, twice = everything - set(told), sum(n - 1 for n in told.values())
        claims.claim("pages missing from the results when it is back", len(missing), not missing, "none")
        claims.claim("items twice in the results", twice, twice == 0, "none")
        since = site.stats()["duplicates"] - stats["duplicates"]
        claims.claim("fetched again when it came back", since, since == 0, "none")
    return claims


def _fetches(peer: PeerProcess, job: int) -> int:
    """Returns how many pages a master asked for itself, whoever has their records now."""
    return sum(n for (n,) in ask_frontier(peer.data, "SELECT count FROM tally WHERE job = ? AND name = 'fetches'", job))


def _kept_items(peer: PeerProcess, job: int) -> set[str]:
    """Returns the URLs of the items that are in a master's own data folder."""
    rows = ask_frontier(peer.data, "SELECT data FROM item WHERE job = ?", job)
    return {json.loads(line)["url"] for (data,) in rows for line in bytes(data).split(b"\n")}


@contextmanager
def _told_of(claims: Claims, what: str) -> Iterator[None]:
    """Makes what does not come about in time a claim that does not hold; the rest is still measured."""
    try:
        yield
    except Overdue as error:
        claims.claim(what, str(error)[:600], False, "over")


def _when_fetched(site: SiteProcess, pages: int) -> None:
    until(lambda: site.stats()["distinct"] >= pages, 300, f"{pages} pages are fetched", every_s=0.05)


# -- by name --------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cluster", "one_site", "joins", "detection", "idle", "stalls", "loss"])
    parser.add_argument("--masters", type=int, help="how many; as the claim has it by default")
    parser.add_argument("--slaves", type=int, default=2, help="of each, when there is something to crawl")
    parser.add_argument("--pages", type=int, help="5000 of many hosts, 300 of one")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="how long to watch: 60 idle, 600 loss, and stalls each")
    parser.add_argument("--stalled", type=int, nargs="*", default=[1, 4], help="how many stand still at a time")
    parser.add_argument("--lost", type=float, default=0.3, help="which fraction of the datagrams gets lost")
    parser.add_argument("--alone", action="store_true", help="cluster: do not measure 1 master beside it")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    code = 0
    for variant in o.stalled if o.what == "stalls" else [0]:
        with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as name:
            code |= _measured(o, Path(name), variant).print()
    return code


def _measured(o: argparse.Namespace, folder: Path, stalled: int) -> Claims:
    """Measures what was asked for; ``stalled``: how many stand still at a time, where that is it."""
    match o.what:
        case "cluster":
            return cluster(folder, o.pages or 5000, o.hosts, o.masters or 5, o.slaves, beside_one=not o.alone)
        case "one_site":
            return one_site(folder, o.pages or 300, o.masters or 3, o.slaves)
        case "joins":
            return joins(folder, o.pages or 5000, o.hosts, o.masters or 3, o.slaves)
        case "detection":
            return detection(folder, o.masters or 10, o.kills, o.seed)
        case "idle":
            return idle(folder, o.masters or 10, o.seconds or 60.0)
        case "loss":
            return loss(folder, o.masters or 10, o.lost, o.seconds or 600.0, o.seed)
        case _:
            return stalls(folder, o.masters or 10, stalled, o.seconds or 600.0, o.seed)


if __name__ == "__main__":
    raise SystemExit(main())
