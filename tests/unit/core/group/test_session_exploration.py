"""A session at both its ends, in every order of words, looks at the clock, and few faults."""

from __future__ import annotations

import pytest

from simulations.mutants import mutants
from simulations.mutants.making.edits import edit_of
from tests.exploring import Broken, explore
from tests.unit.core.group.small_group import TICKS, SmallGroup


def judge(before: SmallGroup, after: SmallGroup) -> None:
    """What goes back to its queues may be given to another: by then nobody works on it."""
    under = after.known.get(after.under)
    assert not (after.works and under is not None and under.returned), "a slave works on what has gone back"


@pytest.mark.parametrize(
    ("faults", "states"),
    [({"cut": 1}, 3_000), pytest.param({"cut": 1, "leave": 1}, 15_000, marks=pytest.mark.slow)],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_nobody_works_on_what_has_gone_back_and_all_goes_on_after_it(faults: dict[str, int], states: int) -> None:
    found = explore(SmallGroup(faults=faults), judge)

    assert len(found.states) > states
    assert [found.way_to(number) for number in found.hopeless()[:1]] == []


@pytest.mark.parametrize("name", ["session-counts-from-the-answer", "remote-leases-back-at-once"])
def test_mistake_is_noticed(name: str) -> None:
    with edit_of(mutants()[name]).put_in(), pytest.raises(Broken):
        explore(SmallGroup(faults={"cut": 1}), judge)


def test_fence_that_lasts_longer_than_the_session_is_noticed() -> None:
    # A session is overdue after its time, and so a tick later at the earliest.
    with pytest.raises(Broken):
        explore(SmallGroup(fence_ticks=TICKS + 2), judge)
