"""Sealed streams: two ends joined by a wire that may be hostile."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.errors import CopiedIdentity, LinkError
from p2pcrawl.wire.sealed import handshake
from p2pcrawl.wire.sealed.handshake import ANSWER_BYTES, HELLO_BYTES, LINK_VERSION, MAGIC, REFUSAL_BYTES, OwnNode
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing
from p2pcrawl.wire.sealed.streams import RECORD_MAX, StreamSeal
from tests.unit.conftest import Count
from tests.unit.hostile_bytes import held_bytes

OLD, NEW = os.urandom(32), os.urandom(32)
ALICE, BOB, MALLORY = Identity.generate(), Identity.generate(), Identity.generate()
ALICE_BOOT, BOB_BOOT = b"alice..1", b"bob....1"


def client(keys: KeyRing | None = None, cluster: str = "crawl", identity: Identity = ALICE) -> StreamSeal:
    return StreamSeal.client(keys or KeyRing([OLD]), identity, ALICE_BOOT, cluster)


def server(keys: KeyRing | None = None, cluster: str = "crawl", identity: Identity = BOB) -> StreamSeal:
    return StreamSeal.server(keys or KeyRing([OLD]), identity, BOB_BOOT, cluster)


def shake(near: StreamSeal, far: StreamSeal) -> None:
    """Carries the handshake between a client and a server."""
    far.receive(near.begin())
    near.receive(far.take_output())
    far.receive(near.take_output())


def pair() -> tuple[StreamSeal, StreamSeal]:
    near, far = client(), server()
    shake(near, far)
    return near, far


def failure_of(act: Callable[[], object]) -> str:
    with pytest.raises(LinkError) as caught:
        act()
    return str(caught.value)


def test_handshake_tells_both_ends_who_the_other_is() -> None:
    near, far = pair()

    assert near.established
    assert far.established
    assert near.peer == (BOB.node_id, BOB_BOOT, BOB.public_key)
    assert far.peer == (ALICE.node_id, ALICE_BOOT, ALICE.public_key)


def test_client_may_send_as_soon_as_it_has_the_answer() -> None:
    near, far = client(), server()
    far.receive(near.begin())
    near.receive(far.take_output())

    assert far.receive(near.take_output() + near.send(b"at once")) == [b"at once"]


@given(
    messages=st.lists(st.binary(max_size=300), max_size=10),
    cuts=st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
@settings(max_examples=60, deadline=None)
def test_what_is_sent_arrives_however_the_bytes_are_cut(messages: list[bytes], cuts: list[int]) -> None:
    near, far = client(), server()
    arrived: list[bytes] = []

    def carry(data: bytes, to: StreamSeal) -> None:
        start = turn = 0
        while start < len(data):
            arrived.extend(to.receive(data[start : start + cuts[turn % len(cuts)]]))
            start += cuts[turn % len(cuts)]
            turn += 1

    carry(near.begin(), far)
    carry(far.take_output(), near)
    carry(near.take_output() + b"".join(near.send(message) for message in messages) + near.finish(), far)

    assert b"".join(arrived) == b"".join(messages)
    assert far.ended
    far.eof()


@pytest.mark.parametrize("size", [0, 1, RECORD_MAX - 1, RECORD_MAX, RECORD_MAX + 1, 3 * RECORD_MAX + 7])
def test_long_data_travels_in_records_of_limited_size(size: int) -> None:
    near, far = pair()
    data = os.urandom(size)

    received = far.receive(near.send(data))

    assert b"".join(received) == data
    assert all(len(piece) <= RECORD_MAX for piece in received)


def test_both_directions_work_at_the_same_time() -> None:
    near, far = pair()

    there, back = near.send(b"there"), far.send(b"back")

    assert far.receive(there) == [b"there"]
    assert near.receive(back) == [b"back"]


def test_neither_data_nor_node_ids_are_readable_on_the_way() -> None:
    near, far = client(), server()
    wire = near.begin()
    far.receive(wire)
    wire += (output := far.take_output())
    near.receive(output)
    wire += near.take_output() + near.send(b"a secret page")

    for secret in (b"a secret page", ALICE.public_key, BOB.public_key, ALICE_BOOT, BOB_BOOT):
        assert secret not in wire
    assert ALICE.node_id not in wire.hex()


# What people are told


def test_another_version_is_told_apart_on_both_ends() -> None:
    near, far = client(), server()
    newer = bytearray(near.begin())
    newer[len(MAGIC)] = LINK_VERSION + 1

    assert f"another protocol version {LINK_VERSION + 1}, this one {LINK_VERSION}" in failure_of(
        lambda: far.receive(bytes(newer))
    )
    assert f"refuses protocol version {LINK_VERSION}" in failure_of(lambda: near.receive(far.take_output()))


def test_answer_of_another_version_is_told_apart() -> None:
    near = client()
    near.begin()

    assert "another protocol version 9" in failure_of(lambda: near.receive(MAGIC + b"\x09"))


def test_another_cluster_key_is_told_apart_on_both_ends() -> None:
    near, far = client(KeyRing([NEW])), server()

    assert "another cluster key" in failure_of(lambda: far.receive(near.begin()))
    assert "another cluster key" in failure_of(lambda: near.receive(far.take_output()))


def test_another_cluster_is_told_apart_on_both_ends() -> None:
    near, far = client(cluster="blue"), server(cluster="green")

    assert "another cluster than ours, 'green'" in failure_of(lambda: far.receive(near.begin()))
    assert "another cluster than ours, 'blue'" in failure_of(lambda: near.receive(far.take_output()))


def test_something_else_on_the_port_is_told_apart() -> None:
    near = client()
    near.begin()

    assert "does not speak p2pcrawl" in failure_of(lambda: near.receive(b"HTTP/1.1 400 Bad Request"))


def test_stranger_gets_not_one_byte() -> None:
    far = server()

    assert "does not speak p2pcrawl" in failure_of(lambda: far.receive(b"GET / HTTP/1.1\r\n"))
    assert far.take_output() == b""
    assert far.begin() == b""


def test_refusal_is_shorter_than_what_it_answers() -> None:
    near, far = client(KeyRing([NEW])), server()
    failure_of(lambda: far.receive(near.begin()))

    assert len(far.take_output()) == REFUSAL_BYTES < HELLO_BYTES


def test_unknown_reason_of_a_refusal_is_survived() -> None:
    near = client()
    near.begin()

    assert "reason 200" in failure_of(lambda: near.receive(MAGIC + bytes((LINK_VERSION, 3, 200))))


@pytest.mark.parametrize(("already", "text"), [(0, "closed without an answer"), (5, "went away during the handshake")])
def test_end_during_the_handshake_is_told_apart(already: int, text: str) -> None:
    near, far = client(), server()
    far.receive(near.begin())
    near.receive(far.take_output()[:already])

    assert text in failure_of(near.eof)


# Who is at the other end


def test_other_node_than_expected_is_refused() -> None:
    near = StreamSeal.client(KeyRing([OLD]), ALICE, ALICE_BOOT, "crawl", expect=BOB.node_id)
    far = server(identity=MALLORY)
    far.receive(near.begin())

    assert f"not {BOB.node_id}" in failure_of(lambda: near.receive(far.take_output()))
    assert near.peer is None
    assert near.take_output() == b""


def test_expected_node_is_accepted() -> None:
    near = StreamSeal.client(KeyRing([OLD]), ALICE, ALICE_BOOT, "crawl", expect=BOB.node_id)

    shake(near, far := server())

    assert near.established
    assert far.established


class Impostor(Identity):
    """Holds the cluster key and claims another's public key."""

    def __init__(self, claimed: Identity) -> None:
        super().__init__(MALLORY.seed)
        self.public_key = claimed.public_key  # type: ignore[misc]
        self.node_id = claimed.node_id  # type: ignore[misc]


