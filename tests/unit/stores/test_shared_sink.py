"""A file that two jobs write to, of which a crash may leave any cursor behind what the file holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.kinds import SinkPlace, make_sink
from p2pcrawl.stores.shared_sink import SharedSink
from p2pcrawl.stores.sink import Position, SinkPage


def page(job: str, number: int) -> SinkPage:
    return SinkPage(job, f"{number:032x}", f"http://h/{number}", 0, 0, [b'{"n":"%s%d"}' % (job.encode(), number)])


def shared(path: Path, *stored: Position | None) -> SharedSink:
    return SharedSink(make_sink(parse_sink(str(path)), SinkPlace("two")), stored)


@pytest.fixture(params=["items.jsonl", "items.json", "items.jsonl.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def text_in(path: Path) -> str:
    import gzip

    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


async def test_file_is_cut_off_where_the_furthest_stored_cursor_was(path: Path) -> None:
    sink = shared(path)
    begun = await sink.open(None)
    first = (await sink.write([page("a", 1)])).position
    await sink.write([page("b", 1)])
    await sink.close()

    # The master was killed before the cursor of b was stored, which brings its page again.
    again = shared(path, first, begun)
    await again.open(begun)
    await again.write([page("b", 1)])
    await again.finish()
    await again.close()

    assert [text_in(path).count(name) for name in ("a1", "b1")] == [1, 1]


async def test_cursor_of_either_job_may_be_the_furthest(path: Path) -> None:
    sink = shared(path)
    await sink.open(None)
    first = (await sink.write([page("a", 1)])).position
    second = (await sink.write([page("b", 1)])).position
    await sink.close()

    for stored in ([first, second], [second, first]):
        again = shared(path, *stored)
        await again.open(first)
        await again.finish()
        await again.close()

        assert [text_in(path).count(name) for name in ("a1", "b1")] == [1, 1]


async def test_job_that_joins_later_begins_nothing_anew(path: Path) -> None:
    sink = SharedSink(make_sink(parse_sink(str(path)), SinkPlace("two", replace=True)), [])
    await sink.open(None)
    await sink.write([page("a", 1)])

    await sink.open(None)
    await sink.write([page("b", 1)])
    await sink.finish()
    await sink.close()

    assert [text_in(path).count(name) for name in ("a1", "b1")] == [1, 1]
