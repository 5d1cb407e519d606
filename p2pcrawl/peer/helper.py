"""A peer as a slave: its processes work for the least loaded master, and for another when that one is gone.

The processes stay. Each says over a socket when it has lost its master, and is told the next; so what it found out and
could not report any more is not lost with the master. A process that dies is replaced. Without processes (``slaves`` 0)
there is one slave in this one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, TypedDict

import msgspec
from msgspec.json import Decoder

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.door import decoded
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.config import PeerConfig
from p2pcrawl.slave.archiving import archiving
from p2pcrawl.slave.following import Follow, Lost, follow
from p2pcrawl.slave.session import LEAVE_S
from p2pcrawl.slave.slave import Slave
from p2pcrawl.spiders.finding.modules import environment_of_slaves
from p2pcrawl.wire.messages.desk import LOOK_S, Desk, Overseer
from p2pcrawl.wire.sealed.keys import KEY_VARIABLE

log = logging.getLogger(__name__)

SEARCH_S = 0.5
SEARCH_MAX_S = 5.0
ASK_S = 3.0
KNOWN_MAX = 32
INFORMED_S = 5.0
"""How often the master is asked which others there are."""
LOST_S = 30.0
"""How long a master that a slave has lost is asked last. Others may take it for alive for some seconds."""
SENT_S = 3.0
"""How long masters may not know yet of a slave that was sent to one of them."""
GRACE_S = 5.0
"""What slaves may need to leave, beside the time for their open pages."""


class _Members(TypedDict):
    """The living masters, as one of them tells."""

    members: list[dict[str, Any]]


_MEMBERS = Decoder(_Members)


async def members_at(caller: Caller, address: Address) -> list[dict[str, Any]]:
    """Asks the master at an address for all that live. Raises LinkError, or what it raised."""
    what = "ask:members"
    return decoded(address, what, await caller.query(address, what, timeout_s=ASK_S), _MEMBERS)["members"]


class Helper:
    """Keeps slave processes attached to a living master."""

    def __init__(
        self,
        config: PeerConfig,
        credentials: Credentials,
        caller: Caller,
        contacts: list[Address],
        errors_to: int | None = None,
        make_slave: Callable[[OpenFetcher], Slave] = lambda open_fetcher: Slave(None, open_fetcher),
    ) -> None:
        """``make_slave`` makes the slave of a peer without slave processes, with its way to the web."""
        self._errors_to = errors_to
        self._make_slave = make_slave
        self._config = config
        self._credentials = credentials
        self._caller = caller
        self._contacts = contacts
        self._count = config.slaves if config.slaves is not None else (os.cpu_count() or 1)
        self.master = Address("")
        self.known: list[Address] = []
        """Masters that were alive when last heard of: any one of them leads back to the cluster."""
        self._tasks: list[asyncio.Task[None]] = []
        self._informed: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._here: Slave | None = None
        self._lost: dict[Address, float] = {}
        self._sent: deque[tuple[float, Address]] = deque()
        self._processes: set[asyncio.subprocess.Process] = set()
        self._few_since: float | None = None
        self._trouble = ""

    async def open(self) -> None:
        """Returns when a master was found."""
        await self.find_master()
        keepers = [self._keep_slave() for _ in range(self._count)] or [self._keep_here()]
        self._tasks = [asyncio.create_task(keeper) for keeper in keepers]
        self._informed = asyncio.create_task(self._keep_informed())

    async def close(self) -> None:
        """Lets the slaves finish what is open and is not too slow."""
        self._closing.set()
        leaving: list[asyncio.Task[Any]] = [asyncio.create_task(process.wait()) for process in self._processes]
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                process.terminate()
        if self._here is not None:
            self._here.leave()
            leaving.extend(self._tasks)
        if leaving:
            await asyncio.wait(leaving, timeout=LEAVE_S + GRACE_S)
        await end([*self._tasks, *([self._informed] if self._informed is not None else [])])

    def reasons(self) -> Iterator[str]:
        """Yields why this peer does not help anybody yet."""
        if not self.master:
            yield "not joined yet: no master was found to help"

    def abort(self) -> None:
        """Kills the slave processes, when this process is about to end without :meth:`close`."""
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                process.kill()

    async def is_needed_as_master(self, members: list[dict[str, Any]] | None, wanted: int) -> bool:
        """Tells whether too few masters have lived for long enough, and it falls to this peer to step in.

        Each candidate waits a time that its identity gives it and looks again, so that they come one by one.
        """
        now = asyncio.get_running_loop().time()
        if members is None or len(members) >= wanted:
            self._few_since = None
            return False
        if self._few_since is None:
            self._few_since = now
        patience_s = 2.0 + int(self._credentials.identity.node_id[:4], 16) / 0xFFFF * 8.0
        return now - self._few_since >= patience_s

    async def find_master(self) -> None:
        """Waits until a master answers, and works for the least loaded of those that it tells of."""
        pause_s = SEARCH_S
        while True:
            master = await self._least_loaded()
            if master:
                if master != self.master:
                    log.info("working for the master at %s", master)
                self.master = master
                return
            where = ", ".join(dict.fromkeys([*self.known, *self._config.join]))
            log.warning("no master answers at %s (%s); trying again", where, self._trouble or "no such name")
            await asyncio.sleep(pause_s)
            # Names may lead elsewhere by now.
            self._contacts = await asyncio.to_thread(self._config.contacts) or self._contacts
            pause_s = min(SEARCH_MAX_S, 2 * pause_s)

    async def _least_loaded(self) -> Address | None:
        now = asyncio.get_running_loop().time()
        lost = {address for address, at in self._lost.items() if now - at < LOST_S}
        # False comes first, and else the order stays.
        for address in sorted(dict.fromkeys([*self.known, *self._contacts]), key=lost.__contains__):
            try:
                members = await self._ask_members(address)
            except P2PCrawlError as error:
                log.debug("%s", error)
                self._trouble = str(error)
                continue
            while self._sent and now - self._sent[0][0] > SENT_S:
                self._sent.popleft()
            sent = [address for _, address in self._sent]
            load = {m["address"]: m["slaves"] + sent.count(m["address"]) for m in members}
            takers = [m["address"] for m in members if not m["drained"]] or list(load)
            takers = [address for address in takers if address not in lost] or takers
            fewest = min(load[address] for address in takers)
            return Address(random.choice([address for address in takers if load[address] == fewest]))
        return None

    async def _ask_members(self, address: Address) -> list[dict[str, Any]]:
        members = await members_at(self._caller, address)
        if not members:
            raise LinkError(f"the master at {address} is leaving, and was the last")
        self.known = [Address(m["address"]) for m in members][:KNOWN_MAX]
        return members

    async def _keep_informed(self) -> None:
        """Masters that have come since are to be known when those of the beginning are gone."""
        while True:
            await asyncio.sleep(INFORMED_S)
            try:
                await self._ask_members(self.master)
            except P2PCrawlError as error:
                log.debug("%s", error)

    async def _keep_slave(self) -> None:
        pause_s = SEARCH_S
        while not self._closing.is_set():
            started = asyncio.get_running_loop().time()
            ours, theirs = socket.socketpair()
            desk = Desk.make()
            with theirs, ExitStack() as on_failure:
                on_failure.callback(desk.close)
                reader, writer = await asyncio.open_connection(sock=ours)
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "p2pcrawl.slave",
                    "--connect",
                    self._send_to_master(),
                    "--desk",
                    str(desk.fd),
                    "--cluster",
                    self._credentials.cluster,
                    *(self._config.tls_files.options() if self._config.tls_files else ()),
                    *(self._config.warc.options() if self._config.warc else ()),
                    # Its end tells the slave that this process is gone, however it went.
                    stdin=theirs.fileno(),
                    stderr=self._errors_to,
                    pass_fds=[desk.fd],
                    start_new_session=True,
                    env={
                        **os.environ,
                        **environment_of_slaves(),
                        KEY_VARIABLE: self._credentials.keys.text(),
                    },
                )
                on_failure.pop_all()
            self._processes.add(process)
            answering = asyncio.create_task(self._answer(reader, writer))
            watching = asyncio.create_task(self._oversee(process, desk))
            try:
                await process.wait()
            finally:
                answering.cancel()
                watching.cancel()
                desk.close()
                writer.close()
                self._processes.discard(process)
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
            lived_s = asyncio.get_running_loop().time() - started
            pause_s = SEARCH_S if lived_s > 10.0 else min(SEARCH_MAX_S, 2 * pause_s)
            await self._pause(pause_s)
            await self.find_master()

    async def _oversee(self, process: asyncio.subprocess.Process, desk: Desk) -> None:
        """Ends a slave that does not come back from its own work on an answer, and tells its master what on; and one
        whose interpreter is held by a callback for too long."""
        overseer = Overseer(process.pid, desk)
        while (lease := overseer.look()) is None:
            if overseer.silent():
                log.warning("slave %d has given no sign of life for too long, and is replaced", process.pid)
                with suppress(ProcessLookupError):
                    process.kill()
                return
            await asyncio.sleep(LOOK_S)
        log.warning("slave %d does not come back from its own work on an answer, and is replaced", process.pid)
        told = json.dumps({"pid": process.pid, "lease": lease}).encode()
        # Which of them it works for now only the slave knows. None of the others has such a session.
        masters = dict.fromkeys([self.master, *self.known])
        telling = [self._caller.query(address, "tell:hung", told, timeout_s=ASK_S) for address in masters]
        await asyncio.gather(*telling, return_exceptions=True)
        with suppress(ProcessLookupError):
            process.kill()

    async def _keep_here(self) -> None:
        while not self._closing.is_set():
            try:
                async with archiving(self._config.warc) as open_fetcher:
                    self._here = self._make_slave(open_fetcher)
                    first = Follow(self._send_to_master(), self._credentials.keys.text())
                    await follow(self._here, first, lambda _: self._credentials.client(), _Search(self).next_master)
            except Exception:
                log.exception("the slave in this process failed")
            await self._pause(SEARCH_MAX_S)

    async def _pause(self, pause_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s * random.uniform(0.5, 1.0)):
                await self._closing.wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Tells a slave process its next master, each time it has lost one."""
        search = _Search(self)
        async for line in reader:
            told = await search.next_master(msgspec.json.decode(line, type=Lost).master)
            writer.write(msgspec.json.encode(told) + b"\n")

    def _send_to_master(self) -> Address:
        self._sent.append((asyncio.get_running_loop().time(), self.master))
        return self.master

    async def next_master(self, lost: Address) -> Follow:
        """Waits for a master for a slave that has lost one. The lost one comes last for a while."""
        self._lost[lost] = asyncio.get_running_loop().time()
        await self.find_master()
        return Follow(self._send_to_master(), self._credentials.keys.text())


class _Search:
    """For one slave, which pauses before the next master the longer, the sooner it lost the last."""

    def __init__(self, helper: Helper) -> None:
        self._helper = helper
        self._pause_s = 0.0
        self._told_at = asyncio.get_running_loop().time()

    async def next_master(self, lost: Address) -> Follow:
        loop = asyncio.get_running_loop()
        if loop.time() - self._told_at > 10.0:
            self._pause_s = 0.0
        await asyncio.sleep(self._pause_s * random.uniform(0.5, 1.0))
        self._pause_s = min(SEARCH_MAX_S, 2 * self._pause_s or SEARCH_S)
        told = await self._helper.next_master(lost)
        self._told_at = loop.time()
        return told
