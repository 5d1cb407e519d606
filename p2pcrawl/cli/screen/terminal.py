"""Standard output and error as a person sees them: lines, and below them a live display where there is a terminal.

What pages and other peers say passes :class:`Guarded` on its way there: standard error always, standard output where it
is a terminal (in a pipe it is data, and goes on as it is). Lines for people are made safe wherever they go.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO, cast

from p2pcrawl.model.printable import on_one_line, printable
from p2pcrawl.model.redaction import redacted


class Guarded:
    """A text stream that lets nothing through that a terminal obeys, nor passwords if it ``redacts``."""

    def __init__(self, stream: TextIO, *, redacts: bool = False) -> None:
        self.stream = stream
        self._redacts = redacts

    def write(self, text: str) -> int:
        self.stream.write(printable(redacted(text) if self._redacts else text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Guards the process's standard streams for the length of the block."""
    out, err = sys.stdout, sys.stderr
    sys.stderr = cast(TextIO, Guarded(err, redacts=True))
    if out is not None and out.isatty():
        sys.stdout = cast(TextIO, Guarded(out))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


@contextmanager
def own_standard_output() -> Iterator[BinaryIO]:
    """Gives standard output to the caller alone for the length of the block: whatever slaves and libraries print goes
    to standard error.
    """
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as stdout:
        os.dup2(2, 1)
        yield stdout


def show(line: str) -> None:
    """Prints a line for people on standard output."""
    print(on_one_line(line))


def show_json(answer: Any) -> None:
    """Prints an answer as a line of JSON on standard output, without passwords."""
    print(json_line(answer))


def show_answer(answer: Any, in_words: Callable[[Any], Iterable[str]], *, as_json: bool) -> None:
    """Prints an answer, as a line of JSON or ``in_words``."""
    if as_json:
        show_json(answer)
    else:
        for line in in_words(answer):
            show(line)


def json_line(answer: Any) -> str:
    return redacted(json.dumps(answer, ensure_ascii=False))


class Terminal:
    """Writes what the faces say. ``live``: whether a display that changes in place is possible; None: find out."""

    def __init__(self, live: bool | None = None) -> None:
        self.live = _can_be_live() if live is None else live
        self._display: Any = None

    def say(self, line: str) -> None:
        """Writes one line of our own."""
        line = on_one_line(line)
        self.write(f"p2pcrawl: {line}" if line and not line.startswith(" ") else line)

    def write(self, text: str) -> None:
        """Writes a line, above the live display if there is one."""
        text = printable(redacted(text))
        if self._display is not None:
            self._display.console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def begin(self, content: Any) -> None:
        """Shows ``content`` (what rich can render) until ``end``."""
        from rich.console import Console
        from rich.live import Live

        self._display = Live(
            content,
            console=Console(file=_bare(sys.stderr)),
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=True,
        )
        self._display.start()
        # What others print is brought above the display, and has to be safe there too.
        sys.stderr = cast(TextIO, Guarded(sys.stderr, redacts=True))
        if sys.stdout.isatty():
            sys.stdout = cast(TextIO, Guarded(sys.stdout))

    def show(self, content: Any) -> None:
        """Replaces what is shown."""
        if self._display is not None:
            self._display.update(content, refresh=True)

    def end(self) -> None:
        """Takes the display away; lines stay."""
        display, self._display = self._display, None
        if display is not None:
            display.stop()

    def mark(self, good: bool) -> str:
        """Returns a tick or a cross, as the terminal can show it."""
        encoding = sys.stderr.encoding or "ascii"
        try:
            "✓✗".encode(encoding)
        except (UnicodeEncodeError, LookupError):
            return "ok    " if good else "FAILED"
        sign = "✓" if good else "✗"
        if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
            return sign
        return f"\x1b[{32 if good else 31}m{sign}\x1b[0m"


def _bare(stream: TextIO) -> TextIO:
    return stream.stream if isinstance(stream, Guarded) else stream


def _can_be_live() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
