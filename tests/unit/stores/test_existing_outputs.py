"""Appending to files that somebody else wrote: what is continued, and what is refused without a scratch."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from contextlib import closing
from xml.etree import ElementTree

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.files.opening import open_local_sink

ITEM = b'{"id":3,"text":"new"}'


def appended(path, *items: bytes) -> bytes:
    with closing(open_local_sink(str(path), replace=False)) as sink:
        sink.resume(None)
        sink.write(items or [ITEM])
        sink.finish()
    return path.read_bytes()


def test_missing_newline_is_added_to_json_lines(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"id":1}\n{"id":2}')

    assert appended(path) == b'{"id":1}\n{"id":2}\n{"id":3,"text":"new"}\n'


def test_missing_newline_is_added_to_compressed_json_lines(tmp_path):
    path = tmp_path / "out.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id":1}\n', mtime=0) + gzip.compress(b'{"id":2}'))

    assert gzip.decompress(appended(path)) == b'{"id":1}\n{"id":2}\n{"id":3,"text":"new"}\n'


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        " [ \n ] \n\n",
        "\n",
        "[1]",
        '[\n    {\n        "a": [1, 2]\n    },\n    {}\n]\n',
        '\ufeff[{"a": 1}]',
        "[NaN]",
        '["\\ud800"]',
        '["]"]' + " " * 10_000,
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_json_arrays_of_any_shape_are_continued(tmp_path, text, packed):
    path = tmp_path / f"out.json{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    before = json.loads(text.removeprefix("\ufeff")) if text.strip() else []

    data = appended(path)

    after = json.loads((gzip.decompress(data) if packed else data).decode("utf-8-sig"))
    assert repr(after) == repr([*before, json.loads(ITEM)])


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b'{"a": []}',
        b"hello",
        b"[1",
        b"[1,]",
        b"[1]\n[2]",
        b"[1] trailing]",
        b"1]",
        b"]",
        b'[{"a": "\xff"}]]',
        "[1]".encode("utf-16"),
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_json_array_is_refused_and_left_alone(tmp_path, content, packed):
    refused(tmp_path / "out.json", content, packed)


@pytest.mark.parametrize(
    "content",
    [
        b"<items>",
        b"<rows></rows>",
        b"text",
        b"<items><item></items>",
        b"<items></items><!-- mine -->",
        b'<?xml version="1.0" encoding="latin-1"?><items><item>\xe9</item></items>',
        "<items></items>".encode("utf-16"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_xml_of_items_is_refused_and_left_alone(tmp_path, content, packed):
    refused(tmp_path / "out.xml", content, packed)


@pytest.mark.parametrize(
    "content", [b"id;text\n1;2\n", b"id\ttext\n", b'""\r\n', b"caf\xe9,id\n", "id,text".encode("utf-16")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_csv_with_a_header_is_refused_and_left_alone(tmp_path, content, packed):
    refused(tmp_path / "out.csv", content, packed)


@pytest.mark.parametrize("extension", ["jsonl", "json", "csv", "xml"])
@pytest.mark.parametrize(
    "content",
    [
        b"not gzip at all",
        gzip.compress(b"[1]", mtime=0)[:-3],
        gzip.compress(b"[1]", mtime=0) + gzip.compress(b"[1]", mtime=0)[:7],
        gzip.compress(b"[1]", mtime=0) + b"rubbish",
        bytes(100),
    ],
)
def test_damaged_gzip_is_refused_and_left_alone(tmp_path, extension, content):
    refused(tmp_path / f"out.{extension}.gz", content, False)


def refused(path, content: bytes, packed: bool) -> None:
    if packed:
        path = path.with_suffix(path.suffix + ".gz")
        content = gzip.compress(content, mtime=0)
    path.write_bytes(content)
    with closing(open_local_sink(str(path), replace=False)) as sink, pytest.raises(ConfigurationError) as caught:
        sink.resume(None)

    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refused_file_is_left_alone_also_by_a_sink_that_failed_before(tmp_path):
    path = tmp_path / "out.json"
    sink = open_local_sink(str(path), replace=False)
    sink.resume(None)
    sink.write([ITEM])
    sink.close()
    path.write_bytes(b'{"not": "an array"}')

    with pytest.raises(ConfigurationError):
        sink.resume(None)

    assert path.read_bytes() == b'{"not": "an array"}'


def test_gzip_padding_and_many_members_are_read_through(tmp_path):
    path = tmp_path / "out.json.gz"
    text = json.dumps([{"id": number} for number in range(3000)]).encode()
    members = b"".join(gzip.compress(text[start : start + 100], mtime=0) for start in range(0, len(text), 100))
    path.write_bytes(members + bytes(512))

    data = appended(path)

    assert len(json.loads(gzip.decompress(data))) == 3001


def test_array_in_one_gzip_member_keeps_its_mode_and_its_link(tmp_path):
    target, path = tmp_path / "target.json.gz", tmp_path / "out.json.gz"
    target.write_bytes(gzip.compress(b'[{"id": 1}]', mtime=0))
    target.chmod(0o640)
    path.symlink_to(target)

    data = appended(path)

    assert json.loads(gzip.decompress(data)) == [{"id": 1}, json.loads(ITEM)]
    assert path.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640


def test_csv_continues_under_the_header_it_has(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"text,other,id\nold,,1")

    assert appended(path, ITEM, b'{"id":4,"more":1}') == b"text,other,id\nold,,1\nnew,,3\n,,4\n"


def test_csv_header_of_another_program_is_understood(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes('\ufeff"a\n""b""",c\u2028d\r\n1,2\r\n'.encode())

    data = appended(path, json.dumps({'a\n"b"': "x", "c\u2028d": "y"}).encode())

    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert rows == [['a\n"b"', "c\u2028d"], ["1", "2"], ["x", "y"]]


def test_blank_csv_gets_a_header(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"\n\n")

    assert appended(path) == b"id,text\r\n3,new\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "<items/>",
        "\ufeff<items />\n",
        '<?xml version="1.0"?>\n<items source="a > b"/>\n\n',
        "<items></items>",
        "<!-- </items> -->\n<items>\n  <item><id>1</id></item>\n  <!-- more? -->\n</items >",
        '<?xml version="1.0" encoding="UTF-8"?><items><items>nested</items></items>',
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_xml_of_any_shape_is_continued(tmp_path, text, packed):
    path = tmp_path / f"out.xml{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    before = ElementTree.fromstring(text)

    data = appended(path)

    after = ElementTree.fromstring(gzip.decompress(data) if packed else data)
    assert after.attrib == before.attrib
    assert [element.tag for element in after] == [*(element.tag for element in before), "item"]
    assert after[-1].findtext("text") == "new"
