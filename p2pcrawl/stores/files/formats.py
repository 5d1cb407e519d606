"""Formats: how items become the text of a document, and how a document that exists is continued.

A document is ``kept text + items + closing``. The closing (``]`` of an array, ``</items>``) is written
at each sync, *behind* the position, and cut off before the next write; so the file is a valid document
after every sync. What comes before the next item (an opening, a comma, a missing newline) is part of
the format's state, and with it of the position. A format touches no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from p2pcrawl.stores.files.existing import Existing


class CannotContinue(Exception):
    """The document is not one that items can be added to; the message ends a sentence about it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The part of an existing text that stays: anything from ``low`` to ``high`` bytes does equally well."""

    low: int
    high: int


class Format(Protocol):
    """One document in the making."""

    name: str
    reads_whole: bool
    """Whether ``continue_from`` needs the whole text, not only its two ends."""

    def begin(self) -> None:
        """Starts with an empty document."""
        ...

    def continue_from(self, text: Existing) -> Kept:
        """Starts behind the items of a document. Raises CannotContinue."""
        ...

    def state(self) -> dict[str, Any]:
        """Returns what ``restore`` needs, as JSON data."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state. Raises KeyError, TypeError or ValueError for one that is damaged."""
        ...

    def encode(self, items: Sequence[bytes]) -> bytes:
        """Returns the text of some more items."""
        ...

    def closing(self) -> bytes:
        """Returns the bytes that have to follow for the document to be whole."""
        ...


class Jointed:
    """A format whose state is only what has to come before the next item."""

    joint: str

    def state(self) -> dict[str, Any]:
        return {"joint": self.joint}

    def restore(self, state: Mapping[str, Any]) -> None:
        joint = state["joint"]
        if not isinstance(joint, str):
            raise TypeError("joint")
        self.joint = joint


class JsonLines(Jointed):
    """One JSON object per line."""

    name = "jsonl"
    reads_whole = False

    def __init__(self) -> None:
        self.joint = ""

    def begin(self) -> None:
        self.joint = ""

    def continue_from(self, text: Existing) -> Kept:
        self.joint = "" if text.last.endswith(b"\n") else "\n"
        return Kept(text.size, text.size)

    def encode(self, items: Sequence[bytes]) -> bytes:
        joined = b"\n".join(items) + b"\n"
        if joined.count(b"\n") != len(items):
            # Within a JSON text a bare newline can only be space between tokens.
            joined = b"\n".join(item.replace(b"\n", b" ") for item in items) + b"\n"
        if self.joint:
            joined = self.joint.encode() + joined
            self.joint = ""
        return joined

    def closing(self) -> bytes:
        return b""


_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_ARRAY_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[[ \t\r\n]*")


class JsonArray(Jointed):
    """One JSON array of objects, an object per line, or over several lines with an ``indent``."""

    name = "json"
    reads_whole = True

    def __init__(self, indent: int = 0) -> None:
        self.joint = ""
        self._indent = indent
        self.begin()

    def begin(self) -> None:
        self.joint = "[\n"

    def continue_from(self, text: Existing) -> Kept:
        end = text.end_without(_SPACE)
        if end == 0 or text.whole[:end] == _BOM:
            self.begin()
            return Kept(0, 0)
        start = _ARRAY_START.match(text.whole)
        if start is None:
            raise CannotContinue("is not a JSON array")
        _check_json(text)
        if start.end() == end - 1:
            self.begin()
            return Kept(0, 0)
        self.joint = ",\n"
        return Kept(text.end_without(_SPACE, end - 1), end - 1)

    def encode(self, items: Sequence[bytes]) -> bytes:
        if self._indent:
            items = [_indented(item, self._indent) for item in items]
        joined = self.joint.encode() + b",\n".join(items)
        self.joint = ",\n"
        return joined

    def closing(self) -> bytes:
        return b"\n]\n" if self.joint == ",\n" else self.joint.encode() + b"]\n"


def _indented(item: bytes, indent: int) -> bytes:
    try:
        return msgspec.json.format(item, indent=indent)
    except (msgspec.MsgspecError, RecursionError):
        return item  # NaN, or half a surrogate pair: what only Python reads as JSON stays as it is.


def _check_json(text: Existing) -> None:
    whole = memoryview(text.whole)
    try:
        body = whole[len(_BOM) :] if whole[: len(_BOM)] == _BOM else whole
        try:
            msgspec.json.decode(body, type=msgspec.Raw)
        except msgspec.MsgspecError:
            # Python's own parser also takes NaN and halves of surrogate pairs, which Python's dump writes.
            try:
                json.loads(str(body, "utf-8"))
            except ValueError as error:
                raise CannotContinue(f"is not a whole JSON array ({error})") from None
        except RecursionError:
            raise CannotContinue("is nested too deeply to be checked") from None
        finally:
            body.release()
    finally:
        whole.release()
