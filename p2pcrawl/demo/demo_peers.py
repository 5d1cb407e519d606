"""The peers of the demo's cluster: real processes with folders of their own, which may be killed."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from p2pcrawl.client.remote import Remote
from p2pcrawl.demo.process import ended
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.api.tokens import TOKEN_FILE

READY_S = 60.0
CLUSTER = "demo"


@dataclass(frozen=True, slots=True)
class DemoPeer:
    """A peer that is ready."""

    process: asyncio.subprocess.Process
    id: str
    address: str
    api: Address
    folder: Path

    @property
    def name(self) -> str:
        return self.id[:8]

    def remote(self) -> Remote:
        """Returns the way to its API, with its token."""
        return Remote(self.api, self.folder / TOKEN_FILE)


class DemoCluster:
    """Starts and kills peers. All have ended when the block is left, and their folders are gone."""

    def __init__(self, slaves: int, level: str) -> None:
        """``slaves``: processes that each master leads."""
        self._options = (
            "--cluster",
            CLUSTER,
            "--role",
            "master",
            "--slaves",
            str(slaves),
            "--loglevel",
            level,
            "--json",
        )
        self._begun = 0
        self._processes: list[asyncio.subprocess.Process] = []
        self.peers: list[DemoPeer] = []
        """Those that live."""

    async def __aenter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="p2pcrawl-demo-"))
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        await asyncio.gather(*map(ended, self._processes))
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def start(self) -> DemoPeer:
        """Starts a master that joins the others. Raises P2PCrawlError when it is not ready in time."""
        self._begun += 1
        folder = self._folder / f"master{self._begun}"
        joins = ("--join", self.peers[0].address) if self.peers else ()
        log = folder.with_suffix(".log")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "p2pcrawl.demo.member", "--bind", "127.0.0.1:0", "--data", str(folder)),
            *("--logfile", str(log), *joins, *self._options),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Ctrl-C is for the demo, which ends its peers itself.
            start_new_session=True,
        )
        self._processes.append(process)
        ready = await self._ready(process, log)
        peer = DemoPeer(process, ready["id"], ready["address"], Address(ready["api"]), folder)
        self.peers.append(peer)
        return peer

    async def kill(self, peer: DemoPeer) -> None:
        """Ends a master with SIGKILL; its slaves end with it."""
        self.peers.remove(peer)
        peer.process.kill()
        await peer.process.wait()

    async def _ready(self, process: asyncio.subprocess.Process, log: Path) -> dict[str, Any]:
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), READY_S)
        except TimeoutError:
            line = b""
        if not line:
            raise P2PCrawlError(f"a master of the demo did not begin: {await asyncio.to_thread(_last_line, log)}")
        found: dict[str, Any] = json.loads(line)
        return found


def _last_line(log: Path) -> str:
    try:
        return log.read_text(errors="replace").splitlines()[-1]
    except (OSError, IndexError):
        return "it logged nothing"
