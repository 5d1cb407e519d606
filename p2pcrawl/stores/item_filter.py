"""The filter of a sink, ``?where=price > 10 and not sold``: a small language that says which items it is brought.

It cannot loop, call or match patterns, so what it costs is bounded by the size of an item times that of the filter::

    filter     = part ("or" part)*;   part = test ("and" test)*
    test       = "not" test | "(" filter ")" | field [sign value]
    sign       = "=" "==" "!=" "<" "<=" ">" ">=" "~" "contains"
    field      = a name, or a path to one within (``author.name``, ``images.0.url``); in quotes it is one name
    value      = a number, true, false, null, "text", 'text', or a word

``docs/sinks.md`` says what each means.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from p2pcrawl.model.errors import ConfigurationError

LENGTH_MAX: Final = 2000
TESTS_MAX: Final = 50
DEPTH_MAX: Final = 20

ItemTest = Callable[[Mapping[str, Any]], bool]
"""Tells whether an item passes."""

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<sign>==|!=|<=|>=|[=<>~])|(?P<round>[()])|(?P<word>[^\s()=!<>~'"]+)"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)')""",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?")
_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ABSENT: Final = object()
"""Stands for the value of a field that an item has not."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """``sign``, ``round``, ``word``, ``quoted`` or ``end``."""
    text: str
    at: int

    def says(self, word: str) -> bool:
        return self.kind == "word" and self.text.lower() == word


def item_test(text: str) -> ItemTest:
    """Reads a filter. Raises ConfigurationError, which names the character that cannot be read."""
    if len(text) > LENGTH_MAX:
        raise ConfigurationError(f"the filter ?where= has {len(text)} characters; {LENGTH_MAX} at most are read")
    return _Reader(text).read()


def value_at(item: Any, path: str) -> Any:
    """Returns the value of a field, ``ABSENT`` where there is none: that of this name, else that within others, as in
    ``author.name`` or ``images.0.url``.
    """
    if isinstance(item, Mapping) and path in item:
        return item[path]
    for part in path.split("."):
        if isinstance(item, Mapping):
            item = item.get(part, ABSENT)
        elif isinstance(item, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(item):
            item = item[int(part[:9])]
        else:
            return ABSENT
    return item


class _Reader:
    """A filter being read, from the left to the right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._next = 0
        self._tests = 0
        self._depth = 0

    def read(self) -> ItemTest:
        test = self._either()
        if self._peek.kind != "end":
            raise self._wrong("and, or, or the end is expected")
        return test

    def _split(self, text: str) -> list[_Token]:
        tokens, at, end = [], 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                begin = at + len(text[at:]) - len(text[at:].lstrip())
                raise _unreadable(text, begin, "a quote without its end" if text[begin] in "'\"" else "no such sign")
            kind = str(found.lastgroup)
            value = found[kind]
            if kind in ("double", "single"):
                kind, value = "quoted", re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
            tokens.append(_Token(kind, value, found.start(str(found.lastgroup))))
            at = found.end()
        return [*tokens, _Token("end", "", end)]

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek
        self._next += 1
        return token

    def _wrong(self, expected: str) -> ConfigurationError:
        return _unreadable(self._text, self._peek.at, expected)

    def _either(self) -> ItemTest:
        tests = [self._both()]
        while self._peek.says("or"):
            self._take()
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda item: any(test(item) for test in tests)

    def _both(self) -> ItemTest:
        tests = [self._one()]
        while self._peek.says("and"):
            self._take()
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda item: all(test(item) for test in tests)

    def _one(self) -> ItemTest:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._wrong(f"{DEPTH_MAX} levels at most are read")
        try:
            if self._peek.says("not"):
                self._take()
                test = self._one()
                return lambda item: not test(item)
            if self._peek.kind == "round" and self._peek.text == "(":
                self._take()
                test = self._either()
                if self._peek.text != ")" or self._peek.kind != "round":
                    raise self._wrong("a ) is expected")
                self._take()
                return test
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> ItemTest:
        self._tests += 1
        if self._tests > TESTS_MAX:
            raise self._wrong(f"{TESTS_MAX} comparisons at most are read")
        name = self._peek
        if name.kind not in ("word", "quoted") or any(name.says(word) for word in ("and", "or", "contains")):
            raise self._wrong("the name of a field is expected")
        self._take()
        get = _getter(name)
        if self._peek.kind != "sign" and not self._peek.says("contains"):
            return lambda item: _has_value(get(item))
        sign = self._take().text
        if self._peek.kind not in ("word", "quoted"):
            raise self._wrong("a value is expected")
        token = self._take()
        value = token.text if token.kind == "quoted" else _literal(token.text)
        return _compared(get, sign, value)


def _unreadable(text: str, at: int, expected: str) -> ConfigurationError:
    rest = text[at : at + 20]
    place = f"at {rest!r}" if rest else "at its end"
    return ConfigurationError(f"the filter ?where={text[:100]} cannot be read {place} (character {at + 1}): {expected}")


def _getter(name: _Token) -> Callable[[Mapping[str, Any]], Any]:
    field = name.text
    if name.kind == "quoted" or "." not in field:
        return lambda item: item.get(field, ABSENT)
    return lambda item: value_at(item, field)


def _literal(word: str) -> Any:
    if (lowered := word.lower()) in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[lowered]
    number = _number(word)
    return word if number is None else number


def _number(text: str) -> int | float | None:
    if len(text) > 400 or not _NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _has_value(value: Any) -> bool:
    return value is not ABSENT and value is not None and value not in ("", [], {})


def _compared(get: Callable[[Mapping[str, Any]], Any], sign: str, value: Any) -> ItemTest:
    if sign in ("=", "=="):
        return lambda item: _equal(get(item), value)
    if sign == "!=":
        return lambda item: not _equal(get(item), value)
    if sign in _ORDERS:
        order = _ORDERS[sign]
        return lambda item: _ordered(get(item), value, order)
    return lambda item: _contains(get(item), value)


def _alike(found: Any, value: Any) -> Any:
    """Returns what was found as one can compare it with the value: a text that is a plain number as this number."""
    if isinstance(found, str) and isinstance(value, int | float) and not isinstance(value, bool):
        number = _number(found.strip()) if len(found) <= 400 else None
        return found if number is None else number
    return found


def _equal(found: Any, value: Any) -> bool:
    if value is None:
        return found is None or found is ABSENT
    found = _alike(found, value)
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)


def _ordered(found: Any, value: Any, order: Callable[[Any, Any], bool]) -> bool:
    found = _alike(found, value)
    if isinstance(found, str) != isinstance(value, str) or isinstance(found, bool) or isinstance(value, bool):
        return False
    return isinstance(found, int | float | str) and isinstance(value, int | float | str) and order(found, value)


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return str(value).casefold() in found.casefold()
    if isinstance(found, list):
        return any(_same_text(each, value) if isinstance(each, str) else _equal(each, value) for each in found)
    return isinstance(found, Mapping) and str(value) in found


def _same_text(found: str, value: Any) -> bool:
    return found.casefold() == value.casefold() if isinstance(value, str) else _equal(found, value)
