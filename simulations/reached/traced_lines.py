"""Traces which lines of some code a run comes to, and takes little time for it.

A function is watched line by line until each of its lines was come to once, and costs a look for each call from then
on. ``sys.monitoring`` would do without that look; it is newer than the oldest Python that we run on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final

_Local = Callable[[FrameType, str, Any], Any]
FRUITLESS_MAX: Final = 400
"""Calls of a function that came to nothing new, after which only every so many are looked at."""
LOOKED_AT: Final = 8


class TracedLines:
    """Notes the lines that are come to in code that is ``watched``, each once, over any number of runs.

    ``sparing``: what is called again and again and comes to nothing new is looked at now and then only, so that a
    line which it comes to once in a while may be noted late.
    """

    def __init__(self, watched: Callable[[CodeType], bool], *, sparing: bool = False) -> None:
        self._watched = watched
        self._sparing = sparing
        # By what they are, for code hashes by all that is in it; and kept, so that nothing else becomes it.
        self._codes: dict[int, CodeType] = {}
        self._left: dict[int, set[int]] = {}
        self._locals: dict[int, _Local] = {}
        self._calls: dict[int, int] = {}
        self._new: set[tuple[str, int]] = set()
        self._told: set[tuple[str, int]] = set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes what the block comes to in this thread. It does the same as without."""
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def take(self) -> frozenset[tuple[str, int]]:
        """Returns the lines, each with its file, that were come to for the first time since this was asked last."""
        # A line may be of several pieces of code, such as a function and a lambda in it.
        taken = frozenset(self._new - self._told)
        self._told |= taken
        self._new.clear()
        return taken

    def calls_of(self, code: CodeType) -> int:
        """Returns how often watched code was called; with ``sparing``, since it last came to anything new."""
        return self._calls.get(id(code), 0)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        place = id(code)
        left = self._left.get(place)
        if left is None:
            left = self._meet(code)
        if place not in self._locals:
            return None
        calls = self._calls[place] = self._calls.get(place, 0) + 1
        if not left:
            return None
        if code.co_firstlineno in left:
            left.discard(code.co_firstlineno)
            self._new.add((code.co_filename, code.co_firstlineno))
        if self._sparing and calls > FRUITLESS_MAX and calls % LOOKED_AT:
            return None
        return self._locals[place]

    def _meet(self, code: CodeType) -> set[int]:
        place = id(code)
        self._codes[place] = code
        lines = {line for _, _, line in code.co_lines() if line} if self._watched(code) else set()
        self._left[place] = lines
        if lines:
            self._locals[place] = self._local(code, lines)
        return lines

    def _local(self, code: CodeType, left: set[int]) -> _Local:
        file, new, calls, place = code.co_filename, self._new, self._calls, id(code)

        def went_on(frame: FrameType, event: str, argument: Any) -> Any:
            line = frame.f_lineno
            if line in left:
                left.discard(line)
                new.add((file, line))
                calls[place] = 0
            return went_on if left else None

        return went_on
