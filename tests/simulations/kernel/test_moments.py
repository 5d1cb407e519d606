"""Moments are told in the order of the run, to whoever listens, and cost the run nothing that could be seen."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from p2pcrawl.wire.messages.codec import encode
from p2pcrawl.wire.messages.peer_messages import Claim, Taken
from p2pcrawl.wire.messages.slave_messages import Bye
from simulations.kernel.moments import COMES, FAILED, LEAVES, PHASES, Moment, Moments
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.whole.plan import Plan
from simulations.whole.simulation import Simulation
from simulations.world.taps import kind_of

SMALL = Options(masters=3, pages=20, hosts=4, seed=3)


def test_moments_of_one_kind_and_phase_are_counted() -> None:
    heard: list[Moment] = []
    moments = Moments(SimpleNamespace(now=2.5))
    moments.happen("m0", "Claim", LEAVES)
    stop = moments.listen(heard.append)

    moments.happen("m0", "Claim", LEAVES, "m1")
    moments.happen("m1", "Claim", COMES, "m0")
    moments.happen("m2", "Claim", LEAVES, "m1")
    stop()
    moments.happen("m2", "Claim", LEAVES, "m1")

    assert [(m.at, m.node, m.phase, m.peer, m.number) for m in heard] == [
        (2.5, "m0", LEAVES, "m1", 1), (2.5, "m1", COMES, "m0", 1), (2.5, "m2", LEAVES, "m1", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("message", [Claim(1, 2, b""), Taken(1, b""), Bye()])
def test_the_kind_of_a_frame_is_read_from_its_first_bytes(message: object) -> None:
    assert kind_of(encode(message)) == type(message).__name__  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_run_tells_of_messages_stores_and_verbs_and_goes_as_it_does_when_nobody_listens() -> None:
    heard: list[Moment] = []

    async def listen(stage: Stage) -> None:
        stage.world.moments.listen(heard.append)

    async def nothing(stage: Stage) -> None:
        pass

    one, other = (Simulation(Plan(SMALL, faults=faults)).run() for faults in (listen, nothing))

    assert one.trace == other.trace
    assert {moment.phase for moment in heard} == set(PHASES) - {FAILED}
    assert {"Grant", "Report", "Store.commit", "CopyStore.put", "Copy", "Copied", "verb job"} <= {m.kind for m in heard}
    assert all(moment.peer for moment in heard if moment.kind == "Copy")
    assert sorted((m.at, m.number) for m in heard if m.kind == "Copy" and m.phase == COMES) == [
        (m.at, m.number) for m in heard if m.kind == "Copy" and m.phase == COMES
    ]
