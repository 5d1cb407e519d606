"""A job: a spider with its arguments and settings, as it travels between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NewType

JobId = NewType("JobId", int)

START_URL = "p2pcrawl://start.localhost/"
"""A spider's ``start()`` is a record like any page, under this prefix and the job's number. The host is
of this machine by its name, so that it has no delay."""


@dataclass(frozen=True, slots=True)
class SpiderRef:
    """Where a spider's class is found.

    ``file`` and ``module`` exclude each other; with neither, it is the built-in spider that follows
    links from ``urls``.
    """

    file: str = ""
    module: str = ""
    qualname: str = ""
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Everything that a slave needs to run a spider."""

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
