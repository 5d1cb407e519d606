"""Headers of requests and answers: case-insensitive, each with any number of values.

Spiders that were written for Scrapy treat values as bytes, others as text. Values are text here that also answers
``decode``, equals its bytes, and takes bytes where a piece of text is looked for: both run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar, overload

from p2pcrawl.model.errors import BadRequest

HeaderName = str | bytes
HeaderValue = str | bytes | int | float | None | Iterable[str | bytes | int | float]
"""One value, or several; None: none at all, so that a default one is not sent either."""
HeadersLike = Mapping[Any, Any] | Iterable[tuple[Any, Any]]

_T = TypeVar("_T")
_is_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z").match
_ends_line = re.compile("[\r\n\0]").search


class HeaderText(str):
    """The value of a header: text that can be treated as its bytes in UTF-8, too."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Returns the value as plain text, for code that takes headers for bytes."""
        return str(self)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, _text(other) if isinstance(other, bytes) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __contains__(self, part: str | bytes) -> bool:  # type: ignore[override]
        return str.__contains__(self, _text(part))

    def startswith(self, start: Any, *bounds: Any) -> bool:
        """Tells whether the value begins so; bytes are read as text."""
        return str.startswith(self, _texts(start), *bounds)

    def endswith(self, end: Any, *bounds: Any) -> bool:
        """Tells whether the value ends so; bytes are read as text."""
        return str.endswith(self, _texts(end), *bounds)

    def split(self, separator: Any = None, maxsplit: Any = -1) -> list[str]:
        """Splits the value at each separator, text or bytes; the parts can be treated as bytes again."""
        return [HeaderText(part) for part in str.split(self, _text(separator), maxsplit)]

    def partition(self, separator: Any) -> tuple[str, str, str]:
        """Splits the value at the first separator, text or bytes."""
        before, found, after = str.partition(self, _text(separator))
        return HeaderText(before), HeaderText(found), HeaderText(after)

    def strip(self, characters: Any = None) -> HeaderText:
        """Returns the value without these characters at its ends."""
        return HeaderText(str.strip(self, _text(characters)))

    def lower(self) -> HeaderText:
        """Returns the value in lower case."""
        return HeaderText(str.lower(self))