def test_holder_of_the_cluster_key_cannot_take_a_servers_node_id() -> None:
    near, far = client(), server(identity=Impostor(BOB))
    far.receive(near.begin())

    assert "cannot sign for it" in failure_of(lambda: near.receive(far.take_output()))


def test_holder_of_the_cluster_key_cannot_take_a_clients_node_id() -> None:
    near, far = client(identity=Impostor(ALICE)), server()

    assert "cannot sign for it" in failure_of(lambda: shake(near, far))


def test_proof_of_one_connection_is_worth_nothing_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    # Mallory, who has the cluster key, answers Alice and repeats the proof that Bob gave to her.
    proofs: list[bytes] = []
    genuine = handshake.proof

    def recorded(*args: object) -> bytes:
        proofs.append(genuine(*args))  # type: ignore[arg-type]
        return proofs[-1]

    monkeypatch.setattr(handshake, "proof", recorded)
    server().receive(client(identity=MALLORY).begin())
    monkeypatch.setattr(handshake, "proof", lambda *args: proofs[0])
    near, far = client(), server(identity=MALLORY)
    far.receive(near.begin())

    assert "cannot sign for it" in failure_of(lambda: near.receive(far.take_output()))


def test_proof_of_one_role_is_worth_nothing_in_the_other() -> None:
    transcript = os.urandom(32)
    proof = handshake.proof(ALICE, "client", transcript, ALICE_BOOT)

    assert handshake.check_proof(proof, "client", transcript).node_id == ALICE.node_id
    assert "cannot sign" in failure_of(lambda: handshake.check_proof(proof, "server", transcript))


