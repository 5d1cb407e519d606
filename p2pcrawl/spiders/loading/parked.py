"""Items that wait for files: what a pipeline returns in the place of one, and what has to be known to go on with it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

from p2pcrawl.model.crawl.request import Request


class FileException(Exception):
    """A file could not be had, or nothing can be made of it."""


@runtime_checkable
class MediaMaker(Protocol):
    """A pipeline that makes something of files. Methods are given the request of one file, and the item."""

    async def check_place(self) -> None:
        """Raises ConfigurationError when nothing can be kept where its files are to be."""
        ...

    async def known_result(self, request: Request, item: Any) -> Any:
        """Returns the result for a file that is there already; None when it has to be asked for."""
        ...

    async def result_of(self, request: Request, response: Any, item: Any) -> Any:
        """Returns what is made of an answer, when it is kept. Raises when nothing can be made of it."""
        ...

    def note_failure(self, request: Request, failure: Any) -> None:
        """Hears that a file could not be had."""
        ...

    async def item_with(self, results: list[tuple[bool, Any]], item: Any) -> Any:
        """Returns the item with the results for all its files, in their order. Raises DropItem."""
        ...


@dataclass(slots=True)
class Parked:
    """An item that waits for files. ``step`` is the place of its pipeline among all of them."""

    item: Any
    maker: MediaMaker
    waiting: list[Request]
    results: list[tuple[bool, Any]] = field(default_factory=list)
    step: int = 0

    usage: Any = None
    """What the page that it was found on says may be done with it."""

    def __await__(self) -> Generator[Any, None, Self]:
        """Lets a pipeline that is async await what its base class returned."""
        yield from ()
        return self
