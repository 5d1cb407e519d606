"""Boot ids behind addresses: two peers that meet, restart, and are played old datagrams."""

from __future__ import annotations

import os

from p2pcrawl.model.node import NodeId
from p2pcrawl.wire.boots import GUESS_S, HEARD_S, BootBook
from p2pcrawl.wire.datagrams import ANYONE, DatagramSeal, Opened
from p2pcrawl.wire.keys import KeyRing

KEY = os.urandom(32)
ALICE, BOB = NodeId("a1" * 20), NodeId("b0" * 20)


class Peer:
    """A process with its seal and its book; ``other`` is the address that it talks to."""

    def __init__(self, node_id: NodeId, other: str) -> None:
        self.boot = os.urandom(8)
        self.seal = DatagramSeal(KeyRing([KEY]), node_id, self.boot)
        self.book = BootBook()
        self.other = other

    def say(self, now: float = 0.0) -> bytes:
        return self.seal.seal(1, b"", self.book.boot_at(self.other, now))

    def hear(self, data: bytes, now: float = 0.0) -> Opened | None:
        opened = self.seal.open(data)
        if opened is not None:
            self.book.heard(self.other, opened, now)
        return opened


def met() -> tuple[Peer, Peer]:
    alice, bob = Peer(ALICE, "bob"), Peer(BOB, "alice")
    bob.hear(alice.say())
    alice.hear(bob.say())
    bob.hear(alice.say())
    return alice, bob


def test_answer_to_a_first_contact_is_addressed_and_so_is_all_that_follows() -> None:
    alice, bob = Peer(ALICE, "bob"), Peer(BOB, "alice")

    first = bob.hear(alice.say())
    answer = alice.hear(bob.say())
    second = bob.hear(alice.say())

    assert [opened and opened.addressed for opened in (first, answer, second)] == [False, True, True]


def test_restarted_peer_that_knocks_is_in_touch_at_once() -> None:
    _, bob = met()
    alice = Peer(ALICE, "bob")

    for _ in range(2):
        assert bob.hear(alice.say()) is not None
        assert alice.hear(bob.say()) is not None

    opened = bob.hear(alice.say())
    assert opened is not None
    assert opened.addressed


def test_peer_that_restarted_and_forgot_us_is_reached_after_a_silence() -> None:
    _, bob = met()
    alice = Peer(ALICE, "bob")

    assert alice.hear(bob.say(now=HEARD_S - 1)) is None
    assert alice.hear(bob.say(now=HEARD_S)) is not None


def test_repeated_first_contact_of_an_earlier_process_silences_nobody() -> None:
    earlier = [Peer(ALICE, "bob").say() for _ in range(3)]
    alice, bob = met()

    for old in earlier:
        bob.hear(old)

    assert alice.hear(bob.say()) is not None
    bob.hear(alice.say())
    assert bob.book.boot_at("alice", 0) == alice.boot


def test_repeated_first_contact_does_not_last_where_nothing_was_known() -> None:
    old = Peer(ALICE, "bob").say()
    alice, bob = Peer(ALICE, "bob"), Peer(BOB, "alice")
    bob.hear(old)

    assert alice.hear(bob.say(now=GUESS_S)) is not None
    bob.hear(alice.say())
    assert alice.hear(bob.say()) is not None


def test_first_contact_of_the_process_that_is_known_changes_nothing() -> None:
    alice, bob = met()

    bob.hear(alice.seal.seal(1, b"", ANYONE))

    assert bob.book.boot_at("alice", 0) == alice.boot


def test_book_is_bounded() -> None:
    book = BootBook(addresses_max=10)

    for number in range(1000):
        book.heard(number, Opened(1, ALICE, os.urandom(8), b"", False), 0.0)

    assert len(book) == 10
    assert book.boot_at(0, 0.0) == ANYONE
