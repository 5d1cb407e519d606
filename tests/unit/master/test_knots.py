"""The objects of a running master hold together without knots: what each knows is below it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import p2pcrawl
from p2pcrawl.master.master import Master
from simulations import Options, Plan, Simulation, Stage
from tests.knots import Graph, filled_from_outside, late_slots

KNOT_MAX = 12
SLOTS_MAX = 3
METHODS_MAX = 30


def running(**options: object) -> Graph:
    """Returns the objects of a master that crawls with two others."""
    graphs: list[Graph] = []

    async def look(stage: Stage) -> None:
        await asyncio.sleep(3.0)
        graphs.append(Graph(stage.up[0].lead))

    Simulation(Plan(Options(masters=3, pages=20, hosts=4, **options), faults=look)).run()  # type: ignore[arg-type]
    return graphs[0]


@pytest.fixture(scope="module", params=[{}, {"partition": "majority"}], ids=["all", "majority"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return running(**request.param)


@pytest.mark.slow
def test_largest_knot_of_a_running_master_is_small(graph: Graph) -> None:
    largest = max(graph.knots, key=len)

    assert len(graph.counted) > 80
    assert len(largest) <= KNOT_MAX, graph.among(largest)


@pytest.mark.slow
def test_master_and_its_parts_are_in_no_knot(graph: Graph) -> None:
    knotted = {name for knot in graph.knots for name in knot}

    assert knotted.isdisjoint({"Master", "Ground", "Neighbours", "Cycle", "Intake", "Exchange", "Takeover", "Upkeep"})


@pytest.mark.slow
def test_hardly_any_slot_is_filled_after_its_object_is_made(graph: Graph) -> None:
    slots = late_slots(graph, filled_from_outside(Path(p2pcrawl.__file__).parent))

    assert len(slots) <= SLOTS_MAX, slots


def test_master_has_few_methods() -> None:
    methods = [name for name, value in vars(Master).items() if callable(value) or isinstance(value, property)]

    assert len(methods) <= METHODS_MAX


class Ring:
    """One of several that know each other in a circle."""

    def __init__(self) -> None:
        self.next: Ring | None = None
        self.told: list[object] = []


@pytest.mark.parametrize("how", ["attribute", "bound method", "closure"])
def test_measure_sees_a_circle_by(how: str) -> None:
    one, other = Ring(), Ring()
    one.next = other

    match how:
        case "attribute":
            other.next = one
        case "bound method":
            other.told.append(one.__init__)  # type: ignore[misc]
        case _:
            other.told.append(lambda: one)

    assert Graph(one).knots == [["Ring", "Ring"]]


def test_measure_sees_none_where_there_is_none() -> None:
    one, other = Ring(), Ring()
    one.next = other

    assert Graph(one).knots == []
