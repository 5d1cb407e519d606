"""The model of hosts that wait tells of one that is left alone, and excuses what had a reason."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from simulations.model.stores import Key, Store, Stores, stamp_of
from simulations.model.waiting import USUAL, Bounds, Waiting

JOB = 7
PAGE: Key = (0, 1, JOB)
SECOND: Key = (0, 2, JOB)
ELSEWHERE: Key = (1, 3, JOB)
QUEUED = stamp_of(0, 0, 0, 0)
CALM_S, ASKED_S, NOW_S = 50.0, 60.0, 100.0


def told(
    change: Callable[[Store], object] = lambda store: None, *, calm_s: float = CALM_S, bounds: Bounds = USUAL
) -> list[str]:
    """Returns what is told of a page that is queued at one that is there, after a change of its disk."""
    found: list[str] = []
    stores = Stores()
    store = stores.store("m0")
    store.records[PAGE], store.numbers[4] = QUEUED, PAGE
    change(store)
    sight = SimpleNamespace(now_s=NOW_S, name=lambda key: f"http://h{key[0] + 1}.test/p/{key[1]}")
    rules = Waiting(stores, sight, found.append)  # type: ignore[arg-type]
    rules.look(JOB, ["m0"], {"h1.test": ASKED_S}, calm_s, bounds)
    return found


def lease(store: Store) -> None:
    store.records[SECOND], store.numbers[5], store.leases[5] = QUEUED, SECOND, 9


def test_a_host_that_answers_and_has_a_page_queued_is_asked_soon() -> None:
    assert told() == [
        "at 100.000 s nobody has asked h1.test for 40.0 s, "
        "though http://h1.test/p/1 was queued, and nothing was in the way"
    ]


@pytest.mark.parametrize(
    "excuse",
    [
        lambda store: store.came.update({PAGE: 90.0}),
        lambda store: store.records.update({PAGE: stamp_of(0, 0, 1, 0)}),
        lambda store: store.records.update({PAGE: stamp_of(0, 3, 1, 0)}),
        lease,
    ],
    ids=["it has just come", "it was tried before", "it is through", "another one is in a slave's hands"],
)
def test_a_host_waits_for_a_reason(excuse: Callable[[Store], object]) -> None:
    assert told(excuse) == []


def test_who_was_in_trouble_a_moment_ago_has_time() -> None:
    assert told(calm_s=85.0) == []


@pytest.mark.parametrize(("seats", "is_amiss"), [(2, True), (1, False)])
def test_a_host_without_a_seat_waits_for_the_others(seats: int, is_amiss: bool) -> None:
    def queue_another(store: Store) -> None:
        store.records[ELSEWHERE] = stamp_of(0, 0, 1, 0)

    assert bool(told(queue_another, bounds=Bounds(seats=seats))) is is_amiss
