"""The pool of sessions, by their names."""

from __future__ import annotations

import random

import pytest

from p2pcrawl.core.visitors.session_pool import SessionPool


def pool_of(size: int, uses_max: int = 0) -> SessionPool:
    return SessionPool(size, uses_max, random.Random(7).randrange)


def test_pool_has_as_many_sessions_as_it_was_given() -> None:
    pool = pool_of(5)

    assert len({pool.take() for _ in range(200)}) == 5


def test_session_that_has_ended_is_never_taken_again() -> None:
    pool = pool_of(1)
    first = pool.take()

    pool.end(first)
    pool.end(first)
    second = pool.take()

    assert second != first
    assert {pool.take() for _ in range(20)} == {second}


def test_session_ends_when_it_was_used_often_enough() -> None:
    pool = pool_of(1, uses_max=3)

    names = [pool.take() for _ in range(7)]

    assert [names.count(name) for name in dict.fromkeys(names)] == [3, 3, 1]


@pytest.mark.parametrize("name", ["", "mine", "pool ", "pool x.0", "pool 9.0", "pool 0.7", "pool -1.0"])
def test_what_is_no_session_of_the_pool_ends_none(name: str) -> None:
    pool = pool_of(1)
    before = pool.take()

    pool.end(name)

    assert pool.take() == before
