"""Pages found in WARC files by what was asked for."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.stores.warc.page_index import PageIndex
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_folder import WarcFolder
from tests.unit.stores.warc.conftest import raw_page_of

LIMIT = 1 << 25


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PageIndex]:
    with closing(PageIndex(tmp_path / "stored.db")) as index:
        yield index


async def kept(folder: Path, *pages: Any, size: int = 10**9) -> None:
    place = WarcPlace(folder, size_max=size)
    place.make()
    warcs = WarcFolder(place)
    for page in pages:
        await warcs.keep(page)
    await warcs.close()


def read(index: PageIndex, *folders: Path) -> list[str]:
    told: list[str] = []
    index.read(folders, lambda name, left, pages: told.append(name))
    return told


async def test_each_page_is_found_in_many_files_with_its_head_and_its_body(index: PageIndex, tmp_path: Path) -> None:
    await kept(tmp_path / "raw", *(raw_page_of(n) for n in range(30)), size=2_000)

    files = read(index, tmp_path / "raw")

    assert len(files) > 3 and index.count() == 30
    page = index.find(fingerprint("http://site.example/p/17"), LIMIT)
    assert page is not None and page.body == b"<p>page 17" and page.status == 200
    assert page.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert index.find(fingerprint("http://site.example/other"), LIMIT) is None
    assert sorted(page.url for part in index.pages() for page in part)[0] == "http://site.example/p/0"


async def test_last_answer_counts_whichever_file_it_is_in(index: PageIndex, tmp_path: Path) -> None:
    late = raw_page_of(1, body=b"late", began_at=2_000_000_000.0)
    early = raw_page_of(1, body=b"early", began_at=1_000_000_000.0)
    await kept(tmp_path / "a", late)
    await kept(tmp_path / "b", early, raw_page_of(2))

    read(index, tmp_path / "a", tmp_path / "b")

    page = index.find(fingerprint(late.url), LIMIT)
    assert page is not None and page.body == b"late" and index.count() == 2


async def test_visit_that_found_nothing_modified_leaves_the_page_of_before(index: PageIndex, tmp_path: Path) -> None:
    head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    page = raw_page_of(1, body=b"the page", began_at=1_000_000_000.0)
    await kept(tmp_path / "raw", page, raw_page_of(1, status=304, head=head, body=b"", began_at=2_000_000_000.0))

    read(index, tmp_path / "raw")

    found = index.find(fingerprint(page.url), LIMIT)
    assert found is not None and (found.status, found.body) == (200, b"the page")


async def test_revisit_has_its_own_head_and_the_body_that_it_refers_to(index: PageIndex, tmp_path: Path) -> None:
    same = b"the same body on all of them" * 99
    head = b"HTTP/1.1 200 OK\r\nX-Mine: 2\r\n\r\n"
    await kept(tmp_path / "raw", raw_page_of(1, body=same), raw_page_of(2, body=same, head=head), size=100)

    read(index, tmp_path / "raw")

    page = index.find(fingerprint("http://site.example/p/2"), LIMIT)
    assert page is not None and page.body == same and b"X-Mine: 2" in page.head


async def test_revisit_whose_body_is_nowhere_is_an_error_in_one_line(index: PageIndex, tmp_path: Path) -> None:
    same = b"the same body" * 99
    await kept(tmp_path / "raw", raw_page_of(1, body=same), raw_page_of(2, body=same), size=100)
    sorted((tmp_path / "raw").glob("*.warc.gz"))[0].unlink()

    read(index, tmp_path / "raw")

    with pytest.raises(StorageError, match="is in none of these files"):
        index.find(fingerprint("http://site.example/p/2"), LIMIT)


async def test_posts_to_one_url_are_told_apart_by_what_was_sent(index: PageIndex, tmp_path: Path) -> None:
    posts = [
        raw_page_of(
            1, body=answer, method="POST", request_head=b"POST /p/1 HTTP/1.1\r\nHost: site.example\r\n\r\n",
            request_body=sent, began_at=1_700_000_000.0 + len(sent),
        )
        for sent, answer in ((b"q=1", b"one"), (os.urandom(200_000), b"long"))
    ]  # fmt: skip
    await kept(tmp_path / "raw", raw_page_of(1, body=b"plain"), *posts)

    read(index, tmp_path / "raw")

    assert index.count() == 3
    for page in posts:
        found = index.find(fingerprint(page.url, "POST", page.request_body), LIMIT)
        assert found is not None and found.body == page.body


async def test_file_is_gone_through_once_and_new_ones_when_they_come(index: PageIndex, tmp_path: Path) -> None:
    await kept(tmp_path / "raw", raw_page_of(1))
    first = read(index, tmp_path / "raw")
    await kept(tmp_path / "raw", raw_page_of(2))

    second, third = read(index, tmp_path / "raw"), read(index, tmp_path / "raw")

    assert (len(first), len(second), third, index.count()) == (1, 1, [], 2)


async def test_file_that_is_still_written_is_told_and_left_alone(index: PageIndex, tmp_path: Path) -> None:
    await kept(tmp_path / "raw", raw_page_of(1))
    writing = WarcFolder(WarcPlace(tmp_path / "raw"))
    await writing.keep(raw_page_of(2))

    left = index.read([tmp_path / "raw"], lambda name, files, pages: None)
    await writing.close()

    assert len(left) == 1 and index.count() == 1


async def test_file_that_was_cut_short_has_the_pages_up_to_there(index: PageIndex, tmp_path: Path) -> None:
    await kept(tmp_path / "raw", *(raw_page_of(n, body=os.urandom(500)) for n in range(20)))
    (file,) = (tmp_path / "raw").glob("*.warc.gz")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    read(index, tmp_path / "raw")

    assert 5 < index.count() < 15


def test_folder_without_such_files_is_refused(index: PageIndex, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there are no WARC files"):
        read(index, tmp_path)


async def test_keys_that_somebody_knows_are_noted(index: PageIndex, tmp_path: Path) -> None:
    await kept(tmp_path / "raw", raw_page_of(1), raw_page_of(2))
    read(index, tmp_path / "raw")
    key = fingerprint("http://site.example/p/2")

    assert index.use([key, fingerprint("http://nowhere.example/")]) == {key}
    assert index.unused() == 1


@pytest.mark.parametrize("damage", ["cut", "overwritten", "empty member", "no gzip", "one member"])
async def test_file_that_is_not_whole_is_told_with_the_place_where_reading_ended(
    damage: str, index: PageIndex, tmp_path: Path
) -> None:
    await kept(tmp_path / "raw", *(raw_page_of(n) for n in range(9)))
    (path,) = (tmp_path / "raw").glob("*.warc.gz")
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "cut": whole[:middle],
        "overwritten": whole[:middle] + bytes(9) + whole[middle + 9 :],
        "empty member": whole + b"\x1f\x8b",
        "no gzip": b"WARC/1.1\r\n" * 99,
        "one member": gzip.compress(gzip.decompress(whole)),
    }
    path.write_bytes(damaged[damage])

    read(index, tmp_path / "raw")

    ((told, place),) = index.damaged()
    assert told == path.resolve() and place <= len(damaged[damage])
    assert (index.count() == 9) == (damage == "empty member")
    if len(damaged[damage]) != len(whole):
        path.write_bytes(whole)
        read(index, tmp_path / "raw")
        assert index.damaged() == [] and index.count() == 9
