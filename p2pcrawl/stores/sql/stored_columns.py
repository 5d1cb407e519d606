"""The columns that a table has, and the form in which each takes a value: what does not fit is not even sent.

Databases differ in what they do with a value that is too long or of another type: some cut it, some round it, some
convert it. Here it is a reason to refuse the item, told in words, whatever the database would do.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from types import NoneType
from typing import Any

import msgspec

from p2pcrawl.stores.sql.item_columns import INTEGER_MAX, INTEGER_MIN, ColumnKind, ItemColumn

SHOWN_MAX = 40
_as_json = msgspec.json.encode
_DECIMAL = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?")
_FLOAT_MAX = 2**1023
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class NotHeld(Exception):
    """Raised for a value that a column cannot hold; the message is a reason, one line."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One column of a table that is there."""

    name: str
    kind: ColumnKind | None
    """None for a type that no item's value can be put into."""
    type_name: str
    """Its type as the database calls it, for people."""
    needed: bool = False
    """It takes no NULL, and has no default."""
    optional: bool = True
    """It takes NULL, and has no value of its own without one."""
    low: int = INTEGER_MIN
    high: int = INTEGER_MAX
    size: int | None = None
    """The characters of a text, the bytes of bytes, the digits of a decimal."""
    places: int | None = None
    zoned: bool = True
    """A time is stored with its zone; else it is that of UTC."""
    whole_seconds: bool = False
    cast: str = ""
    """A type to which PostgreSQL has to be told to turn a text."""

    def takes(self, wanted: ItemColumn) -> bool:
        """Tells whether a column of this kind is right for what items need."""
        if self.kind is None:
            return False
        if self.kind is wanted.kind or self.kind in (ColumnKind.TEXT, ColumnKind.JSON):
            return self.kind is not ColumnKind.TEXT or wanted.kind is not ColumnKind.BYTES
        return (wanted.kind, self.kind) in _WIDENED


_WIDENED = frozenset(
    {
        (ColumnKind.INTEGER, ColumnKind.FLOAT),
        (ColumnKind.INTEGER, ColumnKind.DECIMAL),
        (ColumnKind.FLOAT, ColumnKind.DECIMAL),
        (ColumnKind.BOOLEAN, ColumnKind.INTEGER),
        (ColumnKind.DATE, ColumnKind.DATETIME),
    }
)


@dataclass(frozen=True, slots=True)
class ValueForm:
    """The differences between databases in the values that their drivers take."""

    moments_as_text: bool = False
    decimals_as_text: bool = False
    nul_in_text: bool = True
    decimal_digits: int = 1000


Convert = Callable[[Any], Any]
"""Turns a value of an item, as JSON has it, into what the driver takes. Raises NotHeld."""


def converter(column: StoredColumn, form: ValueForm) -> Convert:
    """Makes the function that turns values, None excepted, into what a column takes."""
    match column.kind:
        case None:
            return lambda value: _wrong(column, value)
        case ColumnKind.TEXT:
            return lambda value: _text(column, form, value)
        case ColumnKind.JSON:
            return lambda value: _json(column, form, value)
        case ColumnKind.INTEGER:
            return lambda value: _integer(column, value)
        case ColumnKind.FLOAT:
            return lambda value: _float(column, value)
        case ColumnKind.BOOLEAN:
            return lambda value: value if isinstance(value, bool) else _wrong(column, value)
        case ColumnKind.DECIMAL:
            return lambda value: _decimal(column, form, value)
        case ColumnKind.BYTES:
            return lambda value: _bytes(column, value)
        case ColumnKind.DATETIME:
            return lambda value: _datetime(column, form, value)
        case ColumnKind.DATE:
            return lambda value: _date(column, form, value)


ConvertAll = Callable[[Sequence[Any]], Sequence[Any]]
"""Turns the values of a column, None among them. Raises NotHeld if one of them does not fit."""
_AS_THEY_ARE: dict[ColumnKind, type] = {
    ColumnKind.TEXT: str,
    ColumnKind.INTEGER: int,
    ColumnKind.FLOAT: float,
    ColumnKind.BOOLEAN: bool,
}
"""Kinds of columns whose values are mostly in the form of the column already."""


def column_converter(column: StoredColumn, form: ValueForm) -> ConvertAll:
    """Makes the function that turns many values at once: what fits as it is, is only looked at."""
    one = converter(column, form)
    type_as_is = None if column.kind is None else _AS_THEY_ARE.get(column.kind)

    def convert(values: Sequence[Any]) -> Sequence[Any]:
        types = set(map(type, values))
        if NoneType in types:
            if column.needed:
                raise NotHeld(f"{column.name}: the column takes no NULL, and the item has no value for it")
            types.discard(NoneType)
        if types == {type_as_is} and _fit_as_they_are(column, form, values):
            return values
        return [None if value is None else one(value) for value in values]

    return convert