class Headers(MutableMapping[str, HeaderText]):
    """Headers by name, in any case; ``[]`` and ``get`` give the last value of several, ``getlist`` and ``items`` all.

    Raises BadRequest for a name or a value that cannot be sent, TypeError for one of another type.
    """

    __slots__ = ("_lines",)

    def __init__(self, headers: HeadersLike | None = None, encoding: str = "utf-8") -> None:
        """``headers``: a mapping, whose values may be lists, or pairs. Text is sent as UTF-8, whatever the
        ``encoding``, which is here for those that name it.
        """
        self._lines: dict[str, tuple[str, ...]] = {}
        if headers:
            self.update(headers)

    @classmethod
    def fromkeys(cls, names: Iterable[HeaderName], value: HeaderValue = None) -> Headers:
        """Makes headers of these names that all have one value."""
        return cls([(name, value) for name in names])

    @classmethod
    def received(cls, lines: Iterable[tuple[str, str]]) -> Headers:
        """Makes headers of the lines of an answer, which nobody has to check: they came."""
        headers = cls()
        held = headers._lines
        for name, value in lines:
            lower = name.lower()
            held[lower] = (*held.get(lower, (name,)), value)
        return headers

    @classmethod
    def lenient(cls, headers: HeadersLike | None) -> Headers:
        """Makes headers of what a host might send: bytes that are no UTF-8 are read as browsers read them."""
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        return cls.received((_read(name), _read(value)) for name, values in pairs for value in _all_of(values))

    @property
    def lines(self) -> list[tuple[str, str]]:
        """All lines as they are sent: each name with one value, names of several values several times."""
        return [(held[0], value) for held in self._lines.values() for value in held[1:]]

    # -- a mapping ------------------------------------------------------------------------------

    def __getitem__(self, name: HeaderName) -> HeaderText:
        held = self._lines[_lower(name)]
        if len(held) == 1:
            raise KeyError(name)
        return HeaderText(held[-1])

    def __setitem__(self, name: HeaderName, value: HeaderValue) -> None:
        if type(name) is str and type(value) is str and value.isascii() and value.isprintable() and _is_name(name):
            # Nearly all of them.
            self._lines[name.lower()] = (name, value)
            return
        written = _checked_name(name)
        self._lines[written.lower()] = (written, *_checked_values(written, value))

    def __delitem__(self, name: HeaderName) -> None:
        del self._lines[_lower(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str | bytes) and _lower(name) in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter([held[0] for held in self._lines.values() if len(held) > 1])

    def __len__(self) -> int:
        return sum(len(held) > 1 for held in self._lines.values())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def items(self) -> Any:
        """Returns the names, each with the list of its values, as spiders that were written for Scrapy take them."""
        return [(held[0], [HeaderText(value) for value in held[1:]]) for held in self._lines.values()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        try:
            others = other if isinstance(other, Headers) else Headers(other)
        except (BadRequest, TypeError):
            return False
        return {n: h[1:] for n, h in self._lines.items()} == {n: h[1:] for n, h in others._lines.items()}

    def __repr__(self) -> str:
        shown = {held[0]: held[1] if len(held) == 2 else list(held[1:]) for held in self._lines.values()}
        return f"Headers({shown})"

    @overload
    def get(self, name: HeaderName, default: None = None) -> HeaderText | None: ...
    @overload
    def get(self, name: HeaderName, default: HeaderText | _T) -> HeaderText | _T: ...
    def get(self, name: HeaderName, default: Any = None) -> Any:
        """Returns the last value of a header; a default that is text can be treated as bytes, too."""
        held = self._lines.get(_lower(name))
        if held is not None and len(held) > 1:
            return HeaderText(held[-1])
        return HeaderText(default) if type(default) is str else default

    def setdefault(self, name: HeaderName, default: HeaderValue = None) -> HeaderText:
        """Sets a header that is not there yet. Returns its last value; "" where it has none."""
        if _lower(name) not in self._lines:
            self[name] = default
        return self.get(name, HeaderText())

    def fill(self, defaults: Headers) -> None:
        """Sets the headers of ``defaults`` that are not there yet."""
        lines = self._lines
        for lower, held in defaults._lines.items():
            if lower not in lines:
                lines[lower] = held

    def update(self, headers: HeadersLike = (), **named: HeaderValue) -> None:  # type: ignore[override]
        """Sets headers, in the place of those of the same names; of pairs, those of one name are all set."""
        if isinstance(headers, Headers):
            self._lines.update(headers._lines)
        elif isinstance(headers, Mapping):
            for name, value in headers.items():
                self[name] = value
        else:
            self._set_pairs(headers)
        for name, value in named.items():
            self[name] = value

    def _set_pairs(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        known: set[str] = set()
        for name, value in pairs:
            lower = _lower(_checked_name(name))
            if lower in known:
                self.appendlist(name, value)
            else:
                self[name] = value
                known.add(lower)

    def copy(self) -> Headers:
        """Returns headers of their own with the same values."""
        headers = type(self)()
        headers._lines = self._lines.copy()
        return headers

    # -- several values -------------------------------------------------------------------------

    def getlist(self, name: HeaderName, default: HeaderValue = None) -> list[HeaderText]:
        """Returns all values of a header, in their order; without any those of the default."""
        held = self._lines.get(_lower(name))
        if held is None:
            return [HeaderText(_read(value)) for value in _all_of(default)]
        return [HeaderText(value) for value in held[1:]]

    def setlist(self, name: HeaderName, values: HeaderValue) -> None:
        """Sets all values of a header."""
        self[name] = values

    def setlistdefault(self, name: HeaderName, default_list: HeaderValue = ()) -> list[HeaderText]:
        """Sets all values of a header that is not there yet. Returns its values."""
        self.setdefault(name, default_list)
        return self.getlist(name)

    def appendlist(self, name: HeaderName, value: HeaderValue) -> None:
        """Adds values to those that a header has."""
        written = _checked_name(name)
        lower = written.lower()
        self._lines[lower] = (*self._lines.get(lower, (written,)), *_checked_values(written, value))

    def to_unicode_dict(self) -> dict[str, str]:
        """Returns a plain dict of text, several values with commas between them."""
        return {held[0]: ",".join(held[1:]) for held in self._lines.values()}

    def to_plain(self) -> dict[str, Any]:
        """Returns a plain dict: one value as text, several as a list, none as an empty one."""
        return {held[0]: held[1] if len(held) == 2 else list(held[1:]) for held in self._lines.values()}


def header_lines(headers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the lines of headers of any kind: each name with one value, names of several values several times."""
    return headers.lines if isinstance(headers, Headers) else list(headers.items())


def _read(value: Any) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _all_of(values: Any) -> Iterable[Any]:
    if values is None:
        return ()
    return (values,) if isinstance(values, str | bytes) or not isinstance(values, Iterable) else values


def _lower(name: HeaderName) -> str:
    return name.lower() if isinstance(name, str) else name.decode("latin-1").lower()


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _texts(value: Any) -> Any:
    return tuple(map(_text, value)) if isinstance(value, tuple) else _text(value)


def _checked_name(name: HeaderName) -> str:
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    if not isinstance(name, str):
        raise TypeError(f"the name of a header is text, not {type(name).__name__}: {name!r:.80}")
    if not _is_name(name):
        raise BadRequest(f"not the name of a header: {name[:80]!r}")
    return str(name)


def _checked_values(name: str, value: HeaderValue) -> tuple[str, ...]:
    if isinstance(value, str | bytes | int | float):
        return (_checked_value(name, value),)
    if value is None:
        return ()
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"header {name} is text, bytes, a number or a list of them, not {type(value).__name__}")
    return tuple([_checked_value(name, each) for each in value])


def _checked_value(name: str, value: object) -> str:
    if isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            raise BadRequest(f"header {name} holds bytes that are no UTF-8: {value[:80]!r}") from None
    elif isinstance(value, str):
        text = str(value)
    elif isinstance(value, int | float):
        return str(value)
    else:
        raise TypeError(f"header {name} is text, bytes, a number or a list of them, not {type(value).__name__}")
    if _ends_line(text):
        raise BadRequest(f"header {name} has a line end or a NUL in it: {text[:80]!r} (strip() it)")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadRequest(f"header {name} holds half a character: {text[:80]!r}") from None
    return text
