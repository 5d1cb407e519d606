"""The event log: what happened, when and to whom, for a person to read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TextIO


class EventLog:
    """Off until :meth:`write_to` or :meth:`keep`. ``packets`` adds every datagram and connection."""

    def __init__(self) -> None:
        self.on = False
        self.packets = False
        self.lines: list[str] = []
        self._kept = False
        self._files: list[TextIO] = []

    def write_to(self, file: TextIO, *, packets: bool = False) -> None:
        """Write every event to a file, as it happens."""
        self._files.append(file)
        self._switch_on(packets)

    def keep(self, *, packets: bool = False) -> None:
        """Keep every event in ``lines``."""
        self._kept = True
        self._switch_on(packets)

    def add(self, moment: float, who: str, what: str) -> None:
        """Take note, if the log is on."""
        if not self.on:
            return
        line = f"{moment:14.6f}  {who:<12} {what}"
        if self._kept:
            self.lines.append(line)
        for file in self._files:
            file.write(line + "\n")

    def _switch_on(self, packets: bool) -> None:
        self.on = True
        self.packets = self.packets or packets


class LogBridge(logging.Handler):
    """Brings what the nodes' own loggers say into the event log, at its place among the events."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        self._note(f"{record.levelname.lower()} {record.name}: {record.getMessage()}")
