"""One public spider, by Scrapy and by three masters of which one is killed, over the same made-up web."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.kit.measure import Overdue, until
from benchmarks.kit.peers import PeerProcess, Peers
from benchmarks.public.beside import PLAIN, SETTINGS, Outcome, Pair, PublicSpider, run_scrapy
from benchmarks.public.wanted import demands_of
from benchmarks.public.web import MadeUpWeb

DELAY_S = 0.4
"""Of each host, so that there is something left to do when its owner dies."""
ASKED_BEFORE = 3
"""Answers that the web has given when a master is killed."""
OVER_S = 120.0


def run_killed(spider: PublicSpider, scrapy_python: str) -> Pair | None:
    """Runs a spider by Scrapy, and by three masters of which the one is killed with -9 that owns the host at work.

    Returns None when Scrapy has too few pages of it for that.
    """
    settings = SETTINGS | PLAIN
    with (
        tempfile.TemporaryDirectory(prefix="public-") as name,
        MadeUpWeb(demands_of(spider.file), list(spider.starts), Path(name)) as web,
    ):
        folder = Path(name)
        scrapy = run_scrapy(spider, scrapy_python, web, settings, folder)
        if not scrapy.items or not scrapy.in_time or scrapy.asked <= ASKED_BEFORE + 1:
            return None
        reached = {"HTTP_PROXY": f"http://127.0.0.1:{web.port}", "ALLOW_PRIVATE_NETWORKS": "True"}
        paced = {"DOWNLOAD_DELAY": str(DELAY_S), "CLOSESPIDER_TIMEOUT": "0"}
        os.environ["SSL_CERT_FILE"] = str(web.certificate)
        web.asked.clear()
        with Peers(folder / "peers", 3, 1) as peers:
            given = [f"{name}={value}" for name, value in (settings | reached | paced).items()]
            where = spider.project or spider.file
            answer = peers.run(
                "submit", "--scrapy", where, spider.name, *(p for each in given for p in ("-s", each)), "--json"
            )
            job = int(json.loads(answer)["job"])
            with suppress(Overdue):
                until(lambda: sum(web.asked.values()) >= ASKED_BEFORE, 30.0, "pages are asked for")
            victim = _owner(peers, web)
            peers.drop(victim)
            victim.kill()
            end = peers.until_over(job, OVER_S)
            peers.results(job, folder / "items.jsonl")
            lines = (folder / "items.jsonl").read_text().splitlines()
        items = Counter(json.dumps(json.loads(line), sort_keys=True) for line in lines)
        return Pair(spider, scrapy, Outcome(items, end["state"] == "finished", str(end), sum(web.asked.values())))


def _owner(peers: Peers, web: MadeUpWeb) -> PeerProcess:
    """Returns the master that owns the host which was asked most."""
    hosts = Counter(urlsplit(url).netloc for url in web.asked.elements())
    host = hosts.most_common(1)[0][0]
    owner = peers.living[0].owner_of(f"http://{host}/")["owner"]
    return next(peer for peer in peers.living if peer.id == owner)
