"""WARC files whose writer was killed at any moment hold whole records only, and are found by their index."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gzip
import os
import zlib
from pathlib import Path

import pytest

from p2pcrawl.stores.warc.mending import mend
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_file import WarcFile
from p2pcrawl.stores.warc.warc_folder import WarcFolder
from tests.unit.stores.warc.conftest import index_of_folder, raw_page_of, records_in

PAGES = [
    raw_page_of(1),
    raw_page_of(2, body=b"<p>page 1"),
    raw_page_of(3, body=os.urandom(300), is_encoded=True),
    raw_page_of(4, method="POST", request_head=b"POST /p/4 HTTP/1.1\r\n\r\n"),
    raw_page_of(5, body=b"x" * 3_000_000),
    raw_page_of(7, head=b"HTTP/1.1 200\nContent-Type:text/plain\n\n", content_type="text/plain"),
    raw_page_of(6, head=b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", content_type="", status=302),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes, list[tuple[str, dict[str, str]]]]:
    """The name and the bytes of a file that was ended in order, and its index."""
    path = tmp_path_factory.mktemp("whole")

    async def write() -> None:
        folder = WarcFolder(WarcPlace(path))
        for page in PAGES:
            await folder.keep(page)
        await folder.close()

    asyncio.run(write())
    (file,) = path.glob("*.warc.gz")
    return file.name, file.read_bytes(), index_of_folder(path)


def members_of(data: bytes) -> list[int]:
    """Returns where each member of a packed file ends."""
    ends, at = [], 0
    while at < len(data):
        unpacker = zlib.decompressobj(31)
        unpacker.decompress(data[at:])
        at = len(data) - len(unpacker.unused_data)
        ends.append(at)
    return ends


def test_file_cut_anywhere_is_cut_back_to_whole_records(tmp_path, whole):
    name, data, index = whole
    ends = members_of(data)
    cuts = sorted({*range(0, len(data), 97), *ends, *(end - 1 for end in ends), *(end + 1 for end in ends[:-1])})
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"{name}.open").write_bytes(data[:cut])

        mend(folder)

        kept = max([end for end in ends if end <= cut], default=0)
        if kept <= ends[0]:
            assert list(folder.iterdir()) == []
            continue
        assert (folder / name).read_bytes() == data[:kept]
        told = index_of_folder(folder)
        certain = [line for line in index if int(line[1]["offset"]) + int(line[1]["length"]) <= kept]
        # Without its request nothing says that the answer of a POST is one.
        assert [line for line in told if not line[1]["url"].endswith("/4")] == certain
        assert sorted(p.name for p in folder.iterdir()) == sorted([name, name.replace(".warc.gz", ".cdxj")])


def test_mended_file_is_read_by_others(tmp_path, whole):
    name, data, _ = whole
    (tmp_path / f"{name}.open").write_bytes(data[:-5])

    mend(tmp_path)

    kinds = [record.kind for record in records_in((tmp_path / name).read_bytes())]
    assert kinds == [
        "warcinfo",
        *["response", "request"] * 1,
        "revisit",
        "request",
        *["response", "request"] * 4,
        "response",
    ]


def test_bytes_that_never_reached_the_disk_end_the_file(tmp_path, whole):
    name, data, _ = whole
    end = members_of(data)[4]
    (tmp_path / f"{name}.open").write_bytes(data[:end] + bytes(5_000))

    mend(tmp_path)

    assert (tmp_path / name).read_bytes() == data[:end]


def test_member_with_a_wrong_checksum_ends_the_file(tmp_path, whole):
    name, data, _ = whole
    ends = members_of(data)
    (tmp_path / f"{name}.open").write_bytes(data[: ends[3] - 6] + b"\xff\xff" + data[ends[3] - 4 :])

    mend(tmp_path)

    assert (tmp_path / name).read_bytes() == data[: ends[2]]


def test_file_that_is_being_written_is_left_alone(tmp_path, whole):
    name, data, _ = whole
    file = WarcFile(tmp_path, name)
    file.append(data[:-3])

    mend(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.open"]
    assert (tmp_path / f"{name}.open").stat().st_size == len(data) - 3
    file.finish()


def test_without_locks_nothing_is_taken_from_whoever_may_write_it(tmp_path, whole, monkeypatch):
    name, data, _ = whole
    (tmp_path / f"{name}.open").write_bytes(data[:-3])
    monkeypatch.setattr(fcntl, "flock", no_locks)

    mend(tmp_path)

    assert (tmp_path / f"{name}.open").read_bytes() == data[:-3]


def no_locks(descriptor: int, how: int) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_files_of_other_programs_are_left_alone(tmp_path, whole):
    name, _, _ = whole
    others = {
        "crawl-20260101.warc.gz.open": b"anything",
        f"{name}.open": gzip.compress(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n\r\nsoftware: another") + b"half",
    }
    for other, data in others.items():
        (tmp_path / other).write_bytes(data)

    mend(tmp_path)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == others


def test_links_are_not_followed(tmp_path: Path, whole) -> None:
    name, data, _ = whole
    target = tmp_path / "target"
    target.write_bytes(data[:-5])
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / f"{name}.open").symlink_to(target)

    mend(folder)

    assert target.read_bytes() == data[:-5]
