"""Items that wait for files: from one file's page to the next, whichever slave has it."""

from __future__ import annotations

import os
import time
from hashlib import md5, sha1
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from itemadapter import ItemAdapter

from p2pcrawl import DropItem, Field, Item, Request, Spider
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import Failure
from p2pcrawl.pipelines.files import FileException, FilesPipeline
from p2pcrawl.pipelines.media import MediaPipeline
from p2pcrawl.slave.media.media_store import open_media_store
from p2pcrawl.slave.pages import file_work as file_module
from p2pcrawl.stores.parts.folder_store import FolderStore
from p2pcrawl.stores.sink import SinkAway
from tests.unit.slave.media_crawls import Site, crawl, no_connection

PDF, PNG = "http://cdn.example/a.pdf", "http://cdn.example/b.png"
FILES = {"p2pcrawl.pipelines.files.FilesPipeline": 300}


class Book(Item):
    title = Field()
    file_urls = Field()
    files = Field()


class Books(Spider):
    name = "books"
    allowed_domains = ("a.example",)
    files: tuple[str, ...] = (PDF, PNG)

    def parse(self, response: Any) -> Any:
        yield {"title": "plain"}
        yield Book(title="t", file_urls=list(self.files))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def path_of(url: str) -> str:
    return f"full/{sha1(url.encode()).hexdigest()}{os.path.splitext(url)[1]}"


def told(url: str, body: bytes, status: str = "downloaded") -> dict[str, str]:
    return {"url": url, "path": path_of(url), "checksum": md5(body).hexdigest(), "status": status}


@pytest.mark.parametrize("new_slaves", [False, True])
async def test_item_comes_out_with_its_files_whichever_slaves_fetched_them(tmp_path: Path, new_slaves: bool) -> None:
    site = Site({"http://a.example/": b"page", PDF: b"pdf", PNG: b"png"})

    crawled = await crawl(Books, site, new_slaves=new_slaves, item_pipelines=FILES, FILES_STORE=str(tmp_path))

    files = [told(PDF, b"pdf"), told(PNG, b"png")]
    assert crawled.items == [
        {"title": "plain", "files": []},
        {"title": "t", "file_urls": [PDF, PNG], "files": files},
    ]
    assert crawled.granted == ["http://a.example/", PDF, PNG] == crawled.asked
    assert (tmp_path / path_of(PDF)).read_bytes() == b"pdf"


