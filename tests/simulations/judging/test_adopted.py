"""The model of what slaves bring tells of a master that calls it safe when it is not, and of ends ahead of links."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulations.model.stores import Key, Stores
from simulations.model.work.adopted import Adoptions, Brought
from tests.simulations.judging.pages import DONE, JOB, LINK, PAGE, QUEUED, SeenPages


@dataclass
class Seen(SeenPages):
    """What somebody saw of masters to which nothing happened."""

    now_s: float = 10.0

    def destroyed(self, key: Key) -> bool:
        return False

    def lies(self, slave: str) -> bool:
        return slave == "liar"


@dataclass
class Case:
    """A slave that brings m0 a page which has ended, with a link; m1 owns both."""

    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores()
        self.owner = self.stores.store("m1")
        self.owner.records[PAGE] = QUEUED
        self.rules = Adoptions(self.stores, Seen(), {"m0": {JOB}}, self.told.append)
        for slave in "s0", "liar":
            self.rules.comes("m0", slave, 1, [Brought(PAGE, True, (LINK,))])


def test_its_links_are_somewhere_before_its_end_is_said() -> None:
    case = Case()
    case.rules.ends("m0", [PAGE])
    assert case.told == [
        "at 10.000 s m0 has page 1 ended, which a slave has brought, while nobody has page 2, to which it leads"
    ]

    case.owner.records[LINK] = QUEUED
    case.rules.ends("m0", [PAGE])
    assert len(case.told) == 1


def test_it_is_safe_when_its_links_are_somewhere_and_it_has_ended() -> None:
    case = Case()
    case.owner.records |= {PAGE: DONE, LINK: QUEUED}

    case.rules.adopts("m0", "s0", 1)

    assert case.told == []


def test_and_not_while_a_disk_says_otherwise() -> None:
    case = Case()
    case.owner.records[LINK] = QUEUED

    case.rules.adopts("m0", "s0", 1)

    assert case.told == ["at 10.000 s m0 told s0 that what it brought of page 1 is safe, and it has ended on no disk"]


def test_who_lies_may_bring_what_was_never_there() -> None:
    case = Case()

    case.rules.adopts("m0", "liar", 1)

    assert case.told == []


def test_what_follows_from_a_verdict_is_left_out() -> None:
    case = Case()
    case.rules.comes("m0", "s0", 2, [Brought(PAGE, True, (LINK,), is_verdict=True)])

    case.rules.adopts("m0", "s0", 2)

    assert case.told == []
