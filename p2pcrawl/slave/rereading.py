"""The way of a slave to pages that were stored on this machine earlier: nobody is asked for anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError, StorageError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.stored.stored_fetcher import StoredFetcher
from p2pcrawl.stores.warc.page_index import PageIndex, StoredPage


@asynccontextmanager
async def rereading(path: Path) -> AsyncIterator[OpenFetcher]:
    """Yields what opens fetchers that answer from an index of stored pages."""
    index = PageIndex(path, reading=True)

    async def find(key: bytes, limit: int) -> StoredPage | None:
        try:
            return index.find(key, limit)
        except StorageError as error:
            raise FetchError(Failure.NOT_STORED, str(error)) from error

    @asynccontextmanager
    async def opened(settings: Settings, networks: Networks) -> AsyncIterator[StoredFetcher]:
        yield StoredFetcher(find, settings)

    try:
        yield opened
    finally:
        index.close()
