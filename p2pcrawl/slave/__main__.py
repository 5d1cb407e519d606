"""A slave process: ``python -m p2pcrawl.slave FD``, started by its master with one end of a socket pair."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys

from p2pcrawl.slave.slave import Slave
from p2pcrawl.slave.tuning import tune_collector, tune_memory

try:
    from uvloop import new_event_loop
except ImportError:  # Windows
    from asyncio import new_event_loop


def main() -> int:
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print("this is started by p2pcrawl itself; see `p2pcrawl crawl --help`", file=sys.stderr)
        return 2
    # The master decides when to stop, for all its slaves together.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s [%(name)s] %(levelname)s: %(message)s", level="WARNING")
    tune_memory()

    async def serve() -> None:
        tune_collector()
        await Slave().run(socket.socket(fileno=int(sys.argv[1])))

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
