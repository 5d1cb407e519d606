"""The protocol of an output file: what it promises to the one that writes to it.

The protocol, of which each step may be the last before a crash:

1. ``resume(None)`` at the very first start, ``resume(position)`` with the last *stored* position at any
   later one. The position that it returns is stored before anything is written.
2. ``write`` any number of batches, then ``sync``; the position that it returns is stored.
3. ``finish`` when there are no more items. It may be repeated, also after another ``resume``, and more
   items may follow it after all.

What was written after the stored position is cut off by ``resume`` and has to be written again. So the
output holds each item once, whatever the moment of the crash. (Standard output cannot be cut: there,
what was written after the stored position appears twice.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Position = dict[str, Any]
"""Plain JSON data that says all that is needed to go on:

========================= ==================================================================
``format``, ``gzip``      what the file is; another file format cannot continue it
``packing``               its compression, where it is neither none nor gzip
``offset``                bytes of the file that hold what was synced, without its closing
``count``                 items written so far, not counting what the file held before
``check``                 CRC-32 of the bytes before ``offset``, to notice a file that was swapped
``columns``               CSV only: the fields that have a column, or None while not known
``ignored_fields``        CSV only: how many values had no column and were left out
========================= ==================================================================

and what else the format keeps to itself.
"""


class LocalSink(Protocol):
    """One output. Synchronous, and used by one thread at a time, but for ``give_up``."""

    def resume(self, position: Position | None) -> Position:
        """Opens the output at ``position``; None is the first start, in the mode it was made with.

        May be called again on the same sink, and must be after a StorageError. Raises
        ConfigurationError, with nothing changed, when what is there cannot be continued.
        """
        ...

    def write(self, items: Sequence[bytes]) -> None:
        """Adds JSON objects in UTF-8, in order. They are safe only after ``sync``."""
        ...

    def sync(self) -> Position:
        """Makes all that was written durable; a file is a whole, valid document afterwards."""
        ...

    def finish(self) -> None:
        """Leaves the output whole, durable and valid."""
        ...

    def give_up(self) -> None:
        """Ends a call that waits for somebody else, who may never come: it raises. Called from any thread, and followed
        by ``close``.
        """
        ...

    def close(self) -> None:
        """Lets go of the output as it is. May be repeated."""
        ...