def test_peer_that_reaches_itself_is_told_so() -> None:
    near = client()
    far = StreamSeal.server(KeyRing([OLD]), ALICE, ALICE_BOOT, "crawl")
    far.receive(near.begin())

    with pytest.raises(OwnNode, match="reached itself"):
        near.receive(far.take_output())


def test_copied_identity_is_told_so() -> None:
    near, far = client(), server(identity=ALICE)
    far.receive(near.begin())

    with pytest.raises(CopiedIdentity, match="another process uses our identity"):
        near.receive(far.take_output())


def test_repeated_hello_of_a_recorded_connection_leads_nowhere() -> None:
    near, far = client(), server()
    recorded = near.begin()
    far.receive(recorded)
    near.receive(far.take_output())
    rest = near.take_output() + near.send(b"delete everything")
    again = server()
    again.receive(recorded)

    assert "changed on the way" in failure_of(lambda: again.receive(rest))
    assert again.peer is None


@pytest.mark.parametrize("position", range(handshake.PREFIX, HELLO_BYTES))
def test_changed_hello_gets_no_answer(position: int) -> None:
    hello, far = bytearray(client().begin()), server()
    hello[position] ^= 1

    failure_of(lambda: far.receive(bytes(hello)))

    assert len(far.take_output()) in (0, REFUSAL_BYTES)
    assert far.peer is None


def test_keys_of_a_link_need_the_cluster_key_and_the_secret_of_the_connection() -> None:
    ours, theirs, other = handshake.HalfKey(), handshake.HalfKey(), handshake.HalfKey()

    def ciphertext(half: handshake.HalfKey, key: bytes = OLD, cluster: bytes = b"crawl", hello: bytes = b"1") -> bytes:
        made = half.secrets(key, cluster, hello, b"2", theirs.public)
        return made.client_to_server.encrypt(bytes(12), bytes(32), None)

    same = ours.secrets(OLD, b"crawl", b"1", b"2", theirs.public).client_to_server
    assert ciphertext(ours) == same.encrypt(bytes(12), bytes(32), None)
    without = [
        ciphertext(other),  # somebody who recorded both messages and got the cluster key later
        ciphertext(ours, key=NEW),
        ciphertext(ours, cluster=b"other"),
        ciphertext(ours, hello=b"another"),
    ]
    assert ciphertext(ours) not in without


def test_hello_reflected_to_its_sender_is_refused() -> None:
    near = client()

    assert "out of turn" in failure_of(lambda: near.receive(near.begin()))


def test_half_key_that_gives_no_secret_is_refused() -> None:
    near = client()
    near.begin()

    assert "key that is none" in failure_of(lambda: near.receive(MAGIC + bytes((LINK_VERSION, 2)) + bytes(32)))


def test_nothing_can_be_sent_before_the_other_end_is_proven() -> None:
    near, far = client(), server()
    far.receive(near.begin())

    for end in (near, far):
        assert "not open" in failure_of(lambda end=end: end.send(b"too early"))  # type: ignore[misc]


