"""A peer as a slave: its processes work for the least loaded master, and find another when that one is gone."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import sys
from contextlib import suppress
from typing import Any

from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.node import Address
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.peer.config import PeerConfig
from p2pcrawl.wire.keys import KEY_VARIABLE

log = logging.getLogger(__name__)

SEARCH_S = 0.5
SEARCH_MAX_S = 5.0
ASK_S = 3.0
KNOWN_MAX = 32


class Helper:
    """Keeps slave processes attached to a living master."""

    def __init__(
        self,
        config: PeerConfig,
        credentials: Credentials,
        caller: Caller,
        contacts: list[Address],
        errors_to: int | None = None,
    ) -> None:
        self._errors_to = errors_to
        self._config = config
        self._credentials = credentials
        self._caller = caller
        self._contacts = contacts
        self._count = config.slaves if config.slaves is not None else (os.cpu_count() or 1)
        self.master = Address("")
        self.known: list[Address] = []
        """Masters that were alive when last heard of: any one of them leads back to the cluster."""
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: set[asyncio.subprocess.Process] = set()
        self._few_since: float | None = None
        self._trouble = ""

    async def open(self) -> None:
        """Returns when a master was found."""
        await self._find_master()
        self._tasks = [asyncio.create_task(self._keep_slave()) for _ in range(max(1, self._count))]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                process.terminate()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abort(self) -> None:
        """For a process that is about to end without :meth:`close`."""
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                process.kill()

    async def is_needed_as_master(self, members: list[dict[str, Any]] | None, wanted: int) -> bool:
        """Whether too few masters have lived for long enough, and it falls to this peer to step in.

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

    async def _find_master(self) -> None:
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
        for address in dict.fromkeys([*self.known, *self._contacts]):
            try:
                answer = json.loads(await self._caller.query(address, "ask:members", timeout_s=ASK_S))
            except (LinkError, P2PCrawlError) as error:
                log.debug("%s", error)
                self._trouble = str(error)
                continue
            members = answer["members"]
            self.known = [Address(m["address"]) for m in members][:KNOWN_MAX]
            takers = [m for m in members if not m["drained"]] or members
            fewest = min(m["slaves"] for m in takers)
            return Address(random.choice([m["address"] for m in takers if m["slaves"] == fewest]))
        return None

    async def _keep_slave(self) -> None:
        pause_s = SEARCH_S
        while True:
            started = asyncio.get_running_loop().time()
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "p2pcrawl.slave",
                "--connect",
                self.master,
                "--cluster",
                self._credentials.cluster,
                # Its end tells the slave that this process is gone, however it went.
                stdin=asyncio.subprocess.PIPE,
                stderr=self._errors_to,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path),
                    KEY_VARIABLE: self._credentials.keys.text(),
                },
            )
            self._processes.add(process)
            try:
                await process.wait()
            finally:
                self._processes.discard(process)
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
            lived_s = asyncio.get_running_loop().time() - started
            pause_s = SEARCH_S if lived_s > 10.0 else min(SEARCH_MAX_S, 2 * pause_s)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
            await self._find_master()
