"""Files that items name: fetched, kept under a path that is made from their URL, and told in the item."""

from __future__ import annotations

import logging
import mimetypes
import posixpath
import time
from contextlib import suppress
from hashlib import md5, sha1
from io import BytesIO
from typing import Any, ClassVar
from urllib.parse import urlsplit

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import NotConfigured
from p2pcrawl.slave.media.media_pipeline import MediaInfo, MediaPipeline, accepting, called
from p2pcrawl.slave.media.media_store import MediaStore, open_media_store
from p2pcrawl.spiders.loading.parked import FileException
from p2pcrawl.stores.sink import SinkAway

log = logging.getLogger(__name__)

_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ENDPOINT_URL",
    "AWS_REGION_NAME",
    "FTP_USER",
    "FTP_PASSWORD",
)
_DAY_S = 24 * 3600


class FilesPipeline(MediaPipeline):
    """Keeps the files of ``file_urls`` in FILES_STORE, and tells of them in ``files``."""

    MEDIA_NAME = "file"
    STORE: ClassVar[str] = "FILES_STORE"
    EXPIRES: ClassVar[int] = 90
    """Days for which a file is fresh."""
    DEFAULT_FILES_URLS_FIELD: ClassVar[str] = "file_urls"
    DEFAULT_FILES_RESULT_FIELD: ClassVar[str] = "files"
    _told_inline = False
    FILES_URLS_FIELD: str
    FILES_RESULT_FIELD: str

    def __init__(self, store_uri: Any, download_func: Any = None, settings: Any = None, *, crawler: Any = None) -> None:
        if not store_uri:
            raise NotConfigured(f"{self.STORE} is not set")
        super().__init__(download_func, settings, crawler=crawler)
        self.store: MediaStore = self._get_store(str(store_uri))
        self.configure()

    @classmethod
    def _made(cls, crawler: Any) -> Any:
        return called(cls, crawler.settings.get(cls.STORE), crawler=crawler, settings=crawler.settings)

    def configure(self) -> None:
        """Reads the settings."""
        self.expires = int(self.setting("FILES_EXPIRES", self.EXPIRES))
        urls = getattr(self, "FILES_URLS_FIELD", self.DEFAULT_FILES_URLS_FIELD)
        results = getattr(self, "FILES_RESULT_FIELD", self.DEFAULT_FILES_RESULT_FIELD)
        self.files_urls_field: str = self.setting("FILES_URLS_FIELD", urls)
        self.files_result_field: str = self.setting("FILES_RESULT_FIELD", results)

    async def check_place(self) -> None:
        """Raises ConfigurationError when the place refuses to tell of a file, or is none."""
        with suppress(SinkAway):
            await self.store.facts("full/none")

    async def close_spider(self, spider: Any) -> None:
        await self.store.close()

    def _get_store(self, uri: str) -> MediaStore:
        settings = self.settings if self.settings is not None else {}
        return open_media_store(uri, {name: settings.get(name) or "" for name in _CREDENTIALS})

    # -- to be overridden ---------------------------------------------------------------------

    def get_media_requests(self, item: Any, info: MediaInfo) -> Any:
        from itemadapter import ItemAdapter

        urls = ItemAdapter(item).get(self.files_urls_field, [])
        if isinstance(urls, str):
            raise TypeError(f"{self.files_urls_field} is a list of URLs, not text: {urls[:200]!r}")
        return [Request(url) for url in urls or () if not self._is_inline(url)]

    def _is_inline(self, url: Any) -> bool:
        """Tells whether a URL is the file itself, as pages have it for tiny pictures; says once that it is left out."""
        inline = isinstance(url, str) and url[:5].lower() == "data:"
        if inline and not self._told_inline:
            self._told_inline = True
            log.warning("%s: data: URLs among the %s are left out", type(self).__name__, self.files_urls_field)
        return inline

    def file_path(self, request: Request, response: Any = None, info: Any = None, *, item: Any = None) -> str:
        """Returns the path at which a file is kept."""
        return f"full/{sha1(request.url.encode(), usedforsecurity=False).hexdigest()}{_ending(request.url)}"

    async def media_to_download(self, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        """Returns the result for a file that is in the store and fresh; None: ask for it."""
        path = accepting(self.file_path, request, info=info, item=item)
        facts = await self.store.facts(path) if path else None
        if facts is None or time.time() - facts.modified_at > self.expires * _DAY_S:
            return None
        self.inc_stats("uptodate")
        checksum = await self.store.checksum(path, facts)
        return {"url": request.url, "path": path, "checksum": checksum, "status": "uptodate"}

    def media_downloaded(self, response: Any, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        """Keeps the file. Raises FileException for an answer that holds none."""
        if response.status != 200:
            raise FileException(f"status {response.status}")
        if not response.body:
            raise FileException("the answer is empty")
        status = "cached" if "cached" in response.flags else "downloaded"
        path = accepting(self.file_path, request, response=response, info=info, item=item)
        checksum = accepting(self.file_downloaded, response, request, info, item=item)
        self.inc_stats(status)
        return {"url": request.url, "path": path, "checksum": checksum, "status": status}

    def file_downloaded(self, response: Any, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        """Begins to keep a file. Returns its checksum."""
        path = accepting(self.file_path, request, response=response, info=info, item=item)
        self.store.persist_file(path, BytesIO(response.body), info)
        return md5(response.body, usedforsecurity=False).hexdigest()

    def item_completed(self, results: list[tuple[bool, Any]], item: Any, info: MediaInfo) -> Any:
        from itemadapter import ItemAdapter

        super().item_completed(results, item, info)
        with suppress(KeyError):
            ItemAdapter(item)[self.files_result_field] = [result for ok, result in results if ok]
        return item


def _ending(url: str) -> str:
    """Returns the ending of a file's name, as its URL has it, if it is that of a kind of file."""
    path = urlsplit(url).path
    for ending in (posixpath.splitext(url)[1], posixpath.splitext(path)[1]):
        if ending in mimetypes.types_map:
            return ending
    kind = mimetypes.guess_type(path)[0]
    return (mimetypes.guess_extension(kind) or "") if kind else ""
