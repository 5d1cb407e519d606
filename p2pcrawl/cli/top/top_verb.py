"""The verb ``top``: asks one peer again and again, draws, and takes keys until ``q``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from p2pcrawl.cli.screen.summary import INTERRUPTED
from p2pcrawl.cli.top.keyboard import keyboard
from p2pcrawl.cli.top.top_screen import screen
from p2pcrawl.cli.top.top_state import Panel, TopState, WishedTurn
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError

LINES_MAX: Final = 100
"""Of jobs and hosts that are asked for; nobody has a higher terminal."""
KINDS_SHOWN, EXAMPLES_SHOWN = 8, 2
DRAW_S: Final = 0.2


class LastAnswers:
    """The last answers of a peer, asked for in a thread, so that keys never wait for them."""

    def __init__(self, remote: Remote, every_s: float) -> None:
        self._remote = remote
        self._every_s = every_s
        self._lock = threading.Lock()
        self._wanted: int | None = None
        self._wake = threading.Event()
        self._overview: dict[str, Any] = remote.get("/v1/overview", jobs=LINES_MAX, hosts=LINES_MAX)
        self._errors: list[str] = []
        self._trouble = ""
        threading.Thread(target=self._run, daemon=True).start()

    def look_into(self, job: int | None) -> None:
        """Says of which job errors are wanted besides."""
        if job != self._wanted:
            with self._lock:
                self._wanted, self._errors = job, []
            self._wake.set()

    def last(self) -> tuple[dict[str, Any], list[str], str]:
        """Returns the last overview, what failed of the job that is looked into, and why nothing newer came."""
        with self._lock:
            return self._overview, self._errors, self._trouble

    def _run(self) -> None:
        while True:
            self._wake.wait(self._every_s)
            self._wake.clear()
            try:
                overview = self._remote.get("/v1/overview", jobs=LINES_MAX, hosts=LINES_MAX)
                wanted = self._wanted
                errors = list(_errors_told(self._remote.get(job_path(wanted, "errors"), limit=1))) if wanted else []
            except P2PCrawlError as error:
                with self._lock:
                    self._trouble = str(error)
                continue
            with self._lock:
                self._overview, self._trouble = overview, ""
                if wanted == self._wanted:
                    self._errors = errors


def run_top(peer: str | None, token_file: Path | None, every_s: float) -> int:
    """Shows the cluster until somebody leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise ConfigurationError("top draws on a terminal, and this is none: `p2pcrawl status --watch` prints lines")
    remote = Remote.find(peer, token_file)
    asked, state = LastAnswers(remote, every_s), TopState()
    console = Console(file=sys.__stdout__)
    with (
        keyboard(sys.stdin.fileno()) as keys,
        _ended_by(signal.SIGTERM, state),
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        while not state.over:
            overview, errors, trouble = asked.last()
            if trouble:
                overview = {**overview, "warnings": [trouble, *overview["warnings"]]}
            width, height = console.size
            live.update(_drawn(screen(overview, errors, state, (width, height))), refresh=True)
            for key in keys.pressed(DRAW_S):
                turn = state.press(key, overview)
                if turn is not None:
                    state.message = _done(remote, turn)
            line = state.line(overview) if state.looking and state.panel is Panel.JOBS else None
            asked.look_into(line["job"] if line is not None else None)
    return INTERRUPTED if state.interrupted else 0


def _drawn(lines: list[Text]) -> Group:
    for line in lines:
        line.no_wrap = True
    return Group(*lines)


def _done(remote: Remote, turn: WishedTurn) -> str:
    try:
        answer = remote.post(job_path(turn.job, turn.verb), {})
    except P2PCrawlError as error:
        return str(error)
    return f"job {answer['job']} is {answer['state']}"


def _errors_told(answer: dict[str, Any]) -> Iterator[str]:
    for kind in answer["errors"][:KINDS_SHOWN]:
        yield f"  {kind['count']:>9,}  {kind['kind']}"
        for example in kind["examples"][:EXAMPLES_SHOWN]:
            yield f"             {example['url']}  {example.get('detail', '')}"


@contextmanager
def _ended_by(number: int, state: TopState) -> Iterator[None]:
    """Has a signal end the loop, so that the terminal is put back."""

    def end(*_: object) -> None:
        state.over = True

    before = signal.signal(number, end)
    try:
        yield
    finally:
        signal.signal(number, before)
