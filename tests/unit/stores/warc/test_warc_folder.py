"""Raw pages in a folder: what other programs read there."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from pathlib import Path

import pytest

from p2pcrawl.model.errors import DiskFullError
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_file import WarcFile
from p2pcrawl.stores.warc.warc_folder import LARGE, WarcFolder
from tests.unit.stores.warc.conftest import index_of_folder, raw_page_of, records_in


async def test_page_is_an_answer_and_a_request_that_name_each_other(tmp_path, warcs):
    page = raw_page_of(1, body=bytes(range(256)))
    folder = WarcFolder(WarcPlace(tmp_path))

    await folder.keep(page)
    await folder.close()

    info, answer, request = records_in(warcs()[0].read_bytes())
    assert info.kind == "warcinfo" and b"software: p2pcrawl" in info.body
    assert (answer.kind, answer.url, answer.head, answer.body) == ("response", page.url, page.head, page.body)
    assert (request.kind, request.url, request.head) == ("request", page.url, page.request_head)
    assert request.fields["WARC-Concurrent-To"] == answer.fields["WARC-Record-ID"]
    assert answer.fields["WARC-IP-Address"] == "127.0.0.1"
    assert answer.fields["WARC-Date"] == "2023-11-14T22:13:21.250000Z"


@pytest.mark.parametrize(
    "fields",
    [
        {"is_encoded": True},
        {"content_type": "image/png"},
        {"content_type": "image/svg+xml"},
        {"body": os.urandom(200_000), "is_encoded": True},
        {"body": os.urandom(LARGE + 1)},
        {"body": b"x" * (LARGE + 1), "is_encoded": True},
        {"truncated": "length"},
    ],
)
async def test_body_is_read_back_as_it_was(tmp_path, warcs, fields):
    page = raw_page_of(1, **{"body": b"<p>hi"} | fields)
    folder = WarcFolder(WarcPlace(tmp_path))

    await folder.keep(page)
    await folder.close()

    _, answer, _ = records_in(warcs()[0].read_bytes())
    assert answer.body == page.body
    assert answer.fields.get("WARC-Truncated", "") == page.truncated


async def test_answer_cannot_bring_records_of_its_own_into_a_file(tmp_path, warcs):
    lines = [b"WARC/1.1", b"WARC-Type: response", b"WARC-Target-URI: http://bank.example/", b"Content-Length: 2"]
    forged = b"\r\n".join([*lines, b"", b"no", b"", b""])
    hostile = b"\r\n\r\n" + forged + zlib.compress(forged, wbits=31) + forged
    folder = WarcFolder(WarcPlace(tmp_path))

    for number, encoded in enumerate((False, True)):
        head = b"HTTP/1.1 200 OK\r\nX: " + forged.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        await folder.keep(raw_page_of(number, body=b"%d" % number + hostile, head=head, is_encoded=encoded))
    await folder.keep(raw_page_of(2))
    await folder.close()

    found = [(r.kind, r.url) for r in records_in(warcs()[0].read_bytes())[1:]]
    assert found == [(kind, raw_page_of(n).url) for n in range(3) for kind in ("response", "request")]
    assert {told["url"] for _, told in index_of_folder(tmp_path)} == {raw_page_of(n).url for n in range(3)}


async def test_payload_that_was_written_is_referred_to(tmp_path, warcs):
    first, again = raw_page_of(1, body=b"<p>same" * 1000), raw_page_of(2, body=b"<p>same" * 1000)
    folder = WarcFolder(WarcPlace(tmp_path))

    await folder.keep(first)
    await folder.keep(again)
    await folder.close()

    _, original, _, repeat, _ = records_in(warcs()[0].read_bytes())
    assert (repeat.kind, repeat.url, repeat.head, repeat.body) == ("revisit", again.url, again.head, b"")
    assert repeat.fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert repeat.fields["WARC-Refers-To"] == original.fields["WARC-Record-ID"]
    assert repeat.fields["WARC-Refers-To-Target-URI"] == first.url
    assert repeat.fields["WARC-Refers-To-Date"] == original.fields["WARC-Date"]
    assert repeat.fields["WARC-Payload-Digest"] == original.fields["WARC-Payload-Digest"]
    assert [told["mime"] for _, told in index_of_folder(tmp_path)] == ["text/html", "warc/revisit"]


@pytest.mark.parametrize("fields", [{"body": b"", "truncated": ""}, {"body": b"<p>half", "truncated": "time"}])
async def test_empty_and_truncated_payloads_are_referred_to_by_none(tmp_path, warcs, fields):
    folder = WarcFolder(WarcPlace(tmp_path))

    for number in range(2):
        await folder.keep(raw_page_of(number, **fields) if fields["body"] else empty(number))
    await folder.close()

    assert [record.kind for record in records_in(warcs()[0].read_bytes())[1::2]] == ["response", "response"]


def empty(number: int):
    """Makes a page without a body."""
    page = raw_page_of(number)
    return type(page)(**{name: getattr(page, name) for name in page.__slots__} | {"body": b""})


async def test_file_that_has_its_size_is_followed_by_another(tmp_path, warcs):
    folder = WarcFolder(WarcPlace(tmp_path, size_max=4_000))

    for number in range(12):
        await folder.keep(raw_page_of(number, body=os.urandom(700)))
    await folder.close()

    found = warcs()
    assert len(found) > 2
    assert all(path.stat().st_size < 4_000 + 2_000 for path in found)
    pages = [r.url for path in found for r in records_in(path.read_bytes()) if r.kind == "response"]
    assert sorted(pages) == sorted(raw_page_of(number).url for number in range(12))
    assert not list(tmp_path.glob("*.open"))


async def test_index_says_where_each_answer_stands(tmp_path):
    folder = WarcFolder(WarcPlace(tmp_path, size_max=3_000))

    for number in range(8):
        await folder.keep(raw_page_of(number, status=404 if number == 3 else 200))
    await folder.close()

    found = index_of_folder(tmp_path)
    assert [told["url"] for _, told in sorted(found)] == [raw_page_of(n).url for n in range(8)]
    for key, told in found:
        begin, length = int(told["offset"]), int(told["length"])
        member = (tmp_path / told["filename"]).read_bytes()[begin : begin + length]
        (answer,) = records_in(member)
        assert (answer.url, answer.fields["WARC-Payload-Digest"]) == (told["url"], told["digest"])
        assert key == told["url"].replace("http://site.example", "example,site)")
    assert {told["url"][-1]: told["status"] for _, told in found}["3"] == "404"


async def test_answers_to_other_methods_are_not_found_in_place_of_the_page(tmp_path, warcs):
    folder = WarcFolder(WarcPlace(tmp_path))

    await folder.keep(raw_page_of(1, method="POST", request_head=b"POST /p/1 HTTP/1.1\r\n\r\n", request_body=b"q=1"))
    await folder.close()

    request = records_in(warcs()[0].read_bytes())[2]
    assert request.body == b"q=1"
    assert index_of_folder(tmp_path) == []


async def test_type_that_is_no_text_is_told_all_the_same(tmp_path):
    folder = WarcFolder(WarcPlace(tmp_path))

    await folder.keep(raw_page_of(1, content_type="text/h\udce9tml; x"))
    await folder.close()

    assert [told["mime"] for _, told in index_of_folder(tmp_path)] == ["text/h?tml"]


async def test_files_are_for_their_user_alone(tmp_path):
    place = WarcPlace(tmp_path / "new" / "raw")
    place.make()
    folder = WarcFolder(place)

    await folder.keep(raw_page_of(1))
    while_open = [stat.S_IMODE(path.stat().st_mode) for path in place.folder.iterdir()]
    await folder.close()

    assert while_open == [0o600]
    assert [stat.S_IMODE(path.stat().st_mode) for path in place.folder.iterdir()] == [0o600, 0o600]
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700


async def test_folder_that_got_no_page_has_no_file(tmp_path):
    folder = WarcFolder(WarcPlace(tmp_path))

    await folder.close()

    assert list(tmp_path.iterdir()) == []


async def test_page_that_finds_no_room_is_refused_and_so_is_each_after_it(tmp_path, warcs, monkeypatch):
    folder = WarcFolder(WarcPlace(tmp_path))
    await folder.keep(raw_page_of(1))
    with monkeypatch.context() as full:
        full.setattr(WarcFile, "append", no_room)
        with pytest.raises(DiskFullError, match="no room left to write"):
            await folder.keep(raw_page_of(2))
    with pytest.raises(DiskFullError):
        await folder.keep(raw_page_of(3))
    await folder.close()

    assert [r.url for r in records_in(warcs()[0].read_bytes()) if r.kind == "response"] == [raw_page_of(1).url]


def no_room(file: WarcFile, data: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_part_of_a_record_that_found_no_room_is_cut_off(tmp_path: Path) -> None:
    import resource

    file = WarcFile(tmp_path, "a.warc.gz")
    file.append(b"whole")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError):
            file.append(bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    file.append(b" again")

    assert (tmp_path / "a.warc.gz.open").read_bytes() == b"whole again"
    file.finish()
