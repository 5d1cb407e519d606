"""``p2pcrawl`` in processes that are forked from one that has imported it, and so spared the half second of imports.

They are processes nevertheless: streams, environment, working folder, signals and exit code are their own, no other
test has left anything in them, and ``__main__`` runs as ``python -m p2pcrawl`` runs it. What they cannot show is what
an interpreter does before our first line and after our last, and in which order modules are imported: tests of these
start their own.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from benchmarks.kit.parent import ends_with_us
from tests.own_environment import own_environment

ROOT = Path(__file__).resolve().parent.parent.parent
ENDS_S = 60.0
_FEW = 1 << 16
"""Bytes that are read at once."""


def environment(home: Path | None = None) -> dict[str, str]:
    """``home``: where the user's keys and the peers' presence are kept."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("P2PCRAWL_")}
    if home is not None:
        own |= own_environment(home)
    return own | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"}


class Forks:
    """Runs commands, one at a time, as forks of one process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket
        self._lock = threading.Lock()
        self._users = 0
        """How many have begun and not ended: each folder of tests whose fixture it is."""

    def begin(self) -> None:
        """Starts the process that forks, for the first who asks. It ends with the thread that calls this."""
        self._users += 1
        if self._users > 1:
            return
        self._socket, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(its.fileno())],
                cwd=ROOT,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                preexec_fn=ends_with_us(),
            )

    def end(self) -> None:
        """Ends it with the last who asked for it."""
        self._users -= 1
        if self._users:
            return
        assert self._process is not None
        self._socket.close()
        self._process.wait()

    def run(
        self, arguments: Sequence[str], cwd: Path, env: dict[str, str], typed: TextIO
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, as ``subprocess.run`` does; ``typed`` is its standard input."""
        request = {"arguments": arguments, "cwd": str(cwd), "env": env}
        with self._lock:
            (out, its_out), (err, its_err) = os.pipe(), os.pipe()
            try:
                sent = [typed.fileno(), its_out, its_err]
                socket.send_fds(self._socket, [json.dumps(request).encode() + b"\n"], sent)
            finally:
                os.close(its_out)
                os.close(its_err)
            pid = self._answer()
            try:
                said = _read_to_the_ends([out, err])
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), ENDS_S) from None
            finally:
                os.close(out)
                os.close(err)
                code = self._answer()
        return subprocess.CompletedProcess(list(arguments), code, *said)

    def _answer(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            read = self._socket.recv(1)
            assert read, "the process that forks has gone"
            line += read
        return int(line)


FORKS = Forks()


def run_verb(
    arguments: Iterable[object],
    *,
    home: Path,
    typed: str | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """A verb to its end. Variables of its own may be meant for the interpreter, so it gets a new one then."""
    words = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile("w+") as stdin:
        stdin.write(typed or "")
        stdin.seek(0)
        if env is None:
            return FORKS.run(words, cwd or home, environment(home), stdin)
        return subprocess.run(
            [sys.executable, "-m", "p2pcrawl", *words],
            cwd=cwd or home,
            env=environment(home) | env,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=ENDS_S,
            preexec_fn=ends_with_us(),
        )


def _read_to_the_ends(pipes: Sequence[int]) -> list[str]:
    read: dict[int, list[bytes]] = {pipe: [] for pipe in pipes}
    with selectors.DefaultSelector() as open_ones:
        for pipe in pipes:
            open_ones.register(pipe, selectors.EVENT_READ)
        while open_ones.get_map():
            ready = open_ones.select(ENDS_S)
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                some = os.read(key.fd, _FEW)
                read[key.fd].append(some)
                if not some:
                    open_ones.unregister(key.fd)
    return [b"".join(parts).decode().replace("\r\n", "\n") for parts in read.values()]


def _import_everything() -> None:
    import p2pcrawl

    for module in pkgutil.walk_packages(p2pcrawl.__path__, "p2pcrawl."):
        if not module.name.endswith(".__main__"):
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name is None or error.name.startswith("p2pcrawl"):
                    raise
                # It needs a package of an extra, which is not installed here.


def _requests(control: socket.socket) -> Any:
    while True:
        data, fds, *_ = socket.recv_fds(control, _FEW, 3)
        if not data:
            return
        while not data.endswith(b"\n"):
            data += control.recv(_FEW)
        yield json.loads(data), fds


def _next_fork(control: socket.socket) -> tuple[Any, list[int]] | None:
    """Forks for each request; returns in a fork, with its request."""
    for request, fds in _requests(control):
        ends = ends_with_us()
        pid = os.fork()
        if pid == 0:
            ends()
            return request, fds
        for fd in fds:
            os.close(fd)
        control.sendall(b"%d\n" % pid)
        control.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return None


def main() -> None:
    code = [0]
    # What is registered first comes last, after threads and all other functions.
    atexit.register(_leave, code)
    # As `python -m p2pcrawl` does with the current folder.
    sys.path.pop(0)
    _import_everything()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        forked = _next_fork(control)
    if forked is None:
        return
    request, fds = forked
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["p2pcrawl", *request["arguments"]]
    try:
        runpy.run_module("p2pcrawl", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code[0] = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    except BaseException:
        code[0] = 1
        raise


def _leave(code: list[int]) -> None:
    """Ends as the interpreter does, but for taking all modules apart: that writes to all memory that is shared with the
    process that forked, which took two thirds of what a short command costs.
    """
    # What nobody holds complains now: tasks that were never awaited, files that were never closed.
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code[0] = 120
    os._exit(code[0] & 0xFF)


if __name__ == "__main__":
    main()
