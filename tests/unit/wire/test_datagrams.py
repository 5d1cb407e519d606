"""Sealed datagrams: accepted once, by whom they are for, from a holder of the key."""

from __future__ import annotations

import os
import pickle
import random
import sys
import tracemalloc
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.sealed import datagrams
from p2pcrawl.wire.sealed.datagrams import (
    ANYONE,
    DATAGRAM_MAX,
    DATAGRAM_OVERHEAD,
    DATAGRAM_VERSION,
    REASONS,
    WINDOW,
    DatagramSeal,
    Opened,
    ReplayWindow,
)
from p2pcrawl.wire.sealed.keys import KeyRing, key_id
from tests.unit.conftest import Count

OLD, NEW = os.urandom(32), os.urandom(32)
ALICE, BOB = NodeId("a1" * 20), NodeId("b0" * 20)
ALICE_BOOT, BOB_BOOT = b"alice..1", b"bob....1"


def alice(ring: KeyRing | None = None, boot: bytes = ALICE_BOOT, cluster: str = "crawl") -> DatagramSeal:
    return DatagramSeal(ring or KeyRing([OLD]), ALICE, boot, cluster)


def bob(ring: KeyRing | None = None, boot: bytes = BOB_BOOT, cluster: str = "crawl", **limits: int) -> DatagramSeal:
    return DatagramSeal(ring or KeyRing([OLD]), BOB, boot, cluster, **limits)


def dropped(seal: DatagramSeal) -> dict[str, int]:
    return {reason: count for reason, count in seal.counters.items() if count and reason != "opened"}


def state_of(seal: DatagramSeal) -> object:
    """Returns all that a datagram could change, apart from the counters."""
    return {name: parts_of(value) for name, value in vars(seal).items() if name != "counters"}


def parts_of(value: object) -> object:
    """Takes a value apart, down to what cannot change."""
    match value:
        case int() | str() | bytes() | None:
            return value
        case Mapping():
            return [(key, parts_of(each)) for key, each in value.items()]
        case Iterable():
            return [parts_of(each) for each in value]
    names = [*getattr(value, "__dict__", ()), *getattr(value, "__slots__", ())]
    return id(value), [parts_of(getattr(value, name)) for name in names]


@given(channel=st.integers(0, 255), payload=st.binary(max_size=DATAGRAM_MAX - DATAGRAM_OVERHEAD))
@settings(max_examples=100, deadline=None)
def test_what_is_sealed_opens_as_it_was(channel: int, payload: bytes) -> None:
    sealed = alice().seal(channel, payload, BOB_BOOT)

    assert len(sealed) == len(payload) + DATAGRAM_OVERHEAD
    assert bob().open(sealed) == Opened(channel, ALICE, ALICE_BOOT, payload, True)


def test_payload_is_not_readable_on_the_way() -> None:
    assert b"secret" not in alice().seal(1, b"secret of the cluster")


def test_first_contact_opens_for_anyone_and_says_so() -> None:
    opened = bob().open(alice().seal(1, b"hello?"))

    assert opened is not None
    assert not opened.addressed


def test_datagram_for_another_process_is_dropped() -> None:
    sealed = alice().seal(1, b"for bob", BOB_BOOT)
    restarted = bob(boot=b"bob....2")

    assert restarted.open(sealed) is None
    assert dropped(restarted) == {"misaddressed": 1}


def test_address_on_a_datagram_cannot_be_changed() -> None:
    sealed = bytearray(alice().seal(1, b"for bob", BOB_BOOT))
    for address in (ANYONE, b"carol..1"):
        carol = bob(boot=b"carol..1")
        sealed[34:42] = address

        assert carol.open(bytes(sealed)) is None
        assert dropped(carol) == {"forged": 1}


def test_datagram_opens_once() -> None:
    receiver, sealed = bob(), alice().seal(1, b"once")

    assert receiver.open(sealed) is not None
    assert receiver.open(sealed) is None
    assert dropped(receiver) == {"replayed": 1}


