"""The columns of an item's type: a dataclass, a pydantic model, an attrs class, a Struct or a TypedDict.

A type is asked once, where its name was typed; what travels with a job are its columns, for the masters of a cluster
have neither its module nor its packages.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sql.item_columns import ColumnKind, ItemColumn, check_size, checked_columns

_KINDS: dict[type, ColumnKind] = {
    bool: ColumnKind.BOOLEAN,
    int: ColumnKind.INTEGER,
    float: ColumnKind.FLOAT,
    str: ColumnKind.TEXT,
    Decimal: ColumnKind.DECIMAL,
    datetime: ColumnKind.DATETIME,
    date: ColumnKind.DATE,
    bytes: ColumnKind.BYTES,
    bytearray: ColumnKind.BYTES,
}
_FIRST_OF_SEVERAL = {frozenset({int, float}): float, frozenset({int, Decimal}): Decimal}
_TEXTS = ("UUID", "time", "timedelta")
"""Types whose JSON is a text."""


def load_item_type(named: str) -> type:
    """Imports the class that ``module:Class`` or ``file.py:Class`` names. Raises ConfigurationError."""
    place, colon, name = named.rpartition(":")
    if not colon or not place or not name:
        raise ConfigurationError(f"the item's type {named!r} is written as module:Class or file.py:Class")
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except Exception as error:
        raise ConfigurationError(
            f"the item's type {named} cannot be imported: {type(error).__name__}: {str(error)[:200]}"
        ) from error
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ConfigurationError(f"the item's type {named}: there is no class {name} in {place}")
    return found


def _from_file(path: Path) -> types.ModuleType:
    path = path.resolve()
    # Classes of a spider that was loaded already are these, and not copies of them.
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path) and module.__name__ != "__main__":
            return module
    spec = importlib.util.spec_from_file_location(f"p2pcrawl_item_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Annotations written as text are looked up here.
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def columns_of_type(item_type: type) -> tuple[ItemColumn, ...]:
    """Returns the columns for the fields of an item's type. Raises ConfigurationError for one that has none."""
    try:
        fields = list(_fields(item_type))
    except (NameError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"the fields of {item_type.__name__} cannot be read: {error}") from error
    if not fields:
        raise ConfigurationError(
            f"{item_type.__name__} is no type of items: write a dataclass, a pydantic model or an attrs class"
        )
    return checked_columns(_column(name, annotation) for name, annotation in fields)


def _fields(item_type: type) -> Iterator[tuple[str, Any]]:
    """Yields the fields' names with their types and what is annotated to these."""
    model_fields = getattr(item_type, "model_fields", None)
    if model_fields is not None:
        for name, info in model_fields.items():
            extras = tuple(info.metadata)
            yield name, Annotated[(info.annotation, *extras)] if extras else info.annotation
        return
    names: typing.Iterable[str] = ()
    if hasattr(item_type, "__attrs_attrs__"):
        names = [each.name for each in item_type.__attrs_attrs__]
    elif is_dataclass(item_type):
        names = list(item_type.__dataclass_fields__)
    elif issubclass(item_type, msgspec.Struct):
        names = item_type.__struct_fields__
    elif typing.is_typeddict(item_type):
        names = list(item_type.__annotations__)
    hints = typing.get_type_hints(item_type, include_extras=True) if names else {}
    for name in names:
        yield name, hints.get(name, Any)


def _column(name: str, annotation: Any, extras: tuple[Any, ...] = ()) -> ItemColumn:
    """Returns the column for a field of this type: not required where None is one of its values."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        return _column(name, inner, (*extras, *more))
    if origin in (typing.Required, typing.NotRequired, typing.Final):
        column = _column(name, get_args(annotation)[0], extras)
        return replace(column, required=False) if origin is typing.NotRequired else column
    if hasattr(annotation, "__supertype__"):
        return _column(name, annotation.__supertype__, extras)
    if origin in (Union, types.UnionType):
        members = [each for each in get_args(annotation) if each is not type(None)]
        column = _of_several(name, members, extras)
        return replace(column, required=False) if len(members) < len(get_args(annotation)) else column
    if origin is Literal:
        values = [each for each in get_args(annotation) if each is not None]
        column = _of_several(name, [type(each) for each in values], extras)
        return replace(column, required=len(values) == len(get_args(annotation)))
    kind = _kind(annotation)
    size, places = _size(kind, extras)
    return ItemColumn(name, kind, kind is not ColumnKind.JSON or annotation is not Any, size, places)


def _of_several(name: str, members: list[Any], extras: tuple[Any, ...]) -> ItemColumn:
    distinct = list(dict.fromkeys(members))
    if len(distinct) == 1:
        return _column(name, distinct[0], extras)
    try:
        one = _FIRST_OF_SEVERAL.get(frozenset(distinct))
    except TypeError:
        one = None
    if one is not None:
        return _column(name, one, extras)
    kinds = {_column(name, each).kind for each in distinct}
    return ItemColumn(name, kinds.pop() if len(kinds) == 1 else ColumnKind.JSON, required=True)


def _kind(annotation: Any) -> ColumnKind:
    if not isinstance(annotation, type):
        return ColumnKind.JSON
    if issubclass(annotation, Enum):
        kinds = {_kind(type(each.value)) for each in annotation}
        return kinds.pop() if len(kinds) == 1 else ColumnKind.JSON
    for ancestor in annotation.__mro__:
        if ancestor in _KINDS:
            return _KINDS[ancestor]
    return ColumnKind.TEXT if annotation.__name__ in _TEXTS else ColumnKind.JSON


def _size(kind: ColumnKind, extras: tuple[Any, ...]) -> tuple[int | None, int | None]:
    """Returns the size that is annotated to a type, in the words of pydantic, annotated_types or msgspec."""

    def said(name: str) -> int | None:
        found = [getattr(each, name) for each in extras if isinstance(getattr(each, name, None), int)]
        return int(found[-1]) if found else None

    if kind is ColumnKind.TEXT and (length := said("max_length")) is not None:
        check_size(kind, length, 0)
        return length, None
    if kind is ColumnKind.DECIMAL and (digits := said("max_digits")) is not None:
        places = said("decimal_places") or 0
        check_size(kind, digits, places)
        return digits, places
    return None, None
