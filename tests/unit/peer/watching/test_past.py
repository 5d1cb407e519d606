"""The past hours of a crawl, added up over its masters."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from p2pcrawl.core.meters.meters import Meters
from p2pcrawl.core.meters.series import SeriesStep
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.peer.watching.past import COUNTED, Past, history_of
from p2pcrawl.wire.messages.ask import Answered
from tests.peers import FakePeers, member

NOW = 1_000_005.0


class Town:
    """Masters that worked, each of which can be asked for the past of all."""

    def __init__(self, *names: str) -> None:
        self.meters = {name: Meters() for name in names}
        ids = {name: NodeId(name * 40) for name in names}
        self.past = {
            name: Past(FakePeers(id, map(member, ids.values()), self._answer), self.meters[name], KnownJobs())
            for name, id in ids.items()
        }
        self.silent: set[str] = set()

    def works(self, name: str, at: float, answers_s: float = 0.01, **work: int) -> None:
        self.meters[name].count({1: work})
        for _ in range(work.get("pages", 0)):
            self.meters[name].answers_s.note(answers_s)
        self.past[name].count(at)

    async def asked(self, name: str, minutes: int = 1) -> Any:
        return await self.past[name].answer({"minutes": minutes})

    async def _answer(self, node: NodeId, request: Any) -> Answered:
        if node[0] in self.silent:
            raise LinkError("it is silent")
        return Answered(0, msgspec.json.encode(self.past[node[0]].here(msgspec.json.decode(request.arguments))))


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.watching.past.time.time", lambda: NOW)


async def test_work_of_all_masters_is_added_up_step_by_step() -> None:
    town = Town("a", "b")
    town.works("a", NOW - 25, pages=3, items=2, bytes=100)
    town.works("b", NOW - 25, pages=1)
    town.works("b", NOW - 15, pages=5, failed=1, retries=2)

    told = await town.asked("a")

    assert told["step_s"] == 10 and told["from"] == 999_940
    assert told["series"]["pages"] == [None, None, None, None, 4, 5]
    assert told["series"]["items"] == [None, None, None, None, 2, 0]
    assert told["series"]["errors"] == [None, None, None, None, 0, 3]
    assert (await town.asked("b"))["series"] == told["series"]


async def test_step_that_is_not_over_is_left_out() -> None:
    town = Town("a")
    town.works("a", NOW, pages=3)

    assert (await town.asked("a"))["series"]["pages"] == [None] * 6


async def test_hours_are_told_in_minutes() -> None:
    town = Town("a")
    town.works("a", NOW - 100 * 60, pages=3)
    town.works("a", NOW - 100 * 60 + 1, pages=4)

    told = await town.asked("a", minutes=120)

    assert told["step_s"] == 60 and len(told["series"]["pages"]) == 120
    assert [value for value in told["series"]["pages"] if value is not None] == [7]


async def test_latency_is_that_of_all_answers_together() -> None:
    town = Town("a", "b")
    town.works("a", NOW - 15, answers_s=0.004, pages=90)
    town.works("b", NOW - 15, answers_s=2.0, pages=10)

    series = (await town.asked("b"))["series"]

    assert series["latency_p50_ms"][5] <= 5.0
    assert 1000.0 <= series["latency_p95_ms"][5] <= 2500.0
    assert series["latency_p50_ms"][3] is None


async def test_master_that_does_not_answer_is_left_out() -> None:
    town = Town("a", "b")
    town.works("a", NOW - 15, pages=1)
    town.works("b", NOW - 15, pages=1)
    town.silent.add("b")

    assert (await town.asked("a"))["series"]["pages"][5] == 1


@pytest.mark.parametrize("minutes", [0, -1, 361, "x", None])
async def test_number_of_minutes_that_cannot_be_is_refused(minutes: Any) -> None:
    with pytest.raises(ConfigurationError, match="minutes is"):
        await Town("a").asked("a", minutes)


def test_step_in_which_nothing_was_answered_has_no_latency() -> None:
    counts = (0,) * (len(COUNTED) + 15)

    told = history_of({1: SeriesStep(1, counts, (3, 4))}, 0, 2, 10)

    assert told["series"]["latency_p50_ms"] == [None, None]
    assert (told["series"]["frontier"], told["series"]["in_flight"]) == ([None, 3], [None, 4])
