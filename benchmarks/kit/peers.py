"""Peers in processes of their own on loopback, as one cluster: started, asked, weighed and ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from benchmarks.kit.measure import ROOT, Overdue, Watched, descendants, until
from benchmarks.kit.parent import ends_with_us

READY_S = 60.0
AGREE_S = 90.0
LEAVE_S = 60.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LISTEN = ("--bind", "127.0.0.1:0", "--api", "127.0.0.1:0", "--role", "master", "--json")
READ_TOKEN = "token-read"
"""In a peer's data folder."""
GONE = {"dead", "left", ""}
"""How a member is told of that does not count any more; "" when it is told of no more."""
_EVENT = re.compile(r"\b([0-9a-f]{8}) (\w+) at ")

Program = Callable[[int], Sequence[object]]
"""What Python runs as a cluster's n-th peer."""


def cpu_s(pids: Sequence[int]) -> float:
    """Sums the user and system time that the processes have had so far, and their children that were waited for."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / TICKS_PER_S


def user_files(home: Path) -> dict[str, str]:
    """Returns the environment of a user of his own, with nothing of who runs this."""
    own = {name: "" for name in os.environ if name.startswith("P2PCRAWL_")}
    folders = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
    return own | {name: str(home / folder) for name, folder in folders.items()} | {"PYTHONPATH": str(ROOT)}


def p2pcrawl(number: int) -> Sequence[object]:
    return ("-m", "p2pcrawl")


def reading_token(data: Path) -> dict[str, str]:
    """Returns the header by which a peer's API may be read; off loopback it wants one."""
    try:
        return {"Authorization": f"Bearer {(data / READ_TOKEN).read_text().strip()}"}
    except OSError:
        return {}


