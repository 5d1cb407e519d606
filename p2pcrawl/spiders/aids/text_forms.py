"""Text and bytes, lists and single values: one made of the other."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any, TypeVar

_Part = TypeVar("_Part")


def to_unicode(text: str | bytes, encoding: str | None = None, errors: str = "strict") -> str:
    """Returns text: what is text as it is, bytes decoded. Raises TypeError for other things."""
    if isinstance(text, str):
        return text
    if not isinstance(text, bytes):
        raise TypeError(f"to_unicode takes str or bytes, not {type(text).__name__}")
    return text.decode(encoding or "utf-8", errors)


def to_bytes(text: str | bytes, encoding: str | None = None, errors: str = "strict") -> bytes:
    """Returns bytes: what is bytes as it is, text encoded. Raises TypeError for other things."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"to_bytes takes str or bytes, not {type(text).__name__}")
    return text.encode(encoding or "utf-8", errors)


def binary_is_text(data: bytes) -> bool:
    """Tells whether bytes may be text: they hold no control characters but those of lines and tabs."""
    if not isinstance(data, bytes):
        raise TypeError(f"binary_is_text takes bytes, not {type(data).__name__}")
    return not any(byte < 32 and byte not in b"\t\n\x0c\r\x1b\x08" for byte in data)


def unique(values: Iterable[_Part], key: Callable[[_Part], Hashable] = lambda value: value) -> list[_Part]:
    """Returns the values without those whose key came before."""
    seen: set[Hashable] = set()
    return [value for value in values if not ((known := key(value)) in seen or seen.add(known))]  # type: ignore[func-returns-value]


def is_listlike(value: Any) -> bool:
    """Tells whether a value can be iterated over, and is no text."""
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


def flatten(values: Iterable[Any]) -> list[Any]:
    """Returns a list of what is in nested lists and tuples."""
    return list(iflatten(values))


def iflatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yields what is in nested lists and tuples."""
    for value in values:
        if is_listlike(value):
            yield from iflatten(value)
        else:
            yield value


def arg_to_iter(value: Any) -> Iterable[Any]:
    """Returns what can be iterated over: none for None, lists and such as they are, a single value in a list."""
    if value is None:
        return []
    if hasattr(value, "__iter__") and not isinstance(value, str | bytes | Mapping) and not hasattr(value, "fields"):
        return value  # type: ignore[no-any-return]
    return [value]


def without_none_values(values: Any) -> Any:
    """Returns a mapping without the names whose value is None, or a list or such without Nones."""
    if isinstance(values, Mapping):
        return {name: value for name, value in values.items() if value is not None}
    return type(values)(value for value in values if value is not None)


def get_func_args(function: Callable[..., Any], stripself: bool = False) -> list[str]:
    """Returns the names of a callable's parameters that can be given by position or by name, and are not bound."""
    if not callable(function):
        raise TypeError(f"{function!r} is no callable")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # Some that are written in C.
        return []
    bound = function.keywords if isinstance(function, partial) else {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [each.name for each in parameters if each.kind in kinds and each.name not in bound]
    return names[1:] if stripself and names and names[0] == "self" else names


def global_object_name(thing: Any) -> str:
    """Returns the dotted name of a class or function."""
    return f"{thing.__module__}.{thing.__qualname__}"


def md5sum(file: IO[bytes]) -> str:
    """Returns the MD5 sum of what is left in a file."""
    found = hashlib.md5(usedforsecurity=False)
    while part := file.read(8192):
        found.update(part)
    return found.hexdigest()
