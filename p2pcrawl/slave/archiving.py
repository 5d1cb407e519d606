"""The way to the web of a slave whose raw pages are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_folder import WarcFolder


@asynccontextmanager
async def archiving(place: WarcPlace | None) -> AsyncIterator[OpenFetcher]:
    """Yields what opens the fetchers of a slave: those that keep raw pages, where there is a place for them.

    Leaving ends the file that is written. Files of slaves that were killed are ended meanwhile.
    """
    if place is None:
        yield HttpClient
        return
    pages = WarcFolder(place)
    pages.mend()
    try:
        yield partial(HttpClient, raw_pages=pages)
    finally:
        await pages.close()
