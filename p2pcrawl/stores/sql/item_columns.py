"""The columns that items need, as plain data: read from ``?columns=``, from an item's type, or from items seen.

As text, which is how columns travel with a job, one is ``name:kind``, with its size in parentheses and a ``!`` where a
value is always there: ``name:text(200)!,price:decimal(10.2),stock:integer``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote, unquote

from p2pcrawl.model.errors import ConfigurationError

COLUMNS_MAX = 500
"""Of a table: databases have bounds of their own, the lowest of them near a thousand."""
NAME_BYTES_MAX = 63
"""Of a column's name: PostgreSQL cuts longer ones without an error."""
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
_COLUMN = re.compile(r"([^:()!,]+):([a-z]+)(?:\((\d{1,6})(?:\.(\d{1,3}))?\))?(!?)")


class ColumnKind(StrEnum):
    """The kinds of values that a column can have."""

    TEXT = "text"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    DATE = "date"
    BYTES = "bytes"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """One column, as items need it."""

    name: str
    kind: ColumnKind
    required: bool = False
    """No item is without a value for it."""
    size: int | None = None
    """The characters of a text, the digits of a decimal."""
    places: int | None = None
    """The digits of a decimal behind its point."""

    def __str__(self) -> str:
        size = "" if self.size is None else f"({self.size}{'' if self.places is None else f'.{self.places}'})"
        return f"{quote(self.name, safe=' ')}:{self.kind}{size}{'!' if self.required else ''}"


def name_trouble(name: str) -> str:
    """Tells why a field's name can be no column's; "" if it can."""
    if not name or not name.isprintable():
        return "a name of a field must have characters, all of them printable"
    if len(name.encode()) > NAME_BYTES_MAX:
        return f"a column's name has up to {NAME_BYTES_MAX} bytes"
    if name != name.rstrip() or "`" in name:
        return "a column's name cannot end in a space, or have a backtick"
    return ""


def columns_as_text(columns: Iterable[ItemColumn]) -> str:
    """Writes columns as the text that ``columns_from_text`` reads."""
    return ",".join(map(str, columns))


def columns_from_text(text: str) -> tuple[ItemColumn, ...]:
    """Reads columns as typed. Raises ConfigurationError, which names the one that cannot be read."""
    return checked_columns([_column(part.strip()) for part in text.split(",")])


def _column(text: str) -> ItemColumn:
    found = _COLUMN.fullmatch(text)
    if found is None or found[2] not in list(ColumnKind):
        kinds = ", ".join(ColumnKind)
        raise ConfigurationError(
            f"the column {text!r} is written as name:kind, as in name:text(200)!,price:decimal(10.2); kinds are {kinds}"
        )
    kind, size, places = ColumnKind(found[2]), found[3], found[4]
    if (size and kind not in (ColumnKind.TEXT, ColumnKind.DECIMAL)) or (places and kind is not ColumnKind.DECIMAL):
        raise ConfigurationError(f"the column {text!r} has a size, which only text(N) and decimal(N.M) have")
    if size:
        check_size(kind, int(size), int(places or 0))
    return ItemColumn(
        unquote(found[1]),
        kind,
        bool(found[5]),
        int(size) if size else None,
        int(places or 0) if size and kind is ColumnKind.DECIMAL else None,
    )


def check_size(kind: ColumnKind, size: int, places: int) -> None:
    """Raises ConfigurationError for a size that some database has not."""
    if kind is ColumnKind.DECIMAL and not (1 <= size <= 65 and places <= min(size, 30)):
        raise ConfigurationError(f"decimal({size}.{places}) is too long: up to decimal(65.30)")
    if kind is ColumnKind.TEXT and not 1 <= size <= 16_000:
        raise ConfigurationError(f"text({size}) is too long: up to text(16000), and text without a size has no bound")


def checked_columns(columns: Iterable[ItemColumn]) -> tuple[ItemColumn, ...]:
    """Returns the columns. Raises ConfigurationError for names that no table can have, or not beside each other."""
    found: dict[str, ItemColumn] = {}
    for column in columns:
        if trouble := name_trouble(column.name):
            raise ConfigurationError(f"the column {column.name!r}: {trouble}")
        other = found.setdefault(column.name.lower(), column)
        if other is not column:
            raise ConfigurationError(f"the columns {other.name} and {column.name} are one in most databases")
    if len(found) > COLUMNS_MAX:
        raise ConfigurationError(f"a table has up to {COLUMNS_MAX} columns, not {len(found)}")
    return tuple(found.values())


def columns_seen(items: Iterable[Mapping[str, Any]]) -> tuple[ItemColumn, ...]:
    """Returns the columns for what some items hold: each may be empty, and is wide enough for all that was seen."""
    seen: dict[str, set[ColumnKind]] = {}
    for item in items:
        for name, value in item.items():
            kinds = seen.setdefault(name, set())
            if value is not None:
                kinds.add(kind_of_value(value))
    return tuple(ItemColumn(name, _widest(kinds)) for name, kinds in seen.items())


def kind_of_value(value: Any) -> ColumnKind:
    """Tells which kind of column a value of an item would have if it were the only one."""
    if isinstance(value, bool):
        return ColumnKind.BOOLEAN
    if isinstance(value, int):
        return ColumnKind.INTEGER if INTEGER_MIN <= value <= INTEGER_MAX else ColumnKind.TEXT
    if isinstance(value, float):
        return ColumnKind.FLOAT
    return ColumnKind.TEXT if isinstance(value, str) else ColumnKind.JSON


def _widest(kinds: set[ColumnKind]) -> ColumnKind:
    if len(kinds) == 1:
        return next(iter(kinds))
    if ColumnKind.JSON in kinds:
        return ColumnKind.JSON
    return ColumnKind.FLOAT if kinds == {ColumnKind.INTEGER, ColumnKind.FLOAT} else ColumnKind.TEXT
