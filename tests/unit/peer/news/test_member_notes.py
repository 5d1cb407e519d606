"""Notes of what becomes of members: each once, by whom it falls to."""

from __future__ import annotations

from dataclasses import replace

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.journal import Journal
from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.model.cluster.node import Member, NodeId, Status
from p2pcrawl.peer.news.member_notes import MemberNotes
from p2pcrawl.peer.news.own_looks import OwnLooks
from tests.peers import FakePeers, member

A, B, C = (member(NodeId(name * 40)) for name in "abc")


class House:
    """One master's notes."""

    def __init__(self, me: Member) -> None:
        self.peers = FakePeers(me.id, [A, B, C])
        self.journal = Journal(lambda: 0.0)
        self.notes = MemberNotes(self.peers, self.journal)

    def hears(self, kind: EventKind, of: Member, status: Status, previous: Status | None = None) -> None:
        before = None if previous is None else replace(of, status=previous)
        self.notes.happened(Event(kind, replace(of, status=status), before))

    @property
    def noted(self) -> list[tuple[str, object]]:
        return [(event.kind.value, event.fields["peer"]) for event in self.journal.after(0)]


def test_death_is_noted_by_one_of_those_that_live() -> None:
    houses = [House(A), House(B)]
    for house in houses:
        house.hears(EventKind.DIED, C, Status.DEAD, Status.SUSPECT)

    assert [house.noted for house in houses] == [[("member-dead", C.id)], []]


def test_death_of_the_first_is_noted_by_the_second() -> None:
    houses = [House(B), House(C)]
    for house in houses:
        house.hears(EventKind.DIED, A, Status.DEAD, Status.SUSPECT)

    assert [house.noted for house in houses] == [[("member-dead", A.id)], []]


def test_newcomer_notes_itself_and_not_those_that_it_finds() -> None:
    house = House(A)

    house.notes.came(A)
    for other in (B, C):
        house.hears(EventKind.JOINED, other, Status.ALIVE)

    assert house.noted == [("member-joined", A.id)]


def test_member_that_was_only_taken_for_dead_is_back() -> None:
    house = House(A)
    house.hears(EventKind.JOINED, B, Status.ALIVE)

    house.hears(EventKind.DIED, B, Status.DEAD, Status.SUSPECT)
    house.hears(EventKind.JOINED, B, Status.ALIVE, Status.DEAD)

    assert house.noted == [("member-dead", B.id), ("member-back", B.id)]
    assert house.journal.after(1)[0].fields["was"] == "dead"


def test_member_that_began_anew_is_not_noted_twice() -> None:
    house = House(A)
    house.hears(EventKind.JOINED, B, Status.ALIVE)
    house.hears(EventKind.DIED, B, Status.DEAD, Status.SUSPECT)

    house.hears(EventKind.JOINED, replace(B, boot=b"another1"), Status.ALIVE, Status.DEAD)

    assert house.noted == [("member-dead", B.id)]


def test_suspicion_and_its_end_are_noted() -> None:
    house = House(A)
    house.hears(EventKind.JOINED, B, Status.ALIVE)

    house.hears(EventKind.SUSPECTED, B, Status.SUSPECT, Status.ALIVE)
    house.hears(EventKind.REFUTED, B, Status.ALIVE, Status.SUSPECT)

    assert house.noted == [("member-suspect", B.id), ("member-back", B.id)]


def test_buckets_that_lack_something_are_noted_once_and_again_when_they_do_not() -> None:
    class Some(Ownership):
        def __init__(self) -> None:
            super().__init__(A.id, 2)
            self.lacking: list[int] = []

        def broken(self) -> list[int]:
            return self.lacking

    ownership, journal = Some(), Journal(lambda: 0.0)
    looks = OwnLooks(ownership, journal)

    for lacking in ([], [1, 2], [1, 2], [1], [], []):
        ownership.lacking = lacking
        looks.look()

    assert [event.kind.value for event in journal.after(0)] == ["bucket-not-whole", "bucket-whole"]
