"""The cost of being looked at: ``python -m benchmarks.masters.onlooker --masters 10 --hosts 5000 --jobs 50``.

A cluster whose hosts have all been asked and have more queued, which their delay keeps; so what the asked peer
computes is what it computes anyhow, and for whoever looks. The overview is polled, as a page that is open does it, and
then not, by turns. ``--ask`` asks for something else.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, SiteProcess, until
from benchmarks.kit.peers import PeerProcess, Peers, cpu_s
from p2pcrawl.demo.process import run_site, site_parser
from p2pcrawl.demo.server import Asked, Server, TimedReply, site_answer

SHARE_MAX = 0.03
"""Of a core, that looking may take of the asked peer."""
LINKS = 20
FIRST_S = 20
"""The delay of all hosts till each was asked once: for so long a master waits with hosts that it took over."""
CRAWL_S = 600.0
SPIDER = """
from p2pcrawl import Request, Spider


class Waiting(Spider):
    name = "waiting"

    def start_requests(self):
        for number in range(int(self.first), int(self.first) + int(self.hosts)):
            yield Request(f"http://127.{number // 62500 + 1}.{number // 250 % 250}.{number % 250 + 1}:{self.port}/")

    def parse(self, response):
        return response.follow_all()
"""


class EverywhereTheSame:
    """Any loopback address is a host of it, and any page of theirs links to the same others."""

    def __init__(self) -> None:
        self._server = Server(self._answer, ["0.0.0.0"])
        self._body = "".join(f'<a href="/{number}">' for number in range(LINKS))

    async def start(self) -> str:
        self.port = await self._server.start()
        return f"http://127.0.0.1:{self.port}/"

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {"start": f"http://127.0.0.1:{self.port}/", "port": self.port}

    def _answer(self, asked: Asked) -> TimedReply:
        return TimedReply(site_answer(self._body))


@contextmanager
def waiting_cluster(
    folder: Path, masters: int, hosts: int, jobs: int
) -> Iterator[tuple[PeerProcess, Callable[[], None]]]:
    """Starts a cluster that crawls, each of its hosts already asked once. Yields the peer that is to be asked, and what
    brings all to rest with the hosts' queues as they are.
    """
    spider = folder / "waiting.py"
    spider.write_text(SPIDER)
    settings = {"DOWNLOAD_DELAY": FIRST_S, "ROBOTSTXT_OBEY": 0, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
    with SiteProcess("benchmarks.masters.onlooker", "--serve") as site, Peers(folder, masters, 1) as peers:
        asked = peers.living[0]
        begun: list[int] = []
        # The large one comes last: it is to be held up as soon as each of its hosts was asked.
        for number in range(jobs - 1, -1, -1):
            of_this = hosts - jobs + 1 if not number else 1
            first = 0 if not number else hosts - jobs + number
            told = {"first": str(first), "hosts": str(of_this), "port": str(site.ready["port"])}
            begun.append(peers.submit(spider, told, settings))
        until(lambda: _pages(asked) >= hosts, CRAWL_S, "all hosts were asked", every_s=2.0)

        def rest() -> None:
            for job in reversed(begun):
                peers.run("set", job, "DOWNLOAD_DELAY=36000")
            until(lambda: _at_rest(asked), CRAWL_S, "no host is asked any more", every_s=2.0)

        yield asked, rest


def onlooker(folder: Path, masters: int, hosts: int, jobs: int, every_s: float, seconds: float, ask: str) -> Claims:
    """Measures the asked peer while it is polled and while it is not, three times each."""
    claims = Claims(f"{masters} masters, {hosts} hosts, {jobs} jobs: /{ask} every {every_s:g} s")
    with waiting_cluster(folder, masters, hosts, jobs) as (asked, rest):
        rest()
        quiet, polled, took, size = [], [], [], 0
        for _ in range(3):
            quiet.append(share_of(asked, seconds))
            shares, times, size = _polled(asked, ask, every_s, seconds)
            polled.append(shares)
            took += times
        cost = statistics.median(polled) - statistics.median(quiet)
        claims.note("hosts shown of", asked.ask("overview")["hosts_total"])
        claims.note("answer", f"{size:,} bytes")
        claims.note("answered in", f"{1000 * statistics.median(took):.0f} ms, at most {1000 * max(took):.0f} ms")
        claims.note("of a core, not looked at", f"{100 * statistics.median(quiet):.2f} %")
        claims.note("of a core, looked at", f"{100 * statistics.median(polled):.2f} %")
        claims.claim(
            "cost of looking", f"{100 * cost:.2f} %", cost < SHARE_MAX, f"below {100 * SHARE_MAX:g} % of a core"
        )
    return claims


def _pages(asked: PeerProcess) -> int:
    return sum(int(job["pages"]) for job in asked.ask("overview")["jobs"])


def _at_rest(asked: PeerProcess) -> bool:
    health = asked.ask("overview")["health"]
    return not health["pages_per_s"] and not health["in_flight"]


def share_of(asked: PeerProcess, seconds: float) -> float:
    """Returns how much of a core the peer takes in the next seconds."""
    before, began = cpu_s([asked.pid]), time.monotonic()
    time.sleep(seconds)
    return (cpu_s([asked.pid]) - before) / (time.monotonic() - began)


def _polled(asked: PeerProcess, ask: str, every_s: float, seconds: float) -> tuple[float, list[float], int]:
    """Returns how much of a core it takes while it is polled, how long its answers took, and how large they are."""
    before, began = cpu_s([asked.pid]), time.monotonic()
    took: list[float] = []
    size = 0
    while time.monotonic() - began < seconds:
        at = time.monotonic()
        with urllib.request.urlopen(f"http://{asked.api}/{ask}", timeout=30.0) as answer:
            size = len(answer.read())
        took.append(time.monotonic() - at)
        time.sleep(max(0.0, at + every_s - time.monotonic()))
    return (cpu_s([asked.pid]) - before) / (time.monotonic() - began), took, size


def main() -> int:
    parser = site_parser(__doc__ or "")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--masters", type=int, default=10)
    parser.add_argument("--hosts", type=int, default=5_000)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--every-s", type=float, default=2.0, help="between two looks")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each of the six turns")
    parser.add_argument("--ask", default="v1/overview", help="the path that is polled")
    asked = parser.parse_args()
    if asked.serve:
        run_site(EverywhereTheSame(), asked.until_eof)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return onlooker(
            Path(folder), asked.masters, asked.hosts, asked.jobs, asked.every_s, asked.seconds, asked.ask
        ).print()


if __name__ == "__main__":
    sys.exit(main())
