"""Items as people write them, and as the one JSON object that travels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Set
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import parsel

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.items.item import Item

_Answer = TypeVar("_Answer")


def _remembered(ask: Callable[[type[Any]], _Answer]) -> Callable[[type[Any]], _Answer]:
    cached: Callable[[Any], _Answer] = lru_cache(maxsize=1024)(ask)
    return cached


DEPTH_LIMIT = 200
"""Levels of nesting in an item."""


def is_item(obj: object) -> bool:
    """Tells whether ``obj`` can be an item: a dict, an Item or other mapping, a dataclass, an attrs or a pydantic
    object, a Struct.
    """
    return isinstance(obj, dict) or is_item_class(type(obj)) or isinstance(obj, Mapping)


@_remembered
def is_item_class(kind: type) -> bool:
    """Tells whether a class is one of items: with fields, as Items, dataclasses, attrs and pydantic classes and Structs
    have them.
    """
    return (
        issubclass(kind, Item)
        or dataclasses.is_dataclass(kind)
        or hasattr(kind, "__attrs_attrs__")
        or _is_pydantic(kind)
        or issubclass(kind, msgspec.Struct)
    )


def encode_item(item: Any) -> bytes:
    """Encodes an item as one JSON object in UTF-8. Raises TypeError, saying which field is wrong, for what cannot
    become one.
    """
    common = type(item) is dict
    if not common and not is_item(item):
        raise TypeError(_not_an_item(item))
    try:
        if common or _is_as_it_looks(type(item)):
            return _encode(item)
    except (TypeError, ValueError, RecursionError):
        # Odd keys, subclasses of text, lone surrogates: seldom, so that the common case pays nothing for them.
        pass
    plain = _plain(item, "", 0)
    return _encode(plain)


def _hook(value: Any) -> Any:
    if isinstance(value, Item):
        return _serialized(value, _serializers(value.fields))
    if _is_pydantic(type(value)):
        return value.model_dump()
    raise TypeError(type(value).__name__)


def with_field(data: bytes, name: str, value: Any) -> bytes:
    """Adds a field to an encoded item; one that the item has itself stays as it is."""
    key = _encode(name)
    if key + b":" in data and name in msgspec.json.decode(data, type=dict[str, msgspec.Raw]):
        return data
    return data[:-1] + (b"," if len(data) > 2 else b"") + key + b":" + _encode(value) + b"}"


_encode = msgspec.json.Encoder(enc_hook=_hook).encode


@_remembered
def _is_pydantic(kind: type) -> bool:
    return hasattr(kind, "model_dump") and hasattr(kind, "model_fields")


@_remembered
def _is_as_it_looks(kind: type) -> bool:
    """Tells whether msgspec writes all that a class of items has, and as it is to be. It leaves out the fields of
    dataclasses and attrs classes that begin with an underscore, and knows of no serializers.
    """
    return not any(name.startswith("_") for name in _fields(kind)) and not _serializers_of(kind)


@_remembered
def _serializers_of(kind: type) -> dict[str, Callable[[Any], Any]]:
    """Returns the serializers that a dataclass or attrs class names in the metadata of its fields."""
    if dataclasses.is_dataclass(kind):
        return _serializers({field.name: field.metadata for field in dataclasses.fields(kind)})
    return _serializers({field.name: field.metadata for field in getattr(kind, "__attrs_attrs__", ())})


def _serializers(fields: Mapping[str, Mapping[Any, Any]]) -> dict[str, Callable[[Any], Any]]:
    return {name: about["serializer"] for name, about in fields.items() if "serializer" in about}


def _serialized(values: Mapping[str, Any], serializers: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Returns an item's values as outputs get them."""
    if not serializers:
        return dict(values)
    return {name: serializers[name](value) if name in serializers else value for name, value in values.items()}


@_remembered
def _fields(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(field.name for field in getattr(kind, "__attrs_attrs__", ()))


def _plain(value: Any, path: str, depth: int) -> Any:
    if depth > DEPTH_LIMIT:
        raise TypeError(f"item field {path.partition('.')[0]!r} is nested too deeply or holds itself")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, parsel.Selector | parsel.SelectorList):
        raise TypeError(f"item field {path!r} holds a selector: add .get() or .getall() to it")
    kind = type(value)
    if _is_pydantic(kind):
        return _plain(value.model_dump(), path, depth + 1)
    names = _fields(kind)
    if names:
        values = {name: getattr(value, name) for name in names if hasattr(value, name)}
        value = _serialized(values, _serializers_of(kind))
    elif isinstance(value, Item):
        value = _serialized(value, _serializers(value.fields))
    if isinstance(value, Mapping):
        return {
            _key(key): _plain(each, f"{path}.{key}" if path else str(key), depth + 1) for key, each in value.items()
        }
    if isinstance(value, list | tuple | Set):
        return [_plain(each, path, depth + 1) for each in value]
    try:
        _encode(value)
    except TypeError:
        raise TypeError(f"item field {path!r} holds a {kind.__name__}, which has no JSON form") from None
    return value


def _key(key: Any) -> str:
    text = key if isinstance(key, str) else str(key)
    return str(_plain(text, "", 0))


def _not_an_item(obj: object) -> str:
    kind = type(obj).__name__
    if isinstance(obj, Request):
        return "a Request is not an item"
    if hasattr(obj, "__iter__") and not isinstance(obj, str | bytes):
        return f"a callback yielded a {kind}; yield its parts one by one, for example with 'yield from'"
    kinds = "dict, Item, dataclass, attrs or pydantic object"
    return f"a callback yields requests and items ({kinds}), not {kind}: {obj!r:.80}"
