"""Real peers on loopback, for tests."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, build_opener

from benchmarks.kit.parent import ends_with_us
from tests.cli.conftest import ENDS_S, environment, until
from tests.cli.forks import run_verb

LOOPBACK = ("--bind", "127.0.0.1:0", "--api", "127.0.0.1:0", "--json")


@dataclass
class RunningPeer:
    """A peer that is ready: what its line said, and its process."""

    process: subprocess.Popen[str]
    ready: dict[str, str]
    said: Path

    @property
    def address(self) -> str:
        return self.ready["address"]

    @property
    def api(self) -> str:
        return self.ready["api"]

    @property
    def log(self) -> str:
        return self.said.read_text()

    def end(self, signal_number: int | None = None) -> tuple[int, str]:
        """Ends the peer, by a signal if one is given. Returns its exit code, and what else it wrote to standard
        output.
        """
        if signal_number is not None:
            self.process.send_signal(signal_number)
        rest, _ = self.process.communicate(timeout=ENDS_S)
        return self.process.returncode, rest


@dataclass
class Cluster:
    """Peers that share a folder for their user's files. Leaving it kills those that still run."""

    folder: Path
    peers: list[RunningPeer] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            with suppress(ValueError):
                process.communicate(timeout=ENDS_S)

    def begin(self, *arguments: object, env: dict[str, str] | None = None) -> tuple[subprocess.Popen[str], Path]:
        """A peer that may never be ready, and the file with what it says on standard error."""
        said = self.folder / f"peer{len(self.processes)}.log"
        with open(said, "w") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "p2pcrawl", "peer", *LOOPBACK, *map(str, arguments)],
                cwd=self.folder,
                env=environment(self.folder) | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                preexec_fn=ends_with_us(),
            )
        self.processes.append(process)
        return process, said

    def start(self, *arguments: object, env: dict[str, str] | None = None) -> RunningPeer:
        """A peer, when it is ready. It joins the first one if there is one."""
        joins = ["--join", self.peers[0].address] if self.peers and "--join" not in arguments else []
        process, said = self.begin(*joins, *arguments, env=env)
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], ENDS_S)
        line = process.stdout.readline() if readable else ""
        assert line, said.read_text()
        peer = RunningPeer(process, json.loads(line), said)
        self.peers.append(peer)
        return peer

    def run(self, *arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A verb of the same user, to its end; with ``env`` in an interpreter of its own."""
        return run_verb(arguments, home=self.folder, env=env)

    def told(self, *arguments: object) -> Any:
        """Runs a verb with --json, and returns what it prints."""
        result = self.run(*arguments, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def until_agreed(self, masters: int) -> None:
        """Waits until each master serves its part of a ring of so many."""

        def agreed() -> bool:
            seen = [asked(p.api, "status") for p in self.peers if p.process.poll() is None]
            views = {(s["view"], sum(m["state"] == "alive" for m in s["members"])) for s in seen}
            return len(views) == 1 and next(iter(views))[1] == masters and not any(s["here"]["syncing"] for s in seen)

        until(agreed, f"{masters} masters agree")


def asked(api: str, question: str) -> Any:
    """Asks a peer's API, as the verbs do, without a process for it: for those that ask until something has happened."""
    with build_opener(ProxyHandler({})).open(f"http://{api}/v1/{question}", timeout=ENDS_S) as answer:
        return json.load(answer)


def gone(pid: int) -> bool:
    """Tells whether no process has this number, or only one that waits to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def ends_within(process: subprocess.Popen[str], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return process.poll() is not None
