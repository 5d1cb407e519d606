"""The model of serving tells of a master that goes on with what others may serve by now."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.serving import Serving

BUCKET = 32


@dataclass
class Case:
    """A master, m0, that began alone a while ago and serves a bucket, and what was told of it."""

    now_s: float = 100.0
    brought: bool = False
    serving: set[int] = field(default_factory=set)
    there: frozenset[str] = frozenset()
    still: list[tuple[float, float]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Serving(self, {BUCKET, 64}, self.told.append)
        self.rules.started("m0")
        self.acts(BUCKET)
        self.serves()

    def others(self, master: str) -> frozenset[str]:
        return self.there

    def serves(self, master: str = "", bucket: int = BUCKET) -> bool:
        if not master:
            self.serving.add(bucket)
            self.rules.serves("m0", {bucket})
        return bucket in self.serving

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        return [(max(from_s, began_s), min(until_s, ended_s)) for began_s, ended_s in self.still if ended_s > from_s]

    def is_brought(self, master: str) -> bool:
        return self.brought

    def acts(self, bucket: int, *others: str) -> list[str]:
        self.there = frozenset(others)
        self.rules.acts("m0", frozenset({bucket}), others)
        return self.told

    def look(self) -> list[str]:
        self.now_s += 2.0
        self.rules.look()
        return self.told


def in_company(*, brought: bool = False) -> Case:
    """A master that has met another one, and serves its bucket since that has let go of it."""
    case = Case(brought=brought)
    case.now_s += 2.0
    case.serving.clear()
    case.acts(BUCKET, "m1")
    case.now_s += 1.0
    case.serves()
    return case


def test_who_was_alone_and_meets_others_serves_nothing_before_they_let_go() -> None:
    assert "as it was alone, and meets m1" in Case().acts(BUCKET, "m1")[0]
    assert in_company().told == []


@pytest.mark.parametrize(("bucket", "what"), [(64, "bucket 32, which is another's"), (BUCKET, "")])
def test_what_is_anothers_is_served_no_more(bucket: int, what: str) -> None:
    told = in_company().acts(bucket, "m1", "m2")

    assert (what in told[0]) if what else not told


def test_what_is_gained_is_not_served_at_once() -> None:
    case = in_company()
    case.serving = {64}

    assert "bucket 64, which it gains" in case.acts(64, "m1", "m2")[0]


@pytest.mark.parametrize(
    ("brought", "after_s", "is_amiss"), [(True, 1.0, True), (True, 3.0, False), (False, 1.0, False)]
)
def test_who_is_new_has_each_whom_it_meets_let_go(brought: bool, after_s: float, is_amiss: bool) -> None:
    case = in_company(brought=brought)
    case.now_s += after_s

    assert any("meets m2, of whom it had not heard" in what for what in case.acts(BUCKET, "m1", "m2")) == is_amiss


@pytest.mark.parametrize(("anew", "is_amiss"), [(False, True), (True, False)])
@pytest.mark.parametrize("why", ["stood still", "heard that it was held dead"])
def test_what_others_may_have_taken_over_is_not_gone_on_with(why: str, anew: bool, is_amiss: bool) -> None:
    case = in_company()
    case.now_s += 20.0
    if why == "stood still":
        case.still.append((case.now_s - 6.0, case.now_s))
    else:
        case.rules.is_held_dead("m0")
    case.now_s += 0.5
    if anew:
        case.serves()

    assert any(why in what for what in case.look()) == is_amiss
