"""The event log: what happened, when and to whom, for a person to read.

In a file each line that matters has a mark at its beginning, so that it is found by eye and by grep:

    !!  a fault, or a warning of a peer's own      ++  somebody or something is back
    >>  who counts whom, who takes what over       ==  the job, and the run itself
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TextIO

_MARKS = (
    ("!!", r"(crashes|loses |pauses|partition into|cut |isolate |has no room|its disk takes|fault |failed: |"
           r"wall clock|warning |error |critical )|.*gave up"),
    ("++", r"(starts|resumes|heal|has room|law )"),
    ("==", r"(-- |steering: |master: job )"),
    (">>", r"(gossip: |cluster: |copier: .*whole|orphans: )"),
)  # fmt: skip
_MARKED = [(mark, re.compile(pattern)) for mark, pattern in _MARKS]
_TWICE = re.compile(r"(\w+) (\w+) at \1\b")
"""An id and its address, once both have the same name."""


class EventLog:
    """Off until :meth:`write_to` or :meth:`keep`. ``packets`` adds every datagram and connection."""

    def __init__(self) -> None:
        self.on = False
        self.packets = False
        self.lines: list[str] = []
        self._kept = False
        self._files: list[TextIO] = []
        self._names: Mapping[str, str] = {}
        self._named: re.Pattern[str] | None = None

    def write_to(self, file: TextIO, *, packets: bool = False) -> None:
        """Writes every event to a file, as it happens."""
        self._files.append(file)
        self._switch_on(packets)

    def keep(self, *, packets: bool = False) -> None:
        """Keeps every event in ``lines``."""
        self._kept = True
        self._switch_on(packets)

    def name(self, names: Mapping[str, str]) -> None:
        """Replaces in files these words by their names: ids and addresses that nobody can tell apart."""
        self._names = dict(names)
        self._named = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in names)) if names else None

    def add(self, moment: float, who: str, what: str) -> None:
        """Takes note, if the log is on."""
        if not self.on:
            return
        line = f"{moment:14.6f}  {who:<12} {what}"
        if self._kept:
            self.lines.append(line)
        if not self._files:
            return
        if self._named is not None:
            line = _TWICE.sub(r"\1 \2", self._named.sub(lambda found: self._names[found[0]], line))
        mark = next((mark for mark, pattern in _MARKED if pattern.match(what)), "  ")
        for file in self._files:
            file.write(mark + line[2:] + "\n")

    def _switch_on(self, packets: bool) -> None:
        self.on = True
        self.packets = self.packets or packets


class LogBridge(logging.Handler):
    """Brings what the nodes' own loggers say into the event log, at its place among the events."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        level = f"{record.levelname.lower()} " if record.levelno >= logging.WARNING else ""
        self._note(f"{level}{record.name.rpartition('.')[2]}: {record.getMessage()}")
