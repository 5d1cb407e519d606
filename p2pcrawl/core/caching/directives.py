"""Header fields as caching reads them: names in one case, lines joined, Cache-Control in its parts (RFC 9111, 5.2).

All of it comes from hosts and spiders, and may be anything. Where a host contradicts itself, or writes no number where
one is due, the reading is taken by which least is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

DELTA_MAX: Final = 1 << 31
"""Seconds; whoever says more means this (RFC 9111, 1.2.2)."""
_DATE_MAX: Final = 60
_PART: Final = re.compile(r'[\s,]*([^\s,=";]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,";]*)))?[^,]*').match

Fields = Mapping[str, str]
"""Header fields by their names in lower case; several lines of one name are one, with commas between."""


def joined_fields(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Joins header lines into fields."""
    fields: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


class Directives:
    """The directives of one message. ``ignored``: names that are passed over."""

    __slots__ = ("_values",)

    def __init__(self, fields: Fields, ignored: Collection[str] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        text = fields.get("cache-control")
        if text is None:
            # What HTTP/1.0 had for it counts where nothing newer is said.
            text = "no-cache" if "no-cache" in fields.get("pragma", "").lower() else ""
        at = 0
        while text and (found := _PART(text, at)) and found.end() > at:
            at = found.end()
            name = found[1].lower()
            if name not in ignored:
                self._values.setdefault(name, []).append(found[2] if found[2] is not None else found[3] or "")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def seconds(self, name: str) -> int | None:
        """Returns the seconds that a directive gives, the least if it is there several times, and 0 for what is no
        number; None without it.
        """
        values = self._values.get(name)
        return None if values is None else min(map(_delta, values))

    def is_bare(self, name: str) -> bool:
        """Tells whether a directive is there without a value."""
        return self._values.get(name) == [""]


def list_of(text: str) -> list[str]:
    """Returns the members of a field that is a list of names, in lower case."""
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def age_of(fields: Fields) -> int:
    """Returns the age that an answer had when it came, 0 for one that tells none that can be read."""
    return _delta(fields.get("age", "").partition(",")[0].strip())


def http_date_of(fields: Fields, name: str) -> float | None:
    """Returns when a date in a field is, in seconds since 1970; None for what is none."""
    text = fields.get(name, "")
    if not text or len(text) > _DATE_MAX:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _delta(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        return 0
    return min(int(text[:12]), DELTA_MAX)
