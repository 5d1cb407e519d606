"""The names under which a job's items are brought to its sinks, and its sinks as the store knows them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.stores.kinds import SinkPlace, read_sink


@dataclass(frozen=True, slots=True)
class JobNames:
    """The names under which a job's items are brought."""

    job: str
    """Of the job: no other in the world has it."""
    writer: str
    """Of this store."""
    shared: bool
    """Other masters bring items of the job, too."""

    @classmethod
    def of(cls, number: int, store: str, *, shared: bool) -> Self:
        """Names a job by its number, which is its own in the world where it is ``shared``."""
        if shared:
            return cls(f"{number:013x}", store, shared=True)
        return cls(blake2b(f"{store} {number}".encode(), digest_size=8).hexdigest(), store, shared=False)

    def place(self, spider: str, settings: Settings, *, replace: bool = False) -> SinkPlace:
        """Returns what a sink of the job is told of its surroundings."""
        return SinkPlace(spider, self.writer, replace, self.job if self.shared else "", settings)


def stored_spec(url: str, stored: str) -> SinkSpec:
    """Reads a sink as the store knows it; its password comes from where it is now."""
    told: dict[str, Any] = json.loads(stored)
    read = read_sink(url)
    return SinkSpec(url, {**told.get("options", {}), **read.options}, told["replace"], read.secret)
