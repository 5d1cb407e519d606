"""Standard error as a person sees it: lines, and below them a live display where there is a terminal."""

from __future__ import annotations

import os
import sys
from typing import Any


class Terminal:
    """Where the faces speak. ``live``: whether a display that changes in place is possible; None: find out."""

    def __init__(self, live: bool | None = None) -> None:
        self.live = _can_be_live() if live is None else live
        self._display: Any = None

    def say(self, line: str) -> None:
        """One line of our own."""
        self.write(f"p2pcrawl: {line}" if line and not line.startswith(" ") else line)

    def write(self, text: str) -> None:
        """A line as it is, above the live display if there is one."""
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
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=True,
        )
        self._display.start()

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
        """A tick or a cross, as the terminal can show it."""
        encoding = sys.stderr.encoding or "ascii"
        try:
            "✓✗".encode(encoding)
        except (UnicodeEncodeError, LookupError):
            return "ok    " if good else "FAILED"
        sign = "✓" if good else "✗"
        if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
            return sign
        return f"\x1b[{32 if good else 31}m{sign}\x1b[0m"


def _can_be_live() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
