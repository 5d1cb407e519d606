"""A job: a spider with its arguments and settings, as it travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NewType

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import is_text

JobId = NewType("JobId", int)

START_URL = "p2pcrawl://start.localhost/"
"""A spider's ``start()`` is a record like any page, under this prefix and the job's number. The host is
of this machine by its name, so that it has no delay."""


@dataclass(frozen=True, slots=True)
class SpiderRef:
    """The place of a spider's class.

    ``file`` and ``module`` exclude each other; with neither, it is the built-in spider that follows
    links from ``urls``.
    """

    file: str = ""
    module: str = ""
    qualname: str = ""
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A spider, with all that a slave needs to run it. Raises ConfigurationError for what cannot be sent or stored."""

    id: JobId
    name: str
    spider: SpiderRef
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of Settings that differ from the defaults."""
    opened: tuple[str, ...] = ()
    """Hosts of this machine, or at private addresses, that the job's own start URLs opened; see fetch.guard."""
    code: str = ""
    """The text of the spider's file, when it travels with the job."""
    module_digest: str = ""
    """The digest of the spider's module, so that all peers run the same."""

    def __post_init__(self) -> None:
        spider = self.spider
        for what, value in (
            ("the name of the spider", self.name),
            ("the place of the spider", [spider.file, spider.module, spider.qualname, *spider.urls]),
            ("an argument of the spider", self.arguments),
            ("a setting", self.settings),
            ("the code of the spider", self.code),
        ):
            if trouble := _trouble(value):
                raise ConfigurationError(f"{what} cannot travel: {trouble}")


def _trouble(value: Any) -> str:
    """Returns why a value of plain data has no form that other processes can read; "" when it has one."""
    if isinstance(value, str):
        # Halves of characters: bytes that are no text, typed or in a file's name.
        return "" if value.isascii() or is_text(value) else f"{value[:80]!r} is no text"
    if isinstance(value, int):
        return "" if abs(value) <= 1 << 62 else "a number is too great"
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return next(filter(None, map(_trouble, value)), "")
    return ""
