"""Consent: nothing is granted that most have not agreed to, and never by two masters at once."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import permutations
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.majority.consent import Consent
from p2pcrawl.core.majority.electorate import Canvass, Electorate
from p2pcrawl.model.cluster.consent import NOBODY, ConsentAnswer, Version, Voters
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.timings import TIMINGS

GRANT_S, PROMISE_S = TIMINGS.grant_s, TIMINGS.promise_s
A, B, C = (NodeId(letter) for letter in "abc")
V1, V2 = 11, 22


def seat_of(node: NodeId) -> bytes:
    return node.encode() * 8


def voters_of(names: str) -> Voters:
    return {NodeId(name): seat_of(NodeId(name)) for name in names}


def one_of(node: NodeId, names: str = "abc", *, unused: bool = True) -> Consent:
    return Consent(node, Electorate(seat_of(node), Version(7, 1), voters_of(names), unused=unused), TIMINGS, 0.0)


def ask(asker: NodeId, consents: dict[NodeId, Consent], now: float, late_s: float = 0.0) -> None:
    question = consents[asker].ask(now)
    for node, consent in consents.items():
        if node != asker:
            consents[asker].heard(node, consent.answer(asker, question, now), now + late_s)


def three(view: int = V1) -> dict[NodeId, Consent]:
    consents = {node: one_of(node) for node in (A, B, C)}
    for consent in consents.values():
        consent.act(view, 0.0)
    return consents


def test_who_has_the_consent_of_most_may_grant_until_their_answers_are_too_old() -> None:
    consents = three()

    ask(A, {node: consents[node] for node in (A, B)}, 1.0)

    assert consents[A].stands(1.0 + GRANT_S - 0.01)
    assert not consents[A].stands(1.0 + GRANT_S)


def test_answer_counts_from_the_sending_of_its_question() -> None:
    consents = three()

    ask(A, consents, 1.0, late_s=GRANT_S - 0.5)

    assert consents[A].until == 1.0 + GRANT_S


def test_half_of_the_voters_are_not_most() -> None:
    consents = {node: one_of(node, "abcd") for node in (A, B)}
    for consent in consents.values():
        consent.act(V1, 0.0)

    ask(A, consents, 1.0)

    assert not consents[A].stands(1.0)
    assert consents[A].silent(1.0) == [C, NodeId("d")]


def test_two_of_two_stand_together_and_neither_alone() -> None:
    consents = {node: one_of(node, "ab") for node in (A, B)}
    for consent in consents.values():
        consent.act(V1, 0.0)

    ask(A, {A: consents[A]}, 1.0)
    assert not consents[A].stands(1.0)
    ask(A, consents, 2.0)
    assert consents[A].stands(2.0)


def test_voter_that_acts_in_another_view_does_not_agree() -> None:
    consents = three()
    for node in (B, C):
        consents[node].act(V2, 0.0)

    ask(A, consents, 1.0)

    assert not consents[A].stands(1.0)


def test_nobody_stands_in_a_new_view_while_somebody_may_grant_in_the_old_one() -> None:
    consents = three()
    ask(C, consents, 0.0)
    for node in (A, B):
        consents[node].act(V2, 0.5)

    ask(A, {node: consents[node] for node in (A, B)}, 1.0)
    assert not consents[A].confirmed(1.0)
    ask(A, {node: consents[node] for node in (A, B)}, PROMISE_S)

    assert consents[A].confirmed(PROMISE_S)
    assert not consents[C].stands(PROMISE_S)


def test_all_that_come_to_a_new_view_together_stand_in_it_at_once_and_without_a_gap() -> None:
    consents = three()
    for node in consents:
        ask(node, consents, 0.0)
    for consent in consents.values():
        consent.act(V2, 1.0)
        assert consent.stands(1.0)
    for _ in range(2):
        for node in consents:
            ask(node, consents, 1.1)

    assert all(consent.confirmed(1.1) and not consent.lapses for consent in consents.values())


def test_who_says_that_it_is_through_holds_nobody_any_more() -> None:
    consents = three()
    ask(C, consents, 0.0)
    consents[C].act(0, 0.5)
    ask(C, consents, 0.5)
    for node in (A, B):
        consents[node].act(V2, 0.6)

    ask(A, {node: consents[node] for node in (A, B)}, 0.7)

    assert consents[A].confirmed(0.7)
    assert not consents[C].stands(0.7)


def test_voter_that_has_restarted_agrees_to_nothing_for_as_long_as_it_may_have_promised_something() -> None:
    consents = three()
    consents[B] = one_of(B, unused=False)
    consents[B].act(V1, 0.0)

    ask(A, {node: consents[node] for node in (A, B)}, PROMISE_S - 0.1)
    assert not consents[A].stands(PROMISE_S - 0.1)
    ask(A, {node: consents[node] for node in (A, B)}, PROMISE_S)
    assert consents[A].stands(PROMISE_S)


def test_gap_between_two_agreements_is_told_even_if_nobody_looked_in_it() -> None:
    consents = three()
    ask(A, consents, 0.0)

    ask(A, consents, GRANT_S + 1.0)

    assert consents[A].stands(GRANT_S + 1.0)
    assert consents[A].lapses == 1


def test_answer_to_nothing_that_was_asked_counts_for_nothing() -> None:
    consents = three()

    consents[A].heard(B, ConsentAnswer(99, True, Version(7, 1), seat_of(B)), 1.0)

    assert not consents[A].stands(1.0)


def test_answer_from_a_seat_that_has_no_vote_counts_for_nothing() -> None:
    consents = three()
    question = consents[A].ask(1.0)

    consents[A].heard(B, ConsentAnswer(question.number, True, Version(7, 1), b"new disk"), 1.0)

    assert not consents[A].stands(1.0)


# -- whatever way messages take -----------------------------------------------------------------

NAMES = "abcde"
VIEWS = 3
WHAT = ["round", "round", "round", "late", "deliver", "act", "act", "wait", "restart", "decide", "learn"]
STEP = st.tuples(st.sampled_from(WHAT), st.integers(0, 4), st.integers(0, 31))


class Peer:
    """One that grants from the one bucket that all this is about, whenever it may."""

    def __init__(self, node: NodeId, electorate: Electorate, now: float) -> None:
        self.node = node
        self.consent = Consent(node, electorate, TIMINGS, now)
        self.electorate = electorate
        self.view = 0
        self.is_confirmed = False
        self.lapses = 0

    def owner(self) -> bool:
        """Tells whether the bucket is this peer's in its view: all that share one agree."""
        return NAMES[self.view - 1] == self.node

    def act(self, view: int, now: float) -> None:
        self.look(now)
        had, self.view = self.owner() and self.is_confirmed, view
        self.consent.act(view, now)
        self.is_confirmed = had and self.owner()

    def look(self, now: float) -> None:
        if self.consent.lapses != self.lapses or not self.consent.stands(now):
            self.lapses, self.is_confirmed = self.consent.lapses, False
        self.is_confirmed = self.is_confirmed or self.consent.confirmed(now)

    def grants(self, now: float) -> bool:
        self.look(now)
        return self.owner() and self.is_confirmed and self.consent.stands(now)


