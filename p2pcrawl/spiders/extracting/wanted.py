"""The choice among links: patterns, domains and endings of their URLs, and patterns for their texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from re import Pattern
from typing import Any


def listed(value: Any) -> list[Any]:
    """Returns several of something as a list: None is nothing, text and mappings are one thing each."""
    if value is None:
        return []
    if isinstance(value, str | bytes | Mapping | Pattern) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def compiled(patterns: Any) -> list[Pattern[str]]:
    """Returns one pattern or several, as text or compiled, as a list of compiled ones."""
    return [each if isinstance(each, Pattern) else re.compile(each) for each in listed(patterns)]


def in_domains(url: str, domains: Iterable[str]) -> bool:
    """Tells whether a URL is of one of the domains or of what is below them. Domains are in lower case, and have a
    port where only that port is meant.
    """
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2].lower()
    host = authority.partition(":")[0]
    return any(
        name in (authority, host) or authority.endswith(below) or host.endswith(below)
        for name in domains
        for below in ("." + name,)
    )


class Endings:
    """Endings that a URL's path must not have."""

    __slots__ = ("_long", "_short")

    def __init__(self, extensions: Iterable[str]) -> None:
        wanted = {str(each) for each in extensions}
        self._short = frozenset(each for each in wanted if "." not in each)
        self._long = tuple("." + each for each in wanted - self._short)

    def has(self, url: str) -> bool:
        """Tells whether the path of a URL ends with one of these."""
        path = url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2]
        last = path.rpartition("/")[2].partition(";")[0].lower()
        if "." not in last:
            return False
        return last.rpartition(".")[2] in self._short or (bool(self._long) and last.endswith(self._long))


class Wanted:
    """The links that a LinkExtractor wants, by their URLs and texts."""

    __slots__ = ("allow", "allow_domains", "deny", "deny_domains", "endings", "text")

    def __init__(
        self, allow: Any, deny: Any, allow_domains: Any, deny_domains: Any, extensions: Any, text: Any
    ) -> None:
        self.allow, self.deny, self.text = compiled(allow), compiled(deny), compiled(text)
        self.allow_domains = {str(each).lower() for each in listed(allow_domains)}
        self.deny_domains = {str(each).lower() for each in listed(deny_domains)}
        self.endings = Endings(listed(extensions))

    def matches(self, url: str) -> bool:
        """Tells whether patterns and domains want the URL."""
        if self.allow and not any(pattern.search(url) for pattern in self.allow):
            return False
        if any(pattern.search(url) for pattern in self.deny):
            return False
        if self.allow_domains and not in_domains(url, self.allow_domains):
            return False
        return not (self.deny_domains and in_domains(url, self.deny_domains))

    def wants(self, url: str) -> bool:
        """Tells whether patterns, domains and endings want the URL."""
        return self.matches(url) and not self.endings.has(url)

    def wants_text(self, text: str) -> bool:
        """Tells whether a link of this text is wanted."""
        return not self.text or any(pattern.search(text) for pattern in self.text)
