"""The model of ballots tells of votes that are forgotten, given twice or too few, and of electorates that differ."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.ballots import NO_BALLOT, Ballot, Ballots, Poll, Roll, Vote

FIRST, SECOND = (7, 3), (7, 4)
"""Electorates: of a cluster that was founded at 7."""
SEATS = {node: node.encode() for node in ("a", "b", "c")}
FOUR = {**SEATS, "d": b"d"}
FEWER = {"a": b"a", "b": b"b"}
ONE: Ballot = (1, "a")
TWO: Ballot = (2, "b")


@dataclass
class Case:
    """Three voters of one electorate, and what was told of them."""

    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Ballots(self.told.append)
        self.rules.elected("a", FIRST, SEATS, 1.0)

    def votes(self, voter: str, poll: Poll, vote: Vote, *, is_stored: bool = True) -> None:
        roll = Roll(FIRST, poll.ballot, vote.accepted_in) if is_stored else None
        self.rules.votes(voter, poll, vote, roll, 2.0)

    def promises(self, voter: str, opener: str, ballot: Ballot, vote: Vote | None = None) -> None:
        self.rules.hears(opener, Poll(FIRST, ballot), vote or Vote(voter.encode(), True))

    def accepts(self, voter: str, ballot: Ballot) -> None:
        """Lets a voter accept what the ballot's opener has put to the vote, and lets that one hear of it."""
        poll, vote = Poll(FIRST, ballot, FOUR), Vote(voter.encode(), True, ballot, FOUR)
        self.votes(voter, poll, vote)
        self.rules.hears(ballot[1], poll, vote)

    def puts(self, opener: str, ballot: Ballot, voters: dict[str, bytes]) -> list[str]:
        self.rules.puts(opener, Poll(FIRST, ballot, voters), 3.0)
        return self.told


def test_votes_are_given_in_rising_ballots() -> None:
    case = Case()
    case.votes("c", Poll(FIRST, TWO), Vote(b"c", True))

    case.votes("c", Poll(FIRST, ONE), Vote(b"c", False))
    case.votes("c", Poll(FIRST, ONE), Vote(b"c", True))

    assert case.told == ["at 2.000 s c voted in ballot (1, 'a') after (2, 'b')"]


def test_a_vote_is_on_the_disk_when_it_is_given() -> None:
    case = Case()

    case.votes("c", Poll(FIRST, ONE), Vote(b"c", True), is_stored=False)

    assert case.told == ["at 2.000 s c voted in ballot (1, 'a'), and its disk does not say so"]


@pytest.mark.parametrize(
    ("roll", "is_amiss"),
    [(None, True), (Roll(FIRST, ONE, NO_BALLOT), True), (Roll(FIRST, TWO, NO_BALLOT), False),
     (Roll(SECOND, NO_BALLOT, NO_BALLOT), False), (Roll((5, 1), NO_BALLOT, NO_BALLOT), False)],
)  # fmt: skip
def test_a_ballot_is_on_the_disk_when_somebody_is_asked_to_vote_in_it(roll: Roll | None, is_amiss: bool) -> None:
    case = Case()

    case.rules.opens("b", Poll(FIRST, TWO), roll, 2.0)

    said = "at 2.000 s b asks for votes in ballot (2, 'b'), and its disk does not say so"
    assert case.told == ([said] if is_amiss else [])


@pytest.mark.parametrize(("accepted_in", "is_amiss"), [(ONE, False), (NO_BALLOT, True)])
def test_who_has_accepted_something_says_so_in_every_later_ballot(accepted_in: Ballot, is_amiss: bool) -> None:
    case = Case()
    case.votes("c", Poll(FIRST, ONE, FOUR), Vote(b"c", True, ONE, FOUR))

    case.votes("c", Poll(FIRST, TWO), Vote(b"c", True, accepted_in))

    assert bool(case.told) == is_amiss


def test_nothing_is_put_to_the_vote_before_most_have_promised() -> None:
    case = Case()

    assert case.puts("a", ONE, FOUR) == [
        "at 3.000 s a puts something to the vote in ballot (1, 'a') with 0 promises of others among 3"
    ]


@pytest.mark.parametrize(("voters", "is_amiss"), [(FOUR, False), (FEWER, True)])
def test_what_may_have_been_decided_is_put_to_the_vote_again(voters: dict[str, bytes], is_amiss: bool) -> None:
    case = Case()
    case.promises("c", "b", TWO, Vote(b"c", True, ONE, FOUR))

    assert bool(case.puts("b", TWO, voters)) == is_amiss


def test_no_two_electorates_have_one_number() -> None:
    case = Case()

    case.rules.elected("b", FIRST, FOUR, 4.0)

    assert case.told == ["at 4.000 s b says that electorate 3 is another one than others say"]


@pytest.mark.parametrize(("accepting", "is_amiss"), [("c", False), ("", True)])
def test_an_electorate_is_decided_by_most_of_the_one_before(accepting: str, is_amiss: bool) -> None:
    case = Case()
    if accepting:
        case.accepts(accepting, ONE)

    case.rules.elected("a", SECOND, FOUR, 5.0)

    assert bool(case.told) == is_amiss


def test_what_was_promised_is_not_accepted_and_what_was_not_heard_is_not_counted() -> None:
    case = Case()
    case.promises("b", "a", ONE)
    case.promises("c", "a", ONE)
    case.votes("c", Poll(FIRST, ONE, FOUR), Vote(b"c", True, ONE, FOUR))

    case.rules.elected("a", SECOND, FOUR, 5.0)

    assert "as far as whoever has put it to the vote has heard" in case.told[0]


def test_nobody_counts_by_an_electorate_that_too_few_have_accepted() -> None:
    case = Case()
    case.accepts("c", ONE)
    case.rules.counts_by("a", SECOND, 3.0)
    assert case.told == []

    other = Case()
    other.rules.counts_by("a", SECOND, 3.0)

    assert "a counts by electorate 4, which too few have accepted" in other.told[0]


def test_an_electorate_stands_for_a_while_before_anybody_votes_on_the_next() -> None:
    case = Case()
    case.rules.learnt("c", FIRST, 1.5)

    case.votes("c", Poll(FIRST, ONE), Vote(b"c", True))

    assert "which it has known for 0.50 s" in case.told[0]


def test_only_one_voter_comes_or_goes_at_a_time_and_only_who_has_a_vote_votes() -> None:
    case = Case()
    case.votes("c", Poll(FIRST, ONE, {"a": b"a"}), Vote(b"c", True))
    assert "accepts in ballot (1, 'a') more than one change of who votes" in case.told[0]

    case.told.clear()
    case.votes("b", Poll(FIRST, ONE), Vote(b"new", True))
    assert "from a seat that has no vote" in case.told[0]
