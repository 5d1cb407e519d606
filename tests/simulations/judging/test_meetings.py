"""The model of meetings tells of hosts that are asked at once by whoever goes on with what others served, too."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.permissions import Permissions
from simulations.model.work.meetings import Meetings

BUCKET = 7
HOST = "h0.test"
JOB = 1


@dataclass
class Case:
    """A master, m0, that serves a host's bucket, beside m1, which it holds for dead."""

    now_s: float = 100.0
    told: list[str] = field(default_factory=list)
    delay: float = 1.0
    is_slow: bool = False
    asks: bool = True
    dead: frozenset[str] = frozenset({"m1"})

    def __post_init__(self) -> None:
        self.rules = Meetings(self, Permissions({HOST: BUCKET}), lambda master: self.dead, self.told.append)
        self.comes_to()

    def serves(self, master: str, bucket: int) -> bool:
        return True

    def disk_s(self, node: str) -> float:
        return 0.1 if self.is_slow else 0.001

    def in_trouble(self, node: str, from_s: float, until_s: float) -> bool:
        return False

    def asks_hosts(self, job: int) -> bool:
        return self.asks

    def delay_s(self, host: str) -> float:
        return self.delay

    def comes_to(self, *others: str) -> None:
        self.rules.acts("m0", frozenset({BUCKET}), others)

    def grants(self, after_s: float = 0.5) -> bool:
        """Lets it have the host asked a while later; returns whether that is amiss."""
        self.now_s += after_s
        self.rules.granted("m0", "s0", [(JOB, HOST), (JOB, "h1.test")])
        return bool(self.told)


def test_who_meets_one_that_it_held_for_dead_lets_hosts_wait() -> None:
    case = Case()
    case.comes_to("m1")

    assert case.grants()
    assert case.told == [
        "at 100.500 s m0 has s0 ask h0.test 0.500 s after it met m1, which it had held for dead, and goes on with it"
    ]


@pytest.mark.parametrize(
    ("after_s", "delay_s", "is_slow"), [(0.98, 1.0, False), (0.2, 1.0, False), (0.5, 0.0, False), (0.5, 1.0, True)]
)
def test_host_is_asked_when_it_has_waited(after_s: float, delay_s: float, is_slow: bool) -> None:
    case = Case(delay=delay_s, is_slow=is_slow)
    case.comes_to("m1")

    assert not case.grants(after_s)


@pytest.mark.parametrize("has_left", [False, True])
def test_who_was_held_for_dead_came_to_leave_and_is_back_has_handed_over_what_it_had(*, has_left: bool) -> None:
    case = Case()
    case.dead = frozenset()
    if has_left:
        case.comes_to("m2")
    case.comes_to("m1", "m2")

    assert case.grants() is not has_left


def test_stored_page_is_read_at_once() -> None:
    case = Case(asks=False)
    case.comes_to("m1")

    assert not case.grants()


def test_who_comes_for_the_first_time_has_served_nothing_here() -> None:
    case = Case()
    case.comes_to("m2")

    assert not case.grants()


@pytest.mark.parametrize("is_asked_already", [False, True])
def test_hosts_wait_when_another_one_says_that_it_had_them_too(is_asked_already: bool) -> None:
    case = Case()
    case.comes_to("m1")
    case.now_s += 1.0
    if is_asked_already:
        case.rules.claims("m0", "m1", [BUCKET])
    case.rules.offers("m1", "m0", [BUCKET])

    assert case.grants() != is_asked_already


def test_hosts_wait_once_more_when_the_other_one_has_let_go() -> None:
    case = Case()
    case.comes_to("m1")
    case.now_s += 0.9
    case.rules.hears("m0", "m1", [BUCKET])
    case.now_s += 0.1
    case.rules.tells("m0", [BUCKET])

    assert case.grants()


def test_life_knows_nothing_of_the_one_before() -> None:
    case = Case()
    case.comes_to("m1")
    case.rules.started("m0")

    assert not case.grants()
