"""What -o and -O take, and the one line that says why not."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.stores.files import opening
from p2pcrawl.stores.files.opening import open_local_sink
from p2pcrawl.stores.files.stream_sink import StreamSink


@pytest.mark.parametrize(
    ("name", "format", "gzip"),
    [
        ("a.jsonl", "jsonl", False),
        ("a.jl", "jsonl", False),
        ("a.ndjson.gz", "jsonl", True),
        ("A.JSON", "json", False),
        (".json", "json", False),
        ("a.b.csv.GZ", "csv", True),
        ("a.xml", "xml", False),
    ],
)
def test_ending_names_the_format(tmp_path, name, format, gzip):
    sink = open_local_sink(str(tmp_path / name), replace=False)

    position = sink.resume(None)
    sink.close()

    assert (position["format"], position["gzip"]) == (format, gzip)


@pytest.mark.parametrize(
    "name", ["", "out", "out.txt", "out.gz", "json", "out.parquet.gz", "out.json.zip", "/dev/null"]
)
def test_unknown_ending_is_refused_with_those_that_work(name):
    refused(name, r"\.jsonl, \.json, \.csv or \.xml")


@pytest.mark.parametrize("name", ["raw.warc.gz", "raw.warc"])
def test_name_of_raw_pages_is_refused_with_what_takes_it(name):
    refused(name, "would hold raw pages, not items: `crawl -o` takes it")


def test_missing_folder_is_refused(tmp_path):
    refused(tmp_path / "none" / "out.json", "no folder")
    assert os.listdir(tmp_path) == []


def test_folder_is_refused(tmp_path):
    (tmp_path / "out.json").mkdir()

    refused(tmp_path / "out.json", "is a folder")


def test_file_as_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    refused(tmp_path / "file" / "out.json", "no folder")


def test_special_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "out.jsonl")

    refused(tmp_path / "out.jsonl", "not a regular file")


def test_impossible_names_are_refused(tmp_path):
    refused(tmp_path / ("x" * 300 + ".json"), "too long")
    refused("out\0.json", "null")


def test_missing_permissions_are_refused(tmp_path, monkeypatch):
    # For root everything is permitted, so the answer of the system is played.
    monkeypatch.setattr(opening.os, "access", lambda path, mode: False)
    refused(tmp_path / "new.json", "no permission to make files")
    (tmp_path / "old.json").write_bytes(b"[]")
    refused(tmp_path / "old.json", "no permission to read and write")


def refused(path, reason: str) -> None:
    for replace in (False, True):
        with pytest.raises(ConfigurationError, match=reason) as caught:
            open_local_sink(str(path), replace=replace)
        assert "\n" not in str(caught.value)


def test_opening_a_sink_makes_and_changes_nothing(tmp_path):
    (tmp_path / "old.json").write_bytes(b"[1]")

    open_local_sink(str(tmp_path / "old.json"), replace=True)
    open_local_sink(str(tmp_path / "new.json"), replace=True)

    assert os.listdir(tmp_path) == ["old.json"]
    assert (tmp_path / "old.json").read_bytes() == b"[1]"


def test_bare_name_is_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sink = open_local_sink("out.json", replace=False)

    sink.resume(None)
    sink.write([b"{}"])
    sink.finish()
    sink.close()

    assert json.loads((tmp_path / "out.json").read_bytes()) == [{}]


def test_dash_is_json_lines_on_standard_output(capfd):
    sink = open_local_sink("-", replace=False)
    position = sink.resume(None)

    sink.write([b'{"a":1}', b'{"a":2}'])
    position = sink.sync()
    sink.finish()
    sink.close()

    assert capfd.readouterr().out == '{"a":1}\n{"a":2}\n'
    assert (position["count"], position["offset"]) == (2, 16)


def test_standard_output_goes_on_after_a_resume(capfd):
    sink = open_local_sink("-", replace=False)
    position = sink.resume({"format": "jsonl", "gzip": False, "offset": 16, "count": 2})

    sink.write([b'{"a":3}'])
    position = sink.sync()

    assert capfd.readouterr().out == '{"a":3}\n'
    assert (position["count"], position["offset"]) == (3, 24)


def test_reader_that_goes_away_is_a_clear_error():
    reading, writing = os.pipe()
    os.close(reading)
    sink = StreamSink(writing)
    sink.resume(None)

    with pytest.raises(StorageError, match="closed by its reader"):
        sink.write([b"{}"])

    os.close(writing)


def test_reader_that_does_not_read_is_waited_for_until_that_is_given_up():
    reading, writing = os.pipe()
    sink = StreamSink(writing)
    sink.resume(None)
    writer = ThreadPoolExecutor(1)

    written = writer.submit(sink.write, [b'{"a":"%s"}' % (b"a" * 1_000_000)])
    os.read(reading, 1)
    waited = not written.done()
    sink.give_up()

    assert waited
    with pytest.raises(StorageError, match="not read"):
        written.result(10)
    writer.shutdown()
    os.close(reading)
    os.close(writing)


def test_slow_reader_of_a_non_blocking_pipe_gets_everything():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    received = []
    reader = threading.Thread(target=lambda: received.extend(iter(lambda: os.read(reading, 65536), b"")))
    sink = StreamSink(writing)
    sink.resume(None)
    items = [b'{"a":"%d"}' % number for number in range(50_000)]

    reader.start()
    sink.write(items)
    os.close(writing)
    reader.join()
    os.close(reading)

    assert b"".join(received) == b"\n".join(items) + b"\n"
