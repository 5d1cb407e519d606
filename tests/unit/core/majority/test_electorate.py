"""The electorate: what is decided is decided once, by whatever way messages take and whoever restarts."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.majority.electorate import VOTERS_WANTED, Canvass, Electorate, is_step, wanted_change
from p2pcrawl.model.cluster.consent import NOBODY, Decision, Poll, Version, Voters
from p2pcrawl.model.cluster.node import NodeId

SETTLE_S = 5.0
NODES = [NodeId(letter) for letter in "abcdef"]


def seat_of(node: NodeId, number: int = 0) -> bytes:
    return f"{node}{number}".encode()


def founded_by(*nodes: NodeId, number: int = 1, founded: int = 7) -> dict[NodeId, Electorate]:
    voters = {node: seat_of(node) for node in nodes}
    return {node: Electorate(seat_of(node), Version(founded, number), voters) for node in nodes}


def decide(all_: dict[NodeId, Electorate], me: NodeId, wanted: Voters, now: float) -> Canvass:
    canvass = Canvass(all_[me].decision, all_[me].open_ballot(me), wanted)
    for _ in range(2):
        poll = canvass.poll
        for node in all_:
            canvass.voted(node, poll, all_[node].vote(node, poll, now, SETTLE_S))
    return canvass


def test_majority_decides_who_comes_next() -> None:
    all_ = founded_by("a", "b", "c")
    wanted = {**all_["a"].voters, NodeId("d"): b"d0"}

    canvass = decide(all_, NodeId("a"), wanted, SETTLE_S)

    assert canvass.decision == Decision(Version(7, 2), wanted)


def test_minority_decides_nothing() -> None:
    all_ = founded_by("a", "b", "c", "d")
    wanted = {node: seat_of(node) for node in "abc"}

    canvass = decide({n: all_[n] for n in ("a", "b")}, NodeId("a"), wanted, SETTLE_S)

    assert canvass.decision is None


def test_what_most_may_have_accepted_is_decided_and_nothing_else() -> None:
    all_ = founded_by("a", "b", "c")
    first, second = ({**all_["a"].voters, NodeId(n): seat_of(NodeId(n))} for n in "de")
    began = Canvass(all_["a"].decision, all_["a"].open_ballot(NodeId("a")), first)
    prepared = began.poll
    for node in "ab":
        began.voted(node, prepared, all_[node].vote(node, prepared, SETTLE_S, SETTLE_S))
    all_["b"].vote(NodeId("b"), began.poll, SETTLE_S, SETTLE_S)

    canvass = decide({n: all_[n] for n in ("b", "c")}, NodeId("c"), second, SETTLE_S)
    again = Canvass(all_["c"].decision, all_["c"].open_ballot(NodeId("c"), canvass.round_seen), second)
    for _ in range(2):
        poll = again.poll
        for node in "bc":
            again.voted(node, poll, all_[node].vote(node, poll, SETTLE_S, SETTLE_S))

    assert again.decision is not None and again.decision.voters == first


def test_no_version_is_followed_by_another_before_nobody_counts_by_the_last_but_one() -> None:
    all_ = founded_by("a", "b", "c")

    canvass = decide(all_, NodeId("a"), {n: seat_of(n) for n in "ab"}, SETTLE_S - 0.1)

    assert canvass.decision is None


def test_who_has_accepted_a_version_admits_nobody_who_counts_by_the_one_before() -> None:
    (voter,) = founded_by("a").values()
    assert voter.admits(Version(7, 1))

    voter.vote(NodeId("a"), Poll(Version(7, 1), (1, NodeId("a")), {**voter.voters, NodeId("b"): b"b0"}), 9.0, SETTLE_S)

    assert not voter.admits(Version(7, 1))
    assert voter.admits(Version(7, 2))
    assert voter.accepted_version == Version(7, 2)


def test_who_knows_no_electorate_admits_nobody() -> None:
    assert not Electorate(b"seat").admits(NOBODY)


def test_older_founding_is_joined_and_the_seat_in_the_other_given_up() -> None:
    ours, theirs = Electorate(b"ours"), Electorate(b"their")
    ours.found(NodeId("a"), 20, 0.0)
    theirs.found(NodeId("b"), 10, 0.0)

    assert ours.learn(theirs.decision, lambda: b"new", 1.0)
    assert not theirs.learn(Decision(Version(20, 9), {}), lambda: b"new", 1.0)

    assert (ours.version, ours.seat, ours.votes(NodeId("a"))) == (theirs.version, b"new", False)


def test_voter_whose_disk_is_lost_does_not_vote_from_its_old_seat() -> None:
    all_ = founded_by("a", "b", "c")
    all_["a"] = replace(all_["a"], seat=b"new")

    canvass = decide({n: all_[n] for n in ("a", "b")}, NodeId("b"), {n: seat_of(n) for n in "bc"}, SETTLE_S)

    assert canvass.decision is None


@pytest.mark.parametrize(
    ("after", "step"),
    [("abcd", True), ("ab", True), ("abc", True), ("abd", False), ("abcde", False), ("a", False), ("", False)],
)
def test_sets_that_follow_each_other_differ_by_one(after: str, step: bool) -> None:
    before = {NodeId(n): seat_of(NodeId(n)) for n in "abc"}

    assert is_step(before, {NodeId(n): seat_of(NodeId(n)) for n in after}) is step


def test_majorities_of_sets_that_follow_each_other_have_somebody_in_common() -> None:
    for size in range(1, 6):
        before, after = set(NODES[:size]), set(NODES[: size + 1])
        for one in combinations(sorted(before), size // 2 + 1):
            for other in combinations(sorted(after), (size + 1) // 2 + 1):
                assert set(one) & set(other)


def test_who_goes_or_has_another_disk_is_let_go_before_others_are_let_in() -> None:
    voters: Voters = {NodeId("a"): b"a0", NodeId("b"): b"b0"}
    seats = {NodeId("a"): b"a0", NodeId("b"): b"b1", NodeId("c"): b"c0"}

    def nobody(node: NodeId) -> bool:
        return False

    def everybody(node: NodeId) -> bool:
        return True

    assert wanted_change(voters, seats, nobody, everybody) == {"a": b"a0"}
    assert wanted_change(voters, {**seats, NodeId("b"): b"b0"}, lambda n: n == "a", everybody) == {"b": b"b0"}
    assert wanted_change({NodeId("a"): b"a0"}, seats, nobody, everybody) == {"a": b"a0", "b": b"b1"}
    assert wanted_change({NodeId("a"): b"a0"}, seats, everybody, everybody) is None
    assert wanted_change(voters, {NodeId("a"): b"a0"}, nobody, lambda n: n == "a") is None


def test_nobody_is_let_go_by_whom_the_rest_could_decide_nothing_more() -> None:
    voters = {node: seat_of(node) for node in NODES[:3]}
    seats = dict(voters)
    a, b, c = NODES[:3]
    back_without_its_disk = {**seats, c: b"c1"}

    def leaves(node: NodeId) -> bool:
        return node == b

    def everybody(node: NodeId) -> bool:
        return True

    assert wanted_change(voters, seats, leaves, everybody) == {a: seats[a], c: seats[c]}
    assert wanted_change(voters, seats, leaves, everybody, [c]) is None
    assert wanted_change(voters, seats, leaves, lambda node: node != c) is None
    assert wanted_change(voters, back_without_its_disk, leaves, everybody) == {a: seats[a], b: seats[b]}
    assert wanted_change(voters, back_without_its_disk, leaves, lambda node: node != b) is None


def test_no_more_have_a_vote_than_all_can_ask_each_second() -> None:
    nodes = [NodeId(f"{number:03}") for number in range(VOTERS_WANTED + 1)]
    seats = {node: seat_of(node) for node in nodes}
    full = {node: seats[node] for node in nodes[:VOTERS_WANTED]}

    assert wanted_change(full, seats, lambda node: False, lambda node: True) is None
    assert wanted_change(full, seats, lambda node: node == nodes[0], lambda node: True) is not None


# -- whatever way messages take -----------------------------------------------------------------

WHAT = ["begin", "deliver", "deliver", "deliver", "double", "lose", "restart", "learn", "wait"]
STEP = st.tuples(st.sampled_from(WHAT), st.integers(0, 2**16), st.integers(0, 2**16))


class Ballots:
    """Ballots of several at once, over a network that loses, doubles and reorders, with restarts from disk."""

    def __init__(self, first: Voters) -> None:
        self.disks = {
            node: Electorate(seat_of(node), *((Version(7, 1), first) if node in first else (NOBODY, {})), unused=False)
            for node in NODES
        }
        self.living = deepcopy(self.disks)
        self.canvasses: dict[NodeId, Canvass] = {}
        self.wire: list[tuple[str, NodeId, NodeId, Canvass, Poll, object]] = []
        self.decided: dict[Version, Voters] = {Version(7, 1): first}
        self.now = 100.0

    def step(self, what: str, one: int, other: int) -> None:
        me, node = NODES[one % len(NODES)], NODES[other % len(NODES)]
        match what:
            case "begin" if self.living[me].votes(me):
                self.begin(me, node)
            case "deliver" | "double" | "lose" if self.wire:
                index = one % len(self.wire)
                packet = self.wire[index] if what == "double" else self.wire.pop(index)
                if what != "lose":
                    self.deliver(*packet)
            case "restart":
                self.living[me] = replace(deepcopy(self.disks[me]), learnt_at=self.now)
                self.canvasses.pop(me, None)
            case "learn":
                self.living[me].learn(self.living[node].decision, lambda: b"", self.now)
                self.disks[me] = deepcopy(self.living[me])
            case "wait":
                self.now += SETTLE_S

    def begin(self, me: NodeId, node: NodeId) -> None:
        """Lets ``me`` canvass for voters with ``node``, or without it if it is one."""
        voters = self.living[me].voters
        wanted = {n: s for n, s in voters.items() if n != node} if node in voters else {**voters, node: seat_of(node)}
        if wanted:
            last = self.canvasses.get(me)
            ballot = self.living[me].open_ballot(me, last.round_seen if last else 0)
            self.disks[me] = deepcopy(self.living[me])
            self.canvasses[me] = Canvass(self.living[me].decision, ballot, wanted)
            self.put(me, self.canvasses[me])

    def put(self, me: NodeId, canvass: Canvass) -> None:
        self.wire.extend(("poll", me, node, canvass, canvass.poll, None) for node in self.living[me].voters)

    def deliver(self, kind: str, source: NodeId, target: NodeId, canvass: Canvass, poll: Poll, vote: object) -> None:
        if kind == "poll":
            vote = self.living[target].vote(target, poll, self.now, SETTLE_S)
            self.disks[target] = deepcopy(self.living[target])
            self.wire.append(("vote", target, source, canvass, poll, vote))
        elif self.canvasses.get(target) is canvass:
            before = canvass.poll
            canvass.voted(source, poll, vote)  # type: ignore[arg-type]
            if canvass.decision is not None:
                known = self.decided.setdefault(canvass.decision.version, canvass.decision.voters)
                assert known == canvass.decision.voters
                self.living[target].learn(canvass.decision, lambda: b"", self.now)
                del self.canvasses[target]
            elif canvass.poll is not before:
                self.put(target, canvass)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4), st.lists(STEP, max_size=160))
def test_two_sets_are_never_decided_for_one_version(size: int, steps: list[tuple[str, int, int]]) -> None:
    ballots = Ballots({node: seat_of(node) for node in NODES[:size]})

    for step in steps:
        ballots.step(*step)

    decided = ballots.decided
    for version, voters in decided.items():
        following = decided.get(Version(7, version.number + 1))
        assert following is None or is_step(voters, following)
