"""Pages that say the same, crawled while processes are killed with -9: ``python -m benchmarks.texts.one_of_each``.

On one machine the whole tree is killed and resumed, in a cluster one master in the middle of the crawl. Of each text
one item is to come out where duplicates are dropped, and one unmarked item where they are marked.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, Setup, SiteProcess, items_of, until
from benchmarks.kit.peers import Peers
from benchmarks.masters.cluster import submit

LATENCY_S = 0.03
SLOWED = {"CONCURRENT_REQUESTS": 24, "ARTICLE_READER": "resiliparse"}
FIELD = "duplicate_of"


def one_machine(folder: Path, pages: int, texts: int, kills: int, seed: int, how: str, near: int = 0) -> Claims:
    """Kills and resumes one crawl."""
    chosen = random.Random(seed)
    claims = Claims(f"{how}, near {near}: {pages} pages with {texts} texts, {kills} kills of the tree, seed {seed}")
    with _site(pages, texts) as site:
        setup = Setup.of_site(folder, site, settings={**SLOWED, "DUPLICATES": how, "DUPLICATES_NEAR": near})
        killed = 0
        for part in sorted(chosen.uniform(0.05, 0.95) for _ in range(kills)):
            with setup.begin() as crawl:
                wanted = max(part * pages, site.stats()["distinct"] + 1)
                until(lambda w=wanted: not crawl.running or site.stats()["distinct"] >= w, 300, every_s=0.02)  # type: ignore[misc]
                if crawl.running:
                    crawl.kill()
                    killed += 1
        ended = setup.run(240)
        claims.claim("exit code", ended.code, ended.code == 0, "0")
        claims.claim("kills", killed, killed > 0, "some")
        _claim(claims, how, items_of(folder / "items.jsonl"), ended.certificate, site.ask("/_urls"), texts)
    return claims


def cluster(folder: Path, pages: int, texts: int, seed: int, how: str, near: int = 0) -> Claims:
    """Kills one of three masters in the middle of a crawl."""
    chosen = random.Random(seed)
    claims = Claims(f"{how}, near {near}: {pages} pages with {texts} texts, a master of three is killed, seed {seed}")
    with _site(pages, texts) as site, Peers(folder, 3, 1) as peers:
        job = submit(peers, site, {**SLOWED, "DUPLICATES": how, "DUPLICATES_NEAR": near})
        part = chosen.uniform(0.3, 0.6)
        until(lambda: site.stats()["distinct"] >= part * pages, 300, "a part of the pages is fetched", every_s=0.05)
        victim = chosen.choice(peers.living)
        victim.kill()
        peers.drop(victim)
        peers.until_over(job, 300.0)
        end = until(lambda: _told(peers, job), 60, "all masters tell how the job ended", every_s=0.25)
        peers.results(job, folder / "items.jsonl")
        claims.claim("state", end["state"], end["state"] == "finished", "finished")
        _claim(claims, how, items_of(folder / "items.jsonl"), end, site.ask("/_urls"), texts)
    return claims


def _told(peers: Peers, job: int) -> dict[str, Any] | None:
    """Returns how a job ended; None while a master does not say what it knows of it, or the sum is not settled."""
    end = peers.job(job)
    return None if end["missing"] or end["state"] == "settling" else end


def _site(pages: int, texts: int) -> SiteProcess:
    asked = ("--pages", pages, "--hosts", 20, "--latency", LATENCY_S, "--texts", texts)
    return SiteProcess("benchmarks.kit.site", *asked)


def _claim(
    claims: Claims, how: str, items: Iterable[Mapping[str, Any]], end: Mapping[str, Any], urls: list[str], texts: int
) -> None:
    text_of = {url: number % texts for number, url in enumerate(urls)}
    found = list(items)
    out: dict[int, Counter[str]] = defaultdict(Counter)
    for item in found:
        if not item.get(FIELD):
            out[text_of[item["url"]]][item["url"]] += 1
    alone = [number for number in range(texts) if out[number].total() == 1]
    claims.claim("texts with one item that is no duplicate", len(alone), len(alone) == texts, f"all {texts}")
    duplicates = [item for item in found if item.get(FIELD)]
    if how == "mark":
        claims.claim("items", len(found), Counter(item["url"] for item in found) == Counter(urls), "one of each page")
        wrong = [i["url"] for i in duplicates if text_of[i[FIELD]["url"]] != text_of[i["url"]]]
        claims.claim("marks that name a page with another text", len(wrong), not wrong, "none")
    else:
        told = end["dropped_by_reason"].get("duplicate", 0)
        claims.claim("dropped as duplicates", told, told >= len(urls) - texts, f">= {len(urls) - texts}")
    claims.claim("conserved", end["conserved"], end["conserved"] is True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--near", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    broken = 0
    for how in ("drop", "mark"):
        for run, more in ((one_machine, (4,)), (cluster, ())):
            with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
                asked = (Path(folder), options.pages, options.texts, *more, options.seed, how, options.near)
                broken |= run(*asked).print()  # type: ignore[operator]
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
