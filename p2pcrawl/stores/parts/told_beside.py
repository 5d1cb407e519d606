"""Fields that tell of an item beside its own ones, where the address asks for them: ``?beside=url,fetched_at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sink import SinkPage

_TOLD: dict[str, Callable[[SinkPage, int], Any]] = {
    "key": lambda page, place: page.key(place),
    "job": lambda page, place: page.job,
    "url": lambda page, place: page.url,
    "visit": lambda page, place: page.visit,
    "fetched_at": lambda page, place: page.fetched_at,
}


class Beside:
    """The fields that are put before an item's own, each with an underscore: ``_url``."""

    def __init__(self, option: str = "") -> None:
        """Raises ConfigurationError for something that is not told."""
        names = list(filter(None, option.split(",")))
        if unknown := [name for name in names if name not in _TOLD]:
            raise ConfigurationError(f"beside={unknown[0]} is not told of an item: choose from {', '.join(_TOLD)}")
        self._told = {f"_{name}": _TOLD[name] for name in names}

    def told(self, page: SinkPage, place: int) -> bytes:
        """Returns an item of a page, with what is told beside it."""
        item = page.items[place]
        if not self._told:
            return item
        head = msgspec.json.encode({name: tell(page, place) for name, tell in self._told.items()})
        rest = item.lstrip()[1:]
        return head[:-1] + (b"" if rest.lstrip().startswith(b"}") else b",") + rest
