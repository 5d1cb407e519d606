"""What pages, headers and other peers say reaches no terminal as it is, whichever verb brings it there."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest

from p2pcrawl import cli
from p2pcrawl.cli import verbs, why
from p2pcrawl.cli.screen.figures import Figures, Meter
from p2pcrawl.cli.screen.progress import progress_line, table
from p2pcrawl.cli.screen.relay import Relay
from p2pcrawl.cli.screen.terminal import Guarded, Terminal
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.stores.files.stream_sink import StreamSink

HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202egnp\ud800\rp2pcrawl: all is well"
FORBIDDEN = ["\x1b", "\x07", "\x9b", "\u202e", "\ud800", "\r"]


class Screen(io.StringIO):
    """A terminal that keeps what it is told."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        text.encode("utf-8")
        return super().write(text)

    @property
    def harmed(self) -> list[str]:
        return [character for character in FORBIDDEN if character in self.getvalue()]


Look = Callable[[], tuple[Screen, Screen]]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """Puts screens in the place of standard output and error; pytest has its own there until a test has begun."""

    def look_at() -> tuple[Screen, Screen]:
        out, err = Screen(), Screen()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        return out, err

    return look_at


def say_and_fail(*_: Any, **__: Any) -> int:
    """A verb that tells what it heard on every way there is, and fails with it."""
    print(HOSTILE)
    print(HOSTILE, file=sys.stderr)
    sys.stdout.writelines([HOSTILE])
    Terminal(live=False).say(HOSTILE)
    Terminal(live=False).write(HOSTILE)
    raise P2PCrawlError(HOSTILE)


