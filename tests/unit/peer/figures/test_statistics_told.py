"""The work of masters that are gone, as those that are left keep it: each life of each once."""

from __future__ import annotations

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.peer.figures.statistics_told import GoneWork, WorkHere, latest_gone

ONE, TWO, GONE = (NodeId(letter * 40) for letter in "abc")


def gone(master: NodeId, life: str, version: int) -> GoneWork:
    return GoneWork(master=master, life=life, version=version, rows={}, total={"pages": version})


def here(life: str, *kept: GoneWork) -> WorkHere:
    return WorkHere(life=life, rows={}, total={}, gone=list(kept))


def test_of_what_several_keep_the_latest_counts_and_once() -> None:
    parts = {ONE: here("1", gone(GONE, "9", 5)), TWO: here("2", gone(GONE, "9", 7))}

    assert [work["version"] for work in latest_gone(parts)] == [7]


def test_who_speaks_is_not_counted_from_what_others_keep_but_its_life_before_is() -> None:
    parts = {ONE: here("1", gone(TWO, "2", 5), gone(TWO, "8", 3)), TWO: here("2")}

    assert [(work["life"], work["version"]) for work in latest_gone(parts)] == [("8", 3)]
