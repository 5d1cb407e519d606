"""The verbs ``top`` and ``status --watch`` at a real peer, on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ENDS_S, Run, Start, environment
from tests.cli.peers import Cluster, RunningPeer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.start("--slaves", 0, "--role", "master")
        yield cluster


@pytest.fixture
def peer(cluster: Cluster) -> RunningPeer:
    return cluster.peers[0]


class Screen:
    """A terminal with a program on it: what it has drawn, and its keys."""

    def __init__(self, folder: Path, size: tuple[int, int], *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(size)
        self.before = termios.tcgetattr(theirs)
        self._theirs = theirs
        env = {**environment(folder), "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES"):
            env.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "p2pcrawl", *arguments],
            cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        self._text = ""

    def resize(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def press(self, keys: str) -> None:
        self._text = ""
        os.write(self._ours, keys.encode())

    def shows(self, text: str) -> bool:
        """Waits until something is drawn."""
        deadline = time.monotonic() + ENDS_S
        while text not in self._text:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._ours], [], [], left)[0], self._text[-3000:]
            self._text += os.read(self._ours, 65_536).decode(errors="replace")
        return True

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def ends(self) -> int:
        """Waits for the end, reading on so that nothing has to wait for us."""
        deadline = time.monotonic() + ENDS_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline
            if select.select([self._ours], [], [], 0.05)[0]:
                self._text += os.read(self._ours, 65_536).decode(errors="replace")
        return self.process.returncode

    def mode(self) -> list[object]:
        return termios.tcgetattr(self._theirs)


def test_top_draws_obeys_keys_and_puts_the_terminal_back(cluster: Cluster, peer: RunningPeer, tmp_path: Path) -> None:
    job = cluster.told("submit", "http://127.0.0.1:9/", "--name", "nowhere")["job"]
    screen = Screen(tmp_path, (80, 24), "top", "--peer", peer.api, "--every", "0.2")
    try:
        assert screen.shows("masters 1") and screen.shows("nowhere")
        screen.press("\r")
        assert screen.shows(f"job {job}")
        screen.resize((200, 50))
        screen.press("\x1b")
        assert screen.shows("hosts")
        screen.press("q")

        assert screen.ends() == 0
        assert screen.mode() == screen.before
    finally:
        screen.close()


@pytest.mark.parametrize(("ended_by", "code"), [("\x03", 130), (signal.SIGTERM, 0)])
def test_top_leaves_the_terminal_as_it_was_however_it_ends(
    peer: RunningPeer, tmp_path: Path, ended_by: str | int, code: int
) -> None:
    screen = Screen(tmp_path, (80, 24), "top", "--peer", peer.api)
    try:
        assert screen.shows("masters 1")
        if isinstance(ended_by, str):
            screen.press(ended_by)
        else:
            screen.process.send_signal(ended_by)

        assert screen.ends() == code
        assert screen.mode() == screen.before
    finally:
        screen.close()


def test_top_without_a_terminal_says_what_to_use(peer: RunningPeer, run: Run) -> None:
    result = run("top", "--peer", peer.api)

    assert result.returncode == 2
    assert "status --watch" in result.stderr


def test_watched_status_goes_on_until_ctrl_c(peer: RunningPeer, start: Start) -> None:
    watching = start("status", "--watch", "0.1", "--json", "--peer", peer.api)
    assert watching.stdout is not None

    seen = [json.loads(watching.stdout.readline())["cluster"] for _ in range(3)]
    watching.send_signal(signal.SIGINT)

    _, err = watching.communicate(timeout=ENDS_S)
    assert seen == ["p2pcrawl"] * 3
    assert (watching.returncode, err.strip()) == (130, "p2pcrawl: interrupted")
