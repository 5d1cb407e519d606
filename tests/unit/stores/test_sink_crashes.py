"""The law of outputs: resume at any stored position, after a crash at any later byte, and each item is there once."""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from p2pcrawl.stores.files.opening import open_local_sink

TEXTS = ("", "plain", "ünï€ 😀", "line\nline", "tab\tand\r\nreturn", 'quo"te, comma; ]', "</item> & ]]>", " spaced ")
OLD = [("old 1", "kept"), ("old 2", "kept, too")]

batches = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=8)
modes = st.sampled_from(("new", "append", "replace"))
rubbish = st.one_of(st.just(b""), st.just(bytes(40)), st.binary(max_size=40))


def pair(number: int) -> tuple[str, str]:
    return str(number), TEXTS[number % len(TEXTS)]


def item(number: int) -> bytes:
    one, other = pair(number)
    fields = {"id": int(one), "text": other, "nested": {"list": [1, [None, True]]}}
    return json.dumps(fields, ensure_ascii=False).encode()


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    # Losing power is simulated by rewriting the file; that a sync does call fsync has a test of its own.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_each_item_is_there_once_after_crashes_at_any_byte(kind, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"out{kind.extension}")
        mode = data.draw(modes, label="mode")
        if mode != "new":
            path.write_bytes(kind.document(OLD))
        old = OLD if mode == "append" else []
        position = None
        written = 0

        for _ in range(data.draw(st.integers(1, 3), label="crashes")):
            written, position = crash(path, mode, position, data)
        with closing(open_local_sink(str(path), replace=mode == "replace")) as sink:
            assert sink.resume(position)["count"] == position["count"]
            assert kind.read(path) == old + [pair(number) for number in range(position["count"])]
            sink.write([item(number) for number in range(position["count"], written + 2)])
            sink.finish()

        assert kind.read(path) == old + [pair(number) for number in range(written + 2)]


def crash(path, mode, position, data):
    """Run until a crash; how many items were written, and a position that was stored before it."""
    with closing(open_local_sink(str(path), replace=mode == "replace")) as sink:
        stored = [sink.resume(position)]
        images = [(0, path.read_bytes())]  # (how many positions had been stored, the file)
        number = stored[0]["count"]
        for size, syncs in data.draw(batches, label="batches"):
            sink.write([item(one) for one in range(number, number + size)])
            number += size
            images.append((len(stored), path.read_bytes()))
            if syncs:
                stored.append(sink.sync())
                images.append((len(stored), path.read_bytes()))
        if data.draw(st.booleans(), label="finished"):
            sink.finish()
            images.append((len(stored), path.read_bytes()))

    chosen = data.draw(st.integers(0, len(stored) - 1), label="stored position")
    after = json.loads(json.dumps(stored[chosen]))
    later = [image for count, image in images if count > chosen or count == chosen == 0]
    image = data.draw(st.sampled_from(later), label="file")
    assert len(image) >= after["offset"]
    left = data.draw(st.integers(after["offset"], len(image)), label="bytes left")
    path.write_bytes(image[:left] + data.draw(rubbish, label="rubbish"))
    return number, after


@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_synced_is_never_touched_again(kind, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"out{kind.extension}")
        with closing(open_local_sink(str(path), replace=False)) as sink:
            sink.resume(None)
            synced = b""
            number = 0

            for size, syncs in data.draw(batches):
                sink.write([item(one) for one in range(number, number + size)])
                number += size
                assert path.read_bytes().startswith(synced)
                if syncs:
                    offset = sink.sync()["offset"]
                    assert path.read_bytes().startswith(synced)
                    synced = path.read_bytes()[:offset]


def test_the_law_would_notice_a_resume_that_does_not_cut(kind, tmp_path):
    """A negative control: a position that claims too much, as without fsync and cutting, gives a wrong document."""
    path = tmp_path / f"out{kind.extension}"
    sink = open_local_sink(str(path), replace=False)
    sink.resume(None)
    sink.write([item(0)])
    early = sink.sync()
    sink.write([item(1)])
    late = sink.sync()
    sink.close()

    again = open_local_sink(str(path), replace=False)
    again.resume(late | {"count": early["count"]})
    again.write([item(1)])
    again.finish()
    again.close()

    assert kind.read(path) != [pair(0), pair(1)]
