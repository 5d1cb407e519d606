"""Sight of one URL: whether a value holds it, and which types it is held by.

Values are looked through as far as they are data: texts, bytes, tuples, lists, sets, dictionaries, and instances of
what p2pcrawl itself declares as data (structs, named tuples, dataclasses, and the slots of what spiders see). Objects
that do something hold everything sooner or later, so what they keep does not count; nor does what a dataclass that
changes keeps in a dictionary, a set or a deque.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from msgspec import Struct

from p2pcrawl.model.crawl.fingerprint import fingerprint, halves

from ..kernel.life import LIFE
from ..kernel.own_name import PACKAGE

DEPTH_MAX = 8
"""A report in a message holds a page with links in columns; nothing lies deeper than this."""
_DATA = ("p2pcrawl.model", "p2pcrawl.spiders")
"""Whose plain classes are data, too: requests, answers, responses, batches of links."""
_PAGE = b"<!doctype html"
"""What begins so is the text in which a link stands, not the link."""
_KEPT = (dict, set, deque)


class _Form(NamedTuple):
    """The way in which a type of data is looked through."""

    names: tuple[str, ...]
    keeps: bool
    """Its dictionaries, sets and deques are its memory."""


class Sight:
    """Looks for one URL: as text, as fingerprint, as the halves of it that a database holds, and as the number of its
    record wherever a field is called so on a machine that numbered it. ``package``: whose types count."""

    def __init__(self, url: str, package: str = "p2pcrawl") -> None:
        self._package = package
        own = fingerprint(url)
        text = re.escape(url) + r"(?![\w/.?#-])"
        self._own = bytes(own)
        self._text = re.compile(text)
        self._bytes = re.compile(b"%s|%s" % (text.encode(), re.escape(own)), re.DOTALL)
        self._halves = frozenset(halves(own))
        self._forms: dict[type, _Form | None] = {}
        self._records: dict[str, int] = {}
        self.carriers: dict[type, bool] = {}
        """The types of p2pcrawl that held it; True if among their own fields, False if in another carrier only."""

    def sees(self, values: Iterable[Any]) -> bool:
        """Tells whether one of these values holds the URL, and remembers the carriers of it."""
        return self._among(values, 0) is not None

    def _look(self, value: Any, depth: int) -> bool | None:
        """Looks through one value. None: it is not there. True: it is there itself; False: inside a carrier."""
        kind = type(value)
        if kind is str:
            return True if self._text.search(value) else None
        if kind is int:
            return True if value in self._halves else None
        if kind is bytes or kind is bytearray:
            return True if self._bytes.search(value) and not value.startswith(_PAGE) else None
        if depth >= DEPTH_MAX:
            return None
        if kind is tuple or kind is list or kind is set or kind is frozenset or kind is deque:
            return self._among(value, depth + 1)
        if kind is dict:
            return self._among([*value, *value.values()], depth + 1)
        form = self._form(kind)
        return None if form is None else self._inside(value, form, depth)

    def _among(self, values: Iterable[Any], depth: int) -> bool | None:
        """Looks through all of these, so that no carrier is missed, and tells the nearest find."""
        nearest: bool | None = None
        for value in values:
            found = self._look(value, depth)
            if found is not None:
                nearest = found or nearest or False
        return nearest

    def _inside(self, value: Any, form: _Form, depth: int) -> bool | None:
        fields = {name: getattr(value, name, None) for name in form.names}
        record = fields.get("record")
        there = [each for each in fields.values() if not (form.keeps and isinstance(each, _KEPT))]
        found = self._among(there, depth + 1)
        if isinstance(record, int):
            if fields.get("fingerprint") == self._own:
                self._records[here()] = record
            elif found is None and self._records.get(here()) == record:
                found = True
        if found is None:
            return None
        kind = type(value)
        self.carriers[kind] = self.carriers.get(kind, False) or found
        return False

    def _form(self, kind: type) -> _Form | None:
        if kind not in self._forms:
            self._forms[kind] = _form_of(kind) if self._counts(kind.__module__) else None
        return self._forms[kind]

    def _counts(self, module: str) -> bool:
        return module.startswith(self._package) and not (f"{module}.").startswith(f"{PACKAGE}.")


def here() -> str:
    """Returns the name of the machine whose code runs."""
    life = LIFE.get()
    return "" if life is None else life.node.name


def _form_of(kind: type) -> _Form | None:
    """Returns how a type is looked through; None for what is no data."""
    if issubclass(kind, Struct):
        return _Form(kind.__struct_fields__, False)
    if issubclass(kind, tuple):
        return _Form(tuple(getattr(kind, "_fields", ())), False)
    if is_dataclass(kind):
        frozen = kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return _Form(tuple(kind.__dataclass_fields__), not frozen)
    if kind.__module__.startswith(_DATA):
        slots = [getattr(base, "__slots__", ()) for base in kind.__mro__]
        return _Form(tuple(name for each in slots for name in ([each] if isinstance(each, str) else each)), True)
    return None