@settings(max_examples=1000, deadline=None)
@given(st.integers(1, 4), st.lists(STEP, min_size=20, max_size=120))
@pytest.mark.slow
def test_bucket_is_never_granted_from_by_two_whatever_happens(size: int, steps: list[tuple[str, int, int]]) -> None:
    """Parts of any kind come to any views at any time; answers are late; voters restart, come and go."""
    now = 100.0
    first = voters_of(NAMES[:size])
    # Views in which the first, the second, the third owns it: each is a voter, or will be.
    peers = {
        node: Peer(node, Electorate(seat_of(node), *((Version(7, 1), first) if node in first else (NOBODY, {}))), now)
        for node in map(NodeId, NAMES)
    }
    wire: list[tuple[NodeId, Peer, ConsentAnswer]] = []

    for what, one, other in steps:
        me, peer = NodeId(NAMES[one]), peers[NodeId(NAMES[other % 5])]
        mine, part = peers[me], [each for bit, each in enumerate(peers.values()) if other >> bit & 1]
        match what:
            case "round":
                for asker, voter in permutations(part, 2):
                    asker.consent.heard(voter.node, voter.consent.answer(asker.node, asker.consent.ask(now), now), now)
            case "late":
                question = mine.consent.ask(now)
                wire += [(each.node, mine, each.consent.answer(me, question, now)) for each in part if each is not mine]
            case "deliver" if wire:
                node, asker, answer = wire.pop(other % len(wire))
                asker.consent.heard(node, answer, now)
            case "act":
                for each in part:
                    each.act(1 + one % VIEWS, now)
            case "wait":
                now += other / 10
            case "restart":
                disk = replace(deepcopy(mine.electorate), unused=False, learnt_at=now)
                peers[me] = Peer(me, disk, now)
            case "learn":
                mine.electorate.learn(peer.electorate.decision, lambda: b"", now)
                mine.consent.recount(now)
            case "decide" if mine.electorate.votes(me):
                _decide(peers, me, peer.node, other, now)

        assert sum(each.grants(now) for each in peers.values()) <= 1


def _decide(peers: dict[NodeId, Peer], me: NodeId, about: NodeId, reach: int, now: float) -> None:
    """A ballot among those in reach; who is told of the end is for others to say."""
    mine = peers[me].electorate
    voters = mine.voters
    wanted = {n: s for n, s in voters.items() if n != about} if about in voters else {**voters, about: seat_of(about)}
    if not wanted:
        return
    canvass = Canvass(mine.decision, mine.open_ballot(me), wanted)
    for _ in range(2):
        poll = canvass.poll
        for bit, node in enumerate(peers):
            if node == me or reach >> bit & 1:
                canvass.voted(node, poll, peers[node].electorate.vote(node, poll, now, PROMISE_S))
    if canvass.decision is not None:
        mine.learn(canvass.decision, lambda: b"", now)
        peers[me].consent.recount(now)


def test_consent_that_was_never_given_has_no_end() -> None:
    assert one_of(A).until == -inf
