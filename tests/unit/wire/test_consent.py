"""Questions for consent as bytes: what is not exactly one is refused."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.cluster.consent import SEAT_BYTES, ConsentAnswer, ConsentQuestion, Version
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.consent import decode_consent, encode_consent

NUMBERS = st.integers(0, 1 << 62)
VERSIONS = st.builds(Version, NUMBERS, NUMBERS)
SEATS = st.binary(min_size=SEAT_BYTES, max_size=SEAT_BYTES)
MESSAGES = st.builds(ConsentQuestion, NUMBERS, st.integers(0, 2**64 - 1), VERSIONS, SEATS) | st.builds(
    ConsentAnswer, NUMBERS, st.booleans(), VERSIONS, SEATS
)


@given(MESSAGES)
def test_message_comes_back_as_it_was(message: ConsentQuestion | ConsentAnswer) -> None:
    assert decode_consent(encode_consent(message)) == message


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_message_or_refused(data: bytes) -> None:
    with suppress(LinkError):
        assert isinstance(decode_consent(data), ConsentQuestion | ConsentAnswer)


@pytest.mark.parametrize(
    "row",
    [
        [0, -1, bytes(8), 1, 1, bytes(8)],
        [0, 1, bytes(7), 1, 1, bytes(8)],
        [0, 1, bytes(8), 1, 1, bytes(9)],
        [1, 1, 1, 1, 1, bytes(8)],
        [2, 1, True, 1, 1, bytes(8)],
        [1, 1, True, 1 << 63, 1, bytes(8)],
    ],
)
def test_fields_out_of_bounds_are_refused(row: list[object]) -> None:
    with pytest.raises(LinkError):
        decode_consent(msgspec.msgpack.encode(row))


def test_long_datagram_is_refused_before_it_is_read() -> None:
    with pytest.raises(LinkError, match="limit"):
        decode_consent(bytes(129))
