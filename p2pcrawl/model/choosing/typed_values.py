"""Values of settings, read as their types want them: from Python, or from text as command lines have it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from math import isfinite
from os import PathLike, fspath
from typing import Any, get_args, get_origin

from p2pcrawl.model.choosing.reading import FALSE, TRUE
from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX
from p2pcrawl.model.errors import ConfigurationError


def converted(wanted: Any, value: Any) -> Any:
    """Returns the value as one of that type. Raises TypeError, ValueError and OverflowError for what is none."""
    origin = get_origin(wanted)
    if origin is tuple:
        return as_tuple(get_args(wanted)[0], value)
    if origin is not None:
        return as_mapping(get_args(wanted)[1], value)
    if wanted is bool:
        return _truth(value) if isinstance(value, str) else bool(value)
    if wanted is int and isinstance(value, float) and value != int(value):
        raise ValueError
    if wanted is str and not isinstance(value, str):
        raise TypeError
    if issubclass(wanted, StrEnum) and isinstance(value, str):
        return wanted(value.lower())
    converted = wanted(value)
    if wanted is float and not isfinite(converted):
        raise ValueError
    return converted


def as_tuple(inner: Any, value: Any) -> tuple[Any, ...]:
    """Reads a list, in text with commas and with brackets or without."""
    if isinstance(value, str):
        value = [part.strip() for part in value.strip("[]()").split(",") if part.strip()]
    if issubclass(inner, StrEnum):
        return tuple(inner(part.lower()) for part in value)
    return tuple(inner(part) for part in value)


def as_mapping(inner: Any, value: Any) -> dict[Any, Any]:
    """Reads a mapping, in text as JSON."""
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, Mapping) or not (inner is Any or all(isinstance(each, inner) for each in value.values())):
        raise TypeError
    return {fspath(name) if isinstance(name, PathLike) else name: each for name, each in value.items()}


def weighted(value: Any) -> Any:
    """Returns agents by weight: those of a list weigh the same, and text is JSON or one entry."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return {}
        value = json.loads(text) if text.startswith(("{", "[")) else [text]
    if isinstance(value, Mapping):
        weights = {name: float(weight) for name, weight in value.items()}
    else:
        weights = dict.fromkeys(value, 1.0)
    if not all(isinstance(name, str) and 0.0 < weight < SECONDS_MAX for name, weight in weights.items()):
        raise ConfigurationError("setting USER_AGENTS is a list of names, or a mapping from these to weights above 0")
    return weights


def names_by_name(value: Any) -> Any:
    """Returns a list of names as the mapping from each to itself, and what is a mapping, also in text, as it is."""
    if isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip().startswith("{")):
        return value
    return {name: name for name in as_tuple(str, value or ())}


def _truth(text: str) -> bool:
    """Reads yes or no."""
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE - {""}:
        return False
    raise ValueError
