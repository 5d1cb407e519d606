"""Secrets on a disk: who can open them, with what, and what a change of keys leaves of them."""

from __future__ import annotations

import os

import pytest

from p2pcrawl.wire.sealed.at_rest import RestSeal, SealedAway
from p2pcrawl.wire.sealed.keys import KeyRing

OLD, NEW = os.urandom(32), os.urandom(32)
TEXTS = ["s3cret", "", "pässword"]


def seal_of(*keys: bytes, cluster: str = "c") -> RestSeal:
    return RestSeal(KeyRing(keys), cluster)


def test_what_was_sealed_is_opened_by_whoever_has_the_key() -> None:
    sealed = seal_of(OLD).seal(TEXTS, b"job 1")

    assert seal_of(OLD).open(sealed, b"job 1") == TEXTS
    assert b"s3cret" not in sealed


def test_nothing_to_keep_secret_takes_no_place() -> None:
    assert seal_of(OLD).seal(["", ""], b"job 1") == b""
    assert seal_of(OLD).open(b"", b"job 1") == []


def test_secret_opens_for_nothing_but_what_it_was_sealed_for() -> None:
    sealed = seal_of(OLD).seal(TEXTS, b"mongodb://ada@db/x")

    with pytest.raises(SealedAway):
        seal_of(OLD).open(sealed, b"mongodb://ada@evil/x")


def test_another_key_or_cluster_opens_nothing() -> None:
    sealed = seal_of(OLD).seal(TEXTS, b"job 1")

    for other in (seal_of(NEW), seal_of(OLD, cluster="d")):
        with pytest.raises(SealedAway):
            other.open(sealed, b"job 1")


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_changed_byte_anywhere_is_noticed(at: int) -> None:
    sealed = bytearray(seal_of(OLD).seal(TEXTS, b"job 1"))
    sealed[at] ^= 1

    with pytest.raises(SealedAway):
        seal_of(OLD).open(bytes(sealed), b"job 1")


@pytest.mark.parametrize("length", range(1, 40, 4))
def test_what_was_cut_short_is_noticed(length: int) -> None:
    with pytest.raises(SealedAway):
        seal_of(OLD).open(seal_of(OLD).seal(TEXTS, b"job 1")[:length], b"job 1")


def test_change_of_keys_leaves_a_secret_that_the_new_one_alone_opens() -> None:
    ring = KeyRing([OLD])
    seal = RestSeal(ring, "c")
    sealed = seal.seal(TEXTS, b"job 1")
    ring.add(NEW)
    assert seal.renewed(sealed, b"job 1") == sealed
    ring.use(NEW)

    renewed = seal.renewed(sealed, b"job 1")
    ring.remove(OLD)

    assert seal.open(renewed, b"job 1") == TEXTS
    assert seal.knows(renewed)
    assert not seal.knows(sealed)


def test_what_cannot_be_opened_stays_as_it_is() -> None:
    sealed = seal_of(OLD).seal(TEXTS, b"job 1")

    assert seal_of(NEW).renewed(sealed, b"job 1") == sealed
