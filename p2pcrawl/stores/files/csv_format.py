"""CSV: a header line and a line per item. Nested values are written as JSON text, null as nothing.

The columns are those of an existing file, else those asked for, else the fields of the first item.
A value of a later item that has no column is left out and counted, and that is told once.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from p2pcrawl.model.errors import StorageError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.stores.files.existing import FIRST, Existing
from p2pcrawl.stores.files.formats import CannotContinue, Kept
from p2pcrawl.stores.files.formulas import raw_cell, safe_cell

log = logging.getLogger(__name__)

_items = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_text = msgspec.json.Decoder(str).decode


class Csv:
    """CSV as RFC 4180 says; a file that exists keeps its own line ends. ``safe``: no cell is a formula.
    ``marked``: one that is begun has a byte order mark.
    """

    name = "csv"
    reads_whole = False

    def __init__(self, fields: Sequence[str] = (), *, safe: bool = True, marked: bool = False) -> None:
        self._mark = codecs.BOM_UTF8 if marked else b""
        self._fields = list(fields)
        self._told = False
        self._write: Callable[[str], str] = safe_cell if safe else str
        self._read: Callable[[str], str] = raw_cell if safe else str
        self.begin()

    def begin(self) -> None:
        self._columns: list[str] | None = self._fields or None
        self._newline = "\r\n"
        self._header_due = True
        self._newline_due = False
        self._ignored = 0

    def continue_from(self, text: Existing) -> Kept:
        self.begin()
        columns = _header(text)
        if not columns:
            return Kept(0, 0)
        self._columns = [self._read(name) for name in columns]
        self._newline = "\r\n" if b"\r\n" in text.first else "\n"
        self._header_due = False
        self._newline_due = text.last not in b"\r\n"
        return Kept(text.size, text.size)

    def state(self) -> dict[str, Any]:
        return {
            "columns": self._columns and list(self._columns),
            "ignored_fields": self._ignored,
            "newline": self._newline,
            "header_due": self._header_due,
            "newline_due": self._newline_due,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        columns, newline = state["columns"], state["newline"]
        if not (columns is None or (isinstance(columns, list) and all(isinstance(name, str) for name in columns))):
            raise TypeError("columns")
        if newline not in ("\r\n", "\n"):
            raise ValueError("newline")
        self._columns = columns and list(columns)
        self._newline = newline
        self._header_due = bool(state["header_due"])
        self._newline_due = bool(state["newline_due"])
        self._ignored = int(state["ignored_fields"])

    def encode(self, items: Sequence[bytes]) -> bytes:
        rows = _decoded(items)
        columns = self._columns or list(next(filter(None, rows), ()))
        if not columns:
            return b""  # Items without any field have no line before there are columns.
        self._columns = columns
        known = frozenset(columns)
        before = b""
        if self._header_due:
            before = self._mark + self._lines([columns])
            self._header_due = False
        elif self._newline_due:
            before = self._newline.encode()
        self._newline_due = False
        if left_out := [name for row in rows for name in row if name not in known]:
            self._leave_out(left_out)
        return before + self._lines([row.get(name, "") for name in columns] for row in rows)

    def _leave_out(self, names: Sequence[str]) -> None:
        self._ignored += len(names)
        # Fields that were chosen leave others out on purpose.
        if not self._told and self._columns != self._fields:
            self._told = True
            log.warning(
                "a CSV output has no column for %s, whose values are left out: its columns are %s; "
                "name them with FEED_EXPORT_FIELDS, or begin another file",
                *(_listed(names), _listed(self._columns or ())),
            )

    def closing(self) -> bytes:
        if self._header_due and self._columns:
            return self._mark + self._lines([self._columns])
        return b""

    def _lines(self, rows: Iterable[Sequence[str]]) -> bytes:
        # The writer quotes a carriage return only if its own line end has one, so it always gets that line end.
        written = _CsvFile()
        csv.writer(written, lineterminator="\r\n").writerows([map(self._write, row) for row in rows])
        text = "".join(written) if self._newline == "\r\n" else "".join(row[:-2] + self._newline for row in written)
        return text.encode("utf-8", "replace")


def _header(text: Existing) -> list[str]:
    """Returns the names in the first line that is not empty; none if the text is blank."""
    try:
        first = codecs.getincrementaldecoder("utf-8-sig")().decode(text.first, final=text.size <= FIRST)
        if not first.strip() and text.size <= FIRST:
            return []
        columns = next(filter(None, csv.reader(io.StringIO(first, newline=""))), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise CannotContinue(f"is not a CSV file in UTF-8 ({error})") from None
    if not any(name.strip() for name in columns):
        raise CannotContinue("has no header line")
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        raise CannotContinue("has columns that are not separated by commas")
    return columns


def _decoded(items: Sequence[bytes]) -> list[dict[str, str]]:
    try:
        decoded = _items(b"[" + b",".join(items) + b"]")
        if len(decoded) == len(items):
            return [{name: _cell(bytes(value)) for name, value in item.items()} for item in decoded]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # Half a surrogate pair, for example.
    return [_decoded_loosely(item) for item in items]


def _cell(value: bytes) -> str:
    if value[0] == 0x22:
        return _text(value)
    return "" if value == b"null" else value.decode()


def _decoded_loosely(item: bytes) -> dict[str, str]:
    try:
        fields = json.loads(item.decode("utf-8", "replace"))
    except RecursionError:
        return {"json": item.decode("utf-8", "replace")}
    except ValueError as error:
        raise StorageError(f"an item is not a JSON object: {error}") from error
    if not isinstance(fields, dict):
        raise StorageError(f"an item is not a JSON object but {type(fields).__name__}")
    return {_storable(name): _loose_cell(value) for name, value in fields.items()}


def _loose_cell(value: Any) -> str:
    if isinstance(value, str):
        return _storable(value)
    return "" if value is None else _storable(json.dumps(value, ensure_ascii=False))


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


class _CsvFile(list[str]):
    """A file, as far as csv.writer needs one."""

    def write(self, row: str) -> None:
        self.append(row)


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return on_one_line(", ".join(distinct[:5]) + (", ..." if len(distinct) > 5 else ""))
