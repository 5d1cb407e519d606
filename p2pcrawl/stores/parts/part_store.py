"""The contract of a place that part files can be written to, whoever keeps it.

Names are relative to the folder of the address, with ``/`` between their parts. Nothing is asked that a plain object
store cannot do, but for ``exchange``, which those that cannot compare do without comparing (``compares``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from p2pcrawl.model.errors import P2PCrawlError


class Overtaken(P2PCrawlError):
    """Raised when somebody else has changed a file since it was read."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A file as it was read, and the tag that it keeps until it is changed."""

    data: bytes
    tag: str


@dataclass(frozen=True, slots=True)
class BlobFacts:
    """A file as its place tells of it, without reading it."""

    modified_at: float
    """Seconds since the epoch."""
    size: int
    tag: str = ""
    """What an object store calls its content: often its MD5, in hexadecimal."""


class PartStore(Protocol):
    """A folder of a bucket, server or disk. Every method raises SinkAway for what may pass, ConfigurationError for what
    will not, each one line without a password.
    """

    compares: bool
    """Whether ``exchange`` sees what others changed meanwhile."""

    async def get(self, name: str) -> Blob | None:
        """Returns a file; None where there is none of this name."""
        ...

    async def facts(self, name: str) -> BlobFacts | None:
        """Returns what is known of a file; None where there is none of this name."""
        ...

    async def put(self, name: str, data: bytes) -> None:
        """Writes a file as a whole, durably, over what may be there."""
        ...

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        """Writes a file if it still has this tag, or, with None, if there is none; returns its new tag.

        Raises Overtaken.
        """
        ...

    async def names(self, folder: str) -> list[str]:
        """Returns the names of the files right in a folder, without the folder's; "" is the outermost one."""
        ...

    async def delete(self, name: str) -> None:
        """Removes a file, if it is there."""
        ...

    async def close(self) -> None:
        """Lets go of the place. Raises nothing."""
        ...
