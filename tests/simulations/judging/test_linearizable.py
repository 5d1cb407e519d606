"""The search for an order explains histories that can have happened, and none that cannot."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from simulations.model import linearizable
from simulations.model.linearizable import Step, explained


def read(value: str, began_s: float = 0.0, ended_s: float = 9.0, after: tuple[int, ...] = (), **more: bool) -> Step:
    return Step(f"read {value}", began_s, ended_s, frozenset({value}), None, frozenset(after), **more)


def write(value: str, began_s: float = 0.0, ended_s: float = 9.0, after: tuple[int, ...] = (), **more: bool) -> Step:
    return Step(f"write {value}", began_s, ended_s, None, value, frozenset(after), **more)


PERHAPS = {"must": False}

HAPPENED = {
    "nothing": [],
    "a read finds what was there at first": [read("0")],
    "a read finds what was written": [write("1"), read("1", after=(0,))],
    "a read that need not know of a write comes before it": [write("1"), read("0")],
    "two reads see two writes in one order": [write("1"), write("2"), read("2"), read("1", after=(2,))],
    "the later of two writes is tried behind the earlier": [write("2"), write("1", after=(0,)), read("1", after=(0,))],
    "who was not answered may have been obeyed": [write("1", ended_s=float("inf"), **PERHAPS), read("1")],
    "who was not answered may not have been obeyed": [write("1", ended_s=float("inf"), **PERHAPS), read("0")],
    "who was not answered may be obeyed late": [
        write("1", ended_s=float("inf"), **PERHAPS), read("0"), write("2", after=(1,)), read("1", after=(2,)),
    ],
}  # fmt: skip
DID_NOT = {
    "a read misses a write that it must know of": [write("1"), read("0", after=(0,))],
    "a read finds what nobody has written": [write("1"), read("2")],
    "a read finds what was written over": [write("1"), write("2", after=(0,)), read("1", after=(1,))],
    "two reads see two writes in two orders": [
        write("1"), write("2"), read("1"), read("2", after=(2,)), read("2"), read("1", after=(4,)),
    ],
    "a read finds what is asked for only later": [write("1", 5.0, 6.0), read("1", 1.0, 2.0)],
    "a write comes back": [write("1"), read("1", after=(0,)), read("0", after=(1,))],
    "who was not answered was obeyed before he asked": [
        read("1", 1.0, 2.0), write("1", 3.0, float("inf"), **PERHAPS),
    ],
}  # fmt: skip


@pytest.mark.parametrize("steps", HAPPENED.values(), ids=HAPPENED)
def test_history_that_can_have_happened_is_explained(steps: list[Step]) -> None:
    verdict = explained(steps, "0")

    assert verdict.explained
    assert {n for n, step in enumerate(steps) if step.must} <= set(verdict.order)


@pytest.mark.parametrize("steps", DID_NOT.values(), ids=DID_NOT)
def test_history_that_cannot_have_happened_is_not(steps: list[Step]) -> None:
    verdict = explained(steps, "0")

    assert not verdict.explained
    assert not verdict.given_up
    assert verdict.stuck


def test_what_absorbs_writes_stays() -> None:
    steps = [write("gone"), write("1", after=(0,)), read("gone", after=(1,))]

    assert not explained(steps, "0").explained
    assert explained(steps, "0", lambda now, put: now == "gone").explained


def test_search_agrees_with_trying_every_order() -> None:
    dice = Random(16)
    for _ in range(300):
        steps = []
        for number in range(dice.randint(2, 5)):
            after = tuple(n for n in range(number) if dice.random() < 0.3)
            make = write if dice.random() < 0.5 else read
            began_s = dice.uniform(0.0, 5.0)
            steps.append(make(dice.choice("012"), began_s, began_s + dice.uniform(0.0, 5.0), after))

        assert explained(steps, "0").explained is any(holds(steps, order) for order in permutations(range(len(steps))))


def holds(steps: list[Step], order: tuple[int, ...]) -> bool:
    """Tells whether one order explains all steps."""
    now, since_s, done = "0", 0.0, set[int]()
    for number in order:
        step = steps[number]
        if not step.after <= done or (step.reads is not None and (now not in step.reads or since_s > step.ended_s)):
            return False
        if step.writes is not None:
            now, since_s = step.writes, step.began_s
        done.add(number)
    return True


def test_search_that_takes_too_long_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linearizable, "TRIES_MAX", 5)

    verdict = explained([*(write(str(n)) for n in range(8)), read("9")], "0")

    assert verdict.given_up
    assert not verdict.explained
