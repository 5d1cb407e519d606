"""Frames: what goes in comes out, and hostile bytes end in LinkError, never in anything else."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages import codec
from p2pcrawl.wire.messages.codec import AnyMessage, FrameReader, encode
from p2pcrawl.wire.messages.slave_messages import (
    Beat,
    Bye,
    Grant,
    Hello,
    LinkColumns,
    Message,
    OpenJob,
    Outcome,
    Page,
    Report,
    ReportsDurable,
    Returned,
    Robots,
    RobotsResult,
    RobotsTask,
    Stop,
    Task,
    Welcome,
    WireJob,
)
from tests.unit.conftest import Count
from tests.unit.hostile_bytes import damaged, held_bytes, one_of_each

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1)
seconds = st.floats(allow_nan=False)
flags = st.booleans()
blobs = st.binary(max_size=20)
stored = st.integers(-(2**62), 2**62)
counts = st.integers(0, 2**62)
waits = st.floats(0.0, 1e9)
prints = st.binary(min_size=16, max_size=16)
facts = st.builds(Link, text, prints, stored, stored, text, text, flags, text, blobs)
tasks = st.builds(Task, stored, stored, stored, facts, stored)
links = st.lists(st.tuples(text, prints), max_size=3).flatmap(
    lambda found: st.builds(
        LinkColumns,
        facts,
        st.just([url for url, _ in found]),
        st.just(b"".join(print_ for _, print_ in found)),
    )
)
outcomes = st.builds(
    Outcome, st.integers(0, 3), text, text, stored, counts, waits, waits, waits, flags, flags, flags, blobs,
    st.dictionaries(text, counts, max_size=2), counts, text,
)  # fmt: skip
pages = st.builds(
    Page, stored, stored, stored, st.lists(links, max_size=2), st.lists(blobs, max_size=2), st.none() | outcomes
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Hello, numbers, numbers),
    st.builds(Welcome, numbers, numbers, numbers, text),
    st.builds(
        OpenJob, st.builds(WireJob, numbers, text, text, text, text, st.just([]), st.just({}), st.just({}), st.just([]))
    ),
    st.builds(
        Grant,
        st.lists(tasks, max_size=2),
        st.lists(st.builds(Robots, text, text, text, text), max_size=2),
        st.lists(st.builds(RobotsTask, numbers, numbers, text, seconds), max_size=2),
    ),
    st.builds(
        Report,
        numbers,
        st.lists(pages, max_size=2),
        st.lists(st.builds(RobotsResult, stored, text, text, text, text, waits), max_size=2),
    ),
    st.builds(ReportsDurable, numbers),
    st.builds(Beat, numbers, numbers, numbers),
    st.builds(Stop),
    st.builds(Bye, text, flags),
    st.builds(Returned, st.lists(stored, max_size=3), st.lists(text, max_size=2)),
)


def read_all(data: bytes, step: int, frame_max: int = codec.FRAME_MAX) -> list[Message]:
    reader = FrameReader(frame_max)
    return [m for at in range(0, len(data), step) for m in reader.feed(data[at : at + step])]


@settings(max_examples=200, deadline=None)
@given(st.lists(messages, max_size=5), st.integers(1, 50))
def test_messages_come_out_as_they_went_in_however_the_bytes_are_cut(sent: list[Message], step: int) -> None:
    data = b"".join(map(encode, sent))

    assert read_all(data, step) == sent


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=80), st.integers(1, 80))
def test_random_bytes_are_refused_or_wait_for_more(data: bytes, step: int) -> None:
    with suppress(LinkError):
        read_all(len(data).to_bytes(4, "big") + data, step, frame_max=1000)


@settings(max_examples=300, deadline=None)
@given(messages, st.data())
def test_damaged_messages_are_refused_or_are_other_messages(message: Message, data: st.DataObject) -> None:
    frame = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(frame) - 1)) if len(frame) > 4 else 0
        frame[at] = data.draw(st.integers(0, 255))

    with suppress(LinkError):
        read_all(bytes(frame), 1000, frame_max=10_000)


@settings(max_examples=100, deadline=None)
@given(messages, st.integers(1, 40))
def test_cut_message_inside_a_frame_is_refused(message: Message, missing: int) -> None:
    body = encode(message)[4:-missing]
    if not body:
        return

    with pytest.raises(LinkError):
        read_all(len(body).to_bytes(4, "big") + body, 1000)


@pytest.mark.parametrize("size", [codec.FRAME_MAX + 1, 0xFFFF_FFFF])
def test_length_over_the_limit_is_refused_before_the_frame_has_come(size: int) -> None:
    reader = FrameReader()

    with pytest.raises(LinkError, match="over the limit"):
        list(reader.feed(size.to_bytes(4, "big")))


@pytest.mark.parametrize("head", [b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9"])
@pytest.mark.parametrize("before", [b"", b"\x93\x04", b"\x93\x05\x01"])
def test_length_inside_a_message_that_is_not_there_is_refused(before: bytes, head: bytes) -> None:
    body = before + head + b"\xff\xff\xff\xff"

    with pytest.raises(LinkError):
        read_all(len(body).to_bytes(4, "big") + body, 1000)


@pytest.mark.parametrize("level", [b"\x91", b"\x81\xa1a"])
def test_endless_nesting_is_refused(level: bytes) -> None:
    job = msgspec.msgpack.encode(["x"])[:0] + bytes([0x99, 1]) + b"\xa1n\xa0\xa0\xa0\x90\x80\x81\xa1s"
    body = b"\x92\x03" + job + level * 200_000

    with pytest.raises(LinkError):
        read_all(len(body).to_bytes(4, "big") + body, 1 << 20)


def test_empty_frame_is_refused() -> None:
    with pytest.raises(LinkError):
        read_all(b"\0\0\0\0", 10)


def test_message_over_the_limit_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "FRAME_MAX", 100)

    with pytest.raises(LinkError, match="over the limit"):
        encode(Bye("x" * 200))


def impossible() -> dict[str, list[object]]:
    """Messages that are well formed and cannot be meant, as msgpack writes them."""
    link = ["http://a.example/", bytes(16), 0, 0, "index", "", False, "", b""]
    task, page = [1, 1, 1, link, 1], [1, 1, 1, [], []]
    return {
        "links without fingerprints": [5, 1, [[1, 1, 1, [[link, ["http://a.example/"], b"short"]]]]],
        "links of a depth that no database holds": [5, 1, [[1, 1, 1, [[[*link[:2], 1 << 63], [], b""]]]]],
        "a link's fingerprint on its way to its owner": [23, 1, 1, [[*link[:1], b"short", *link[2:]]]],
        "a link's priority on its way to its owner": [23, 1, 1, [[*link[:3], 1 << 63, *link[4:]]]],
        "a link in half": [23, 1, 1, [link[:1]]],
        "a phase that there is not": [5, 1, [[1, 1, 1, [], [], [99]]]],
        "a latency that is no number": [5, 1, [[1, 1, 1, [], [], [3, "", "", 200, 0, float("nan")]]]],
        "a pause for ever": [5, 1, [[1, 1, 1, [], [], [3, "", "", 200, 0, 0.0, 0.0, float("inf")]]]],
        "a delay below nothing": [5, 1, [], [[1, "http://a.example", "bot", "allow", "", "", -1.0]]],
        "a record beyond any database": [10, [1 << 63]],
        "an orphan's phase": [13, 1, [[task, [*page, [-1]]]]],
        "an orphan's fingerprint": [13, 1, [[[*task[:3], [*link[:1], b"", *link[2:]], 1], page]]],
    }


@pytest.mark.parametrize("name", impossible())
def test_what_cannot_be_meant_is_refused_where_it_is_read(name: str) -> None:
    body = msgspec.msgpack.encode(impossible()[name])

    with pytest.raises(LinkError):
        read_all(len(body).to_bytes(4, "big") + body, 1000)


def test_what_is_refused_is_refused_for_what_is_wrong_with_it() -> None:
    link = ["http://a.example/", bytes(16), 0, 0, "index", "", False, "", b""]
    sound = [
        [5, 1, [[1, 1, 1, [[link, ["http://a.example/"], bytes(16)]]]]],
        [23, 1, 1, [link]],
        [13, 1, [[[1, 1, 1, link, 1], [1, 1, 1, [], []]]]],
    ]

    for message in sound:
        body = msgspec.msgpack.encode(message)
        assert len(read_all(len(body).to_bytes(4, "big") + body, 1000)) == 1


def test_newer_peer_may_add_fields_at_the_end() -> None:
    body = msgspec.msgpack.encode([6, 5, "something new"])

    assert read_all(len(body).to_bytes(4, "big") + body, 100) == [ReportsDurable(5)]


def check_hostile_rounds(rounds: int, seed: int, count: Count = range) -> None:
    """Damaged frames, and sound frames around damaged messages of every kind: LinkError, or another message."""
    dice = random.Random(seed)
    sound = [encode(message)[4:] for message in one_of_each(get_args(AnyMessage), dice)]
    for number in count(rounds):
        body = damaged(dice, dice.choice(sound), 2000)
        frame = len(body).to_bytes(4, "big") + body if dice.random() < 0.9 else damaged(dice, b"\0\0\0\4" + body, 2000)
        reader = FrameReader()
        with suppress(LinkError):
            list(reader.feed(frame))
        assert held_bytes(reader) <= len(frame), f"seed {seed}, round {number}"


def test_hostile_frames_raise_nothing_but_link_errors() -> None:
    check_hostile_rounds(20_000, seed=1)


@pytest.mark.soak
def test_ten_million_hostile_frames_raise_nothing_but_link_errors(aloud: Count) -> None:
    check_hostile_rounds(10_000_000, random.randrange(sys.maxsize), aloud)
