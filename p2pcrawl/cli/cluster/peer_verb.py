"""The verb ``peer``: a peer from its start to its exit code."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO, Any

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.terminal import Terminal, own_standard_output
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.json_log_lines import LOG_FORM_VARIABLE
from p2pcrawl.peer.config import Role
from p2pcrawl.peer.peer import Peer
from p2pcrawl.spiders.aids.log_setup import name_peer

log = logging.getLogger(__name__)

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class PeerOptions:
    """The options of ``peer``, as typed; ``fields`` are those of PeerConfig."""

    fields: dict[str, Any]
    as_json: bool
    level: str
    logfile: str


def run_peer(options: PeerOptions) -> int:
    """Runs a peer until it is stopped."""
    terminal = Terminal(live=False)
    # Whoever reads it finds one line there.
    with (
        own_standard_output() as out,
        TextIOWrapper(out, encoding="utf-8") as stdout,
        log_to(terminal, options.level, options.logfile) as log_descriptor,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        return runner.run(_Stay(options, terminal, stdout).run(log_descriptor))


class _Stay:
    """The life of the peer, and the signals that end it."""

    def __init__(self, options: PeerOptions, terminal: Terminal, stdout: IO[str]) -> None:
        self._options = options
        self._terminal = terminal
        self._stdout = stdout
        self._ready = False
        self._signal = 0

    async def run(self, log_descriptor: int | None) -> int:
        fields = self._options.fields
        self._peer = Peer(**fields | {"role": Role(fields["role"])})
        self._peer.errors_to = log_descriptor
        self._life = asyncio.create_task(self._live())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            await self._life
        except asyncio.CancelledError:
            if not self._signal:
                raise
        return INTERRUPTED if self._signal == signal.SIGINT else 0

    async def _live(self) -> None:
        async with self._peer as peer:
            self._ready = True
            name_peer(peer.id)
            self._print_ready()
            await peer.wait()
            self._say("leaving the cluster")
        self._say("stopped")

    def _say(self, text: str) -> None:
        """Tells how it goes; where the log is for machines, in a line of it."""
        if os.environ.get(LOG_FORM_VARIABLE) == "json":
            log.info("%s", text)
        else:
            self._terminal.say(text)

    def _stop(self, number: int) -> None:
        if self._signal:
            self._say("stopping at once")
            self._peer.abort()
            # Nothing is lost by it: what was acknowledged is on disk already.
            os._exit(INTERRUPTED if self._signal == signal.SIGINT else 1)
        self._signal = number
        if self._ready:
            self._say("stopping (once more stops at once)")
            self._peer.stop()
        else:
            self._life.cancel()

    def _reload(self) -> None:
        if not self._ready:
            return
        try:
            self._peer.reload_keys()
        except ConfigurationError as error:
            log.error("the keys stay as they were: %s", error)

    def _print_ready(self) -> None:
        peer = self._peer
        ready = {"role": peer.role, "address": peer.address, "api": peer.api, "id": peer.id}
        line = json.dumps(ready) if self._options.as_json else _introduction(ready)
        with suppress(BrokenPipeError):
            print(line, file=self._stdout, flush=True)


def _introduction(ready: dict[str, str]) -> str:
    who = f"master at {ready['address']}" if ready["role"] == "master" else f"slave of the master at {ready['address']}"
    return (
        f"{who}, API at {ready['api']}, dashboard at http://{ready['api']}/; "
        f"join: p2pcrawl peer --join {ready['address']}; submit: p2pcrawl submit TARGET --peer {ready['api']}"
    )
