"""Columns and their types, from what comes: the same in all parts of a folder, whoever writes them.

A column has the type of the values in which it was first seen, taken together; from then on it stays. A value that the
column cannot hold as it is makes its item a refused one, with one exception: a column of text holds everything,
other values as JSON. Nested values are JSON text from the beginning, because two items rarely nest alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from p2pcrawl.model.errors import ConfigurationError

ColumnType = Literal["boolean", "integer", "number", "text"]
Columns = dict[str, ColumnType]
"""In the order in which they were first seen."""
COLUMNS_MAX = 1000
"""Pages decide what fields are called where a spider lets them: they cannot make the files of all others wider."""

EXACT = 1 << 53
"""Up to here every whole number is a floating-point number, too."""
_LONG = 1 << 63
_TYPES: Mapping[str, ColumnType] = {**{each: each for each in get_args(ColumnType)}, "long": "integer"}


class Unfit(ValueError):
    """An item that the columns cannot hold; the message says why."""


def decoded_item(item: bytes) -> dict[str, Any]:
    """Returns the fields of an item. Raises Unfit for what is no JSON object."""
    try:
        return msgspec.json.decode(item, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # Half a surrogate pair, for example.
    try:
        fields = json.loads(item.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Unfit(f"it is no JSON ({error})") from None
    if not isinstance(fields, dict):
        raise Unfit("it is no JSON object")
    return {_storable(name): _storable(value) if isinstance(value, str) else value for name, value in fields.items()}


class ColumnsSeen:
    """The columns of all items that have been seen, with types that hold every value of theirs."""

    def __init__(self, known: Columns | None = None) -> None:
        """``known`` columns stay as they are."""
        self._known = known or {}
        self._kinds: dict[str, str] = {}
        self.more = False
        """There were fields beyond COLUMNS_MAX."""

    @property
    def columns(self) -> Columns:
        """Returns those that were known and, behind them, the others in the order in which they were first seen."""
        return {**self._known, **{name: _TYPES[kind] for name, kind in self._kinds.items()}}

    def see(self, item: Mapping[str, Any]) -> None:
        """Takes note of an item; of fields beyond COLUMNS_MAX no column is made."""
        known, kinds = self._known, self._kinds
        for name, value in item.items():
            if name in known or value is None:
                continue
            if name in kinds or len(known) + len(kinds) < COLUMNS_MAX:
                kinds[name] = _together(kinds.get(name), _kind(value))
            else:
                self.more = True

    def see_column(self, name: str, type_: ColumnType, *, exact: bool) -> None:
        """Takes note of the values of a column; ``exact``: its whole numbers are floating-point numbers, too."""
        self._kinds[name] = _together(self._kinds.get(name), type_ if exact or type_ != "integer" else "long")


def fitted(item: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """Returns the item's values as the columns hold them. Raises Unfit."""
    row = {}
    for name, value in item.items():
        if value is None:
            continue
        if name not in columns:
            raise Unfit(f"there are {len(columns)} columns, and none for its field {name[:50]!r}")
        row[name] = _fit(value, name, columns[name])
    return row


def as_json(value: Any) -> str:
    """Returns a value as JSON text."""
    try:
        return msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return _storable(json.dumps(value, ensure_ascii=False))


def read_types(option: str) -> Columns:
    """Reads ``?types=price:number,isbn:text``. Raises ConfigurationError."""
    columns: Columns = {}
    for pair in filter(None, option.split(",")):
        name, _, asked = pair.rpartition(":")
        if not name or asked not in get_args(ColumnType):
            raise ConfigurationError(f"types={option}: give name:type with a type of {', '.join(get_args(ColumnType))}")
        columns[name] = _TYPES[asked]
    return columns


def encode_columns(columns: Columns) -> bytes:
    """Returns the columns as a JSON document."""
    return msgspec.json.format(msgspec.json.encode({"columns": columns}), indent=1)


def decode_columns(data: bytes, where: str) -> Columns:
    """Reads columns. Raises ConfigurationError."""
    try:
        return msgspec.json.decode(data, type=dict[str, Columns])["columns"]
    except (msgspec.MsgspecError, KeyError) as error:
        raise ConfigurationError(f"{where} is damaged ({error}): give another folder, or remove it") from None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if abs(value) <= EXACT else "long" if -_LONG <= value < _LONG else "text"
    return "number" if isinstance(value, float) else "text"


def _together(one: str | None, other: str) -> str:
    if one is None or one == other:
        return other
    match {one, other}:
        case kinds if kinds == {"integer", "long"}:
            return "long"
        case kinds if kinds == {"integer", "number"}:
            return "number"
        case _:
            return "text"


def _fit(value: Any, name: str, type_: ColumnType) -> Any:
    match type_:
        case "text":
            return value if isinstance(value, str) else as_json(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" if isinstance(value, int) and not isinstance(value, bool) and -_LONG <= value < _LONG:
            return value
        case "integer" if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
            return int(value)
        case "number" if isinstance(value, float):
            return value
        case "number" if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= EXACT:
            return float(value)
        case _:
            shown = as_json(value)[:50]
            raise Unfit(
                f"its {name[:50]} is {shown}, and the column is {type_}: say what it is to be by ?types=NAME:TYPE"
            )


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
