"""The place in the events of a whole cluster up to which somebody has read them: good at any peer.

For each master it holds the life that the master was in and the number of the last event that was read of it:
``1a2b3c4d.5e6f7a8b.17`` of one master, joined by ``-``. So it says nothing about the order in which a peer has merged
them, and another peer goes on where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from p2pcrawl.model.errors import ConfigurationError

CURSOR_MAX: Final = 100_000
"""Characters: of 4,096 masters."""
_PLACE = re.compile(r"([0-9a-f]{8})\.([0-9a-f]{8})\.([0-9]{1,18})")


class ReadPlace(NamedTuple):
    """The place in one master's events: its life, and the number of the last one that was read."""

    boot: str
    seq: int


Cursor = Mapping[str, ReadPlace]
"""By the first eight digits of the masters' ids."""


def cursor_text(cursor: Cursor) -> str:
    """Writes a cursor."""
    return "-".join(f"{master}.{place.boot}.{place.seq}" for master, place in sorted(cursor.items()))


def read_cursor(text: str) -> dict[str, ReadPlace]:
    """Reads a cursor; an empty text is one that has read nothing. Raises ConfigurationError for what is none."""
    if len(text) > CURSOR_MAX:
        raise ConfigurationError("no event has so long an id")
    places: dict[str, ReadPlace] = {}
    for part in text.split("-") if text else ():
        match = _PLACE.fullmatch(part)
        if match is None:
            raise ConfigurationError(f"no event has the id {text!r:.80}: it is the `id` of an event that was read")
        places[match[1]] = ReadPlace(match[2], int(match[3]))
    return places
