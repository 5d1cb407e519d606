"""Somebody sits between the ends of a link, with the cluster key or not: the claims of docs/handshake.md, attacked."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.sealed import handshake
from p2pcrawl.wire.sealed.handshake import ANSWER_BYTES, LINK_VERSION, MAGIC, PREFIX
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing
from p2pcrawl.wire.sealed.streams import StreamSeal

KEY = os.urandom(32)
ALICE, BOB, MALLORY = Identity.generate(), Identity.generate(), Identity.generate()
ALICE_BOOT, BOB_BOOT = b"alice..1", b"bob....1"


def client(identity: Identity = ALICE, key: bytes = KEY) -> StreamSeal:
    return StreamSeal.client(KeyRing([key]), identity, ALICE_BOOT, "crawl")


def server(identity: Identity = BOB, key: bytes = KEY) -> StreamSeal:
    return StreamSeal.server(KeyRing([key]), identity, BOB_BOOT, "crawl")


def begun(number: int = 0) -> tuple[StreamSeal, bytes]:
    """A client that has said hello, and the hello; with the same number the same connection, as often as one likes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", Random(number).randbytes)
        near = client()
        return near, near.begin()


@dataclass
class Recorded:
    """A recording of what travelled on one connection."""

    hello: bytes
    answer: bytes
    server_proof: bytes
    client_proof: bytes
    there: bytes
    back: bytes


def conversation() -> Recorded:
    near, far = client(), server()
    hello = near.begin()
    far.receive(hello)
    both = far.take_output()
    near.receive(both)
    proof = near.take_output()
    far.receive(proof)
    return Recorded(hello, both[:ANSWER_BYTES], both[ANSWER_BYTES:], proof, near.send(b"there"), far.send(b"back"))


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(LinkError) as caught:
        act()
    return str(caught.value)


def flipped(message: bytes) -> Iterator[bytes]:
    """The message with each of its bits turned over."""
    for bit in range(len(message) * 8):
        changed = bytearray(message)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


# Tampering: every bit is covered by what both ends sign or seal


def test_no_bit_of_the_hello_can_be_changed() -> None:
    for changed in flipped(client().begin()):
        far = server()

        with suppress(LinkError):
            far.receive(changed)

        # Nothing was answered but a refusal: not even half a secret is made with such a hello.
        assert len(far.take_output()) in (0, handshake.REFUSAL_BYTES)
        assert not far.established


def test_no_bit_of_what_the_server_answers_can_be_changed() -> None:
    far = server()
    far.receive(begun()[1])
    for changed in flipped(far.take_output()):
        near, _ = begun()  # The same connection, as often as there are bits.

        refused(lambda near=near, changed=changed: [near.receive(changed), near.eof()])  # type: ignore[misc]

        assert near.peer is None
        assert near.take_output() == b""


def test_no_bit_of_the_clients_proof_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = client(), server()
    hello = near.begin()
    half = handshake.HalfKey()
    monkeypatch.setattr(handshake, "HalfKey", lambda: half)  # The same server, as often as there are bits.
    far.receive(hello)
    near.receive(far.take_output())
    for changed in flipped(near.take_output()):
        far = server()
        far.receive(hello)

        refused(lambda far=far, changed=changed: [far.receive(changed), far.eof()])  # type: ignore[misc]

        assert far.peer is None


def test_other_spelling_of_the_same_half_key_is_a_change() -> None:
    # X25519 ignores the highest bit, so the secret is the same; the transcript is not.
    near, far = client(), server()
    far.receive(near.begin())
    answer = bytearray(far.take_output())
    answer[ANSWER_BYTES - 1] ^= 0x80

    assert "changed on the way" in refused(lambda: near.receive(bytes(answer)))


def test_every_other_version_is_refused_by_both_ends() -> None:
    for version in set(range(256)) - {LINK_VERSION}:
        near, far = client(), server()
        hello = bytearray(near.begin())
        hello[len(MAGIC)] = version

        assert "another protocol version" in refused(lambda far=far, hello=hello: far.receive(bytes(hello)))  # type: ignore[misc]
        assert "refuses protocol version" in refused(lambda near=near, far=far: near.receive(far.take_output()))  # type: ignore[misc]


# Truncation, order, repetition, reflection


def test_handshake_that_is_cut_after_any_byte_proves_nobody() -> None:
    said = conversation()
    for size in range(len(said.hello)):
        far = server()
        far.receive(said.hello[:size])

        refused(far.eof)

        assert far.peer is None
    for size in range(len(said.answer + said.server_proof)):
        near, far = client(), server()
        far.receive(near.begin())
        near.receive(far.take_output()[:size])

        refused(near.eof)

        assert near.peer is None
        assert near.take_output() == b""
    for size in range(len(said.client_proof)):
        near, far = client(), server()
        far.receive(near.begin())
        near.receive(far.take_output())
        far.receive(near.take_output()[:size])

        refused(far.eof)

        assert far.peer is None


