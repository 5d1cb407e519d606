"""What a node stores of the directory."""

from __future__ import annotations

import os

import pytest

from p2pcrawl.overlay.records import RecordStore, key_of
from p2pcrawl.wire.identity import Identity
from p2pcrawl.wire.signed import SignedRecord


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def record(who: Identity, name: str, version: int = 1, kind: str = "owner", ttl_s: int = 100) -> SignedRecord:
    return SignedRecord.sign(who, kind, name, version, ttl_s, b"body")


def offered(store: RecordStore, it: SignedRecord) -> bool:
    return store.offer(key_of(it.kind, it.name), it.encode())


def test_newer_version_replaces_an_older_one_and_never_the_other_way(clock: Clock) -> None:
    store, who = RecordStore(clock), Identity.generate()

    assert offered(store, record(who, "7", 2))
    assert not offered(store, record(who, "7", 1))
    assert offered(store, record(who, "7", 3))

    assert store.record(key_of("owner", "7")).version == 3


def test_record_ends_and_storing_it_again_prolongs_it(clock: Clock) -> None:
    store, it = RecordStore(clock), record(Identity.generate(), "7")
    offered(store, it)
    clock.now = 90
    assert offered(store, it)
    clock.now = 150
    assert store.record(key_of("owner", "7")) == it

    clock.now = 191
    assert store.record(key_of("owner", "7")) is None
    assert store.get(key_of("owner", "7"), b"none") == b"none"


def test_record_under_the_key_of_another_is_refused(clock: Clock) -> None:
    store, it = RecordStore(clock), record(Identity.generate(), "7")

    assert not store.offer(key_of("owner", "8"), it.encode())
    assert len(store) == 0
    assert store.refused == 1


def test_node_cannot_say_where_another_is(clock: Clock) -> None:
    store, victim, liar = RecordStore(clock), Identity.generate(), Identity.generate()

    assert not offered(store, record(liar, victim.node_id, kind="peer"))
    assert offered(store, record(victim, victim.node_id, kind="peer"))


def test_forged_truncated_and_foreign_values_are_refused(clock: Clock) -> None:
    store, it = RecordStore(clock), record(Identity.generate(), "7")
    data, key = it.encode(), key_of("owner", "7")

    for n in range(0, len(data), 7):
        assert not store.offer(key, data[:n])
        assert not store.offer(key, data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :])
    for value in (None, 5, "text", [], {}, True, b"", os.urandom(1024), data + b"x", bytearray(data), b"\x91" * 1000):
        assert not store.offer(key, value)
    assert len(store) == 0


def test_store_is_bounded_and_makes_room_by_what_has_ended(clock: Clock) -> None:
    store, who = RecordStore(clock, records_max=3), Identity.generate()
    for n in range(3):
        assert offered(store, record(who, str(n)))

    assert not offered(store, record(who, "3"))
    clock.now = 101
    assert offered(store, record(who, "3"))
    assert len(store) == 1


def test_library_is_shown_nothing_to_republish(clock: Clock) -> None:
    store = RecordStore(clock)
    offered(store, record(Identity.generate(), "7"))

    assert list(store) == []
    assert list(store.iter_older_than(0)) == []
    assert store
