"""Whoever waits for all copies of what is here is called when they are there, and not before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from p2pcrawl.core.buckets.bucket_states import BucketEvent
from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.master.copies.abreast import Abreast
from p2pcrawl.model.cluster.node import NodeId
from tests.peers import member

ME, OTHER = NodeId("1" * 40), NodeId("2" * 40)


class Case:
    """A master among two whose copies are all there, and one that waits for that."""

    def __init__(self) -> None:
        members = [member(ME), member(OTHER)]
        self.ownership = Ownership(ME, 2)
        self.copying = Copying(ME, 2)
        change = self.ownership.change(members, 1)
        self.mine = change.gained
        self.ownership.released(OTHER, change.gained)
        self.ownership.serve(self.ownership.succeed(change.gained))
        self.copying.change(members, {bucket: (OTHER,) for bucket in self.mine}, 2)
        generation = self.copying.generation(OTHER)
        assert generation is not None
        self.copying.synced(OTHER, self.mine, generation)
        self.called: list[str] = []
        self.abreast = Abreast(self.ownership, self.copying)
        self.abreast.when(lambda: self.called.append("here"))


def one_lacks_a_copy(case: Case) -> None:
    case.copying.doubt({min(case.mine)})


def one_bucket_is_claimed_anew(case: Case) -> None:
    case.ownership.states.take(BucketEvent.DOUBTED, [min(case.mine)])


def one_has_to_let_go(case: Case) -> None:
    case.ownership.offered(OTHER, [min(case.mine)])


def something_is_left_over(case: Case) -> None:
    case.ownership.found([next(b for b in range(4_096) if b not in case.mine)])


def test_who_waits_is_called_at_the_next_look_and_once() -> None:
    case = Case()
    before = list(case.called)

    case.abreast.tend()
    case.abreast.tend()

    assert (before, case.called) == ([], ["here"])


@pytest.mark.parametrize(
    "lacks", [one_lacks_a_copy, one_bucket_is_claimed_anew, one_has_to_let_go, something_is_left_over]
)
def test_nobody_is_called_while_anything_may_be_here_alone(lacks: Callable[[Case], None]) -> None:
    case = Case()
    lacks(case)

    case.abreast.tend()

    assert case.called == []
