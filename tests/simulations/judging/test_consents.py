"""The model of consent tells of promises that are broken, and of masters that serve without most of the voters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from simulations.model.members.consents import GRANTED_S, LOOKED_S, Answer, Consents, Question

NOW = 100.0
IDS = {"m0": "a", "m1": "b", "m2": "c"}
SEATS: Mapping[str, bytes] = {"a": b"A", "b": b"B", "c": b"C"}
FIRST = (7, 3)
ONE, OTHER = 1, 2
"""Two views."""


@dataclass
class World:
    """A world in which all act in a view, and own bucket 5 of it."""

    now_s: float = NOW
    views: dict[str, int] = field(default_factory=lambda: dict.fromkeys(IDS, ONE))
    owns: frozenset[int] = frozenset({5})
    still: bool = False

    def view(self, master: str) -> int:
        return self.views[master]

    def owned(self, master: str) -> frozenset[int]:
        return self.owns

    def stood_still(self, node: str, from_s: float, until_s: float) -> bool:
        return self.still


class Electorates:
    """One electorate, for ever."""

    def __call__(self, master: str, version: tuple[int, int]) -> list[Mapping[str, bytes]]:
        return [SEATS]

    def counts_by(self, master: str, version: tuple[int, int], now_s: float) -> None:
        pass


@dataclass
class Case:
    """Three voters, and what was told of them."""

    told: list[str] = field(default_factory=list)
    world: World = field(default_factory=World)
    number: int = 0

    def __post_init__(self) -> None:
        self.rules = Consents(self.world, self.told.append, Electorates(), IDS)

    def asks(self, master: str, view: int = ONE) -> Question:
        self.number += 1
        question = Question(self.number, view, FIRST, SEATS[IDS[master]])
        self.rules.asks(master, question)
        return question

    def agrees(self, voter: str, asker: str, question: Question, version: tuple[int, int] = FIRST) -> None:
        answer = Answer(question.number, True, version, SEATS[IDS[voter]])
        self.rules.answers(voter, asker, question, answer)
        self.rules.hears(asker, IDS[voter], answer)

    def serves(self, master: str, later_s: float = 0.0) -> list[str]:
        self.world.now_s += later_s
        self.rules.look({master: {5}})
        return self.told


def test_most_of_the_voters_let_a_master_serve_for_as_long_as_they_have_promised() -> None:
    case = Case()
    case.agrees("m1", "m0", case.asks("m0"))

    assert case.serves("m0", later_s=4.0) == []
    assert case.serves("m0", later_s=0.2) == ["at 104.200 s m0 serves 1 buckets, and has not the consent of most since"
                                              " 104.08 s"]  # fmt: skip


def test_one_voter_of_three_is_not_most() -> None:
    case = Case()
    case.asks("m0")

    assert "m0 serves 1 buckets, and has not the consent of most yet" in case.serves("m0")[0]


def test_what_was_gained_waits_for_consent_to_the_view_in_which_it_was() -> None:
    case = Case(world=World(owns=frozenset()))
    case.agrees("m1", "m0", case.asks("m0"))
    case.world.owns = frozenset({5})
    case.world.views = dict.fromkeys(IDS, OTHER)
    question = case.asks("m0", OTHER)

    assert "serves 1 buckets that it has gained, such as 5" in case.serves("m0")[0]
    case.told.clear()
    case.agrees("m1", "m0", question)
    assert case.serves("m0") == []


def test_a_voter_stands_by_one_view_at_a_time_till_its_promise_is_over() -> None:
    case = Case()
    case.agrees("m2", "m0", case.asks("m0"))
    case.world.views["m2"] = OTHER
    question = case.asks("m1", OTHER)

    case.agrees("m2", "m1", question)
    assert "m2 agrees with m1 to view 0000000000000002, and has promised m0 0.00 s ago to stand" in case.told[0]

    case.told.clear()
    case.world.now_s += 6.3
    case.agrees("m2", "m1", question)
    assert case.told == []


def test_a_promise_is_void_when_whoever_has_it_comes_to_the_other_view() -> None:
    case = Case()
    case.agrees("m2", "m0", case.asks("m0"))
    case.world.views["m2"] = case.world.views["m0"] = OTHER
    case.agrees("m2", "m0", case.asks("m0", OTHER))

    case.agrees("m2", "m1", case.asks("m1", OTHER))

    assert case.told == []


@pytest.mark.parametrize(("version", "is_amiss"), [((7, 3), False), ((7, 4), True)])
def test_who_knows_of_a_later_electorate_agrees_with_nobody_who_counts_by_an_older(
    version: tuple[int, int], is_amiss: bool
) -> None:
    case = Case()

    case.agrees("m1", "m0", case.asks("m0"), version)

    assert any("which counts by electorate 3, not 4" in what for what in case.told) == is_amiss


def test_a_voter_that_begins_anew_agrees_to_nothing_for_as_long_as_a_promise_lasts() -> None:
    case = Case()
    case.agrees("m1", "m0", case.asks("m0"))
    case.world.now_s += 3.0
    case.rules.started("m1")
    case.world.now_s += 2.0

    case.agrees("m1", "m0", case.asks("m0"))

    assert "m1 agrees with m0 to view 0000000000000001 2.00 s after its start" in case.told[0]


def test_who_is_through_asks_for_no_consent_any_more() -> None:
    case = Case()
    case.asks("m0", 0)

    case.asks("m0")

    assert "asks for consent again" in case.told[0]


def test_what_is_open_when_consent_ends_is_given_up() -> None:
    case = Case()
    case.agrees("m1", "m0", case.asks("m0"))
    case.serves("m0", later_s=5.0)
    case.told.clear()

    def open_until(ended_s: float) -> str | None:
        return case.rules.broken_by(SimpleNamespace(url="u", node="m0", master="m0", began_s=103.0, ended_s=ended_s))

    assert open_until(105.0) is None
    assert "had the consent of most till 104.082 s" in (open_until(106.0) or "")
    case.world.still = True
    assert open_until(106.0) is None


@pytest.mark.parametrize(("later_s", "is_amiss"), [(0.2, False), (2.0, True)])
def test_what_is_open_when_consent_ends_goes_on_where_most_agree_again_at_once(later_s: float, is_amiss: bool) -> None:
    """Whoever promised it then has stood by it all the time."""
    case = Case()
    case.agrees("m1", "m0", case.asks("m0"))
    case.world.now_s += GRANTED_S + LOOKED_S
    case.rules.look({"m0": ()})

    case.world.now_s += later_s
    case.agrees("m1", "m0", case.asks("m0"))

    asked = SimpleNamespace(url="u", node="m0", master="m0", began_s=103.0, ended_s=130.0)
    assert (case.rules.broken_by(asked) is not None) == is_amiss


def test_it_is_told_once_when_the_consent_of_a_master_has_ended() -> None:
    """What it has in hand is given up then, and fetched once more."""
    case = Case()
    case.agrees("m1", "m0", case.asks("m0"))

    before = case.rules.look({"m0": {5}})
    case.world.now_s += GRANTED_S + LOOKED_S
    then = case.rules.look({"m0": ()})

    assert (before, then, case.rules.look({"m0": ()})) == ([], ["m0"], [])


def test_consent_that_was_seen_ends_no_earlier_though_others_count_since() -> None:
    case = Case()
    case.agrees("m1", "m0", case.asks("m0"))
    case.world.now_s += 3.0
    case.agrees("m1", "m0", case.asks("m0"))
    case.rules.electorates = lambda master, version: []  # type: ignore[assignment]
    case.serves("m0", later_s=0.5)

    asked = SimpleNamespace(url="u", node="m0", master="m0", began_s=102.0, ended_s=104.0)
    assert case.rules.broken_by(asked) is None
    assert case.rules.broken_by(SimpleNamespace(**{**vars(asked), "ended_s": 105.0})) is not None