# Records


@pytest.mark.parametrize("position", range(3 + 5 + 16))
def test_no_byte_of_a_record_can_be_changed(position: int) -> None:
    near, far = pair()
    record = bytearray(near.send(b"hello"))
    record[position] ^= 0x40

    # A greater length makes the stream wait for bytes; the next record shows that something is wrong.
    failure_of(lambda: [far.receive(bytes(record)), far.receive(near.send(bytes(RECORD_MAX)) + near.send(b"x"))])


@pytest.mark.parametrize("order", [(1, 0), (0, 0), (0, 2), (2,)], ids=["swapped", "repeated", "dropped", "skipped"])
def test_records_cannot_be_reordered_repeated_or_dropped(order: tuple[int, ...]) -> None:
    near, far = pair()
    records = [near.send(b"%d" % number) for number in range(3)]

    assert "changed on the way" in failure_of(lambda: far.receive(b"".join(records[number] for number in order)))


def test_record_cannot_be_reflected_to_its_sender() -> None:
    near, _ = pair()

    assert "changed on the way" in failure_of(lambda: near.receive(near.send(b"echo")))


def test_record_of_another_connection_does_not_open() -> None:
    near, _ = pair()
    _, far = pair()

    assert "changed on the way" in failure_of(lambda: far.receive(near.send(b"moved")))


def test_stream_that_ends_without_its_last_record_was_cut() -> None:
    near, far = pair()
    far.receive(near.send(b"half"))

    assert "was cut" in failure_of(far.eof)


def test_stream_that_ends_within_a_record_was_cut() -> None:
    near, far = pair()
    far.receive(near.send(b"half")[:10])

    assert "was cut" in failure_of(far.eof)


def test_finished_stream_ends_without_complaint_and_the_other_direction_goes_on() -> None:
    near, far = pair()

    assert far.receive(near.send(b"bye") + near.finish()) == [b"bye"]
    assert far.ended
    far.eof()

    assert near.receive(far.send(b"one more")) == [b"one more"]
    assert near.finish() == b""
    assert "not open" in failure_of(lambda: near.send(b"after the end"))


def test_nothing_is_taken_after_the_last_record() -> None:
    near, far = pair()

    assert "after its last record" in failure_of(lambda: far.receive(near.finish() + b"x"))
    near, far = pair()
    far.receive(near.finish())
    assert "after its last record" in failure_of(lambda: far.receive(b"x"))


@pytest.mark.parametrize(
    "head", [b"\x00\x00\x20", b"\x01\x00\x78", b"\x02\x00\x10", b"\x02\x00\x00", b"\x03\x00\x11", b"\xff\xff\xff"]
)
def test_record_is_refused_by_its_head_alone(head: bytes) -> None:
    _, far = pair()

    assert "out of turn" in failure_of(lambda: far.receive(head))


def test_unproven_end_cannot_make_the_server_wait_for_a_large_record() -> None:
    near, far = client(), server()
    far.receive(near.begin())

    assert "out of turn" in failure_of(lambda: far.receive(b"\x01\xff\xff"))


def test_stream_that_failed_opens_nothing_any_more() -> None:
    near, far = pair()
    good = near.send(b"good")
    failure_of(lambda: far.receive(b"\x00\x00\x00"))

    assert "failed before" in failure_of(lambda: far.receive(good))
    assert "not open" in failure_of(lambda: far.send(b"x"))


# Keys that change


def test_both_sides_keep_linking_while_the_key_changes() -> None:
    rings = [KeyRing([OLD]), KeyRing([OLD])]

    def link() -> None:
        for near, far in (rings, rings[::-1]):
            shake(one := client(near), other := server(far))
            assert other.receive(one.send(b"ping")) == [b"ping"]

    link()
    for change in ("add", "use"):
        for ring in rings:
            getattr(ring, change)(NEW)
            link()
    for ring in rings:
        ring.remove(OLD)
        link()


