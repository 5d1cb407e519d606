"""The keyboard of a terminal, key by key, for the length of a block."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_ESCAPE_S: Final = 0.05
"""Within which the rest of a key's sequence comes; an Escape alone has none."""
_SEQUENCES: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\x1b[5~": "page-up",
    "\x1b[6~": "page-down",
    "\x1b[Z": "shift-tab",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
}


class Keyboard:
    """Reads the keys of a terminal that has been told to give each at once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def pressed(self, seconds: float) -> Iterator[str]:
        """Waits so long for keys, and yields by name those that came; none where the time is over. A terminal that is
        gone is the end: ``q``."""
        if not select.select([self._descriptor], [], [], max(0.0, seconds))[0]:
            return
        text = self._read()
        if text == "\x1b" and select.select([self._descriptor], [], [], _ESCAPE_S)[0]:
            text += self._read()
        yield from keys_in(text) if text else ("q",)

    def _read(self) -> str:
        try:
            return os.read(self._descriptor, 1024).decode(errors="replace")
        except OSError:
            return ""


def keys_in(text: str) -> Iterator[str]:
    """Yields the keys of what a terminal has sent, by name; of sequences that mean nothing here, nothing."""
    while text:
        known = next((s for s in _SEQUENCES if len(s) > 1 and text.startswith(s)), None)
        if known is None and text[:2] in ("\x1b[", "\x1bO"):
            # A key that means nothing here: parameters, and a last character.
            text = text[2:].lstrip("0123456789;")[1:]
            continue
        found = known or text[0]
        text = text[len(found) :]
        yield _SEQUENCES.get(found, found)


@contextmanager
def keyboard(descriptor: int) -> Iterator[Keyboard]:
    """Has the terminal give keys at once, unseen, and puts it back as it was."""
    before = termios.tcgetattr(descriptor)
    try:
        # Ctrl-C comes as a key, so that the screen is put back before the end.
        tty.setraw(descriptor, termios.TCSADRAIN)
        mode = termios.tcgetattr(descriptor)
        mode[1] |= termios.OPOST
        termios.tcsetattr(descriptor, termios.TCSADRAIN, mode)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
