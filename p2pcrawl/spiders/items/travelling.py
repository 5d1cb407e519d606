"""Items and plain data as they travel with a request, from the slave that found it to the one that fetches it.

Plain data is msgpack. An item is an extension of it: the name of its class and the values of its fields. It becomes an
object of that class again without a call of people's code, and only of a class of items that this process knows, or
that lies in the package of the spider. Nothing is imported because a message says so, but for that package.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable
from contextvars import ContextVar
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from msgspec.msgpack import Ext

from p2pcrawl.spiders.finding.modules import USER_MODULE
from p2pcrawl.spiders.finding.objects import found_in
from p2pcrawl.spiders.items.item import Item
from p2pcrawl.spiders.items.item_json import is_item_class

HOME: ContextVar[str] = ContextVar("HOME", default="")
"""The module of the spider at whose page the running task is: it may have another name in another process."""

_ITEM, _OTHER = 1, 2
_PLAIN = (str, int, float, bool, bytes, type(None))
_WRITE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    time: ("time", time.isoformat),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    Decimal: ("decimal", str),
    UUID: ("uuid", str),
    set: ("set", list),
    frozenset: ("frozenset", list),
}
"""How values travel that are plain enough, and that msgpack has no form for."""
_READ: dict[str, Callable[[Any], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda value: timedelta(*value),
    "decimal": Decimal,
    "uuid": UUID,
    "set": set,
    "frozenset": frozenset,
}


def packed_plainly(value: dict[str, Any], where: str) -> bytes:
    """Packs a dict of plain data and items. Raises TypeError, which says ``where``, for what is neither."""
    return _encode(as_it_travels(value, where))


def as_it_travels(value: Any, where: str) -> Any:
    """Returns plain data as it is, with each item in it in the form in which it travels. Raises TypeError for what is
    neither plain data nor an item, and says ``where`` that is.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str | int):
                raise TypeError(f"{where} has a key of type {type(key).__name__}; keys are text or numbers")
        return {key: as_it_travels(inner, f"{where}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_it_travels(inner, where) for inner in value]
    if isinstance(value, _PLAIN):
        return value
    return _extended(value, where)


def unpacked_plainly(data: bytes) -> dict[str, Any]:
    """Reads what :func:`packed_plainly` wrote. Raises ValueError for anything else, and for items of classes that are
    not known here.
    """
    try:
        return _decoder.decode(data)
    except (RecursionError, KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"not plain data: {error!r:.200}") from error


def _extended(value: Any, where: str) -> Ext:
    kind = type(value)
    if is_item_class(kind):
        values = [[name, as_it_travels(inner, f"{where}, field {name!r}")] for name, inner in _values_of(value)]
        return Ext(_ITEM, _encode([_name_of(kind, where), values]))
    for known, (name, write) in _WRITE.items():
        if isinstance(value, known):
            return Ext(_OTHER, _encode([name, as_it_travels(write(value), where)]))
    raise TypeError(
        f"{where} holds a {kind.__name__}, which cannot travel to another process: use plain data "
        "(text, numbers, bytes, dates, lists, dicts) and items"
    )


def _values_of(item: Any) -> list[tuple[str, Any]]:
    if isinstance(item, Item):
        return list(item.items())
    return [(name, getattr(item, name)) for name in _names_of(type(item), item) if hasattr(item, name)]


def _names_of(kind: Any, item: Any = None) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [field.name for field in kind.__attrs_attrs__]
    if issubclass(kind, msgspec.Struct):
        return list(kind.__struct_fields__)
    return [*kind.model_fields, *(getattr(item, "__pydantic_extra__", None) or ())]


def _name_of(kind: type, where: str) -> list[str]:
    """Returns the module and the name by which another process finds a class; no module where it is the spider's."""
    module = kind.__module__
    if "<" in kind.__qualname__:
        raise TypeError(f"{where} holds a {kind.__name__}, whose class is made in a function: define it in a module")
    if module == HOME.get():
        module = ""
    elif module == "__main__" or module.startswith(USER_MODULE):
        raise TypeError(
            f"{where} holds a {kind.__name__}, which another process cannot find: define it in the spider's file, or in"
            " a module that this imports"
        )
    return [module, kind.__qualname__]


def _class_of(module_name: str, qualname: str) -> type:
    home = HOME.get()
    name = module_name or home
    module = sys.modules.get(name)
    if module is None and home and name.partition(".")[0] == home.partition(".")[0]:
        module = importlib.import_module(name)
    kind = found_in(module, qualname) if module is not None else None
    if not isinstance(kind, type) or not is_item_class(kind):
        raise ValueError(f"there is no class of items {qualname} in {name or 'the spider'} here")
    return kind


def _restored(code: int, data: memoryview) -> Any:
    if code == _OTHER:
        what, value = _other_decoder.decode(data)
        return _READ[what](value)
    if code != _ITEM:
        raise ValueError(f"an extension of msgpack that is not known here: {code}")
    (module, qualname), values = _item_decoder.decode(data)
    kind: Any = _class_of(module, qualname)
    if issubclass(kind, Item):
        item = kind.__new__(kind)
        Item.__init__(item, {name: value for name, value in values if name in kind.fields})
        return item
    if hasattr(kind, "model_construct"):
        return kind.model_construct(**dict(values))
    known = _names_of(kind)
    if issubclass(kind, msgspec.Struct):
        return kind(**{name: value for name, value in values if name in known})
    made = kind.__new__(kind)
    for name, value in values:
        if name in known:
            object.__setattr__(made, name, value)
    return made


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(dict[str, Any], ext_hook=_restored)
_item_decoder = msgspec.msgpack.Decoder(tuple[tuple[str, str], list[tuple[str, Any]]], ext_hook=_restored)
_other_decoder = msgspec.msgpack.Decoder(tuple[str, Any], ext_hook=_restored)
