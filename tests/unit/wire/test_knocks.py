"""First contacts: peers that meet, restart, lose datagrams, and are played old ones."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import product

import pytest

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.sealed.datagrams import ANYONE, DatagramSeal
from p2pcrawl.wire.sealed.keys import KeyRing
from p2pcrawl.wire.sealed.knocks import HELD_MAX, HELD_S, KNOCK_BYTES, KNOCK_S, KNOCKING, Knocks, Sending, Source

KEY = os.urandom(32)
ALICE, BOB = NodeId("a1" * 20), NodeId("b0" * 20)
AT_ALICE, AT_BOB, ELSEWHERE = ("10.0.0.1", 7117), ("10.0.0.2", 7117), ("10.0.0.9", 9)


class Peer:
    """One process at an address."""

    def __init__(self, node_id: NodeId, at: Source) -> None:
        self.seal = DatagramSeal(KeyRing([KEY]), node_id, os.urandom(8))
        self.knocks = Knocks(self.seal, os.urandom(16))
        self.at = at
        self.heard: list[bytes] = []

    def say(self, payload: bytes, to: Source, now: float = 0.0) -> list[Sending]:
        return self.knocks.send(1, payload, to, now)

    def hear(self, data: bytes, source: Source, now: float = 0.0) -> list[Sending]:
        opened, sendings = self.knocks.receive(data, source, now)
        if opened is not None:
            self.heard.append(opened.payload)
        return sendings


class Net:
    """Carries datagrams until none is left, and keeps them all."""

    def __init__(self, *peers: Peer, lost: Callable[[bytes], bool] = lambda data: False) -> None:
        self.peers = {peer.at: peer for peer in peers}
        self.lost = lost
        self.carried: list[tuple[Source, Source, bytes]] = []

    def carry(self, source: Source, sendings: list[Sending], now: float = 0.0) -> None:
        todo = [(source, to, data) for data, to in sendings]
        while todo:
            source, to, data = todo.pop(0)
            self.carried.append((source, to, data))
            if to in self.peers and not self.lost(data):
                todo += [(to, target, answer) for answer, target in self.peers[to].hear(data, source, now)]


def knows(peer: Peer, address: Source) -> bool:
    """Tells whether a peer would say something to whoever is there without a knock before."""
    return any(data[34:42] != ANYONE for data, _ in peer.say(b"", address, now=1e6))


def pair() -> tuple[Peer, Peer, Net]:
    alice, bob = Peer(ALICE, AT_ALICE), Peer(BOB, AT_BOB)
    return alice, bob, Net(alice, bob)


def met() -> tuple[Peer, Peer, Net]:
    alice, bob, net = pair()
    net.carry(AT_ALICE, alice.say(b"hello", AT_BOB))
    net.carry(AT_BOB, bob.say(b"hello", AT_ALICE))
    assert (alice.heard, bob.heard) == ([b"hello"], [b"hello"])
    return alice, bob, net


def test_what_is_said_first_arrives_after_a_knock_and_both_know_each_other_then() -> None:
    alice, bob, net = pair()

    net.carry(AT_ALICE, alice.say(b"news", AT_BOB))
    assert bob.heard == [b"news"]
    assert len(net.carried) == 4

    net.carry(AT_BOB, bob.say(b"answer", AT_ALICE))
    assert alice.heard == [b"answer"]
    assert len(net.carried) == 5


def test_nothing_but_knocks_is_ever_sealed_for_anyone() -> None:
    _, _, net = met()

    for _, _, data in net.carried:
        if data[34:42] == ANYONE:
            assert data[1] == KNOCKING
            assert len(data) == KNOCK_BYTES


def test_no_answer_is_longer_than_what_it_answers() -> None:
    alice, bob, net = met()
    restarted = Peer(BOB, AT_BOB)

    for _, to, data in net.carried:
        for peer in (Peer(BOB, AT_BOB), Peer(ALICE, AT_ALICE), restarted, alice, bob):
            assert sum(len(answer) for answer, _ in peer.hear(data, ELSEWHERE)) <= len(data), (to, data[1])


def test_repeated_first_contact_changes_nothing_and_brings_nobody_in() -> None:
    """Recorded when a peer met another one; played to a process that knows neither."""
    _, _, net = met()
    newcomer = Peer(NodeId("cc" * 20), ("10.0.0.3", 7117))

    for source, _, data in net.carried:
        for answer, to in newcomer.hear(data, source):
            # Whoever it seems to come from is not there to answer; the one that repeats has no key.
            assert newcomer.hear(answer, to) == []

    assert newcomer.heard == []
    assert not any(knows(newcomer, source) for source, _, _ in net.carried)


def test_repetition_to_the_same_process_is_not_heard_again() -> None:
    _, bob, net = met()
    before = list(bob.heard)

    for source, _, data in net.carried * 2:
        bob.hear(data, source, now=5.0)

    assert bob.heard == before


def test_peer_that_restarted_is_reached_by_what_was_said_to_its_former_life() -> None:
    alice, _, net = met()
    net.peers[AT_BOB] = restarted = Peer(BOB, AT_BOB)

    net.carry(AT_ALICE, alice.say(b"are you there, or another one?", AT_BOB, 100.0), 100.0)

    assert restarted.heard == [b"are you there, or another one?"]
    net.carry(AT_BOB, restarted.say(b"another one", AT_ALICE, 100.0), 100.0)
    assert alice.heard[-1] == b"another one"


def test_datagram_of_the_other_end_from_an_invented_source_misleads_nobody() -> None:
    alice, bob, net = met()
    stolen = bob.say(b"for alice", AT_ALICE)

    alice.hear(stolen[0][0], ELSEWHERE)
    net.carry(AT_ALICE, alice.say(b"for bob", AT_BOB))

    assert bob.heard[-1] == b"for bob"
    assert alice.say(b"x", ELSEWHERE)[0][0][34:42] == ANYONE


def test_repeated_knock_of_a_former_life_cuts_nobody_off() -> None:
    former = Peer(ALICE, AT_ALICE).say(b"", AT_BOB)
    alice, bob, net = met()

    net.carry(AT_ALICE, former)
    net.carry(AT_BOB, bob.say(b"still you?", AT_ALICE))

    assert alice.heard[-1] == b"still you?"


def test_repeated_answer_and_proof_are_not_taken_from_another_address() -> None:
    alice, bob = Peer(ALICE, AT_ALICE), Peer(BOB, AT_BOB)
    ((knock, _),) = alice.say(b"", AT_BOB)
    ((answer, _),) = bob.hear(knock, AT_ALICE)
    (proof, _), *_ = alice.hear(answer, AT_BOB)

    assert bob.hear(proof, ELSEWHERE) == []
    assert not knows(bob, AT_ALICE) and not knows(bob, ELSEWHERE)
    assert bob.knocks.counters["malformed"] == 1


def test_answer_from_another_address_of_the_same_machine_is_understood() -> None:
    alice, bob = Peer(ALICE, AT_ALICE), Peer(BOB, AT_BOB)
    ((knock, _),) = alice.say(b"news", AT_BOB)
    ((answer, _),) = bob.hear(knock, AT_ALICE)

    sendings = alice.hear(answer, ("10.1.0.2", 7117))
    for data, _ in sendings:
        bob.hear(data, AT_ALICE)

    assert bob.heard == [b"news"]


def test_knock_repeated_to_another_member_misleads_only_until_the_right_process_is_there() -> None:
    # Nobody is at ELSEWHERE yet; somebody without the key repeats the knock at Bob's, in Alice's name.
    alice, bob, carol = Peer(ALICE, AT_ALICE), Peer(BOB, AT_BOB), Peer(NodeId("ca" * 20), ELSEWHERE)
    net = Net(alice, bob)
    ((knock, _),) = alice.say(b"", ELSEWHERE)
    ((answer, _),) = bob.hear(knock, AT_ALICE)
    net.carry(AT_BOB, [(answer, AT_ALICE)])

    assert (alice.heard, bob.heard, carol.heard) == ([], [], [])
    net = Net(alice, bob, carol)
    net.carry(AT_ALICE, alice.say(b"for carol, whoever is there", ELSEWHERE, 9.0), 9.0)

    assert carol.heard == [b"for carol, whoever is there"]
    net.carry(AT_ALICE, alice.say(b"for bob", AT_BOB, 9.0), 9.0)
    assert (alice.heard, bob.heard) == ([], [b"for bob"])


@pytest.mark.parametrize("pattern", list(product((True, False), repeat=4)))
def test_peers_meet_whatever_is_lost_in_the_beginning(pattern: tuple[bool, ...]) -> None:
    alice, bob, _ = pair()
    fate = iter(pattern)
    net = Net(alice, bob, lost=lambda data: next(fate, False))

    for number in range(6):
        now = number * 2 * KNOCK_S
        net.carry(AT_ALICE, alice.say(b"%d" % number, AT_BOB, now), now)
        net.carry(AT_BOB, bob.say(b"%d" % number, AT_ALICE, now), now)

    assert bob.heard[-1] == alice.heard[-1] == b"5"


def test_address_where_nobody_is_costs_little() -> None:
    alice = Peer(ALICE, AT_ALICE)

    sent = [alice.say(bytes(1000), AT_BOB, number * KNOCK_S / 10) for number in range(100)]

    assert sum(map(len, sent)) <= 11


def test_little_is_held_for_an_address_where_nobody_is() -> None:
    alice, bob, net = pair()
    for number in range(100):
        alice.say(b"%d" % number, AT_BOB, 0.0)

    net.carry(AT_ALICE, alice.say(b"last", AT_BOB, KNOCK_S), KNOCK_S)

    assert len(bob.heard) == HELD_MAX and bob.heard[-1] == b"last"


def test_what_waited_too_long_is_not_said_any_more() -> None:
    alice, bob, net = pair()
    alice.say(b"old", AT_BOB, 0.0)

    net.carry(AT_ALICE, alice.say(b"new", AT_BOB, HELD_S + 0.1), HELD_S + 0.1)

    assert bob.heard == [b"new"]


def test_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WAITING_MAX", "KNOWN_MAX", "RETORTS_MAX"):
        monkeypatch.setattr(f"p2pcrawl.wire.sealed.knocks.{name}", 10)
    alice, (_, _, net) = Peer(ALICE, AT_ALICE), met()
    ((for_another, _),) = net.peers[AT_ALICE].say(bytes(100), AT_BOB)

    for number in range(1000):
        alice.say(b"", ("10.9.9.9", number))
        alice.hear(for_another, ("10.9.9.9", number))
    for number in range(30):
        visitor = Peer(NodeId("dd" * 20), ("10.8.8.8", number))
        Net(alice, visitor).carry(visitor.at, visitor.say(b"", AT_ALICE))

    assert set(alice.knocks.addresses().values()) == {10}


def test_hostile_bytes_of_members_change_nothing() -> None:
    """Sealed rightly, on the channel of knocks, and wrong inside."""
    dice = random.Random(1)
    alice, bob, _ = met()
    insider = DatagramSeal(KeyRing([KEY]), NodeId("ee" * 20), os.urandom(8))

    for _ in range(2000):
        payload = dice.choice((b"?", b"!", b"=", b"")) + dice.randbytes(dice.randrange(40))
        bob.hear(insider.seal(KNOCKING, payload, dice.choice((ANYONE, bob.seal.here))), ELSEWHERE)

    assert knows(bob, AT_ALICE) and not knows(bob, ELSEWHERE)
    assert alice.heard == [b"hello"]
