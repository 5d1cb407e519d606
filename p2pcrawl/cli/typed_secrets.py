"""Passwords in what was typed: everybody on the machine can read the arguments of a process, so they leave them.

The process is replaced by itself, with ``***`` in place of each password. What was typed comes through a pipe that only
the new one has, and which it closes before it starts anything. Only the first moments of the command can be seen then;
docs/sinks.md names the ways that show nothing.
"""

from __future__ import annotations

import json
import os
import re
import sys

PIPE = "P2PCRAWL_TYPED"
"""The variable that names the pipe's number, which is no secret."""
TYPED_BYTES_MAX = 16 * 1024
"""As much as every pipe holds that nobody reads yet."""

_PASSWORD = re.compile(r"(://[^/?#@:\s]*):[^/?#\s]+@")


def without_passwords(typed: list[str]) -> list[str]:
    """Returns the arguments with ``***`` for each password in an address."""
    return [_PASSWORD.sub(r"\1:***@", each) for each in typed]


def hide_passwords(typed: list[str]) -> list[str]:
    """Returns what was typed. In a process whose arguments show passwords it does not return: that one is replaced."""
    number = os.environ.pop(PIPE, "")
    shown = without_passwords(typed)
    if number.isdigit():
        return _received(int(number)) or typed
    before = sys.orig_argv[: -len(typed)] if typed else []
    secrets = json.dumps(typed).encode()
    if (
        shown == typed
        or os.name != "posix"
        or not sys.executable
        or [*before, *typed] != sys.orig_argv
        or len(secrets) > TYPED_BYTES_MAX
    ):
        return typed
    reading, writing = os.pipe()
    os.write(writing, secrets)
    os.close(writing)
    os.set_inheritable(reading, True)
    os.execve(sys.executable, [*before, *shown], {**os.environ, PIPE: str(reading)})  # nosec B606  # Ourselves.


def _received(number: int) -> list[str]:
    """Reads what was typed from the pipe; nothing where there is none."""
    try:
        with open(number, "rb") as pipe:
            told = json.loads(pipe.read(TYPED_BYTES_MAX))
    except (OSError, ValueError):
        return []
    return told if isinstance(told, list) and all(isinstance(each, str) for each in told) else []
