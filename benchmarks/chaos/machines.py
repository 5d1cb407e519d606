"""The machines of a round: each a disk, perhaps a network namespace, and the peer that runs there or does not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from benchmarks.chaos.disks import KINDS
from benchmarks.kit.divisible import DivisibleNetwork
from benchmarks.kit.measure import ROOT, Overdue, alive, descendants, until
from benchmarks.kit.parent import ends_with_us
from benchmarks.kit.peers import GONE, PeerProcess, user_files

AGREE_S = 90.0
VERB_S = 90.0
ENDS_S = 75.0
SLAVE_FOLDERS = ("p2pcrawl-projects-", "p2pcrawl-slave-")


class Machine:
    """One of them. ``peer`` is None while none runs there."""

    def __init__(self, number: int, folder: Path, disk: str) -> None:
        self.number = number
        self.disk = KINDS[disk](folder / f"machine-{number}")
        self.peer: PeerProcess | None = None
        self.stopped: list[int] = []
        """Processes that stand still."""
        self.may_end = ""
        """Why its peer may end by itself now."""
        self.began_s = 0.0
        self.buried = False

    @property
    def up(self) -> bool:
        return self.peer is not None and self.peer.running

    @property
    def well(self) -> bool:
        """Tells whether it runs and moves."""
        return self.up and not self.stopped

    def pids(self) -> list[int]:
        return descendants(self.peer.pid) if self.peer is not None and self.peer.running else []


class Machines:
    """All of them. ``seen`` has every process that ever ran on one, ``ends`` how peers ended that were not killed."""

    def __init__(
        self, folder: Path, count: int, disk: str, network: DivisibleNetwork | None, options: tuple[object, ...]
    ) -> None:
        self._folder, self._kind, self._network, self._options = folder, disk, network, options
        self._env = user_files(folder) | {"TMPDIR": str(folder / "tmp")}
        self._started = 0
        self.all: list[Machine] = []
        self._wanted = count
        self.seen: set[int] = set()
        self.ends: list[tuple[str, int, str]] = []
        self.gone_ids: list[str] = []
        """Ids of masters whose disks are lost with their names."""

    def __enter__(self) -> Self:
        (self._folder / "tmp").mkdir()
        try:
            if self._network is not None:
                self._options += ("--key-file", self._key())
            for _ in range(self._wanted):
                self.start(self.add())
            self.until_agreed()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for machine in self.all:
            if machine.peer is not None:
                machine.peer.kill()
        for machine in self.all:
            machine.disk.close()

    def well(self) -> list[Machine]:
        return [machine for machine in self.all if machine.well]

    def add(self) -> Machine:
        machine = Machine(len(self.all), self._folder, self._kind)
        self.all.append(machine)
        return machine

    def start(self, machine: Machine) -> None:
        """Starts the peer of a machine. Raises Overdue or RuntimeError when it is not ready."""
        self._started += 1
        joins = [part for other in self.well() if other.peer for part in ("--join", other.peer.address)]
        program, listen = self._where(machine.number)
        data, logs = machine.disk.data, self._folder / "logs" / f"{self._started}-of-{machine.number}"
        machine.peer = PeerProcess(logs, data, self._env, program, *listen, "--slaves", 1, *self._options, *joins)
        machine.began_s, machine.may_end = time.monotonic(), ""
        self.look()

    def kill(self, machine: Machine) -> None:
        """Kills all processes of a machine with -9."""
        self.look()
        self._note_end(machine)
        if machine.peer is not None:
            machine.peer.kill()
        machine.peer, machine.stopped = None, []

    def kill_master(self, machine: Machine) -> None:
        """Kills a master alone with -9: its slave finds out by itself."""
        self.look()
        self._note_end(machine)
        if machine.peer is not None and machine.peer.running:
            slaves = machine.peer.slaves()
            os.kill(machine.peer.pid, signal.SIGKILL)
            peer = machine.peer
            until(lambda: not peer.running, 30, "the killed master is gone")
            with contextlib.suppress(Overdue):
                until(lambda: not any(map(alive, slaves)), 30, "its slaves are gone")
                slaves = []
            for pid in filter(alive, slaves):
                self.ends.append((f"slave of machine {machine.number}", 0, "outlived its master by 30 s"))
                os.kill(pid, signal.SIGKILL)
        machine.peer, machine.stopped = None, []

    def leave(self, machine: Machine) -> None:
        """Ends a peer in order, and notes when it does not."""
        self.look()
        assert machine.peer is not None
        try:
            code = machine.peer.leave()
            if code:
                self.ends.append((self._log_of(machine), code, "left in order"))
        except Overdue:
            self.ends.append((self._log_of(machine), -1, f"had not left after {ENDS_S:g} s"))
            machine.peer.kill()
        machine.peer = None

    def stop(self, machine: Machine, pids: list[int]) -> None:
        """Lets processes stand still."""
        self.look()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                machine.stopped.append(pid)

    def go_on(self, machine: Machine) -> None:
        for pid in machine.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        machine.stopped = []

    def look(self) -> None:
        """Notes which processes there are."""
        for machine in self.all:
            self.seen.update(machine.pids())

    def ended_by_themselves(self) -> Iterator[Machine]:
        """Yields the machines whose peer has ended without having been told to, and notes how it ended."""
        for machine in self.all:
            if machine.peer is not None and not machine.peer.running:
                self._note_end(machine)
                machine.peer = None
                yield machine

    def until_agreed(self, timeout_s: float = AGREE_S) -> None:
        """Waits until all that run see each other and nobody else, and serve what they own. Raises Overdue."""
        until(self.agreed, timeout_s, f"{len(self.well())} masters agree", every_s=0.3)

    def agreed(self) -> bool:
        try:
            peers = [machine.peer for machine in self.all if machine.peer is not None]
            seen = [peer.ask("status", 5.0) for peer in peers]
        except (OSError, ValueError):
            return False
        ids = {peer.id for peer in peers}
        return (
            len({view for each in seen for view in (each["view"], each["here"]["view"])}) == 1
            and all({m["id"] for m in each["members"] if m["state"] not in GONE} == ids for each in seen)
            and not any(each["here"]["syncing"] for each in seen)
        )

    def ask(self, question: str) -> Any:
        """Asks anybody who answers. Raises OSError when nobody does."""
        told: OSError = OSError("nobody is up")
        for machine in self.well():
            assert machine.peer is not None
            try:
                return machine.peer.ask(question, 10.0)
            except OSError as error:
                told = error
        raise told

    def run(self, *arguments: object) -> str:
        """Runs a verb, and returns what it prints. Raises RuntimeError."""
        peer = next((machine.peer for machine in self.well()), None)
        if peer is None:
            raise RuntimeError(f"p2pcrawl {arguments[0]}: nobody is up")
        command = [sys.executable, "-m", "p2pcrawl", *map(str, arguments), "--peer", peer.api]
        try:
            ended = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | self._env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=VERB_S,
                preexec_fn=ends_with_us(),
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"p2pcrawl {arguments[0]}: not over after {VERB_S:g} s") from None
        if ended.returncode:
            raise RuntimeError(f"p2pcrawl {arguments[0]}: exit code {ended.returncode}: {ended.stderr[-1500:]}")
        return ended.stdout

    def end_all(self) -> None:
        """Ends one in order, and then all others by two SIGTERMs; notes who does not end."""
        first, *others = [machine for machine in self.all if machine.up]
        if others:
            self.leave(first)
        else:
            others = [first]
        self.look()
        for _ in range(2):
            for machine in others:
                if machine.peer is not None and machine.peer.running:
                    os.kill(machine.peer.pid, signal.SIGTERM)
            time.sleep(0.3)
        for machine in others:
            peer = machine.peer
            assert peer is not None
            with contextlib.suppress(Overdue):
                until(lambda p=peer: not p.running, 20.0)  # type: ignore[misc]
            if peer.running:
                self.ends.append((self._log_of(machine), -1, "had not ended 20 s after two SIGTERMs"))
                peer.kill()
            machine.peer = None

    def logs(self) -> Iterator[tuple[str, str]]:
        for path in sorted((self._folder / "logs").glob("*/stderr")):
            yield path.parent.name, path.read_text(errors="replace")

    def left_over(self) -> list[str]:
        """Tells which processes run that should have ended, and what lies among the temporary files.

        A slave that is killed cannot remove what it has unpacked; the next one does. So there is no more of it than
        slaves that ran in the end, one a machine.
        """
        with contextlib.suppress(Overdue):
            until(lambda: not any(map(alive, self.seen)), 15.0)
        found = [f"process {pid}" for pid in sorted(self.seen) if alive(pid)]
        unpacked = [path.name for path in (self._folder / "tmp").iterdir()]
        others = [name for name in unpacked if not name.startswith(SLAVE_FOLDERS)]
        if len(unpacked) - len(others) > len(self.all):
            others = unpacked
        return found + [f"temporary file {name}" for name in others]

    # -- inside ---------------------------------------------------------------------------------

    def _where(self, number: int) -> tuple[tuple[object, ...], tuple[object, ...]]:
        if self._network is None:
            return ("-m", "p2pcrawl"), ()
        listen = ("--bind", f"{self._network.among(number)}:7200", "--api", f"{self._network.out(number)}:7300")
        return ("-m", "benchmarks.kit.namespaced_peer", self._network.name(number)), listen

    def _key(self) -> Path:
        path = self._folder / "cluster.key"
        command = [sys.executable, "-m", "p2pcrawl", "keygen", "-o", str(path)]
        subprocess.run(command, env=os.environ | self._env, check=True, capture_output=True, cwd=ROOT)
        return path

    def _note_end(self, machine: Machine) -> None:
        peer = machine.peer
        if peer is not None and not peer.running:
            code = peer.wait(1.0).code
            said = [line for line in peer.said().splitlines() if line.strip()]
            if not machine.may_end:
                last = said[-1] if said else "nothing said"
                self.ends.append((self._log_of(machine), code, f"ended by itself: {last[:200]}"))

    def _log_of(self, machine: Machine) -> str:
        assert machine.peer is not None
        return machine.peer.folder.name


def attempt(act: Callable[[], object], times: int = 3) -> None:
    """Tries again what did not work; raises what came of the last time."""
    for left in reversed(range(times)):
        try:
            return act()
        except (Overdue, RuntimeError, OSError):
            if not left:
                raise
            time.sleep(1.0)


def plain(told: str) -> Mapping[str, Any]:
    """Reads what a verb has told with --json."""
    found: Mapping[str, Any] = json.loads(told)
    return found
