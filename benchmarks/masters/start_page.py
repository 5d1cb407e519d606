"""A start page with very many links on this machine, crawled by slaves of several machines' worth of peers:
``python -m benchmarks.masters.start_page --links 50000``.

What the start URL opens must be known to every slave before it is granted a page, also to those that never saw the
start page, whatever happens to whoever did: none may be dropped.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import ROOT, Claims, SiteProcess, ask_frontier, until
from benchmarks.kit.peers import PeerProcess, Peers
from benchmarks.masters.cluster import claim_conserved
from p2pcrawl.demo.process import run_site, site_parser
from p2pcrawl.demo.server import Asked, Server, TimedReply, site_answer

SPIDER = Path(f"{ROOT}/benchmarks/kit/long_spiders.py:Blocking")
CRAWL_S = 1_200.0


class StartPage:
    """One host, whose first page links to all others. Counts what is asked for."""

    def __init__(self, links: int) -> None:
        self._links = links
        self._server = Server(self._answer, ["127.0.0.1"])
        self._asked: dict[str, int] = {}
        self._body = "".join(f'<a href="/{number}">' for number in range(links))

    async def start(self) -> str:
        self.url = f"http://127.0.0.1:{await self._server.start()}"
        return self.url

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {"start": f"{self.url}/", "control": self.url, "hosts": ["127.0.0.1"], "pages": self._links + 1}

    def _answer(self, asked: Asked) -> TimedReply:
        if asked.path == "/_stats":
            told = {"pages": len(self._asked), "twice": sum(count > 1 for count in self._asked.values())}
            return TimedReply(site_answer(json.dumps(told), content_type="application/json"))
        if asked.path != "/robots.txt":
            self._asked[asked.path] = self._asked.get(asked.path, 0) + 1
        return TimedReply(site_answer(self._body if asked.path == "/" else "<p>"))


def start_page(
    folder: Path,
    links: int,
    *,
    masters: int = 2,
    helpers: int = 3,
    key: str = "url",
    start_s: float = 0.0,
    each_s: float = 0.0,
    kill: bool = False,
) -> Claims:
    """Crawls from a start page with many links. ``start_s`` and ``each_s``: how long callbacks block, that of the start
    page and all others. ``kill``: the master that has the start page in hand ends by ``kill -9`` when pages that it
    led to have been asked for.
    """
    what = f"callbacks of {start_s:g} and {each_s:g} s" + (", the start page's master is killed" if kill else "")
    claims = Claims(f"start page with {links} links: {masters} masters, {helpers} slave peers, key {key}; {what}")
    with (
        SiteProcess("benchmarks.masters.start_page", "--serve", links) as site,
        Peers(folder, masters, 1) as peers,
    ):
        for _ in range(helpers):
            peers.start(None, "--role", "slave", "--slaves", 2)
        arguments = {"start_urls": site.start, "start_s": str(start_s), "each_s": str(each_s)}
        settings = {"SHARD_KEY": key, "CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 64}
        began = time.monotonic()
        job = peers.submit(SPIDER, arguments, settings)
        if kill:
            until(lambda: site.stats()["pages"] > 20, 60.0, "pages that the start page led to are asked for")
            _kill(peers, _holder(peers, site.start))
        end = peers.until_over(job, CRAWL_S)
        stats = site.stats()
        claims.note("seconds", f"{time.monotonic() - began:.1f}")
        claims.claim("state", end["state"], end["state"] == "finished", "finished")
        claims.claim("pages asked for", stats["pages"], stats["pages"] == links + 1, str(links + 1))
        claims.note("pages asked for twice", stats["twice"])
        claims.claim("dropped", end["dropped"], not end["dropped"], "none")
        claim_conserved(claims, end)
    return claims


def _holder(peers: Peers, url: str) -> PeerProcess:
    """Returns the master in whose frontier a page is."""
    for peer in peers.living:
        if ask_frontier(peer.data, "SELECT id FROM record WHERE url = ?", url):
            return peer
    raise RuntimeError(f"no master has {url}")


def _kill(peers: Peers, peer: PeerProcess) -> None:
    os.kill(peer.pid, signal.SIGKILL)
    peer.wait(10.0)
    peers.drop(peer)
    peers.start(peer.data)


def main() -> int:
    parser = site_parser(__doc__ or "")
    parser.add_argument("--serve", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--links", type=int, default=50_000)
    parser.add_argument("--key", choices=("host", "url"), default="url")
    parser.add_argument("--start-s", type=float, default=0.0, help="how long the start page's callback blocks")
    parser.add_argument("--each-s", type=float, default=0.0, help="how long every other callback blocks")
    parser.add_argument("--kill", action="store_true", help="kill -9 the master that has the start page")
    asked = parser.parse_args()
    if asked.serve:
        run_site(StartPage(asked.serve), asked.until_eof)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return start_page(
            Path(folder), asked.links, key=asked.key, start_s=asked.start_s, each_s=asked.each_s, kill=asked.kill
        ).print()


if __name__ == "__main__":
    sys.exit(main())