def test_datagrams_open_in_any_order_within_the_window() -> None:
    sender, receiver = alice(), bob()
    sealed = [sender.seal(1, b"%d" % number) for number in range(WINDOW)]
    random.Random(1).shuffle(sealed)

    assert all(receiver.open(one) for one in sealed)
    assert not any(receiver.open(one) for one in sealed)


def test_datagram_older_than_the_window_is_stale() -> None:
    sender, receiver = alice(), bob()
    late = sender.seal(1, b"late")
    for _ in range(WINDOW):
        receiver.open(sender.seal(1, b""))

    assert receiver.open(late) is None
    assert dropped(receiver) == {"stale": 1}


@given(st.lists(st.integers(1, 3 * WINDOW), max_size=60))
@settings(max_examples=200, deadline=None)
def test_window_accepts_exactly_what_a_set_would(counters: list[int]) -> None:
    window, seen = ReplayWindow(), set[int]()

    for counter in counters:
        top = max(seen, default=0)
        expected = "stale" if counter <= top - WINDOW else "replayed" if counter in seen else None
        assert window.refuse(counter) == expected
        if expected is None:
            window.accept(counter)
            seen.add(counter)

    assert len(pickle.dumps(window)) <= WINDOW // 8 + 200


def test_our_own_datagram_sent_back_is_dropped() -> None:
    sender = alice()

    assert sender.open(sender.seal(1, b"echo")) is None
    assert dropped(sender) == {"own": 1}


def test_restart_never_seals_with_a_key_and_nonce_again() -> None:
    payload = bytes(64)
    starts = [alice(boot=os.urandom(8)) for _ in range(50)]

    # Without the tags, which the heads alone make different: equal ones would show an equal key and nonce.
    ciphertexts = {start.seal(1, payload)[50:-16] for start in starts for _ in range(20)}

    assert len(ciphertexts) == 50 * 20


def test_two_nodes_that_draw_the_same_boot_id_seal_differently() -> None:
    ours = alice(boot=b"same....").seal(1, bytes(64))
    theirs = bob(boot=b"same....").seal(1, bytes(64))

    assert ours[50:-16] != theirs[50:-16]


def test_restarted_sender_is_heard_at_once() -> None:
    receiver, before = bob(), alice()
    for _ in range(100):
        receiver.open(before.seal(1, b""))

    assert receiver.open(alice(boot=b"alice..2").seal(1, b"again")) is not None


def test_another_cluster_with_the_same_key_is_not_heard() -> None:
    receiver = bob(cluster="other")

    assert receiver.open(alice().seal(1, b"hello")) is None
    assert dropped(receiver) == {"forged": 1}


def test_another_key_is_not_heard() -> None:
    receiver = bob(KeyRing([NEW]))

    assert receiver.open(alice().seal(1, b"hello")) is None
    assert dropped(receiver) == {"unknown-key": 1}


def test_both_sides_keep_talking_while_the_key_changes() -> None:
    rings = [KeyRing([OLD]), KeyRing([OLD])]
    ends = [alice(rings[0]), bob(rings[1])]

    def talk() -> None:
        assert ends[1].open(ends[0].seal(1, b"ping", BOB_BOOT)) is not None
        assert ends[0].open(ends[1].seal(1, b"pong", ALICE_BOOT)) is not None

    talk()
    for change in ("add", "use"):
        for ring in rings:
            getattr(ring, change)(NEW)
            talk()
    for ring in rings:
        ring.remove(OLD)
        talk()


def test_removed_key_opens_nothing_from_then_on() -> None:
    ring, sender = KeyRing([NEW, OLD]), alice()
    receiver = bob(ring)
    assert receiver.open(sender.seal(1, b"before"))

    ring.remove(OLD)

    assert receiver.open(sender.seal(1, b"after")) is None
    assert dropped(receiver) == {"unknown-key": 1}


