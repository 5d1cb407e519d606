"""A slave of another machine, from master to master.

Which master is next, the peer tells that started the slave: over the socket that is the process's standard input. The
slave names the master that it has lost, one JSON line; the answer is another, with the cluster's keys of that moment.
When the socket ends, the peer is gone, and the process ends at once, whatever it is doing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from p2pcrawl.model.cluster.node import Address, parse_address
from p2pcrawl.model.errors import LinkError
from p2pcrawl.slave.slave import Slave
from p2pcrawl.wire.sealed.tls import Seal

log = logging.getLogger(__name__)


class Lost(msgspec.Struct):
    """The slave works for this master no more."""

    master: Address


class Follow(msgspec.Struct):
    """The slave is to work for this master."""

    master: Address
    keys: str


async def follow(
    slave: Slave, first: Follow, seal: Callable[[str], Seal], next_master: Callable[[Address], Awaitable[Follow]]
) -> None:
    """Follows one master after the other until the slave is to leave. ``seal`` makes that of a new link from the
    cluster's keys; ``next_master`` is told which one was lost.
    """
    told = first
    try:
        while True:
            host, port = parse_address(told.master)
            try:
                await slave.connect(host, port, seal(told.keys))
            except LinkError as error:
                log.warning("the master at %s: %s", told.master, error)
            if slave.leaving:
                return
            answer: asyncio.Future[Any] = asyncio.ensure_future(next_master(told.master))
            try:
                await asyncio.wait({answer, slave.parting}, return_when=asyncio.FIRST_COMPLETED)
                if slave.parting.done():
                    return
                told = answer.result()
            finally:
                answer.cancel()
    finally:
        await slave.close()


class Parent:
    """The peer at the other end of standard input. Make it on the loop that is to hear of the answers."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = socket.socket(fileno=os.dup(0))
        # What a spider starts must not read what is meant for this process.
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._answer: asyncio.Future[Follow] = self._loop.create_future()
        threading.Thread(target=self._listen, daemon=True).start()

    async def next_master(self, lost: Address) -> Follow:
        self._answer = self._loop.create_future()
        await self._loop.run_in_executor(None, self._socket.sendall, msgspec.json.encode(Lost(lost)) + b"\n")
        return await self._answer

    def _listen(self) -> None:
        """Listens in a thread of its own, so that a spider which blocks the loop does not outlive the peer."""
        with suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                self._loop.call_soon_threadsafe(self._heard, msgspec.json.decode(line, type=Follow))
        os._exit(1)

    def _heard(self, answer: Follow) -> None:
        if not self._answer.done():
            self._answer.set_result(answer)
