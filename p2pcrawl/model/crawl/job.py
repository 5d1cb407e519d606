"""A job: a spider with its arguments and settings, as it travels between processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NewType

from p2pcrawl.model.boards.job_board import JobBoard
from p2pcrawl.model.crawl.sink_spec import SINKS_MAX, SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import is_text
from p2pcrawl.model.texts.imprint_url import is_imprint, without_imprint

JobId = NewType("JobId", int)

LABEL_MAX = 64
"""Characters of the name that people give a job."""
PROJECT_MAX = 4 * 1024 * 1024
"""Bytes of a project as it travels."""
START_URL = "p2pcrawl://start.localhost/"
"""A spider's ``start()`` is a record like any page, under this prefix and the job's number. The host is
of this machine by its name, so that it has no delay."""


CUT_SHORT = "cut-short"
"""The reason of a start page that is queued again, for its job was closing while it was at work."""
IDLE_END = "idle"
"""The reason with which a page ends that asked components whether their job is to end."""
_IDLE = "/idle/"


def idle_url(job: int, number: int) -> str:
    """Returns the URL of a page that asks a job's components whether it is to end."""
    return f"{START_URL}{job}{_IDLE}{number}"


def is_idle(url: str) -> bool:
    """Tells whether a URL is one of :func:`idle_url`."""
    return url.startswith(START_URL) and _IDLE in url


def page_name(url: str) -> str:
    """Returns what people are told of the page of a URL: that itself, or which of the crawl's own it is."""
    if is_imprint(url):
        return f"the imprint of {without_imprint(url)}"
    if not url.startswith(START_URL):
        return url
    return "the crawl's end" if is_idle(url) else "the spider's start"


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
    arguments: dict[str, Any] = field(default_factory=dict)
    """Texts where they were typed; a script may give any plain data."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of Settings that differ from the defaults."""
    opened: tuple[str, ...] = ()
    """Hosts of this machine, or at private addresses, that the job's own start URLs opened; see fetch.guard."""
    code: str = ""
    """The text of the spider's file, when it travels with the job."""
    module_digest: str = ""
    """The digest of the spider's module, so that all peers run the same."""
    sinks: tuple[SinkSpec, ...] = ()
    """The destinations of its items in a cluster, without their passwords. They and their order never change: which of
    them has a page is told by their places."""
    secrets: bytes = b""
    """The passwords of its sinks, in their order, sealed by ``wire.sealed.at_rest``."""
    label: str = ""
    """The name that people have given to the job; "" where they have given none. ``name`` is its spider's."""
    project: bytes = b""
    """The files of the spider's project, packed by ``spiders.travelling``, when they travel with the job: then
    ``spider.file`` is the path of the spider's file among them."""
    tuned: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """Settings that were changed while it runs, each with the version of its change; see ``core.retuning``."""
    submitted: int = 0
    """When, in milliseconds since 1970, by the clock of the master that took it in."""
    boards: dict[str, JobBoard] = field(default_factory=dict)
    """Its boards by their names, where there are several, or one of them was changed since; see
    ``core.board_versions``. What is not among them is the board that ``code`` or ``spider.file`` is, if that is one.
    """

    def __post_init__(self) -> None:
        spider = self.spider
        for what, value in (
            ("the name of the spider", self.name),
            ("the place of the spider", [spider.file, spider.module, spider.qualname, *spider.urls]),
            ("an argument of the spider", self.arguments),
            ("a setting", self.settings),
            ("the code of the spider", self.code),
            ("a board", [each for name, board in self.boards.items() for each in (name, board.text, *board.gone)]),
        ):
            if trouble := _trouble(value):
                raise ConfigurationError(f"{what} cannot travel: {trouble}")
        if self.sinks:
            self._check_sinks()

    @property
    def sinks_told(self) -> bytes:
        """Returns what the sealed passwords of its sinks are bound to: this job, and where they are to be sent."""
        places = [[sink.url, sorted(sink.options.items())] for sink in self.sinks]
        return json.dumps([self.id, places]).encode()

    def _check_sinks(self) -> None:
        urls = [sink.url for sink in self.sinks]
        if len(urls) > SINKS_MAX:
            raise ConfigurationError(f"a job has at most {SINKS_MAX} outputs, not {len(urls)}")
        if twice := [url for n, url in enumerate(urls) if url in urls[:n]]:
            raise ConfigurationError(f"the output {twice[0]} is named twice")
        if any(sink.secret for sink in self.sinks):
            raise ValueError("a job has the passwords of its outputs sealed, and nowhere else")


def _trouble(value: Any) -> str:
    """Returns why a value of plain data has no form that other processes can read; "" when it has one."""
    if isinstance(value, str):
        # Halves of characters: bytes that are no text, typed or in a file's name.
        return "" if value.isascii() or is_text(value) else f"{value[:80]!r} is no text"
    if value is None or isinstance(value, float | bytes):
        return ""
    if isinstance(value, int):
        return "" if abs(value) <= 1 << 62 else "a number is too great"
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return next(filter(None, map(_trouble, value)), "")
    return f"a {type(value).__name__} is no plain data"
