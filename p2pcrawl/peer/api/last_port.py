"""The port that a peer's API had last, kept in its data folder: a restart changes no address that people have noted."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from p2pcrawl.model.cluster.node import Address, parse_address
from p2pcrawl.private.folders import private

log = logging.getLogger(__name__)

_FILE = "api-port"
_DIGITS_MAX = 5


def last_port(folder: Path) -> int | None:
    """Returns the port that :func:`keep_port` kept in a data folder; None where there is none that can be read."""
    try:
        with open(os.open(folder / _FILE, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
            text = file.read(_DIGITS_MAX + 1).strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() and 0 < int(text) < 1 << 16 else None


def keep_port(folder: Path, address: Address) -> None:
    """Keeps the port of an API for the next start. That it cannot be kept is no reason not to run."""
    _, port = parse_address(address)
    if last_port(folder) == port:
        return
    try:
        with open(folder / _FILE, "w", opener=private) as file:
            file.write(f"{port}\n")
    except OSError as error:
        log.info("the port of the API is not kept for the next start: %s", error)
