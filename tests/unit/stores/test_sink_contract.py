"""What every file sink promises, whatever its format."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError, DiskFullError, StorageError
from p2pcrawl.stores.files import disk, file_sink
from p2pcrawl.stores.files.opening import open_local_sink

PAIRS = [(str(number), f"text {number}") for number in range(6)]
ITEMS = [json.dumps({"id": int(one), "text": other}).encode() for one, other in PAIRS]


def started(path: Path, *, replace=False):
    sink = open_local_sink(str(path), replace=replace)
    return sink, sink.resume(None)


def test_items_are_there_once_and_in_order(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)

    sink.write(ITEMS[:2])
    sink.sync()
    sink.write(ITEMS[2:3])
    sink.write(ITEMS[3:])
    sink.finish()
    sink.close()

    assert kind.read(path) == PAIRS


def test_document_is_whole_after_each_sync(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)

    for number, item in enumerate(ITEMS, start=1):
        sink.write([item])
        position = sink.sync()

        assert kind.read(path) == PAIRS[:number]
        assert position["count"] == number
    sink.close()


def test_no_items_make_a_valid_document(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)

    sink.write([])
    sink.finish()
    sink.close()

    assert kind.read(path) == []


def test_position_is_plain_json_data(kind, tmp_path):
    sink, first = started(tmp_path / f"out{kind.extension}")
    sink.write(ITEMS)

    second = sink.sync()
    sink.close()

    assert json.loads(json.dumps([first, second])) == [first, second]


def test_sync_without_news_gives_the_same_position_and_leaves_the_file_alone(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS)
    position, content = sink.sync(), path.read_bytes()

    assert sink.sync() == position
    sink.finish()
    sink.close()

    assert path.read_bytes() == content


def test_finish_after_finish_that_nobody_noted_gives_the_same_file(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS)
    position = sink.sync()
    sink.finish()
    sink.close()
    content = path.read_bytes()

    again = open_local_sink(str(path), replace=False)
    assert again.resume(position) == position
    again.finish()
    again.close()

    assert path.read_bytes() == content


def test_finished_document_takes_more_items(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS[:2])
    position = sink.sync()
    sink.finish()
    sink.write(ITEMS[2:3])  # without a resume between
    position = sink.sync()
    sink.finish()
    sink.close()

    again = open_local_sink(str(path), replace=False)
    again.resume(position)
    again.write(ITEMS[3:])
    again.finish()
    again.close()

    assert kind.read(path) == PAIRS


def test_resume_in_replace_mode_replaces_only_once(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    path.write_bytes(kind.document([("old", "old")]))
    sink, _ = started(path, replace=True)
    sink.write(ITEMS[:3])
    position = sink.sync()
    sink.close()

    again = open_local_sink(str(path), replace=True)
    again.resume(position)
    again.write(ITEMS[3:])
    again.finish()
    again.close()

    assert kind.read(path) == PAIRS


def test_append_keeps_the_items_of_another_program(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    path.write_bytes(kind.document([("old", "older")]))
    sink, _ = started(path)

    sink.write(ITEMS)
    sink.finish()
    sink.close()

    assert kind.read(path) == [("old", "older"), *PAIRS]
    assert os.listdir(tmp_path) == [path.name]


def test_append_without_items_leaves_the_document_as_it_was(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    path.write_bytes(kind.document([("old", "older")]))
    sink, _ = started(path)

    sink.finish()
    sink.close()

    assert kind.read(path) == [("old", "older")]


def test_append_again_and_again_stays_one_document(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"

    for item in ITEMS:
        sink, _ = started(path)
        sink.write([item])
        sink.finish()
        sink.close()

    assert kind.read(path) == PAIRS


def test_empty_file_is_a_document_without_items(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    path.write_bytes(b"")
    sink, position = started(path)

    sink.write(ITEMS)
    sink.finish()
    sink.close()

    assert position["offset"] == 0
    assert kind.read(path) == PAIRS


def test_crash_before_the_first_position_is_stored_lets_the_crawl_begin_again(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    path.write_bytes(kind.document([("old", "older")]))

    for _ in range(3):
        sink, _ = started(path)
        sink.close()
    sink, _ = started(path)
    sink.write(ITEMS)
    sink.finish()
    sink.close()

    assert kind.read(path) == [("old", "older"), *PAIRS]


def test_two_crawls_cannot_have_one_file(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS)

    with pytest.raises(ConfigurationError, match="another crawl"):
        open_local_sink(str(path), replace=True).resume(None)
    sink.finish()
    sink.close()

    assert kind.read(path) == PAIRS


def test_file_shorter_than_its_position_is_refused_and_left_alone(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS)
    position = sink.sync()
    sink.close()
    short = path.read_bytes()[: position["offset"] - 1]
    path.write_bytes(short)

    with pytest.raises(StorageError, match="put the file back"):
        open_local_sink(str(path), replace=False).resume(position)

    assert path.read_bytes() == short


def test_swapped_file_is_refused_and_left_alone(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS)
    position = sink.sync()
    sink.close()
    other = b"the user's own thoughts " * 100
    path.write_bytes(other)

    with pytest.raises(StorageError, match="not the file that this crawl wrote"):
        open_local_sink(str(path), replace=False).resume(position)

    assert path.read_bytes() == other


def test_file_that_is_gone_is_not_made_anew(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS)
    position = sink.sync()
    sink.close()
    path.unlink()

    with pytest.raises(StorageError, match="gone"):
        open_local_sink(str(path), replace=False).resume(position)

    assert not path.exists()


@pytest.mark.parametrize("damage", [{"offset": "7"}, {"offset": -1}, {"count": None}, {"format": 3}])
def test_damaged_or_foreign_position_is_refused(kind, tmp_path, damage):
    path = tmp_path / f"out{kind.extension}"
    sink, position = started(path)
    sink.close()

    with pytest.raises((StorageError, ConfigurationError)):
        open_local_sink(str(path), replace=False).resume(position | damage)
    with pytest.raises(StorageError, match="damaged"):
        open_local_sink(str(path), replace=False).resume({})


def test_output_cannot_change_its_format_on_resume(kind, tmp_path):
    sink, position = started(tmp_path / f"out{kind.extension}")
    sink.close()
    other = tmp_path / ("out.xml" if kind.format != "xml" else "out.jsonl")

    with pytest.raises(ConfigurationError, match="began its output as"):
        open_local_sink(str(other), replace=False).resume(position)

    assert not other.exists()


def test_full_disk_leaves_what_was_synced_and_the_crawl_can_go_on(kind, tmp_path, monkeypatch):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS[:3])
    position = sink.sync()

    failures = iter([OSError(errno.ENOSPC, "No space left on device")])

    def torn(file, data):
        for failure in failures:
            file.write(data[: len(data) // 2])
            raise failure
        disk.write_all(file, data)

    with monkeypatch.context() as patched:
        patched.setattr(file_sink, "write_all", torn)
        with pytest.raises(DiskFullError, match="make room"):
            sink.write(ITEMS[3:])
            sink.sync()
    assert kind.read(path) == PAIRS[:3]
    with pytest.raises(StorageError, match="resume it first"):
        sink.write(ITEMS[3:])

    sink.resume(position)
    sink.write(ITEMS[3:])
    sink.finish()
    sink.close()
    assert kind.read(path) == PAIRS


def test_close_without_sync_leaves_what_was_synced(kind, tmp_path):
    path = tmp_path / f"out{kind.extension}"
    sink, _ = started(path)
    sink.write(ITEMS[:3])
    sink.sync()
    sink.write(ITEMS[3:])

    sink.close()
    sink.close()

    assert kind.read(path) == PAIRS[:3]


def test_sync_returns_after_the_file_and_its_folder_are_durable(kind, tmp_path, monkeypatch):
    path = tmp_path / f"out{kind.extension}"
    folders: list[int] = []
    contents: list[bytes] = []

    def fsync(descriptor):
        if os.path.samestat(os.fstat(descriptor), os.stat(tmp_path)):
            folders.append(descriptor)
        else:
            contents.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    sink, _ = started(path)
    sink.write(ITEMS)

    sink.sync()

    assert folders
    assert contents[-1] == path.read_bytes()
    sink.close()


def test_a_write_that_takes_a_part_at_a_time_is_completed(tmp_path):
    class Reluctant:
        def __init__(self):
            self.taken = b""

        def write(self, data):
            self.taken += bytes(data[:3])
            return min(3, len(data))

    file = Reluctant()

    disk.write_all(file, b"0123456789")

    assert file.taken == b"0123456789"


CHILD = """
import json, os, sys
from p2pcrawl.stores.files.opening import open_local_sink
path, stored = sys.argv[1:]
sink = open_local_sink(path, replace=False)
position = sink.resume(json.load(open(stored)) if os.path.exists(stored) else None)
while True:
    with open(stored + ".new", "w") as file:
        json.dump(position, file)
    os.replace(stored + ".new", stored)
    count = position["count"]
    print(count, flush=True)
    for start in range(count, count + 50, 10):
        sink.write([b'{"id": %d, "text": "text"}' % number for number in range(start, start + 10)])
    position = sink.sync()
"""


@pytest.mark.parametrize("extension", [".json", ".csv.gz"])
def test_killed_processes_leave_each_item_once(tmp_path, extension):
    kind = next(kind for kind in _kinds() if kind.extension == extension)
    path, stored = tmp_path / f"out{extension}", tmp_path / "position"
    for lines in (3, 20, 7):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path), str(stored)],
            stdout=subprocess.PIPE,
            cwd=Path(file_sink.__file__).parents[2],
        )
        assert child.stdout is not None
        for _ in range(lines):
            assert child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()

    sink = open_local_sink(str(path), replace=False)
    position = sink.resume(json.loads(stored.read_text()))
    sink.finish()
    sink.close()

    assert position["count"] >= 50 * 25
    assert kind.read(path) == [(str(number), "text") for number in range(position["count"])]


def _kinds():
    from .conftest import KINDS

    return KINDS
