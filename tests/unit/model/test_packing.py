"""The items of pages with many of them, as they travel and are kept."""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model import packing
from p2pcrawl.model.errors import StorageError
from p2pcrawl.model.packing import PACKED_OVER, in_text, of_text, packed, packed_size, unpacked

MANY = [b"\n".join(b'{"number":%d}' % number for number in range(start, start + 50_000)) for start in (0, 50_000)]
LINES = st.lists(st.binary(max_size=50).map(lambda data: b'"' + data.hex().encode() + b'"'), min_size=1, max_size=20)


def test_few_items_stay_as_they_are() -> None:
    assert packed([b'{"a":1}', b'{"a":2}']) == b'{"a":1}\n{"a":2}'


def test_many_items_are_a_fraction_on_their_way_and_the_same_at_its_end() -> None:
    data = packed(MANY)

    assert len(data) * 3 < sum(map(len, MANY))
    assert unpacked(data) == b"\n".join(MANY)
    assert of_text(in_text(data)) == b"\n".join(MANY)


def test_what_was_packed_may_be_packed_with_more() -> None:
    assert unpacked(packed([packed(MANY), b'{"last":true}'])) == b"\n".join([*MANY, b'{"last":true}'])


def test_size_that_is_foreseen_bounds_what_comes_of_parts_together() -> None:
    noise = [os.urandom(PACKED_OVER).hex().encode() for _ in range(3)]

    assert len(packed(noise)) <= sum(packed_size([part]) for part in noise) * 1.01


@given(LINES)
def test_whatever_is_packed_comes_back(lines: list[bytes]) -> None:
    before, packing.PACKED_OVER = packing.PACKED_OVER, 20
    try:
        assert unpacked(packed(lines)) == b"\n".join(lines)
        assert of_text(in_text(packed(lines))) == b"\n".join(lines)
    finally:
        packing.PACKED_OVER = before


@pytest.mark.parametrize("damage", ["cut", "changed", "rubbish", "bomb"])
def test_what_is_damaged_or_swells_is_refused(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(packed(MANY))
    match damage:
        case "cut":
            del data[-10:]
        case "changed":
            data[len(data) // 2] ^= 1
        case "rubbish":
            data[2:] = os.urandom(100)
        case "bomb":
            monkeypatch.setattr(packing, "UNPACKED_MAX", 1_000_000)
            data[2:] = zlib.compress(b"1" * 1_000_001)

    with pytest.raises(StorageError, match="the items of a page are damaged"):
        unpacked(bytes(data))
    for text in (["%"], [], ["AHo=", "AHo="]):
        with pytest.raises(StorageError, match="the items of a page are damaged"):
            of_text(text)
