"""The model of links that are kept tells of one that its owner has not been told again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.stores import Stores
from simulations.model.work.kept import Kept
from tests.simulations.judging.pages import LINK, QUEUED, SeenPages


@dataclass
class Case(SeenPages):
    """A link that m0 keeps for m1, and what was told of it."""

    now_s: float = 0.0
    up: frozenset[str] = frozenset({"m0", "m1"})
    away: frozenset[str] = frozenset()
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(bucket_of={LINK: 4})
        self.stores.store("m0").spooled[LINK] = 1
        self.stores.store("m1")
        self.rules = Kept(self.stores, self, self.told.append)

    def awake(self) -> frozenset[str]:
        return self.up

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return ("m1", "m0")

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away

    def waits(self, seconds: int) -> list[str]:
        for _ in range(seconds):
            self.now_s += 1.0
            self.rules.look(calm=True)
        return self.told


def test_who_keeps_a_link_says_it_until_its_owner_has_it() -> None:
    case = Case()

    assert case.waits(25) == []
    assert case.waits(10)[0] == (
        "at 31.000 s m0 keeps page 2 for m1, which owns it, and has nothing of it after 31 s in calm"
    )


@pytest.mark.parametrize("why", ["there", "trouble", "gone", "away", "deleted"])
def test_an_owner_that_has_it_or_could_not_be_told_is_no_matter(why: str) -> None:
    case = Case()
    match why:
        case "there":
            case.stores.store("m1").records[LINK] = QUEUED
        case "gone":
            case.up = frozenset({"m0"})
        case "away":
            case.away = frozenset({"m1"})
        case "deleted":
            case.is_deleted = True
    case.waits(20)
    if why == "trouble":
        case.rules.look(calm=False)

    assert case.waits(20) == []
