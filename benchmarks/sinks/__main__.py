"""Measures sinks against real servers on loopback: ``python -m benchmarks.sinks mongo``, ``... sql``."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.masters.trial import Plan
from benchmarks.sinks.crawl_cost import crawl_into_mongo
from benchmarks.sinks.mongo_kills import kill_all, stay_away
from benchmarks.sinks.mongo_rate import measure_mongo
from benchmarks.sinks.part_kills import ENDING, files_in, kill_writers
from benchmarks.sinks.sql_rate import measure_sql
from benchmarks.sinks.sql_restarts import restart_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sinks", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    mongo = verbs.add_parser("mongo", help="the rate of documents beside a bare loop of the driver's bulk inserts")
    mongo.add_argument("--documents", type=int, default=20_000)
    mongo.add_argument("--rounds", type=int, default=5)
    sql = verbs.add_parser("sql", help="the rate of rows beside a bare loop of each driver's executemany")
    sql.add_argument("--rows", type=int, default=20_000)
    sql.add_argument("--rounds", type=int, default=5)
    crawl = verbs.add_parser("crawl", help="what a crawl into MongoDB costs beside one into a file")
    crawl.add_argument("--pages", type=int, default=5_000)
    crawl.add_argument("--rounds", type=int, default=5)
    for name, told in (
        ("kill", "one document for each page, though servers and masters are killed"),
        ("away", "a server that is away for the whole crawl"),
        ("restart-sql", "one row for each page, though PostgreSQL, MariaDB and a master are killed and restarted"),
        ("parts", "one item for each page in part files, though masters are killed"),
    ):
        verb = verbs.add_parser(name, help=told)
        verb.add_argument("--pages", type=int, default=20_000)
        verb.add_argument("--hosts", type=int, default=200)
        verb.add_argument("--delay", type=float, default=0.5)
        verb.add_argument("--masters", type=int, default=3)
        verb.add_argument("--copies", type=int, default=2)
        verb.add_argument("--seed", type=int, default=1)
        verb.add_argument("--how", choices=["alone", "together"], default="alone", help="together: a replica set")
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if o.verb == "mongo":
        return measure_mongo(o.documents, o.rounds).print()
    if o.verb == "sql":
        return measure_sql(o.rows, o.rounds).print()
    if o.verb == "crawl":
        with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
            return crawl_into_mongo(Path(folder), o.pages, o.rounds).print()
    plan = Plan(pages=o.pages, hosts=o.hosts, delay_s=o.delay, masters=o.masters, copies=o.copies, seed=o.seed)
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        if o.verb == "restart-sql":
            return restart_all(Path(folder), plan).print()
        if o.verb == "parts":
            parts = Path(folder, f"parts{ENDING}")
            address = f"file://{parts}?linger=2"
            return kill_writers(Path(folder), plan, address, lambda: files_in(parts)).print()
        claims = kill_all(Path(folder), plan, o.how) if o.verb == "kill" else stay_away(Path(folder), plan)
        return claims.print()


if __name__ == "__main__":
    raise SystemExit(main())
