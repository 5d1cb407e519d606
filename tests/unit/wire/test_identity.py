"""Identities: a node id is the hash of a key that can sign."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.wire.sealed.identity import Identity, node_id_of, verify

ALICE, BOB = Identity(bytes(range(32))), Identity.generate()


def test_signature_is_verified_with_the_public_key_alone() -> None:
    signature = ALICE.sign("record", b"data")

    assert verify(ALICE.public_key, signature, "record", b"data")


@pytest.mark.parametrize(
    ("public_key", "purpose", "data"),
    [
        pytest.param(BOB.public_key, "record", b"data", id="another-key"),
        pytest.param(ALICE.public_key, "link", b"data", id="another-purpose"),
        pytest.param(ALICE.public_key, "record", b"date", id="other-data"),
        pytest.param(ALICE.public_key, "recordd", b"ata", id="purpose-and-data-cut-elsewhere"),
    ],
)
def test_signature_counts_for_one_key_purpose_and_data(public_key: bytes, purpose: str, data: bytes) -> None:
    assert not verify(public_key, ALICE.sign("record", b"data"), purpose, data)


def test_same_seed_is_the_same_node_for_ever() -> None:
    assert ALICE.node_id == "f0a594d2978da8803f696325ea0aaa5045cf2e94"
    assert Identity(ALICE.seed).public_key == ALICE.public_key


def test_node_id_is_the_hash_of_the_public_key() -> None:
    assert BOB.node_id == node_id_of(BOB.public_key)
    assert len(bytes.fromhex(BOB.node_id)) == 20


def test_generated_identities_differ() -> None:
    assert len({Identity.generate().node_id for _ in range(50)}) == 50


def test_repr_does_not_show_the_seed() -> None:
    assert repr(BOB) == f"Identity({BOB.node_id})"


@pytest.mark.parametrize("size", [0, 31, 33])
def test_seed_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Identity(os.urandom(size))


PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, PRIME) % PRIME
Point = tuple[int, int]


def add(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    k = D * x1 * x2 * y1 * y2 % PRIME
    return (x1 * y2 + x2 * y1) * pow(1 + k, -1, PRIME) % PRIME, (y1 * y2 + x1 * x2) * pow(1 - k, -1, PRIME) % PRIME


def small_order_points() -> set[int]:
    """The y of every point of small order: what is left of any point after ``ORDER`` times itself."""
    found = set()
    for y in range(2, 60):
        square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
        x = pow(square, (PRIME + 3) // 8, PRIME)
        if x * x % PRIME != square:
            x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
        if x * x % PRIME == square:
            point, times, rest = (x, y), ORDER, (0, 1)
            while times:
                rest = add(rest, point) if times & 1 else rest
                point, times = add(point, point), times >> 1
            found.add(rest[1])
    return found


# 0 and 1 have a second spelling, which libraries read too.
WEAK = [y.to_bytes(32, "little") for y in sorted(small_order_points() | {PRIME, PRIME + 1})]


def test_curve_has_five_heights_of_small_order() -> None:
    assert len(WEAK) == 5 + 2


@pytest.mark.parametrize("sign", [0, 0x80])
@pytest.mark.parametrize("public_key", WEAK, ids=lambda key: key.hex()[:8])
def test_nobody_can_sign_for_everybody(public_key: bytes, sign: int) -> None:
    # Under a key of small order the commitments below match some hash of almost any message.
    public_key = public_key[:-1] + bytes((public_key[-1] | sign,))
    forgeries = [commitment + bytes(32) for commitment in WEAK]

    assert not any(verify(public_key, forged, "record", b"%d" % n) for forged in forgeries for n in range(20))


def test_library_alone_would_take_such_a_signature() -> None:
    Ed25519PublicKey.from_public_bytes(WEAK[1]).verify(WEAK[1] + bytes(32), b"anything")


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=40))
@settings(max_examples=200, deadline=None)
def test_rubbish_verifies_as_false(public_key: bytes, signature: bytes, data: bytes) -> None:
    assert not verify(public_key, signature, "record", data)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=64, max_size=64))
@settings(max_examples=200, deadline=None)
def test_rubbish_of_the_right_size_verifies_as_false(public_key: bytes, signature: bytes) -> None:
    assert not verify(public_key, signature, "record", b"data")
