"""A slave process: ``python -m p2pcrawl.slave FD``, started by its master with one end of a socket pair; or with
``--connect``, started by a peer that is no master, whose end of a socket is standard input."""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from p2pcrawl.model.cluster.node import BOOT_BYTES
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.overlay.tls import TlsFiles
from p2pcrawl.private.presence import addresses_here
from p2pcrawl.slave.archiving import archiving
from p2pcrawl.slave.following import Follow, Parent, follow
from p2pcrawl.slave.rereading import rereading
from p2pcrawl.slave.slave import Slave
from p2pcrawl.slave.tuning import tune_collector, tune_memory
from p2pcrawl.spiders.aids.log_setup import own_lines
from p2pcrawl.spiders.page.limit import work
from p2pcrawl.stores.warc.place import PREFIX, SIZE_MAX, WarcPlace
from p2pcrawl.wire.messages.desk import Desk
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import DEFAULT_CLUSTER, KEY_VARIABLE, KeyRing
from p2pcrawl.wire.sealed.streams import StreamSeal
from p2pcrawl.wire.sealed.tls import Seal, TlsStream


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Makes an event loop, uvloop's where there is one."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="p2pcrawl.slave", description="Started by p2pcrawl itself.")
    parser.add_argument("fd", type=int, nargs="?", help="one end of a socket pair")
    parser.add_argument("--connect", metavar="HOST:PORT", help="a master to work for; the key is in the environment")
    parser.add_argument("--desk", type=int, metavar="FD", help="memory to show on what this slave is at")
    parser.add_argument("--cluster", default=DEFAULT_CLUSTER)
    parser.add_argument("--tls-cert", type=Path, help="PEM files, as for a peer")
    parser.add_argument("--tls-key", type=Path)
    parser.add_argument("--tls-ca", type=Path)
    parser.add_argument("--warc", type=Path, metavar="DIR", help="where raw pages are kept")
    parser.add_argument("--warc-prefix", default=PREFIX)
    parser.add_argument("--warc-size", type=int, default=SIZE_MAX)
    parser.add_argument("--stored", type=Path, metavar="FILE", help="an index of raw pages, in place of the web")
    asked = parser.parse_args()
    if (asked.fd is None) == (asked.connect is None):
        parser.error("either a file descriptor or --connect; see `p2pcrawl crawl --help` and `p2pcrawl peer --help`")
    # The master decides when to stop, for all its slaves together.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines = logging.StreamHandler()
    lines.setFormatter(own_lines())
    logging.basicConfig(handlers=[lines], level="WARNING")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What spiders print is shared by all slaves, so it leaves line by line.
        sys.stdout.reconfigure(line_buffering=True)
    tune_memory()
    if asked.desk is not None:
        os.set_inheritable(asked.desk, False)
    desk = Desk(asked.desk) if asked.desk is not None else None
    work.watch(desk)

    async def serve() -> None:
        tune_collector()
        if asked.stored is not None:
            async with rereading(asked.stored) as open_fetcher:
                slave = Slave(None, open_fetcher, _new_event_loop, peers_here=addresses_here, desk=desk, follows=False)
                await work_for(slave)
            return
        place = WarcPlace(asked.warc, asked.warc_prefix, asked.warc_size) if asked.warc else None
        async with archiving(place) as open_fetcher:
            await work_for(Slave(None, open_fetcher, _new_event_loop, peers_here=addresses_here, desk=desk))

    async def work_for(slave: Slave) -> None:
        if asked.connect:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, slave.leave)
            tls = TlsFiles(asked.tls_cert, asked.tls_key, asked.tls_ca).load() if asked.tls_cert else None

            def seal(keys: str) -> Seal:
                ring = KeyRing.parse(keys)
                inside = StreamSeal.client(ring, Identity.generate(), os.urandom(BOOT_BYTES), asked.cluster)
                return TlsStream.client(tls.client, inside) if tls is not None else inside

            first = Follow(asked.connect, os.environ.pop(KEY_VARIABLE, ""))
            await follow(slave, first, seal, Parent().next_master)
            return
        stream = socket.socket(fileno=asked.fd)
        # What a spider starts must not hold the link: this slave's death would go unnoticed.
        stream.set_inheritable(False)
        await slave.run(stream)

    try:
        with asyncio.Runner(loop_factory=_new_event_loop) as runner:
            runner.run(serve())
    except (ConfigurationError, LinkError) as error:
        logging.getLogger(__name__).warning("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
