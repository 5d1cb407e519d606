"""All measurements, or those that are named: ``python benchmarks/run.py [NAME ...]``; ``--list`` tells the names."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURES = {
    "coverage": "20,000 pages once each, with 0, 1 and 2 slaves",
    "kill_tree": "10 kill -9 of the whole tree in one crawl of 20,000 pages",
    "kill_slaves": "20 kill -9 of slaves in one crawl of 20,000 pages",
    "hostile": "a site that means harm: memory, and how each trap ends",
    "politeness": "delays, Crawl-delay and Retry-After as the server saw them",
    "proxies": "a pool of 200 proxies of all kinds beside its good ones alone: pages per minute",
    "frontier_memory": "5 million queued URLs: memory and rate",
    "due": "1 and 10 million known pages: the cost of finding what is due, per second",
    "freshness": "adaptive periods beside fixed ones, in virtual time: fetches for each new article",
    "newcomers": "new pages of quiet and of lively hosts, in virtual time: visits in their first week",
    "speed": "pages/s and CPU beside Scrapy and a bare loop",
    "partition": "ten masters in network namespaces, cut in halves and healed (needs root)",
    "cluster": "one job over 5 masters: every page once, each by its owner; pages/s beside 1 master",
    "one_site": "a single host over 3 masters with SHARD_KEY=url: all fetch, its delay holds",
    "joins": "masters that come and leave in order in mid-crawl: nothing is lost",
    "detection": "kill -9 of masters: seconds until all others know",
    "idle": "10 masters without a job: messages, bytes and CPU",
    "stalls": "masters that stand still for up to 5 s: none is taken for dead",
    "loss": "30 % of the datagrams lost: none is taken for dead",
    "rehoming": "kill -9 of masters: seconds until an auto peer is promoted, until remote slaves work for another one",
    "hostile_bytes": "60 s of hostile bytes at a master's port and API in mid-crawl: it goes on",
    "churn": "kill -9 of a master every 20 s, a new one each time: nothing is lost, hardly anything fetched twice",
    "rolling": "each of 5 masters in turn leaves and comes back: nothing is fetched twice",
    "power": "kill -9 of all masters at once, back in another order: the job goes on",
    "split": "5 masters in network namespaces, cut 3 and 2 in mid-crawl and healed (needs root)",
    "finish": "100 crawls of small random sites, masters killed with -9 meanwhile: never a false end",
    "heirs": "kill -9 of one of three masters with 20,000 and 200,000 links: seconds until its hosts are asked again",
    "start_page": "a start page on loopback with 50,000 links, over masters and slave peers: none is dropped",
    "sink_memory": "1,000,000 items into files, Parquet and parts: peak memory below 300 MB",
    "copies_cost": "CPU and pages/s with 1, 2 and 3 copies",
    "onlooker": "10 masters, 5,000 hosts, 50 jobs: the CPU that the asked peer needs for whoever looks",
    "looked_at": "10 masters, 5,000 hosts, 50 jobs: the CPU that the asked peer needs for an open dashboard",
    "false_deaths": "stalls and loss by simulation, 1,000 runs of each: how often a living master is taken for dead",
}
OF_PEERS = {"cluster", "one_site", "joins", "detection", "idle", "stalls", "loss"}
"""Those that benchmarks.masters.cluster measures."""
OF_MASTERS = {"partition", "rehoming", "hostile_bytes", "heirs", "start_page", "onlooker", "false_deaths"}
"""Those that have a module of their own in benchmarks.masters."""
OF_REVISITS = {"due", "freshness", "newcomers"}
"""Those of pages that are visited again."""
OF_PAGE = {"looked_at"}
"""Those that look at the dashboard in a browser."""
OF_FAILOVER = {"churn", "rolling", "power"}
"""Those that benchmarks.failover measures."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure; all by default")
    parser.add_argument("--list", action="store_true", help="tell the names and end")
    options, more = parser.parse_known_args()
    if options.list:
        for name, what in MEASURES.items():
            print(f"{name:16} {what}")
        return 0
    if unknown := [name for name in options.names if name not in MEASURES]:
        parser.error(f"no such measurement: {unknown[0]} (there are {', '.join(MEASURES)})")
    names = options.names or list(MEASURES)
    if more and len(names) != 1:
        parser.error(f"{more[0]} can only be given with one NAME")
    failed = []
    for name in names:
        began_s = time.monotonic()
        module = [f"benchmarks.masters.{name}" if name in OF_MASTERS else f"benchmarks.{name}"]
        if name in OF_REVISITS:
            module = [f"benchmarks.revisits.{name}"]
        if name in OF_PAGE:
            module = [f"benchmarks.page.{name}"]
        if name in OF_PEERS or name in OF_FAILOVER:
            module = ["benchmarks.masters.cluster" if name in OF_PEERS else "benchmarks.failover", name]
        if subprocess.run([sys.executable, "-m", *module, *more], cwd=ROOT).returncode:
            failed.append(name)
        print(f"-- {name}: {time.monotonic() - began_s:.0f} s", flush=True)
    print(f"\nFAILED: {', '.join(failed)}" if failed else "\nall claims hold")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