def test_key_that_is_removed_and_added_again_brings_no_replays_back() -> None:
    ring = KeyRing([NEW, OLD])
    receiver, sealed = bob(ring), alice().seal(1, b"once")
    receiver.open(sealed)

    ring.remove(OLD)
    ring.add(OLD)

    assert receiver.open(sealed) is None


def test_too_long_a_payload_is_not_sealed() -> None:
    with pytest.raises(ValueError, match="cannot seal"):
        alice().seal(1, bytes(DATAGRAM_MAX - DATAGRAM_OVERHEAD + 1))


@pytest.mark.parametrize(("channel", "to"), [(-1, ANYONE), (256, ANYONE), (1, b""), (1, b"123456789")])
def test_channel_and_address_of_the_wrong_size_are_not_sealed(channel: int, to: bytes) -> None:
    with pytest.raises(ValueError, match="cannot seal"):
        alice().seal(channel, b"", to)


@pytest.mark.parametrize("boot", [b"", b"short", ANYONE, bytes(9)])
def test_seal_without_a_boot_id_is_refused(boot: bytes) -> None:
    with pytest.raises(ValueError, match="boot id"):
        alice(boot=boot)


@pytest.mark.parametrize("position", range(DATAGRAM_OVERHEAD + 8))
def test_no_byte_of_a_datagram_can_be_changed(position: int) -> None:
    receiver = bob()
    sealed = bytearray(alice().seal(1, b"8 bytes.", BOB_BOOT))
    before = state_of(receiver)
    sealed[position] ^= 1 << position % 8

    assert receiver.open(bytes(sealed)) is None
    assert sum(dropped(receiver).values()) == 1
    assert state_of(receiver) == before


@pytest.mark.parametrize("size", [0, 1, 49, DATAGRAM_OVERHEAD - 1, DATAGRAM_OVERHEAD, DATAGRAM_OVERHEAD + 7])
def test_truncated_datagram_is_dropped(size: int) -> None:
    receiver = bob()

    assert receiver.open(alice().seal(1, b"8 bytes.")[:size]) is None


def test_oversized_datagram_is_dropped_before_any_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = bob()
    monkeypatch.setattr(datagrams, "derive", None)

    assert receiver.open(alice_header() + bytes(65_000)) is None
    assert dropped(receiver) == {"long": 1}


def alice_header(boot: bytes = ALICE_BOOT, counter: int = 1) -> bytes:
    """A head that any observer can write."""
    return (
        bytes((DATAGRAM_VERSION, 1)) + key_id(OLD) + bytes.fromhex(ALICE) + boot + ANYONE + counter.to_bytes(8, "big")
    )


def test_forged_counter_does_not_move_the_window() -> None:
    sender, receiver = alice(), bob()
    receiver.open(sender.seal(1, b"first"))

    assert receiver.open(alice_header(counter=2**64 - 1) + bytes(100)) is None

    assert receiver.open(sender.seal(1, b"second")) is not None


def test_forged_senders_are_not_remembered() -> None:
    receiver = bob()

    for _ in range(1000):
        receiver.open(alice_header(boot=os.urandom(8)) + os.urandom(50))

    assert receiver.senders == 0
    assert dropped(receiver) == {"forged": 1000}


def test_senders_are_bounded_and_the_longest_silent_one_is_forgotten() -> None:
    receiver = bob(senders_max=8)
    living, silent = alice(boot=b"living.."), alice(boot=b"silent..")
    early, forgotten = living.seal(1, b"", BOB_BOOT), silent.seal(1, b"", BOB_BOOT)
    receiver.open(early)
    receiver.open(forgotten)

    for number in range(1, 20):
        assert receiver.open(living.seal(1, b"still here", BOB_BOOT)) is not None
        assert receiver.open(alice(boot=number.to_bytes(8, "big")).seal(1, b"", receiver.here)) is not None

    assert receiver.senders == 8
    assert receiver.open(early) is None
    assert receiver.open(forgotten) is None
    assert dropped(receiver) == {"replayed": 1, "misaddressed": 1}


