"""The signals that a slave sends; people connect to them by ``crawler.signals``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


class Signal:
    """One thing that happens in a crawl. Signals of one's own are any objects."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<signal {self.name}>"


engine_started = Signal("engine_started")
engine_stopped = Signal("engine_stopped")
scheduler_empty = Signal("scheduler_empty")
spider_opened = Signal("spider_opened")
spider_idle = Signal("spider_idle")
spider_closed = Signal("spider_closed")
spider_error = Signal("spider_error")
request_scheduled = Signal("request_scheduled")
request_dropped = Signal("request_dropped")
request_reached_downloader = Signal("request_reached_downloader")
request_left_downloader = Signal("request_left_downloader")
response_received = Signal("response_received")
response_downloaded = Signal("response_downloaded")
headers_received = Signal("headers_received")
bytes_received = Signal("bytes_received")
item_scraped = Signal("item_scraped")
item_dropped = Signal("item_dropped")
item_error = Signal("item_error")
feed_slot_closed = Signal("feed_slot_closed")
feed_exporter_closed = Signal("feed_exporter_closed")
memusage_warning_reached = Signal("memusage_warning_reached")
robots_parsed = Signal("robots_parsed")

NEVER_SENT: Final[Mapping[Signal, str]] = {
    headers_received: "fetches are told of when they are whole; DOWNLOAD_MAXSIZE bounds them",
    bytes_received: "fetches are told of when they are whole; DOWNLOAD_MAXSIZE bounds them",
    feed_slot_closed: "outputs are written by masters",
    feed_exporter_closed: "outputs are written by masters",
    memusage_warning_reached: "memory is bounded by FRONTIER_MEMORY and DOWNLOAD_MAXSIZE",
    robots_parsed: "robots.txt is read once for all slaves",
}
"""Signals that people's code may know, and why it waits for them in vain."""