@pytest.mark.parametrize("verb", [n for n, c in verbs.p2pcrawl.commands.items() if not isinstance(c, click.Group)])
def test_no_verb_brings_controls_to_a_terminal(verb: str, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    command = verbs.p2pcrawl.commands[verb]
    monkeypatch.setattr(command, "callback", say_and_fail)
    monkeypatch.setattr(command, "params", [])
    out, err = look()

    code = cli.run([verb])

    assert code == 1
    assert (out.harmed, err.harmed) == ([], [])
    assert "\\u001b]0;pwned" in out.getvalue()
    assert "\\u001b]0;pwned" in err.getvalue()


@pytest.mark.parametrize("error", [ValueError(HOSTILE), click.UsageError(HOSTILE), MemoryError(HOSTILE)])
def test_no_error_brings_controls_to_a_terminal(error: Exception, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise error

    monkeypatch.setattr(verbs.p2pcrawl.commands["demo"], "callback", fail)
    _, err = look()

    cli.run(["demo", "--debug"])

    assert err.harmed == []
    assert "pwned" in err.getvalue()


def test_streams_are_the_same_as_before_when_a_verb_has_ended(look: Look) -> None:
    screens = look()

    cli.run(["--version"])

    assert (sys.stdout, sys.stderr) == screens


def test_live_display_shows_hostile_lines_as_escapes(look: Look) -> None:
    screens = look()
    terminal = Terminal(live=True)
    terminal.begin("")
    own = screens[1].getvalue()

    terminal.write(HOSTILE)
    print(HOSTILE, file=sys.stderr)
    print(HOSTILE)
    said = (screens[0].getvalue() + screens[1].getvalue())[len(own) :]
    terminal.end()

    assert said.count("\\u001b]0;pwned") == 3
    assert "]0;pwned\x07" not in said and "\x9b" not in said and "\u202e" not in said


def test_progress_shows_reasons_as_escapes(look: Look) -> None:
    figures = Figures(1.0, 1, 1.0, 1.0, 0, 0, 0, {HOSTILE: 1}, {}, 0, 0, [], [])
    screens = look()

    Terminal(live=False).say(progress_line(figures))

    assert screens[1].harmed == []


def test_live_display_shows_names_of_jobs_as_escapes(look: Look) -> None:
    figures = Figures(1.0, 1, 1.0, 1.0, 0, 0, 0, {}, {}, 0, 0, [], [])
    screens = look()
    terminal = Terminal(live=True)

    terminal.begin("")
    terminal.show(table(HOSTILE, figures, False))
    terminal.end()

    assert "\\u001b]0;pwned" in screens[1].getvalue()
    assert "\x1b]0" not in screens[1].getvalue()


async def test_what_slaves_print_is_made_safe_beside_a_live_display(look: Look) -> None:
    screens = look()
    relay = Relay(Terminal(live=False).write)
    os.write(relay.descriptor, HOSTILE.encode("utf-8", "replace") + b"\xff\n")

    relay.close()

    assert screens[1].harmed == []
    assert "pwned" in screens[1].getvalue()


def test_why_tells_each_line_as_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from p2pcrawl.cli.screen.terminal import show

    found = {
        "url": f"http://h/{HOSTILE}\nhttp://h/other\n  done: status 200",
        "canonical": HOSTILE,
        "seen": True,
        "records": [],
        "texts": [],
        "crawled_by": 0,
        "hints": [HOSTILE + "\nx"],
        "notes": [HOSTILE],
    }

    for line in why.history_words(found):
        show(line)

    told = capsys.readouterr().out
    assert len(told.splitlines()) == 4
    assert not [character for character in FORBIDDEN if character in told]


@pytest.mark.parametrize("terminal", [True, False])
def test_items_go_to_a_terminal_as_the_same_json_and_to_a_pipe_as_they_are(terminal: bool) -> None:
    read, write = pty.openpty() if terminal else os.pipe()
    item = json.dumps({"title": "\x9b2J\u202e"}, ensure_ascii=False).encode()
    sink = StreamSink(write)
    sink.resume(None)

    sink.write([item])
    written = os.read(read, 1000)
    os.close(read)
    os.close(write)

    assert json.loads(written) == json.loads(item)
    assert (item in written) is not terminal


def test_guarded_stream_is_the_stream_otherwise() -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding="utf-8", write_through=True)

    guarded = Guarded(stream)

    assert guarded.encoding == "utf-8"
    assert guarded.write("\x1b") == 1
    assert data.getvalue() == b"\\u001b"


def test_line_tells_visits_of_known_pages() -> None:
    new = Figures(1.0, 1, 1.0, 1.0, 0, 0, 0, {}, {}, 0, 0, [], [])
    known = Figures(1.0, 1, 1.0, 1.0, 0, 0, 0, {}, {}, 0, 0, [], [], again=1234)

    assert "again" not in progress_line(new)
    assert "1 page (1.0/s, mean 1.0/s)  visited again 1,234  queued 0" in progress_line(known)


def test_visits_count_for_the_rate_which_is_never_below_nothing() -> None:
    job = SimpleNamespace(counts=Counter(pages=10), leased=0)
    master = SimpleNamespace(
        sessions={}, now=0.0, workbench=SimpleNamespace(seats={}, lines=SimpleNamespace(doubted=0)),
        outputs=SimpleNamespace(states=lambda _: []),
    )  # fmt: skip
    meter = Meter(cast(Any, SimpleNamespace(jobs=[job], finished=False, master=master)))

    job.counts.update(pages=-4)
    assert meter.read().recent == meter.read().mean == 0.0

    job.counts.update(pages=4, revisits=4)
    assert meter.read().recent > 0.0 and meter.read().mean > 0.0 and meter.read().again == 4


def test_line_tells_what_goes_on_while_hosts_do_not_answer() -> None:
    idle = Figures(1.0, 1, 1.0, 1.0, 0, 0, 0, {}, {}, 0, 0, [], [], tried=7)
    trying = Figures(1.0, 1, 1.0, 1.0, 0, 0, 0, {}, {}, 0, 0, [], [], tried=1234, unanswering=96)

    assert "do not answer" not in progress_line(idle)
    assert progress_line(trying).endswith("96 requests at hosts that do not answer yet (robots.txt tried 1,234 times)")