def orders(*messages: bytes) -> list[bytes]:
    """Each choice of the messages, repeated or not, in each order, but the right one and beginnings of it."""
    right = [b"".join(messages[:count]) for count in range(len(messages) + 1)]
    chosen = (b"".join(each) for size in (1, 2, 3) for each in itertools.product(messages, repeat=size))
    return [each for each in chosen if each not in right]


def test_answers_in_any_other_order_prove_nobody() -> None:
    far = server()
    far.receive(begun()[1])
    output = far.take_output()
    for wrong in orders(output[:ANSWER_BYTES], output[ANSWER_BYTES:]):
        if wrong.startswith(output):
            continue  # The handshake is over; what follows is the business of records.
        near, _ = begun()

        refused(lambda near=near, wrong=wrong: [near.receive(wrong), near.eof()])  # type: ignore[misc]

        assert near.peer is None


def test_hello_and_proof_in_any_other_order_prove_nobody() -> None:
    said = conversation()
    for wrong in [*orders(said.hello, said.client_proof), said.client_proof, said.hello + said.hello]:
        far = server()

        refused(lambda far=far, wrong=wrong: [far.receive(wrong), far.eof()])  # type: ignore[misc]

        assert far.peer is None


def test_recorded_session_repeated_to_either_end_says_nothing() -> None:
    said = conversation()
    near, far = client(), server()
    near.begin()

    refused(lambda: far.receive(said.hello + said.client_proof + said.there))
    refused(lambda: near.receive(said.answer + said.server_proof + said.back))

    assert (near.peer, far.peer) == (None, None)


def test_messages_of_two_connections_do_not_mix() -> None:
    first, second = conversation(), conversation()
    (near, hello), far = begun(), server()
    far.receive(hello)
    genuine = far.take_output()

    for answer in (genuine[:ANSWER_BYTES] + first.server_proof, first.answer + genuine[ANSWER_BYTES:]):
        other, _ = begun()
        refused(lambda other=other, answer=answer: other.receive(answer))  # type: ignore[misc]
    near.receive(genuine)
    refused(lambda: far.receive(second.client_proof))


@pytest.mark.parametrize("part", ["hello", "client_proof", "there"])
def test_nothing_of_a_client_can_be_reflected_to_it(part: str) -> None:
    near, far = client(), server()
    sent = {"hello": near.begin()}
    far.receive(sent["hello"])
    if part != "hello":
        near.receive(far.take_output())
        sent |= {"client_proof": near.take_output(), "there": near.send(b"echo")}

    refused(lambda: near.receive(sent[part]))


@pytest.mark.parametrize("part", ["answer", "server_proof", "back"])
def test_nothing_of_a_server_can_be_reflected_to_it(part: str) -> None:
    near, far = client(), server()
    far.receive(near.begin())
    output = far.take_output()
    sent = {"answer": output[:ANSWER_BYTES], "server_proof": output[ANSWER_BYTES:]}
    if part == "back":
        near.receive(output)
        far.receive(near.take_output())
        sent["back"] = far.send(b"echo")

    refused(lambda: far.receive(sent[part]))


# Half keys


P = 2**255 - 19
SMALL = (
    0, 1, P - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)  # fmt: skip
"""The u of all points of small order on Curve25519 and its twist."""
SPELLINGS = [
    number.to_bytes(32, "little")
    for u in SMALL
    for number in {u, u + P, u + 2**255, u + P + 2**255}
    if number < 2**256 and (number % 2**255) % P == u
]


@pytest.mark.parametrize("point", SPELLINGS, ids=lambda point: point.hex()[:8] + point.hex()[-2:])
def test_half_key_of_small_order_is_refused_by_both_ends(point: bytes) -> None:
    class Weak(handshake.HalfKey):
        def __init__(self) -> None:
            super().__init__()
            self.public = point  # type: ignore[misc]

    far, near = server(), client()
    near.begin()
    hello = handshake.hello(KEY, KeyRing([KEY]).in_use_id, b"crawl", Weak())  # Mallory has the cluster key.

    assert "key that is none" in refused(lambda: far.receive(hello))
    assert "key that is none" in refused(lambda: near.receive(MAGIC + bytes((LINK_VERSION, 2)) + point))
    assert far.take_output() == b""


def test_each_connection_and_each_direction_has_its_own_keys() -> None:
    def first_records() -> list[bytes]:
        near, far = client(), server()
        far.receive(near.begin())
        near.receive(far.take_output())
        far.receive(near.take_output())
        return [near.send(bytes(64)), far.send(bytes(64))]

    records = [record for _ in range(20) for record in first_records()]

    assert len(set(records)) == 40


# Insiders: they hold the cluster key, and want to be somebody else


class Signs(Identity):
    """Claims an identity whose seed it has not; signs with what it has, or says what it overheard."""

    def __init__(self, claimed: Identity, seed: bytes, overheard: bytes = b"") -> None:
        super().__init__(seed)
        self.public_key = claimed.public_key  # type: ignore[misc]
        self.node_id = claimed.node_id  # type: ignore[misc]
        self._overheard = overheard

    def sign(self, purpose: str, data: bytes) -> bytes:
        return self._overheard or super().sign(purpose, data)