def _fit_as_they_are(column: StoredColumn, form: ValueForm, values: Sequence[Any]) -> bool:
    """Tells whether values of the type that is the column's can be taken as they are."""
    if column.kind is ColumnKind.INTEGER:
        return all(value is None or column.low <= value <= column.high for value in values)
    if column.kind is not ColumnKind.TEXT:
        return True
    texts = [value for value in values if value is not None]
    if column.size is not None and max(map(len, texts)) > column.size:
        return False
    return form.nul_in_text or "\0" not in "".join(texts)


def shown(value: Any) -> str:
    """Shows a value in a reason: short, on one line."""
    text = _as_json(value).decode()
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."


def _wrong(column: StoredColumn, value: Any) -> Any:
    raise NotHeld(f"{column.name}: the column is {column.type_name}, and the value {shown(value)} is none")


def _text(column: StoredColumn, form: ValueForm, value: Any) -> str:
    text = value if isinstance(value, str) else _as_json(value).decode()
    if column.size is not None and len(text) > column.size:
        raise NotHeld(f"{column.name}: the column holds {column.size:,} characters, and the value has {len(text):,}")
    if "\0" in text and not form.nul_in_text:
        raise NotHeld(f"{column.name}: the value has a NUL character, which this database takes in no text")
    return text


def _json(column: StoredColumn, form: ValueForm, value: Any) -> str:
    text = _as_json(value).decode()
    if "\\u0000" in text and not form.nul_in_text:
        raise NotHeld(f"{column.name}: the value has a NUL character, which this database takes in no text")
    return text


def _integer(column: StoredColumn, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        return int(_wrong(column, value))
    if not column.low <= value <= column.high:
        raise NotHeld(f"{column.name}: {shown(value)} is out of the range of {column.type_name}")
    return int(value)


def _float(column: StoredColumn, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float(_wrong(column, value))
    if isinstance(value, int) and (abs(value) > _FLOAT_MAX or int(float(value)) != value):
        raise NotHeld(f"{column.name}: {shown(value)} has more digits than {column.type_name} keeps")
    return float(value)


def _decimal(column: StoredColumn, form: ValueForm, value: Any) -> Decimal | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        _wrong(column, value)
    text = str(value).strip()
    try:
        number = Decimal(text) if _DECIMAL.fullmatch(text) else _wrong(column, value)
    except InvalidOperation:
        number = _wrong(column, value)
    places, whole, significant = _digits(number)
    if column.places is not None and places > column.places:
        raise NotHeld(f"{column.name}: {shown(value)} has more than {column.places} digits behind its point")
    too_many = significant if column.size is None else whole
    most = form.decimal_digits if column.size is None else column.size - (column.places or 0)
    if too_many > most or whole > form.decimal_digits:
        raise NotHeld(f"{column.name}: {shown(value)} has more digits than {column.type_name} keeps")
    return str(number) if form.decimals_as_text else number


def _digits(number: Decimal) -> tuple[int, int, int]:
    """Counts the digits of a number: those behind its point, those before it, and all between its outer zeros."""
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    exponent = int(exponent) + len(text) - len(text.rstrip("0"))
    significant = len(text.rstrip("0"))
    return max(0, -exponent) if significant else 0, max(0, significant + exponent), significant


def _bytes(column: StoredColumn, value: Any) -> bytes:
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else _wrong(column, value)
    except (binascii.Error, ValueError):
        data = _wrong(column, value)
    if column.size is not None and len(data) > column.size:
        raise NotHeld(f"{column.name}: the column holds {column.size:,} bytes, and the value has {len(data):,}")
    return bytes(data)


def _datetime(column: StoredColumn, form: ValueForm, value: Any) -> datetime | str:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else _wrong(column, value)
        # What has no zone is taken as UTC: the machine's own would say something else on each master.
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        moment = _wrong(column, value)
    if column.whole_seconds and moment.microsecond:
        raise NotHeld(f"{column.name}: {column.type_name} keeps no fractions of a second, and {shown(value)} has some")
    return in_zone(moment, column, form)


def in_zone(moment: datetime, column: StoredColumn, form: ValueForm) -> datetime | str:
    """Returns a moment of UTC as the column takes it."""
    if form.moments_as_text:
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
    return moment if column.zoned else moment.replace(tzinfo=None)


def _date(column: StoredColumn, form: ValueForm, value: Any) -> date | str:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) and _DATE.fullmatch(value) else _wrong(column, value)
    except ValueError:
        day = _wrong(column, value)
    return str(day) if form.moments_as_text else date.fromisoformat(str(day))
