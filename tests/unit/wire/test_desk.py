"""What a parent makes of what its child shows on its desk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from p2pcrawl.wire.messages import desk as desk_module
from p2pcrawl.wire.messages.desk import LOOK_S, Desk, Overseer


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk.make()
    desk.allow(1.0)
    yield desk
    desk.close()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Sets what the system says that the child has computed: the last of these."""
    told = [10.0]
    monkeypatch.setattr(desk_module, "computed_s", lambda pid: told[-1])
    return told


def test_child_that_computes_on_one_answer_for_too_long_is_found_with_its_lease(
    desk: Desk, computed: list[float]
) -> None:
    overseer = Overseer(1, desk)
    desk.begin(5, 42)

    seen = []
    for cpu_s in (10.0, 10.9, 11.1):
        computed.append(cpu_s)
        seen.append(overseer.look())

    assert seen == [None, None, 42]


def test_child_that_waits_for_the_processor_is_not_blamed(desk: Desk, computed: list[float]) -> None:
    overseer = Overseer(1, desk)
    desk.begin(5, 42)

    assert [overseer.look() for _ in range(100)] == [None] * 100


def test_child_that_goes_from_answer_to_answer_may_compute_for_ever(desk: Desk, computed: list[float]) -> None:
    overseer = Overseer(1, desk)

    for piece in range(1, 100):
        desk.begin(piece, 42)
        computed.append(10.0 + piece)
        assert overseer.look() is None


def test_child_that_computes_on_no_answer_may_do_so(desk: Desk, computed: list[float]) -> None:
    overseer = Overseer(1, desk)
    desk.begin(5, 42)
    overseer.look()
    desk.end()
    computed.append(100.0)

    assert overseer.look() is None


def test_child_that_gives_no_sign_for_too_long_is_found(desk: Desk) -> None:
    overseer = Overseer(1, desk)
    desk.expect(10 * LOOK_S)
    desk.sign()

    seen = [overseer.silent() for _ in range(12)]
    desk.sign()
    after = overseer.silent()

    assert seen == [False] * 11 + [True]
    assert not after


def test_child_that_nobody_has_expectations_of_may_be_silent(desk: Desk) -> None:
    overseer = Overseer(1, desk)

    assert not any(overseer.silent() for _ in range(1_000))


def test_without_a_limit_nothing_takes_too_long(desk: Desk, computed: list[float]) -> None:
    overseer = Overseer(1, desk)
    desk.allow(0.0)
    desk.begin(5, 42)
    overseer.look()
    computed.append(100.0)

    assert overseer.look() is None