def test_stolen_identity_of_one_end_does_not_let_anybody_be_the_other() -> None:
    # Key compromise impersonation: Mallory has all of Alice's secrets, and wants to be Bob for her.
    near, far = client(ALICE), server(Signs(BOB, ALICE.seed))
    far.receive(near.begin())

    assert "cannot sign for it" in refused(lambda: near.receive(far.take_output()))
    assert near.take_output() == b""


def overheard(monkeypatch: pytest.MonkeyPatch, role: str, act: Callable[[], Any]) -> bytes:
    """The signature that an honest end makes while ``act`` runs; an insider at the other end can read it."""
    made: list[bytes] = []
    genuine = handshake.proof

    def listening(identity: Identity, whose: str, transcript: bytes, boot: bytes) -> bytes:
        proof = genuine(identity, whose, transcript, boot)
        if whose == role:
            made.append(proof[-64:])
        return proof

    with monkeypatch.context() as patched:
        patched.setattr(handshake, "proof", listening)
        act()
    return made[0]


def test_insider_between_two_peers_cannot_hand_on_what_the_server_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    def mallory_calls_bob() -> None:
        server(BOB).receive(client(MALLORY).begin())

    signature = overheard(monkeypatch, "server", mallory_calls_bob)
    near, far = client(), server(Signs(BOB, MALLORY.seed, signature))
    far.receive(near.begin())

    assert "cannot sign for it" in refused(lambda: near.receive(far.take_output()))


def test_insider_that_is_called_cannot_call_others_in_the_callers_name(monkeypatch: pytest.MonkeyPatch) -> None:
    # Alice really means Mallory, who would use it to be Alice for Bob: what she signs names whom she means.
    def alice_calls_mallory() -> None:
        near, far = client(ALICE), server(MALLORY)
        far.receive(near.begin())
        near.receive(far.take_output())

    signature = overheard(monkeypatch, "client", alice_calls_mallory)
    near, far = client(Signs(ALICE, MALLORY.seed, signature)), server(BOB)
    far.receive(near.begin())
    near.receive(far.take_output())

    assert "cannot sign for it" in refused(lambda: far.receive(near.take_output()))
    assert far.peer is None


def test_insider_that_hands_on_all_messages_learns_nothing_and_is_nobody() -> None:
    # All that is left to it is to be a wire: both ends know each other, and it has none of their keys.
    near, far = client(), server()
    far.receive(near.begin())
    seen = far.take_output()
    near.receive(seen)
    far.receive(near.take_output())
    mallory = client(MALLORY)
    mallory.begin()

    refused(lambda: mallory.receive(seen))

    assert near.peer is not None and near.peer.node_id == BOB.node_id
    assert far.peer is not None and far.peer.node_id == ALICE.node_id


def test_whoever_lacks_the_cluster_key_gets_no_further_than_a_refusal() -> None:
    far = server()
    refused(lambda: far.receive(client(MALLORY, os.urandom(32)).begin()))
    named = bytearray(client(MALLORY, os.urandom(32)).begin())
    named[PREFIX : PREFIX + 4] = KeyRing([KEY]).in_use_id  # The id is no secret; the MAC shows that the key is missing.
    other = server()

    assert "forged its hello" in refused(lambda: other.receive(bytes(named)))

    assert len(far.take_output()) == handshake.REFUSAL_BYTES
    assert other.take_output() == b""


def test_server_without_the_cluster_key_cannot_answer() -> None:
    near = client()
    near.begin()
    answer = handshake.answer(handshake.HalfKey())

    assert "changed on the way" in refused(lambda: near.receive(answer + b"\x01\x00\x78" + os.urandom(120)))
    assert near.take_output() == b""


def test_key_that_is_removed_while_they_shake_hands_admits_nobody_after_it() -> None:
    old, new = KEY, os.urandom(32)
    ring = KeyRing([old, new])
    begun, answered = (StreamSeal.server(ring, BOB, BOB_BOOT, "crawl") for _ in range(2))
    near, other = client(MALLORY, old), client(MALLORY, old)
    answered.receive(near.begin())
    near.receive(answered.take_output())
    ring.use(new)
    ring.remove(old)

    assert "another cluster key" in refused(lambda: begun.receive(other.begin()))
    assert "was removed" in refused(lambda: answered.receive(near.take_output()))
    assert answered.peer is None


# Limits


def test_forgery_can_be_tried_once_on_each_connection() -> None:
    near, far = client(), server()
    far.receive(near.begin())
    near.receive(far.take_output())
    far.receive(near.take_output())
    genuine = near.send(b"genuine")

    refused(lambda: far.receive(genuine[:-1] + bytes((genuine[-1] ^ 1,))))

    assert "failed before" in refused(lambda: far.receive(genuine))


def test_no_nonce_is_used_twice_also_when_the_counter_is_at_its_end() -> None:
    near, far = client(), server()
    far.receive(near.begin())
    near.receive(far.take_output())
    assert near._sealer is not None
    near._sealer._count = 2**96 - 1
    near.send(b"the last one")

    with pytest.raises(OverflowError):  # After 2^96 records. It never goes round to zero.
        near.send(b"one too many")
