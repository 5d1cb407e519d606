"""Brings to the terminal, line by line, what slaves write to their standard error.

Used beside a live display only: a process that wrote there by itself would tear it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

LINE_MAX = 64 * 1024


class Relay:
    """A pipe whose other end is read on the running loop."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._loop = asyncio.get_running_loop()
        self._end, self.descriptor = os.pipe()
        os.set_blocking(self._end, False)
        self._rest = b""
        self._loop.add_reader(self._end, self._read)

    def close(self) -> None:
        """Tells what is left and closes both ends."""
        self._loop.remove_reader(self._end)
        os.close(self.descriptor)
        while self._read():
            pass
        if self._rest:
            self._write_line(self._rest)
        os.close(self._end)

    def _read(self) -> bool:
        data = b""
        with suppress(BlockingIOError):
            data = os.read(self._end, LINE_MAX)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._write_line(line)
        if len(self._rest) >= LINE_MAX:
            self._write_line(self._rest)
            self._rest = b""
        return bool(data)

    def _write_line(self, line: bytes) -> None:
        self._told(line.decode("utf-8", "replace").rstrip("\r"))
