"""Measures sinks against real servers on loopback: ``python -m benchmarks.sinks mongo``."""

from __future__ import annotations

import argparse
import signal
import sys

from benchmarks.sinks.mongo_rate import measure_mongo


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sinks", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    mongo = verbs.add_parser("mongo", help="the rate of documents beside a bare loop of the driver's bulk inserts")
    mongo.add_argument("--documents", type=int, default=20_000)
    mongo.add_argument("--rounds", type=int, default=5)
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return measure_mongo(o.documents, o.rounds).print()


if __name__ == "__main__":
    raise SystemExit(main())
