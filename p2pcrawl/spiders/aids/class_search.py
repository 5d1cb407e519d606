"""Classes and modules of people's code: found, compared, and made."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from p2pcrawl.spiders.aids.text_forms import arg_to_iter
from p2pcrawl.spiders.hooks.making import make_component
from p2pcrawl.spiders.spider import Spider


def walk_modules(path: str) -> list[ModuleType]:
    """Imports a module and all below it. Raises what importing raises."""
    return list(walk_modules_iter(path))


def walk_modules_iter(path: str) -> Iterator[ModuleType]:
    """Imports a module and all below it, one after the other."""
    module = importlib.import_module(path)
    yield module
    for each in pkgutil.iter_modules(getattr(module, "__path__", ())):
        below = f"{path}.{each.name}"
        if each.ispkg:
            yield from walk_modules_iter(below)
        else:
            yield importlib.import_module(below)


def iter_spider_classes(module: ModuleType) -> Iterator[type[Spider]]:
    """Yields the spiders that a module itself defines, and that were given a name."""
    for value in vars(module).values():
        own = isinstance(value, type) and issubclass(value, Spider) and value.__module__ == module.__name__
        if own and value.has_own_name:
            yield value


def iterate_spider_output(result: Any) -> Iterable[Any] | AsyncIterator[Any]:
    """Returns what can be iterated over of whatever a callback returned."""
    return result if hasattr(result, "__aiter__") else arg_to_iter(result)


def method_is_overridden(subclass: type, base_class: type, method_name: str) -> bool:
    """Tells whether a class, or one between, defines a method anew that a base has."""
    own: object = getattr(subclass, method_name).__code__
    return own is not getattr(base_class, method_name).__code__


def build_from_crawler(cls: type, crawler: Any, /, *arguments: Any, **named: Any) -> Any:
    """Makes a component by its ``from_crawler`` if it has one, else by calling it."""
    return make_component(cls, crawler, *arguments, **named)


def create_instance(cls: type, settings: Any, crawler: Any, *arguments: Any, **named: Any) -> Any:
    """Makes a component as :func:`build_from_crawler` does; ``settings`` are those of the crawler. An old name."""
    return make_component(cls, crawler, *arguments, **named)


def rel_has_nofollow(rel: str | None) -> bool:
    """Tells whether the ``rel`` of a link says nofollow."""
    return rel is not None and "nofollow" in rel.lower().replace(",", " ").split()


@contextmanager
def set_environ(**variables: str) -> Iterator[None]:
    """Sets variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
