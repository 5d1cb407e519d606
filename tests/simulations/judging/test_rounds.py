"""The model of rounds tells who has an end signed without having asked all others twice, and who says that nothing is
left while something is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.stores import Key, Stores
from simulations.model.work.rounds import Rounds, Said
from tests.simulations.judging.pages import DONE, JOB, PAGE, QUEUED, SeenPages

VIEW = 0xA
IDLE = Said(known=True, busy=0, links=(3, 3), view=VIEW, closing=False, opened=b"")


@dataclass
class Seen(SeenPages):
    """What somebody saw of three masters that act in one view."""

    now_s: float = 100.0
    served: bool = True
    away: frozenset[str] = frozenset()
    acts_in: int = VIEW

    def view(self, master: str) -> int:
        return self.acts_in

    def fellows(self, master: str) -> frozenset[str]:
        return frozenset({"m0", "m1", "m2"}) - {master}

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return "m0", "m1"

    def owned(self, master: str) -> frozenset[int]:
        return frozenset({4})

    def serves(self, master: str, bucket: int) -> bool:
        return self.served

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away


@dataclass
class Case:
    """A master that asks two others how a job stands, and what is told of it."""

    sight: Seen = field(default_factory=Seen)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(bucket_of={PAGE: 4})
        self.stores.store("m0").records[PAGE] = DONE
        self.stores.store("m1").held[PAGE] = DONE
        self.rules = Rounds(self.stores, self.sight, self.told.append)

    def round(self, **answers: Said | None) -> Case:
        """Asks both, each of which answers at once with this, or never."""
        self.sight.now_s += 1.0
        for other in ("m1", "m2"):
            self.rules.asks("m0", other, JOB)
        asked_s, self.sight.now_s = self.sight.now_s, self.sight.now_s + 0.1
        for other in ("m1", "m2"):
            if (said := answers.get(other, IDLE)) is not None:
                self.rules.hears("m0", other, JOB, asked_s, said)
        return self

    def signed(self) -> list[str]:
        """Returns what is told when the end is to be signed."""
        self.rules.signs("m0", JOB)
        return [what.partition(" signed, ")[2] for what in self.told]


def test_an_end_is_signed_after_two_rounds_that_found_nothing_left() -> None:
    assert Case().round(m1=IDLE._replace(busy=2)).round().round().signed() == []


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (IDLE._replace(busy=2), IDLE, "and m1 had something left when it was asked"),
        (IDLE, IDLE._replace(busy=2), "and m1 had something left when it was asked"),
        (IDLE, None, "and m1 has not answered whether anything is left"),
        (IDLE, IDLE._replace(known=False), "of which m1 has not heard"),
        (IDLE, IDLE._replace(view=0xB), "and others acted in another view when they were asked"),
        (IDLE, IDLE._replace(opened=b"x"), "and others know of other open hosts than each other"),
        (
            IDLE._replace(links=(2, 3)),
            IDLE,
            "and links went between masters from one round to the next ((5, 6), (6, 6))",
        ),
    ],
)
def test_and_not_after_others(first: Said, second: Said | None, told: str) -> None:
    assert Case().round(m1=first).round(m1=second).signed() == [told]


def test_one_round_is_not_two() -> None:
    assert Case().round().signed() == ["and has not asked m1 twice"]


def test_who_says_that_nothing_is_left_has_nothing_queued() -> None:
    case = Case()
    case.stores.store("m0").records[PAGE] = QUEUED

    case.rules.says("m0", "m1", JOB, IDLE._replace(busy=1))
    assert case.told == []

    case.rules.says("m0", "m1", JOB, IDLE)
    assert case.told == ["at 100.000 s m0 told m1 that nothing is left of job 7 there, and page 1 is queued there"]


@pytest.mark.parametrize(("away", "is_amiss"), [(frozenset(), True), (frozenset({"m1"}), False)])
def test_nor_anything_that_its_holders_lack(away: frozenset[str], is_amiss: bool) -> None:
    case = Case(Seen(away=away))
    case.stores.store("m1").held[PAGE] = QUEUED

    case.rules.says("m0", "m2", JOB, IDLE)

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize(
    ("acts_in", "told"), [(VIEW, ["and does not serve its bucket 4 yet"]), (VIEW + 1, [])], ids=["as it asked", "anew"]
)
def test_who_has_an_end_signed_serves_all_that_is_its_own_unless_its_view_has_changed(
    acts_in: int, told: list[str]
) -> None:
    case = Case().round().round()
    case.sight.served, case.sight.acts_in = False, acts_in

    assert case.signed() == told


def test_nor_a_bucket_that_nobody_serves() -> None:
    case = Case(Seen(served=False))

    case.rules.says("m0", "m1", JOB, IDLE)

    assert case.told == [
        "at 100.000 s m0 told m1 that nothing is left of job 7 there, and does not serve its bucket 4 yet"
    ]


@pytest.mark.parametrize("is_there", [False, True])
def test_nor_a_link_that_it_keeps_and_its_owner_lacks(is_there: bool) -> None:
    case = Case()
    link: Key = (0, 2, JOB)
    case.stores.bucket_of[link] = 4
    case.stores.store("m1").spool[1] = link
    if is_there:
        case.stores.store("m0").records[link] = DONE
        case.stores.store("m1").held[link] = DONE

    case.rules.says("m1", "m2", JOB, IDLE)

    assert bool(case.told) is not is_there