def test_replayed_first_contacts_do_not_push_out_a_living_peer() -> None:
    receiver, living = bob(senders_max=8), alice()
    sealed = living.seal(1, b"for bob", BOB_BOOT)
    receiver.open(sealed)

    for number in range(1, 100):
        receiver.open(alice(boot=number.to_bytes(8, "big")).seal(1, b"long ago"))

    assert receiver.senders <= 8 + 2
    assert receiver.open(sealed) is None


def test_first_contact_then_addressed_share_one_window() -> None:
    sender, receiver = alice(), bob()
    first = sender.seal(1, b"", ANYONE)

    assert receiver.open(first) is not None
    assert receiver.open(sender.seal(1, b"", BOB_BOOT)) is not None
    assert receiver.open(first) is None
    assert receiver.senders == 1


def test_memory_does_not_grow_under_hostile_bytes() -> None:
    receiver, dice = bob(), random.Random(3)
    genuine = alice().seal(1, bytes(300), BOB_BOOT)
    for _ in range(200):
        receiver.open(hostile(dice, genuine))

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(5000):
        receiver.open(hostile(dice, genuine))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert grown < 10_000


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes_open_nothing_and_change_nothing(data: bytes) -> None:
    receiver = bob()
    before = state_of(receiver)

    assert receiver.open(data) is None
    assert state_of(receiver) == before


def hostile(dice: random.Random, genuine: bytes) -> bytes:
    """Random bytes, or a genuine datagram that was damaged in one of several ways."""
    match dice.randrange(8):
        case 0:
            return dice.randbytes(dice.randrange(120))
        case 1:
            return genuine[: dice.randrange(len(genuine))]
        case 2:
            return genuine + dice.randbytes(dice.randrange(1, 40))
        case 3:
            return genuine[: dice.randrange(60)] + dice.randbytes(dice.randrange(300))
        case 4:
            return genuine[:42] + dice.randbytes(8) + genuine[50:]
        case 5:
            return genuine[:6] + dice.randbytes(28) + genuine[34:]
        case 6:
            return dice.randbytes(dice.choice([1500, 1472, 9000]))
        case _:
            damaged = bytearray(genuine)
            damaged[dice.randrange(len(damaged))] ^= dice.randrange(1, 256)
            return bytes(damaged)


def check_hostile_rounds(rounds: int, seed: int, count: Count = range) -> None:
    """Hostile datagrams among genuine ones: the former change nothing, the latter all arrive."""
    dice = random.Random(seed)
    sender, receiver = alice(), bob()
    genuine, opened = sender.seal(1, bytes(40), BOB_BOOT), 0
    for number in count(rounds):
        if number % 1000 == 0:
            before = state_of(receiver)
            assert receiver.open(sender.seal(1, b"still here", BOB_BOOT)) is not None, f"seed {seed}, round {number}"
            opened += 1
            assert number == 0 or state_of(receiver) != before
            genuine = sender.seal(1, bytes(40), BOB_BOOT)  # never delivered whole
            before = state_of(receiver)
        assert receiver.open(hostile(dice, genuine)) is None, f"seed {seed}, round {number}"
        if number % 1000 == 999:
            assert state_of(receiver) == before, f"seed {seed}, before round {number}"

    assert receiver.counters["opened"] == opened
    assert sum(receiver.counters.values()) == rounds + opened
    assert set(receiver.counters) == set(REASONS)


def test_hostile_datagrams_change_nothing_and_genuine_ones_still_arrive() -> None:
    check_hostile_rounds(50_000, seed=1)


@pytest.mark.soak
def test_ten_million_hostile_datagrams_change_nothing(aloud: Count) -> None:
    check_hostile_rounds(10_000_000, random.randrange(sys.maxsize), aloud)
