"""Stored pages that a whole cluster reads again, with a changed spider: ``python -m benchmarks.masters.stored_pages``.

A site is crawled by masters that each keep the raw pages of their own slaves. Then the spider is changed, and the
cluster reads what it has stored: the site counts the requests, and the differences are to be those of arithmetic.
With ``--kill`` a master is killed with -9 in the middle, and comes back.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, SiteProcess, until
from benchmarks.kit.parent import ends_with_us
from benchmarks.kit.peers import Peers, user_files

SPIDER = """
import re
from p2pcrawl import Spider

class Pages(Spider):
    name = "pages"
    custom_settings = {"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}

    def parse(self, response):
        number = int(re.search(r"(?:page=|/)(\\d+)(?:&|\\.html)", response.url)[1])
"""
OLD = f"""{SPIDER}        yield {{"url": response.url, "number": number, "title": response.title}}
        yield response.follow_all()
"""
NEW = f"""{SPIDER}        if number % 7:
            title = response.title.upper() if number % 5 == 0 else response.title
            yield {{"url": response.url, "number": number, "title": title}}
        if number % 11 == 0:
            yield {{"url": response.url, "more": number}}
        yield response.follow_all()
"""
"""Other titles on every fifth page, nothing of what was on every seventh, another item on every eleventh."""
OFTEN_S = 2


def due(pages: int) -> dict[str, int]:
    """Counts the differences that arithmetic says: where an item goes and another comes, it has changed."""
    numbers = range(pages)
    gone, more = (sum(n % each == 0 for n in numbers) for each in (7, 11))
    both = sum(n % 77 == 0 for n in numbers)
    titles = sum(n % 5 == 0 and n % 7 > 0 for n in numbers)
    found = {"changed": titles + both, "removed": gone - both, "added": more - both}
    return found | {"same": pages - titles - gone, "not_compared": 0}


def read_again(folder: Path, pages: int, masters: int, slaves: int, *, size: int, kill: bool, reach_s: float) -> Claims:
    """Crawls, changes the spider, and reads again."""
    claims = Claims(f"stored pages: {pages:,} of {size:,} bytes, {masters} masters with {slaves} slaves each")
    spider = folder / "pages.py"
    spider.write_text(OLD)
    with SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", 60, "--size", size) as site:  # noqa: SIM117
        with Peers(folder / "peers", 1, slaves, "--warc", folder / "raw-1") as peers:
            for number in range(2, masters + 1):
                # The last option counts: each has raw pages of its own.
                peers.start(None, "--warc", folder / f"raw-{number}")
            peers.until_agreed()
            arguments = {"start_urls": site.start, "allowed_domains": " ".join(site.hosts)}
            begun, cpu_s = time.monotonic(), peers.cpu_s()
            job = peers.submit(spider, arguments, {"CONCURRENT_REQUESTS_PER_DOMAIN": 64})
            end = peers.until_over(job, reach_s)
            _note(claims, "crawl", end["pages"], time.monotonic() - begun, peers.cpu_s() - cpu_s)
            claims.claim("pages crawled", end["pages"], end["pages"] == pages, str(pages))
            asked = site.stats()["requests"] + site.stats()["robots"]
            spider.write_text(NEW)
            begun, cpu_s = time.monotonic(), peers.cpu_s()
            told = _told(peers, folder, spider, job, arguments, kill=kill, reach_s=reach_s)
            _note(claims, "read again", told["pages"], told["seconds"], peers.cpu_s() - cpu_s)
            claims.note("read again, with the comparison", f"{time.monotonic() - begun:.1f} s")
            more = site.stats()["requests"] + site.stats()["robots"] - asked
            claims.claim("requests meanwhile", more, more == 0 == site.stats()["notfound"], "0")
            claims.note("raw pages by master", ", ".join(_stored(folder, n) for n in range(1, masters + 1)))
    claims.claim("state", told["state"], told["state"] == "finished", "finished")
    claims.claim("pages read", told["pages"], told["pages"] >= pages, str(pages))
    claims.note("by master", ", ".join(map(str, told["masters"].values())))
    claims.claim("failed", told["failed"], told["failed"] == 0, "0")
    for name, wanted in due(pages).items():
        found = told["differences"][name]
        claims.claim(name, found, found == wanted, str(wanted))
    lines = sum(1 for _ in (folder / "changes.jsonl").open())
    wanted = sum(due(pages)[name] for name in ("changed", "removed", "added"))
    claims.claim("lines of differences", lines, lines == wanted, str(wanted))
    return claims


def _stored(folder: Path, number: int) -> str:
    """Tells how much a master has stored."""
    files = list((folder / f"raw-{number}").glob("*.warc.gz*"))
    return f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB in {len(files)} files"


def _told(
    peers: Peers, folder: Path, spider: Path, job: int, arguments: dict[str, str], *, kill: bool, reach_s: float
) -> dict[str, Any]:
    """Runs the verb, and returns what it tells."""
    options: Sequence[object] = (
        "--job", job, "--peer", peers.living[0].api, "-O", folder / "new.jsonl", "--diff", folder / "changes.jsonl",
        *(part for name, text in arguments.items() for part in ("-a", f"{name}={text}")),
        *("--json", "--name", "again"), *(("-s", f"RETRY_FAILED_AFTER={OFTEN_S}") if kill else ()),
    )  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "p2pcrawl", "reextract", *map(str, (spider, *options))],
        stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us(), env=os.environ | user_files(peers.folder),
    )  # fmt: skip
    if kill:

        def reads() -> bool:
            jobs = peers.living[0].ask("jobs")["jobs"]
            return any(each["label"] == "again" and each["pages"] > 100 for each in jobs)

        until(reads, reach_s, "stored pages are read")
        victim = peers.living[-1]
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait(10.0)
        peers.drop(victim)
        peers.start(victim.data, "--warc", folder / f"raw-{len(peers.living) + 1}")
    out, _ = process.communicate(timeout=reach_s)
    if process.returncode:
        raise RuntimeError(f"reextract: exit code {process.returncode}")
    return dict(json.loads(out))


def _note(claims: Claims, what: str, pages: int, seconds: float, cpu_s: float) -> None:
    claims.note(what, f"{seconds:.1f} s, {pages / seconds:.0f} pages/s, {1e3 * cpu_s / pages:.2f} ms of CPU a page")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--masters", type=int, default=3)
    parser.add_argument("--slaves", type=int, default=1, help="of each master")
    parser.add_argument("--size", type=int, default=2_500, help="bytes of a page")
    parser.add_argument("--kill", action="store_true", help="kill a master in the middle, and start it again")
    parser.add_argument("--timeout", type=float, default=3_600.0, metavar="S")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-bench-") as folder:
        claims = read_again(
            Path(folder), asked.pages, asked.masters, asked.slaves, size=asked.size, kill=asked.kill,
            reach_s=asked.timeout,
        )  # fmt: skip
        return claims.print()


if __name__ == "__main__":
    raise SystemExit(main())
