"""Recorders of a running simulation: which functions of p2pcrawl are entered, where, and what they have before them.

They are profiling hooks (``sys.setprofile``), so the code is seen as it is, and nothing of the run changes: its
trace is the same with and without them.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import p2pcrawl

from ..kernel.own_name import FOLDER
from .sight import Sight, here

_ROOT = f"{Path(p2pcrawl.__file__).parent}/"
_OURS = f"{FOLDER}/"
_SELF = ("self", "cls")


class Place(NamedTuple):
    """A function of p2pcrawl. What is written inside a function belongs to it: lambdas, closures, comprehensions."""

    file: str
    """Below the package: ``master/cycle.py``."""
    function: str
    """``Cycle.turn``."""

    @property
    def package(self) -> str:
        return self.file.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.file} {self.function}"


class Entry(NamedTuple):
    """A function was entered, or went on after a pause, on a machine."""

    number: int
    """Of all entries, in the order in which they began."""
    moment_s: float
    node: str
    place: Place
    first: bool
    """It began; it did not go on."""


class Recorder(ABC):
    """Notes entries while :meth:`recording`. ``clock`` tells the moment of the world."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._places: dict[CodeType, Place | None] = {}
        self._entries = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Records what runs in this thread, until it ends."""
        sys.setprofile(self._hook)
        try:
            yield
        finally:
            sys.setprofile(None)

    @abstractmethod
    def entered(self, entry: Entry, frame: FrameType) -> None:
        """Takes note of a function that begins or goes on."""

    def left(self, frame: FrameType, given: Any) -> None:  # noqa: B027
        """Takes note of a function that ends or pauses, and of what it gives; for each that was entered."""

    def called(self, function: Any) -> None:  # noqa: B027
        """Takes note of a function that is not written in Python."""

    def _hook(self, frame: FrameType, event: str, given: Any) -> None:
        if event == "c_call":
            self.called(given)
            return
        code = frame.f_code
        if code not in self._places:
            self._places[code] = _place_of(code)
        place = self._places[code]
        if place is None:
            return
        if event == "call":
            self._entries += 1
            self.entered(Entry(self._entries, self._clock(), here(), place, _begins(frame)), frame)
        elif event == "return":
            self.left(frame, given)


class UrlRecorder(Recorder):
    """Notes the entries that have one URL among their arguments, or what they work with, when they begin or end."""

    def __init__(self, clock: Callable[[], float], sight: Sight) -> None:
        super().__init__(clock)
        self._sight = sight
        self._open: list[tuple[Entry, bool]] = []
        self.seen: list[Entry] = []
        self.encodings = 0
        """How often msgspec made bytes of it."""

    def entered(self, entry: Entry, frame: FrameType) -> None:
        self._open.append((entry, self._sees(frame)))

    def left(self, frame: FrameType, given: Any) -> None:
        if not self._open:
            return
        entry, seen = self._open.pop()
        if seen or self._sees(frame, given):
            self.seen.append(entry)

    def called(self, function: Any) -> None:
        if self._open and self._open[-1][1] and function.__name__ in ("encode", "encode_into") and _encodes(function):
            self.encodings += 1

    def _sees(self, frame: FrameType, given: Any = None) -> bool:
        return self._sight.sees([given, *(value for name, value in frame.f_locals.items() if name not in _SELF)])


class FirstEntries(Recorder):
    """Notes the first entry of each function on each machine."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.seen: dict[tuple[str, Place], Entry] = {}

    def entered(self, entry: Entry, frame: FrameType) -> None:
        self.seen.setdefault((entry.node, entry.place), entry)


def _place_of(code: CodeType) -> Place | None:
    """Returns where a code object is written; None outside p2pcrawl, and for a module's own."""
    file = code.co_filename
    if not file.startswith(_ROOT) or file.startswith(_OURS) or code.co_name == "<module>":
        return None
    return Place(file.removeprefix(_ROOT), code.co_qualname.partition(".<locals>")[0])


def _begins(frame: FrameType) -> bool:
    """Tells whether a frame is entered for the first time: a coroutine that goes on stands behind another RESUME."""
    return frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti + 1] & 3 == 0


def _encodes(function: Any) -> bool:
    kind = type(function.__self__)
    return kind.__name__ == "Encoder" and kind.__module__.startswith("msgspec")
