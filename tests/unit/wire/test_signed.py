"""Signed records of the directory."""

from __future__ import annotations

import random
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.signed import BODY_MAX, EXPIRES_MAX_S, RECORD_MAX, SignedRecord
from tests.unit.conftest import Count

ALICE, BOB = Identity(bytes(range(32))), Identity(bytes(range(1, 33)))


def record(**changes: Any) -> SignedRecord:
    fields = {"kind": "peer", "name": ALICE.node_id, "version": 7, "expires_s": 3600, "body": b"10.0.0.1:7117"}
    return SignedRecord.sign(ALICE, **{**fields, **changes})


def test_record_survives_the_way_there() -> None:
    sent = record()

    received = SignedRecord.decode(sent.encode())

    assert received == sent
    assert received is not None
    assert received.verify(0)
    assert received.signer == ALICE.node_id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "owner"),
        ("name", BOB.node_id),
        ("version", 8),
        ("expires_s", 3601),
        ("body", b"10.6.6.6:7117"),
        ("public_key", BOB.public_key),
        ("signature", bytes(64)),
    ],
)
def test_no_field_can_be_changed(field: str, value: Any) -> None:
    changed = SignedRecord.decode(msgspec.structs.replace(record(), **{field: value}).encode())

    assert changed is not None
    assert not changed.verify(0)


@pytest.mark.parametrize(
    ("age_s", "counts"), [(0, True), (3600, True), (3600.1, False), (-1, False), (float("nan"), False)]
)
def test_record_counts_until_its_end(age_s: float, counts: bool) -> None:
    assert record().verify(age_s) is counts


def test_higher_version_supersedes() -> None:
    assert record(version=8).supersedes(record(version=7))
    assert not record(version=7).supersedes(record(version=8))
    assert not record().supersedes(record())


def test_two_records_of_one_version_have_one_winner() -> None:
    one, other = record(body=b"1"), record(body=b"2")

    assert one.supersedes(other) != other.supersedes(one)


def test_longest_record_fits() -> None:
    longest = record(kind="k" * 16, name="n" * 100, body=bytes(BODY_MAX), version=2**63 - 1, expires_s=EXPIRES_MAX_S)

    assert len(longest.encode()) <= RECORD_MAX


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": ""},
        {"kind": "Peer"},
        {"kind": "k" * 17},
        {"kind": "peer\n"},
        {"name": ""},
        {"name": "two words"},
        {"name": "\x1b[31m"},
        {"name": "n" * 256},
        {"name": "end\n"},
        {"version": -1},
        {"version": 2**63},
        {"expires_s": 0},
        {"expires_s": EXPIRES_MAX_S + 1},
        {"body": bytes(BODY_MAX + 1)},
        {"name": "n" * 255, "body": bytes(BODY_MAX)},
    ],
)
def test_record_that_others_would_refuse_is_not_made(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a record"):
        record(**changes)


def test_another_spelling_of_the_same_record_is_refused() -> None:
    data = record().encode()
    assert data.count(b"\xa4peer") == 1
    longer = data.replace(b"\xa4peer", b"\xd9\x04peer")

    assert msgspec.msgpack.decode(longer) == msgspec.msgpack.decode(data)
    assert SignedRecord.decode(longer) is None


def test_record_with_something_behind_it_is_refused() -> None:
    data = record().encode()

    assert SignedRecord.decode(data + b"\x00") is None
    assert SignedRecord.decode(b"\x98" + data[1:] + b"\x00") is None


def test_oversized_record_is_refused_unread() -> None:
    assert SignedRecord.decode(b"\xdc\xff\xff" * 10_000) is None


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes_are_no_record(data: bytes) -> None:
    assert SignedRecord.decode(data) is None


@given(st.recursive(st.none() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(), st.lists, max_leaves=12))
@settings(max_examples=200, deadline=None)
def test_arbitrary_msgpack_is_no_record(value: Any) -> None:
    assert SignedRecord.decode(msgspec.msgpack.encode(value)) is None


def check_hostile_rounds(rounds: int, seed: int, count: Count = range) -> None:
    """Damaged records are refused, by their shape or by their signature."""
    dice = random.Random(seed)
    genuine = record().encode()
    for number in count(rounds):
        damaged = bytearray(genuine)
        match dice.randrange(4):
            case 0:
                damaged[dice.randrange(len(damaged))] ^= dice.randrange(1, 256)
            case 1:
                damaged[dice.randrange(len(damaged)) :] = dice.randbytes(dice.randrange(60))
            case 2:
                damaged = bytearray(b"\x91" * dice.randrange(1, RECORD_MAX + 20))
            case _:
                damaged[0:0] = dice.randbytes(dice.randrange(1, 20))
        read = SignedRecord.decode(bytes(damaged))
        assert read is None or not read.verify(0) or damaged == genuine, f"seed {seed}, round {number}"


def test_hostile_records_are_refused() -> None:
    check_hostile_rounds(5_000, seed=1)


@pytest.mark.soak
def test_ten_million_hostile_records_are_refused(aloud: Count) -> None:
    check_hostile_rounds(10_000_000, random.randrange(sys.maxsize), aloud)
