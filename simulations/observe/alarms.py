"""Alarms: the lines that peers log at ERROR or with a traceback.

A peer logs one where something failed that it cannot do anything about, and goes on: a loop that had an error it did
not expect, for one. Unless the run itself did what the line is about, somebody has made a mistake.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from ..kernel.life import LIFE
from .incidents import FULL_DISK, IO_ERROR, Incident

AFTER_S = 15.0
"""So long after an incident its last lines may come: a call that has failed is told of by whoever asked for it."""
EXPLAINED: Final[dict[str, frozenset[str]]] = {
    FULL_DISK: frozenset({"DiskFullError"}),
    IO_ERROR: frozenset({"StorageError", "DiskFullError", "DamagedError", "OperationalError", "OSError"}),
}
"""By incident: the errors that whoever it befell may log."""


class Alarm(NamedTuple):
    """One line."""

    now_s: float
    node: str
    """Whose code wrote it; "" for that of no node."""
    line: str
    error: str
    """The name of the error that it tells of, if it tells of one."""

    def __str__(self) -> str:
        return f"{self.node or 'the run'} logged at {self.now_s:.2f} s: {self.line}"


class Now(Protocol):
    """The clock that alarms are timed by."""

    now: float


class Alarms(logging.Handler):
    """Hears the lines of all who log; nobody who is simulated notices."""

    def __init__(self, clock: Now) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[Alarm] = []
        self._clock = clock

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR and not record.exc_info:
            return
        error = _error_of(record)
        told = f": {error!r}" if error is not None and record.exc_info else ""
        name = "" if error is None else type(error).__name__
        line = f"{record.name.rpartition('.')[2]}: {record.getMessage()}{told}"
        life = LIFE.get()
        self.heard.append(Alarm(self._clock.now, "" if life is None else life.node.name, line, name))


@contextmanager
def listening(clock: Now) -> Iterator[Alarms]:
    """Hears all lines of the block. Only who asks for them sees them elsewhere."""
    root, alarms = logging.getLogger(), Alarms(clock)
    root.addHandler(alarms)
    try:
        yield alarms
    finally:
        root.removeHandler(alarms)


def unexplained(alarms: Iterable[Alarm], incidents: Iterable[Incident]) -> Iterator[Alarm]:
    """Yields those of which no incident of their own node is the cause."""
    those = list(incidents)
    for alarm in alarms:
        if not any(_explains(incident, alarm) for incident in those):
            yield alarm


def _explains(incident: Incident, alarm: Alarm) -> bool:
    return (
        alarm.node in incident.nodes
        and alarm.error in EXPLAINED.get(incident.what, ())
        and incident.began_s <= alarm.now_s <= incident.ended_s + AFTER_S
    )


def _error_of(record: logging.LogRecord) -> BaseException | None:
    """Returns the error that a line tells of: the one with the traceback, or one that it names."""
    if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
        return record.exc_info[1]
    words = record.args if isinstance(record.args, tuple) else ()
    return next((word for word in words if isinstance(word, BaseException)), None)