def test_open_link_survives_a_change_of_keys_and_names_the_key_it_began_with() -> None:
    ring = KeyRing([OLD])
    near, far = client(ring), server(ring)
    shake(near, far)

    ring.add(NEW)
    ring.use(NEW)
    ring.remove(OLD)

    assert far.receive(near.send(b"still here")) == [b"still here"]
    assert near.key_id == far.key_id
    assert near.key_id not in ring


def test_key_removed_between_hello_and_answer_does_not_hurt() -> None:
    ring = KeyRing([OLD])
    near, far = client(ring), server()
    hello = near.begin()
    ring.add(NEW)
    ring.use(NEW)
    ring.remove(OLD)

    far.receive(hello)
    near.receive(far.take_output())

    assert near.established


# Hostile bytes


@given(st.binary(max_size=300), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes_raise_link_errors_only(data: bytes, as_client: bool, right_start: bool) -> None:
    end = client() if as_client else server()
    end.begin()

    with contextlib.suppress(LinkError):
        assert end.receive((MAGIC + bytes((LINK_VERSION,)) if right_start else b"") + data) == []

    assert not end.established
    assert len(end.take_output()) <= REFUSAL_BYTES or as_client


def conversation() -> tuple[list[bytes], list[bytes]]:
    """Returns what travels in each direction of a genuine connection, piece by piece."""
    near, far = client(), server()
    there, back = [near.begin()], []
    far.receive(there[0])
    back.append(far.take_output())
    near.receive(back[0])
    there += [near.take_output(), near.send(b"hello"), near.send(bytes(100)), near.finish()]
    far.receive(there[1])
    back += [far.send(b"hello yourself"), far.finish()]
    return there, back


def damage(dice: random.Random, genuine: bytes) -> bytes:
    match dice.randrange(6):
        case 0:
            return dice.randbytes(dice.randrange(1, 200))
        case 1:
            return genuine[: dice.randrange(len(genuine))] + dice.randbytes(dice.randrange(1, 150))
        case 2:
            return MAGIC + bytes((LINK_VERSION,)) + bytes((dice.randrange(1, 4),)) + dice.randbytes(dice.randrange(200))
        case 3:
            cut = dice.randrange(len(genuine))
            return genuine[:cut] + genuine[cut + 1 :] + b"\x02\x00\x20" * 20
        case 4:
            return bytes((dice.randrange(5),)) + dice.randbytes(2) + dice.randbytes(dice.randrange(200))
        case _:
            damaged = bytearray(genuine)
            damaged[dice.randrange(len(damaged))] ^= dice.randrange(1, 256)
            return bytes(damaged)


def check_hostile_rounds(rounds: int, seed: int, count: Count = range) -> None:
    """Checks that nothing but LinkError comes out, nothing is delivered, nobody believed; in the handshake and after
    it.
    """
    dice = random.Random(seed)
    recorded, _ = conversation()
    hello, proof = recorded[0], recorded[1]
    for number in count(rounds):
        stage = dice.randrange(8)
        if number % 1000 == 0:
            near, far = pair()
            assert far.receive(near.send(b"still here")) == [b"still here"], f"seed {seed}, round {number}"
        if stage == 0:  # a server that has answered a genuine hello
            end, piece = server(), proof
            end.receive(hello)
        elif stage == 1:  # a stream that is open
            _, end = pair()
            piece = recorded[2]
        else:
            end, piece = server(), hello
        before = end.peer
        try:
            delivered = end.receive(damage(dice, piece))
        except LinkError:
            delivered = []
        assert delivered == [], f"seed {seed}, round {number}"
        assert end.peer is before, f"seed {seed}, round {number}"
        assert held_bytes(end) <= 3 + 16 + RECORD_MAX
        output = end.take_output()
        # Bytes of a recorded hello that are unchanged are answered; nothing else is, but for a refusal.
        assert stage == 0 or len(output) in (0, REFUSAL_BYTES) or len(output) == ANSWER_BYTES + 3 + 104 + 16


def test_hostile_streams_deliver_nothing_and_genuine_ones_go_on() -> None:
    check_hostile_rounds(8_000, seed=1)


@pytest.mark.soak
def test_ten_million_hostile_streams_deliver_nothing(aloud: Count) -> None:
    check_hostile_rounds(10_000_000, random.randrange(sys.maxsize), aloud)
