"""What a node stores of the directory."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.overlay.bodies import HostBody, OwnerBody, PeerBody, body_of, encode_body
from p2pcrawl.overlay.records import RecordStore, key_of
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.signed import SignedRecord


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


BODIES = {
    "peer": PeerBody("127.0.0.1:7117", ""),
    "owner": OwnerBody("127.0.0.1:7117"),
    "host": HostBody(5.0, 0.0, 0.0),
}


def record(
    who: Identity, name: str, version: int = 1, kind: str = "owner", ttl_s: int = 100, body: bytes | None = None
) -> SignedRecord:
    return SignedRecord.sign(who, kind, name, version, ttl_s, encode_body(BODIES[kind]) if body is None else body)


def store_of(clock: Clock, **bounds: int) -> RecordStore:
    """Makes a store to which everybody lives."""
    return RecordStore(clock, lambda node: True, **bounds)


def offered(store: RecordStore, it: SignedRecord) -> bool:
    return store.offer(key_of(it.kind, it.name), it.encode())


def test_newer_version_replaces_an_older_one_and_never_the_other_way(clock: Clock) -> None:
    store, who = store_of(clock), Identity.generate()

    assert offered(store, record(who, "7", 2))
    assert not offered(store, record(who, "7", 1))
    assert offered(store, record(who, "7", 3))

    assert store.held(key_of("owner", "7")).record.version == 3


def test_record_ends_and_storing_it_again_prolongs_it(clock: Clock) -> None:
    store, it = store_of(clock), record(Identity.generate(), "7")
    offered(store, it)
    clock.now = 90
    assert offered(store, it)
    clock.now = 150
    assert store.held(key_of("owner", "7")).record == it

    clock.now = 191
    assert store.held(key_of("owner", "7")) is None
    assert store.get(key_of("owner", "7"), b"none") == b"none"


def test_record_under_the_key_of_another_is_refused(clock: Clock) -> None:
    store, it = store_of(clock), record(Identity.generate(), "7")

    assert not store.offer(key_of("owner", "8"), it.encode())
    assert len(store) == 0
    assert store.refused == 1


def test_node_cannot_say_where_another_is(clock: Clock) -> None:
    store, victim, liar = store_of(clock), Identity.generate(), Identity.generate()

    assert not offered(store, record(liar, victim.node_id, kind="peer"))
    assert offered(store, record(victim, victim.node_id, kind="peer"))


def test_forged_truncated_and_foreign_values_are_refused(clock: Clock) -> None:
    store, it = store_of(clock), record(Identity.generate(), "7")
    data, key = it.encode(), key_of("owner", "7")

    for n in range(0, len(data), 7):
        assert not store.offer(key, data[:n])
        assert not store.offer(key, data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :])
    for value in (None, 5, "text", [], {}, True, b"", os.urandom(1024), data + b"x", bytearray(data), b"\x91" * 1000):
        assert not store.offer(key, value)
    assert len(store) == 0


def test_store_is_bounded_and_makes_room_by_what_has_ended(clock: Clock) -> None:
    store, who = store_of(clock, records_max=3), Identity.generate()
    for n in range(3):
        assert offered(store, record(who, str(n)))

    assert not offered(store, record(who, "3"))
    clock.now = 101
    assert offered(store, record(who, "3"))
    assert len(store) == 1


def test_library_is_shown_nothing_to_republish(clock: Clock) -> None:
    store = store_of(clock)
    offered(store, record(Identity.generate(), "7"))

    assert list(store) == []
    assert list(store.iter_older_than(0)) == []
    assert store


def test_age_of_a_record_counts_from_when_it_last_came(clock: Clock) -> None:
    store, it = store_of(clock), record(Identity.generate(), "7")
    offered(store, it)
    clock.now = 40
    assert store.held(key_of("owner", "7")).age_s == 40

    offered(store, it)

    assert store.held(key_of("owner", "7")).age_s == 0


def test_greater_epoch_of_a_bucket_wins_by_counter_and_then_by_owner(clock: Clock) -> None:
    low, high = sorted([Identity.generate(), Identity.generate()], key=lambda who: who.node_id)
    store = store_of(clock)

    assert offered(store, record(low, "7", 3))
    assert offered(store, record(high, "7", 3))
    assert not offered(store, record(low, "7", 3))
    assert not offered(store, record(high, "7", 2))
    assert offered(store, record(low, "7", 4))

    assert store.held(key_of("owner", "7")).record.signer == low.node_id


def test_dead_owner_gives_way_to_a_living_one_whatever_its_epoch(clock: Clock) -> None:
    dead, heir = Identity.generate(), Identity.generate()
    living = {dead.node_id, heir.node_id}
    store = RecordStore(clock, living.__contains__)
    offered(store, record(dead, "7", 9))
    assert not offered(store, record(heir, "7", 1))

    living.remove(dead.node_id)

    assert store.held(key_of("owner", "7")).record.signer == dead.node_id, "the last that is known, till another speaks"
    assert offered(store, record(heir, "7", 1))
    assert not offered(store, record(dead, "7", 9))
    living.add(dead.node_id)
    assert offered(store, record(dead, "7", 9))


@pytest.mark.parametrize(
    ("kind", "name", "body"),
    [
        ("gossip", "7", b"\x90"),
        ("owner", "7", b""),
        ("owner", "7", b"body"),
        ("owner", "7", encode_body(BODIES["host"])),
        ("owner", "7", encode_body(OwnerBody("nowhere"))),
        ("owner", "4096", encode_body(BODIES["owner"])),
        ("owner", "07", encode_body(BODIES["owner"])),
        ("owner", "-1", encode_body(BODIES["owner"])),
        ("owner", "seven", encode_body(BODIES["owner"])),
        ("host", "a.example", encode_body(BODIES["owner"])),
        ("host", "a.example", encode_body(HostBody(-1.0, 0.0, 0.0))),
        ("host", "a.example", encode_body(HostBody(float("nan"), 0.0, 0.0))),
        ("host", "a.example", encode_body(HostBody(float("inf"), 0.0, 0.0))),
        ("host", "a.example", encode_body(HostBody(0.0, 61.0, 0.0))),
        ("host", "a.example", encode_body(HostBody(0.0, 0.0, 86_401.0))),
    ],
)
def test_record_of_an_unknown_kind_or_with_a_body_of_another_is_refused_and_counted(
    clock: Clock, kind: str, name: str, body: bytes
) -> None:
    store = store_of(clock)

    assert not offered(store, record(Identity.generate(), name, kind=kind, body=body))

    assert (store.refused, len(store)) == (1, 0)


def test_body_with_more_at_its_end_is_read_as_far_as_it_is_known(clock: Clock) -> None:
    """A later version says more; this one still understands it."""
    longer = msgspec.msgpack.encode([5.0, 0.0, 0.0, "more"])

    assert offered(store_of(clock), record(Identity.generate(), "a.example", kind="host", body=longer))


def test_hosts_do_not_take_the_room_of_peers_and_buckets(clock: Clock) -> None:
    store, who = store_of(clock, records_max=4, hosts_max=2), Identity.generate()

    assert offered(store, record(who, "a.example", kind="host"))
    assert offered(store, record(who, "b.example", kind="host"))
    assert not offered(store, record(who, "c.example", kind="host"))
    assert offered(store, record(who, who.node_id, kind="peer"))
    assert offered(store, record(who, "7"))
    assert offered(store, record(who, "a.example", 2, kind="host")), "the same one anew needs no room"

    clock.now = 101
    assert offered(store, record(who, "c.example", kind="host"))


def test_largest_host_note_fits_a_record() -> None:
    note = HostBody.of(HostNote(1e9, 1e9, 1e9))

    made = SignedRecord.sign(Identity.generate(), "host", "h" * 253, 2**63 - 1, 86_400, encode_body(note))

    assert len(made.encode()) <= 1024


VALUES = st.recursive(
    st.none() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(), st.lists, max_leaves=8
)


@pytest.mark.slow
@given(
    st.sampled_from(["peer", "owner", "host", "other"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60),
    st.binary(max_size=768) | VALUES.map(msgspec.msgpack.encode).filter(lambda data: len(data) <= 768),
)
@settings(max_examples=500, deadline=None)
def test_arbitrary_bodies_and_names_are_read_without_an_exception(kind: str, name: str, body: bytes) -> None:
    claimed = SignedRecord(kind, name, 1, 100, bytes(32), body, bytes(64))

    read = body_of(claimed)

    assert read is None or (kind == "owner" and int(name) < 4096) or kind == "host"
