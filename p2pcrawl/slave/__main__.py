"""A slave process: ``python -m p2pcrawl.slave FD``, started by its master with one end of a socket pair."""

from __future__ import annotations

import asyncio
import io
import logging
import signal
import socket
import sys

from p2pcrawl.slave.slave import Slave
from p2pcrawl.slave.tuning import tune_collector, tune_memory


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where there is one."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def main() -> int:
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print("this is started by p2pcrawl itself; see `p2pcrawl crawl --help`", file=sys.stderr)
        return 2
    # The master decides when to stop, for all its slaves together.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s [%(name)s] %(levelname)s: %(message)s", level="WARNING")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What spiders print is shared by all slaves, so it leaves line by line.
        sys.stdout.reconfigure(line_buffering=True)
    tune_memory()

    async def serve() -> None:
        tune_collector()
        stream = socket.socket(fileno=int(sys.argv[1]))
        # What a spider starts must not hold the link: this slave's death would go unnoticed.
        stream.set_inheritable(False)
        await Slave().run(stream)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
