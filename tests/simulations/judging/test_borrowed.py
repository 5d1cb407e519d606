"""The model of borrowing tells of a master that has a host asked which it has not, or not any more, on loan."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from simulations.kernel.moments import LEAVES, Moments
from simulations.model.permissions import Permissions
from simulations.model.work.borrowed import HELD_S, Borrowed
from simulations.record.askings import Askings

HOST = "h0.test"
JOB, READING = 1, 2


@dataclass
class Seen:
    """What somebody saw of masters that act in one view: m1 owns the host."""

    now_s: float = 10.0
    access_s: float = 0.001

    def view(self, master: str) -> int:
        return 0xA

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return "m1", "m2"

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        return False

    def disk_s(self, node: str) -> float:
        return self.access_s

    def asks_hosts(self, job: int) -> bool:
        return job == JOB


@dataclass
class Case:
    """A master that has borrowed a host for two requests, one at a time, within five seconds."""

    sight: Seen = field(default_factory=Seen)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Borrowed(self.sight, Permissions({HOST: 5}), self.told.append)
        self.rules.granted("m0", "s0", [])
        self.borrow()

    def borrow(self) -> None:
        self.sight.now_s += 2.0
        self.rules.asks("m0", "m1", HOST, 3)
        self.rules.lent("m0", HOST, self.sight.now_s, ("m1", 3, 2, 1, 5.0))

    def asks(self, record: int, host: str = HOST) -> list[str]:
        """Returns what is told when one more page is given to a slave."""
        self.rules.granted("m0", "s0", [(READING, record, host), (JOB, record, host)])
        return [what.partition("m1's, ")[2] for what in self.told]


def test_a_host_is_asked_as_it_was_lent() -> None:
    case = Case()
    assert case.asks(1) == []
    case.rules.ended("m0", "s0", [1])
    assert case.asks(2) == []


def test_what_one_whose_session_is_over_had_in_hand_is_open_no_more() -> None:
    case = Case()
    case.rules.renews("m0", "s0")
    case.asks(1)
    case.sight.now_s += HELD_S
    case.rules.renews("m0", "s1")
    case.rules.granted("m0", "s1", [(JOB, 2, HOST)])

    assert case.told == []


def test_session_that_was_never_renewed_lasts_from_its_beginning() -> None:
    case = Case()
    moments = Moments(SimpleNamespace(now=0.0))
    nobody: Any = SimpleNamespace()
    Askings(moments, nobody, nobody, case.rules, nobody, nobody)
    moments.happen("m0", "Welcome", LEAVES, "s0")
    case.asks(1)
    case.sight.now_s += HELD_S
    case.rules.granted("m0", "s1", [(JOB, 2, HOST)])

    assert case.told == []


def test_and_not_more_often_nor_by_more_at_once() -> None:
    case = Case()
    case.asks(1)
    assert case.asks(2) == ["by 2 requests at once under a loan for 1"]
    case.rules.ended("m0", "s0", [1, 2])
    assert case.asks(3)[1:] == ["3 times under a loan for 2"]


def test_nor_when_its_term_is_over() -> None:
    case = Case()
    case.sight.now_s += 7.0

    assert case.asks(1) == ["under a loan whose term was over at 17.500 s"]


def test_nor_when_it_was_called_in_or_its_bucket_claimed() -> None:
    case = Case()
    case.rules.called_in("m0", "m1", HOST, 3)
    case.sight.now_s += 2.0
    assert case.asks(1) == ["under a loan that is over since 12.000 s"]

    case = Case()
    case.rules.claimed("m0", {5}, case.sight.now_s)
    case.sight.now_s += 2.0
    assert case.asks(1) == ["under a loan that is over since 12.000 s"]


def test_but_under_one_that_whoever_claims_its_bucket_has_made_since() -> None:
    case = Case()
    claimed_s = case.sight.now_s
    case.borrow()
    case.rules.claimed("m0", {5}, claimed_s)
    case.sight.now_s += 2.0

    assert case.asks(1) == []


def test_a_slow_disk_takes_its_time() -> None:
    case = Case(Seen(access_s=0.4))
    case.rules.called_in("m0", "m1", HOST, 3)
    case.sight.now_s += 1.5
    assert case.asks(1) == []
    case.rules.ended("m0", "s0", [1])
    case.sight.now_s += 0.5
    assert case.asks(2) == ["under a loan that is over since 12.000 s"]


def test_nor_under_a_loan_that_was_called_in_before_it_was_heard_of() -> None:
    case = Case()
    case.rules.asks("m0", "m1", HOST, 4)
    case.rules.called_in("m0", "m1", HOST, 4)
    case.rules.lent("m0", HOST, 12.0, ("m1", 4, 2, 1, 5.0))
    case.sight.now_s += 2.0

    assert case.asks(1) == ["under a loan that is over since 12.000 s"]


def test_nor_without_one_after_a_restart() -> None:
    case = Case()
    case.rules.started("m0")

    assert case.asks(1) == ["without a loan"]
    assert case.asks(2, "unknown.test") == ["without a loan"]