async def test_item_keeps_its_files_beside_a_url_that_is_a_file_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Inline(Books):
        files = ("data:image/gif;base64,R0lGODlhAQABAAAAACw=", PDF, "DATA:,x")

    site = Site({"http://a.example/": b"page", PDF: b"pdf"})

    crawled = await crawl(Inline, site, item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.items[1]["files"] == [told(PDF, b"pdf")]
    assert [r.message for r in caplog.records if "data:" in r.message] == [
        "FilesPipeline: data: URLs among the file_urls are left out"
    ]


async def test_file_that_is_fresh_is_asked_for_by_nobody(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page", PDF: b"pdf", PNG: b"png"})
    settings = {"item_pipelines": FILES, "FILES_STORE": str(tmp_path)}
    await crawl(Books, site, **settings)
    os.utime(tmp_path / path_of(PNG), (time.time() - 91 * 86400,) * 2)
    site.asked.clear()

    crawled = await crawl(Books, site, **settings)

    assert crawled.asked == ["http://a.example/", PNG]
    assert crawled.items[1]["files"] == [told(PDF, b"pdf", "uptodate"), told(PNG, b"png")]


async def test_file_that_two_items_name_is_fetched_once(tmp_path: Path) -> None:
    class Twice(Books):
        def parse(self, response: Any) -> Any:
            for n in (1, 2):
                yield {"n": n, "file_urls": [PDF]}

    site = Site({"http://a.example/": b"page", PDF: b"pdf"})

    crawled = await crawl(Twice, site, item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.asked == ["http://a.example/", PDF] and crawled.granted == ["http://a.example/", PDF, PDF]
    assert [item["files"][0]["status"] for item in crawled.items] == ["downloaded", "uptodate"]
    assert (crawled.ends[PDF].phase, crawled.ends[PDF].reason) == (Phase.DONE, "stored")


@pytest.mark.parametrize("answer", [404, b"", no_connection(), Answer(PDF, 302, {"Location": PNG}, b"", 0.1)], ids=str)
async def test_item_goes_on_without_a_file_that_cannot_be_had(tmp_path: Path, answer: Any) -> None:
    site = Site({"http://a.example/": b"page", PDF: answer, PNG: b"png"})

    crawled = await crawl(Books, site, item_pipelines=FILES, FILES_STORE=str(tmp_path), retry_backoff=0.01)

    assert crawled.items[1]["files"] == [told(PNG, b"png")]


async def test_nobody_is_asked_for_a_file_that_was_given_up_and_its_item_goes_on(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page", PDF: b"pdf", PNG: b"png"})

    crawled = await crawl(Books, site, given_up=PDF, item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.items[1]["files"] == [told(PNG, b"png")]
    assert crawled.asked == ["http://a.example/", PNG]
    assert (crawled.ends[PDF].phase, crawled.ends[PDF].reason) == (Phase.FAILED, Failure.GIVEN_UP)


async def test_reasons_why_files_were_not_had_are_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await crawl(Books, Site({"http://a.example/": b"page"}), item_pipelines=FILES, FILES_STORE=str(tmp_path))

    warned = [record.message for record in caplog.records if record.name.startswith("p2pcrawl.slave.media")]
    assert [line.partition("; ")[0] for line in warned] == [
        f"FilesPipeline: no file at {PDF}: FileException: status 404"
    ]


async def test_redirects_to_files_are_followed_where_that_is_allowed(tmp_path: Path) -> None:
    class One(Books):
        files = (PDF,)

    site = Site({"http://a.example/": b"page", PDF: Answer(PDF, 302, {"Location": PNG}, b"", 0.1), PNG: b"png"})
    settings = {"item_pipelines": FILES, "FILES_STORE": str(tmp_path), "MEDIA_ALLOW_REDIRECTS": True}

    crawled = await crawl(One, site, **settings)

    assert crawled.items[1]["files"] == [told(PDF, b"png")]


@pytest.mark.parametrize("url", ["ftp://cdn.example/a", "mailto:a", "http://"])
async def test_url_that_cannot_be_asked_for_is_an_error_of_its_item_alone(tmp_path: Path, url: str) -> None:
    class Odd(Books):
        files = (url,)

    crawled = await crawl(Odd, Site({"http://a.example/": b""}), item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert [item["title"] for item in crawled.items] == ["plain"]
    assert crawled.ends["http://a.example/"].reason == Failure.ITEM


async def test_files_come_before_the_pages_of_their_host(tmp_path: Path) -> None:
    class Many(Books):
        def parse(self, response: Any) -> Any:
            yield response.follow("/next", priority=5)
            yield Book(file_urls=[PDF])

    site = Site({"http://a.example/": b"page", PDF: b"pdf"})

    crawled = await crawl(Many, site, item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.priorities["http://a.example/next"] < crawled.priorities[PDF]


class Named(FilesPipeline):
    """What people override, in the forms of several versions."""

    def get_media_requests(self, item: Any, info: Any) -> Any:
        for n, url in enumerate(ItemAdapter(item).get("file_urls") or []):
            yield Request(url, meta={"n": n})

    def file_path(self, request: Request, response: Any = None, info: Any = None) -> str:
        return f"named/{request.meta['n']}.bin"

    def item_completed(self, results: Any, item: Any, info: Any) -> Any:
        paths = [result["path"] for ok, result in results if ok]
        if ItemAdapter(item).get("file_urls") and not paths:
            raise DropItem("no files")
        item["title"] = " ".join(paths)
        return item


class After:
    def process_item(self, item: Any, spider: Any) -> Any:
        item["title"] += f" after {spider.name}"
        return item


async def test_pipelines_of_peoples_own_are_called_as_they_are_written(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page", PDF: b"pdf", PNG: b"png"})
    pipelines = {f"{__name__}.Named": 1, f"{__name__}.After": 2}

    crawled = await crawl(Books, site, new_slaves=True, item_pipelines=pipelines, FILES_STORE=str(tmp_path))

    assert [item["title"] for item in crawled.items] == [" after books", "named/0.bin named/1.bin after books"]
    assert (tmp_path / "named" / "1.bin").read_bytes() == b"png"


async def test_item_without_files_may_be_dropped(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page"})

    crawled = await crawl(Books, site, item_pipelines={f"{__name__}.Named": 1}, FILES_STORE=str(tmp_path))

    assert [item["title"] for item in crawled.items] == [""]
    assert crawled.ends[PNG].dropped_items == 1 and crawled.ends[PNG].reason == Failure.HTTP_4XX


class Lengths(MediaPipeline):
    """Keeps nothing, and awaits what its base class returns."""

    async def process_item(self, item: Any, spider: Any) -> Any:
        return await super().process_item(item, spider) if "file_urls" in item else item

    def get_media_requests(self, item: Any, info: Any) -> Any:
        return [Request(url) for url in item["file_urls"]]

    async def media_downloaded(self, response: Any, request: Request, info: Any, *, item: Any = None) -> Any:
        if not response.body.startswith(b"p"):
            raise FileException("not wanted")
        return len(response.body)

    def item_completed(self, results: Any, item: Any, info: Any) -> Any:
        item["files"] = [result if ok else str(result.value) for ok, result in results]
        return item


async def test_pipeline_may_make_of_files_what_it_likes() -> None:
    site = Site({"http://a.example/": b"page", PDF: b"x", PNG: b"png"})

    crawled = await crawl(Books, site, new_slaves=True, item_pipelines={f"{__name__}.Lengths": 1})

    assert crawled.items[1]["files"] == ["not wanted", 3]
    assert crawled.ends[PDF].phase == Phase.DONE


async def test_place_that_is_away_puts_its_files_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, fails = Site({"http://a.example/": b"page", PDF: b"pdf", PNG: b"png"}), iter([True, True, False, False])
    put = FolderStore.put

    async def away(self: FolderStore, name: str, data: bytes) -> None:
        if next(fails):
            raise SinkAway("it cannot be reached")
        await put(self, name, data)

    monkeypatch.setattr(FolderStore, "put", away)
    crawled = await crawl(Books, site, item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.items[1]["files"] == [told(PDF, b"pdf"), told(PNG, b"png")]
    assert crawled.asked.count(PDF) == 3


async def test_item_goes_on_when_its_place_stays_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(self: FolderStore, name: str) -> None:
        raise SinkAway("it cannot be reached")

    monkeypatch.setattr(FolderStore, "facts", away)
    monkeypatch.setattr(file_module, "STORE_TRIES", 3)
    crawled = await crawl(Books, Site({"http://a.example/": b"page"}), item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.items[1]["files"] == []
    assert crawled.asked == ["http://a.example/"] and crawled.granted.count(PDF) == 3


async def test_item_that_is_too_large_to_travel_is_an_error(tmp_path: Path) -> None:
    class Large(Books):
        def parse(self, response: Any) -> Any:
            yield Book(title="x" * 300_000, file_urls=[PDF])

    crawled = await crawl(Large, Site({"http://a.example/": b"p"}), item_pipelines=FILES, FILES_STORE=str(tmp_path))

    assert crawled.items == []
    assert "an item that waits for files has 300" in crawled.ends["http://a.example/"].detail


async def test_message_that_is_no_errand_of_this_job_fails_its_page() -> None:
    site = Site({"http://a.example/": b"page"})

    class Odd(Spider):
        def parse(self, response: Any) -> Any:
            yield Request(PDF, callback="p2pcrawl_media", meta={"p2pcrawl_media": b"\x80"})

    crawled = await crawl(Odd, site)

    assert (crawled.ends[PDF].phase, crawled.ends[PDF].reason) == (Phase.FAILED, Failure.ITEM)


@pytest.mark.parametrize("path", ["../a", "/etc/a", "a/../../b", "C:\\a", "a\\..\\b", "", "a//b", "a\0b", "x" * 2000])
async def test_path_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    store = open_media_store(str(tmp_path / "inner"))

    with pytest.raises(FileException):
        store.persist_file(path, BytesIO(b"x"))
    with pytest.raises(FileException):
        await store.facts(path)
    assert names_in(tmp_path) == []


class Around:
    """A spider middleware: files are no business of it."""

    def process_spider_input(self, response: Any, spider: Any) -> None:
        if response.url != "http://a.example/":
            raise AssertionError("a file has no callback")


async def test_request_for_a_file_may_have_arguments_and_no_middleware_of_spiders_hears_of_it(tmp_path: Path) -> None:
    class WithArguments(FilesPipeline):
        def get_media_requests(self, item: Any, info: Any) -> Any:
            return [Request(url, cb_kwargs={"a": 1}, meta={"b": 2}) for url in item.get("file_urls", [])]

        def file_path(self, request: Request, response: Any = None, info: Any = None, *, item: Any = None) -> str:
            assert set(request.meta) <= {"b", "dont_redirect"} and request.cb_kwargs == {"a": 1}
            return super().file_path(request, response, info, item=item)

    site = Site({"http://a.example/": b"page", PDF: b"pdf"})
    middlewares = {"SPIDER_MIDDLEWARES": {f"{__name__}.Around": 1}}
    globals()["WithArguments"] = WithArguments

    crawled = await crawl(
        Books, site, item_pipelines={f"{__name__}.WithArguments": 1}, FILES_STORE=str(tmp_path), **middlewares
    )

    assert crawled.items[1]["files"] == [told(PDF, b"pdf")]
