"""The model of reports tells of a slave that forgets what nobody has acknowledged, or what it was granted."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.work.reports import Reports

ENDS, PART = (True, False), (False, True)


@dataclass
class Seen:
    """What somebody saw of a slave that nothing befell."""

    now_s: float = 10.0
    liar: bool = False
    still: bool = False

    def life(self, node: str) -> int:
        return 1

    def clock(self, node: str) -> float:
        return 1.0

    def lies(self, slave: str) -> bool:
        return self.liar

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        return False

    def stood_still(self, node: str, from_s: float, until_s: float) -> bool:
        return self.still


@dataclass
class Case:
    """A slave that has reported two pages to m0, and what is told of it."""

    sight: Seen = field(default_factory=Seen)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Reports(self.sight, self.told.append)
        self.rules.welcomed("s0", "m0", outlives=True)
        self.rules.granted("s0", [(1, 11), (2, 12)])
        self.rules.reports("s0", 1, [(1, 11, *ENDS)])
        self.rules.reports("s0", 2, [(2, 12, *ENDS)])

    def next(self) -> None:
        """Lets the slave come to another master, and go on for a while."""
        self.rules.welcomed("s0", "m1", outlives=True)

    def later(self) -> list[str]:
        self.sight.now_s += 3.0
        self.rules.reports("s0", 9, [])
        return self.told


def test_what_nobody_has_acknowledged_is_brought_to_the_next_master() -> None:
    case = Case()
    case.rules.is_safe("s0", 1)

    case.next()
    case.rules.brings("s0", 1, [((2, 12), *ENDS)])

    assert case.later() == []


def test_and_not_forgotten() -> None:
    case = Case()
    case.rules.is_safe("s0", 1)

    case.next()

    assert case.later() == ["at 13.000 s s0 has not brought m1 what nobody has said to be safe, records 2"]


def test_what_was_on_its_way_to_one_is_brought_to_the_next_once_more() -> None:
    case = Case()
    case.next()
    case.rules.brings("s0", 1, [((1, 11), *ENDS), ((2, 12), *ENDS)])

    case.rules.welcomed("s0", "m2", outlives=True)

    assert "records 1, 2" in case.later()[0]


@pytest.mark.parametrize(("links", "is_amiss"), [(False, False), (True, True)])
def test_end_of_a_page_may_be_left_out_of_which_a_part_is_safe_and_its_links_may_not(
    links: bool, is_amiss: bool
) -> None:
    case = Case()
    case.rules.granted("s0", [(3, 13)])
    case.rules.reports("s0", 3, [(3, 13, *PART)])
    case.rules.is_safe("s0", 3)
    case.rules.reports("s0", 4, [(3, 13, True, links)])

    case.next()

    assert bool(case.later()) is is_amiss


def test_end_of_a_page_is_not_brought_of_which_a_part_went_to_another() -> None:
    case = Case()
    case.rules.granted("s0", [(3, 13)])
    case.rules.reports("s0", 3, [(3, 13, *PART)])

    case.next()
    case.rules.brings("s0", 1, [((3, 13), *ENDS)])

    assert case.told == ["at 10.000 s s0 brings m1 the end of record 3, of which a part went to another"]


def test_who_leaves_has_nothing_open() -> None:
    case = Case()
    case.rules.granted("s0", [(3, 13)])
    case.rules.is_to_leave("s0", on_its_own=True)

    case.rules.leaves("s0")

    assert case.told == ["at 10.000 s s0 leaves m0 with 1 pages neither reported nor given back"]


@pytest.mark.parametrize(("stood_still_s", "is_amiss"), [(4.5, True), (8.5, False)])
def test_who_leaves_when_its_session_is_over_by_its_own_clock_can_say_nothing_in_it(
    stood_still_s: float, is_amiss: bool
) -> None:
    case = Case()
    case.rules.granted("s0", [(3, 13)])
    case.sight.now_s += 3.0
    case.rules.beats("s0", 7, 3)
    case.rules.goes_on("s0", 7, 3)
    case.rules.beats("s0", 7, 4)
    case.rules.is_to_leave("s0", on_its_own=True)

    case.sight.now_s += stood_still_s
    case.rules.leaves("s0")

    assert bool(case.told) is is_amiss


def test_who_leaves_waits_till_its_reports_are_safe() -> None:
    case = Case()
    case.rules.is_to_leave("s0", on_its_own=True)

    case.rules.leaves("s0")

    assert case.told == ["at 10.000 s s0 leaves m0, which has not said that its last reports are safe"]


def test_what_was_given_back_is_not_reported() -> None:
    case = Case()
    case.rules.granted("s0", [(3, 13)])
    case.rules.gives_back("s0", [3])

    case.rules.reports("s0", 3, [(3, 13, *ENDS)])

    assert case.told == ["at 10.000 s s0 reports record 3 to m0, which it has given back"]


def test_report_of_a_session_that_is_over_does_not_count() -> None:
    case = Case()
    case.rules.renews("m0", "s0")
    case.sight.now_s += 7.0
    case.rules.comes("m0", "s0", 3, {5})

    case.rules.acknowledges("m0", "s0", 3)

    assert case.told == ["at 17.000 s m0 takes report 3 of s0, which came when its session was over"]


def test_report_that_one_who_stood_still_finds_when_it_goes_on_came_in_time() -> None:
    case = Case(Seen(still=True))
    case.rules.renews("m0", "s0")
    case.sight.now_s += 7.0
    case.rules.comes("m0", "s0", 3, {5})

    case.rules.acknowledges("m0", "s0", 3)

    assert not case.told


def test_who_lies_says_what_it_likes() -> None:
    case = Case(Seen(liar=True))
    case.next()

    assert case.later() == []


@pytest.mark.parametrize("has_come", [True, False])
def test_page_of_a_slave_that_is_out_of_reach_goes_to_another_when_its_session_is_over(*, has_come: bool) -> None:
    """What went to a process of that slave that is dead, as nobody knew yet, is in nobody's hands."""
    case = Case()
    case.rules.welcomed("s0", "m0", outlives=True)
    case.rules.renews("m0", "s0")
    case.rules.grants("m0", "s0", [5])
    if has_come:
        case.rules.granted("s0", [(5, 1)])

    case.sight.now_s += 2.0
    case.rules.grants("m0", "s1", [5])

    wrong = "at 12.000 s m0 granted record 5 to s1, which s0 has, whose session went on 2.00 s before"
    assert case.told == ([wrong] if has_come else [])


def test_what_went_to_a_session_that_a_loss_of_power_ended_is_in_nobodys_hands() -> None:
    case = Case()
    case.rules.renews("m0", "s0")
    # The slave is back, and its master has not noticed yet that the connection before it is dead.
    case.rules.is_over("m0", "s0")
    case.sight.now_s += 2.0
    case.rules.grants("m0", "s0", [5])

    case.sight.now_s += 1.5
    case.rules.renews("m0", "s0")
    case.rules.grants("m0", "s1", [5])

    assert case.told == []


def test_and_at_once_when_it_has_said_what_came_of_it_or_begins_anew() -> None:
    case = Case()
    case.rules.renews("m0", "s0")
    case.rules.grants("m0", "s0", [5, 6, 7])

    case.rules.comes("m0", "s0", 3, {5})
    case.rules.grants("m0", "s1", [5])
    case.rules.is_back("m0", "s0", [6])
    case.rules.grants("m0", "s1", [6])
    case.rules.is_over("m0", "s0")
    case.rules.grants("m0", "s1", [7])

    assert case.told == []