class PeerProcess(Watched):
    """One peer. Its data folder stays when it ends, so that it can come back as the same one.

    ``role`` is what it was when it was ready; an ``auto`` peer may become a master later.
    """

    def __init__(
        self, folder: Path, data: Path, env: Mapping[str, str], program: Sequence[object], *arguments: object
    ) -> None:
        self.folder, self.data = folder, data
        command = [*program, "peer", *LISTEN, "--data", data, *arguments]
        super().__init__([sys.executable, *map(str, command)], folder, env)
        try:
            line = until(self._line, READY_S, "a peer is ready")
            if line is True:
                raise RuntimeError(f"a peer ended before it was ready\n{self.said()[-4000:]}")
        except BaseException:
            self.kill()
            raise
        ready = json.loads(line)
        self.id: str = ready["id"]
        self.role: str = ready["role"]
        self.address: str = ready["address"]
        self.api: str = ready["api"]
        self._token = reading_token(data)

    def ask(self, question: str, timeout_s: float = 30.0, **query: object) -> Any:
        """Asks its API a question: ``status``, ``jobs/7``, ``urls/owner`` and so on. Raises OSError."""
        url = f"http://{self.api}/v1/{question}" + ("?" + urlencode(query) if query else "")
        with urllib.request.urlopen(urllib.request.Request(url, headers=self._token), timeout=timeout_s) as answer:
            return json.loads(answer.read())

    def owner_of(self, url: str) -> dict[str, Any]:
        """Asks who owns a URL, and why. Raises OSError."""
        return dict(self.ask("urls/owner", url=url))

    def state_of(self, member: str) -> str:
        """Returns how it sees another; "" when it knows of none such, "unknown" when it does not answer."""
        try:
            members = self.ask("status", 5.0)["members"]
        except OSError:
            return "unknown"
        return next((str(m["state"]) for m in members if m["id"] == member), "")

    def cpu_s(self) -> float:
        """Sums the CPU time of the peer and its slaves."""
        return cpu_s(descendants(self.pid))

    def leave(self) -> int:
        """Ends it in order, by SIGTERM, and returns the exit code. Raises Overdue."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait(LEAVE_S).code

    def told(self) -> list[tuple[str, str]]:
        """Reads what its log says of members: the beginnings of their ids, and "joined", "suspected", "died" and
        so on.
        """
        return _EVENT.findall(self.said())

    def _line(self) -> str | bool:
        """Reads the line that says that it is ready; True when it ended without."""
        text = (self.folder / "stdout").read_text()
        return text if text.endswith("\n") else not self.running


class Peers:
    """A cluster: its masters are ``living``, peers that help one of them ``helping``. What still runs at the end of the
    block is killed."""

    def __init__(
        self, folder: Path, masters: int, slaves: int, *arguments: object, program: Program = p2pcrawl
    ) -> None:
        self.folder = folder
        self._arguments = ("--slaves", slaves, *arguments)
        self._program = program
        self._env = user_files(folder)
        self._begun = 0
        self.living: list[PeerProcess] = []
        self.helping: list[PeerProcess] = []
        self._wanted = masters

    def __enter__(self) -> Self:
        try:
            for _ in range(self._wanted):
                self.start()
            self.until_agreed()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for peer in (*self.living, *self.helping):
            peer.kill()
        self.living.clear()
        self.helping.clear()

    def start(self, data: Path | None = None, *arguments: object) -> PeerProcess:
        """Starts one more, a master unless the arguments say otherwise; with the data folder of an earlier one, that
        again.
        """
        self._begun += 1
        name = f"peer-{self._begun}"
        joins = ("--join", self.living[0].address) if self.living else ()
        data = data or self.folder / f"data-{self._begun}"
        program = self._program(self._begun)
        peer = PeerProcess(self.folder / name, data, self._env, program, *self._arguments, *arguments, *joins)
        (self.living if peer.role == "master" else self.helping).append(peer)
        return peer

    def drop(self, peer: PeerProcess) -> None:
        """Counts a peer no more that has ended."""
        self.living.remove(peer)

    def agreed(self) -> bool:
        """Tells whether all that live see each other, and nobody else, act in that view, and serve all they own."""
        try:
            seen = [peer.ask("status") for peer in self.living]
        except OSError:
            return False
        ids = {peer.id for peer in self.living}
        return (
            len({view for each in seen for view in (each["view"], each["here"]["view"])}) == 1
            and all({m["id"] for m in each["members"] if m["state"] not in GONE} == ids for each in seen)
            and all(m["state"] == "alive" for each in seen for m in each["members"] if m["id"] in ids)
            and not any(each["here"]["syncing"] for each in seen)
        )

    def until_agreed(self) -> None:
        until(self.agreed, AGREE_S, f"{len(self.living)} masters agree", every_s=0.1)

    def run(self, *arguments: object, at: PeerProcess | None = None, timeout_s: float = 120.0) -> str:
        """Runs a verb at the API of this peer or the first one, and returns what it prints. Raises RuntimeError."""
        command = [sys.executable, "-m", "p2pcrawl", *map(str, arguments), "--peer", (at or self.living[0]).api]
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            preexec_fn=ends_with_us(),
        )
        if ended.returncode:
            raise RuntimeError(f"p2pcrawl {arguments[0]}: exit code {ended.returncode}\n{ended.stderr[-4000:]}")
        return ended.stdout

    def submit(
        self,
        target: Path,
        arguments: Mapping[str, str],
        settings: Mapping[str, object] | None = None,
        outputs: Sequence[str] = (),
    ) -> int:
        """Submits a job, and returns its number."""
        options = [part for name, text in arguments.items() for part in ("-a", f"{name}={text}")]
        options += [part for name, value in (settings or {}).items() for part in ("-s", f"{name}={value}")]
        options += [part for url in outputs for part in ("-o", url)]
        return int(json.loads(self.run("submit", target, *options, "--json"))["job"])

    def job(self, number: int) -> dict[str, Any]:
        """Asks the first master about a job over all masters."""
        return dict(self.living[0].ask(f"jobs/{number}"))

    def until_over(self, number: int, timeout_s: float) -> dict[str, Any]:
        """Waits for the end of the job, and returns how it ended. Raises Overdue, with how it stands."""
        found: dict[str, Any] = {}

        def over() -> bool:
            found.update(self.job(number))
            return found["state"] in ("finished", "cancelled")

        try:
            until(over, timeout_s, f"job {number} is over", every_s=0.25)
        except Overdue as error:
            raise Overdue(f"{error}; it stands at {found}") from None
        return found

    def results(self, number: int, path: Path) -> None:
        self.run("results", number, "-o", path)

    def cpu_s(self) -> float:
        return sum(peer.cpu_s() for peer in self.living)
