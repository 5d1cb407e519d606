"""The sinks of a crawl, as people are told of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from p2pcrawl.cli.screen.words import counted
from p2pcrawl.master.jobs.delivery import SinkState
from p2pcrawl.model.printable import on_one_line


def sink_lines(sinks: Iterable[SinkState]) -> list[str]:
    """Writes for each sink how many items it has, and what it has not, and why."""
    return [f"{near(sink.sink)}: {', '.join(_told(sink))}" for sink in sinks]


def away_lines(sinks: Iterable[SinkState]) -> list[str]:
    """Writes a line for each sink that is away."""
    return [
        f"waiting for {near(sink.sink)} {_since(sink)}: {counted(sink.waiting, 'item')} ({on_one_line(sink.why)})"
        for sink in sinks
        if sink.away_since is not None
    ]


def slow_lines(sinks: Iterable[SinkState]) -> list[str]:
    """Writes a line for each sink that is there and has not got all yet."""
    return [
        f"{counted(sink.waiting, 'item')} on the way to {near(sink.sink)}"
        for sink in sinks
        if sink.waiting and sink.away_since is None
    ]


def near(sink: str) -> str:
    """Writes an address as it is short to read from here."""
    if sink == "-":
        return "standard output"
    if "://" in sink:
        return on_one_line(sink)
    relative = os.path.relpath(sink)
    return sink if relative.startswith("..") else relative


def _told(sink: SinkState) -> Iterator[str]:
    yield counted(sink.delivered, "item")
    if sink.waiting:
        away = f" ({_since(sink)} away: {on_one_line(sink.why)})" if sink.away_since is not None else ""
        yield f"{sink.waiting:,} not delivered yet{away}"
    if sink.refused:
        yield f"{sink.refused:,} refused"


def _since(sink: SinkState) -> str:
    since = time.localtime(sink.away_since)
    today = since[:3] == time.localtime()[:3]
    return time.strftime("since %H:%M:%S" if today else "since %Y-%m-%d %H:%M:%S", since)
