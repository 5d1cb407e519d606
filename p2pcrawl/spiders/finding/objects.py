"""Classes and functions of people's code, by the text that names them, and the text back."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.finding.modules import import_file, import_module

FILE = re.compile(r"(.*\.py)(?::([^\W\d][\w.]*))?\Z", re.DOTALL)
"""A file, and perhaps what is meant in it."""


def load_object(path: Any) -> Any:
    """Imports what ``module.Class``, ``module:Class`` or ``file.py:Class`` names; a class or function is itself.

    Raises ConfigurationError for a name of nothing, TypeError for what is neither.
    """
    if not isinstance(path, str):
        if callable(path):
            return path
        raise TypeError(f"a class or function, or its name, is wanted, not {type(path).__name__}")
    file = FILE.match(path)
    if file is not None:
        if not file[2]:
            raise ConfigurationError(f"{path}: name the class too, as {path}:Class")
        module, name = import_file(file[1]), file[2]
    else:
        place, _, name = path.rpartition(":" if ":" in path else ".")
        if not place or not name:
            raise ConfigurationError(f"{path!r} names no class: write module.Class or file.py:Class")
        module = import_module(place)
    found = found_in(module, name)
    if found is None:
        raise ConfigurationError(f"there is no {name} in {path[: -len(name) - 1]}")
    return found


def path_of(thing: Any) -> str:
    """Returns the text that :func:`load_object` finds a class or function by. Raises ConfigurationError when there is
    none.
    """
    module = sys.modules.get(thing.__module__)
    if "<" in thing.__qualname__ or module is None:
        raise ConfigurationError(f"{thing.__qualname__} cannot be found by another process: define it in a module")
    file = getattr(module, "__file__", None)
    if file and (thing.__module__ == "__main__" or thing.__module__.startswith("p2pcrawl_user_")):
        return f"{Path(file).absolute()}:{thing.__qualname__}"
    return f"{thing.__module__}:{thing.__qualname__}"


def found_in(module: ModuleType, qualname: str) -> Any:
    """Returns what a module holds under a name, which may have dots; None where it has nothing."""
    value: Any = module
    for name in qualname.split("."):
        value = getattr(value, name, None)
    return value
