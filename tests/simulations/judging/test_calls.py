"""The record of calls takes down what came of each, and has told what no order of changes explains."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from p2pcrawl.model.errors import NotNow, NotThere, P2PCrawlError
from simulations.kernel.moments import ASKED, FAILED, TOLD, Moments
from simulations.model.endings import JobRow
from simulations.record.calls import JOB, REST, SETTING, Calls, Register

ONE = Register(JOB, "7")


@dataclass
class Case:
    """One master, m0, that is asked one thing after the other, and calls itself what its disk says."""

    now_s: float = 0.0
    now: float = 0.0
    lives: int = 1
    rows: dict[str, dict[int, JobRow]] = field(default_factory=dict)
    paused: bool = False
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.moments = Moments(self)
        self.calls = Calls(self.moments, self, self.rows)

    def life(self, master: str) -> int:
        return self.lives

    def awake(self) -> frozenset[str]:
        return frozenset({"m0"})

    def standing(self) -> Hashable:
        return None

    def states(self, master: str) -> Mapping[int, str]:
        return {job: row.state for job, row in self.rows.get(master, {}).items()}

    def board(self, master: str, job: int, name: str) -> str:
        return ""

    def setting(self, master: str, job: int, name: str) -> Any:
        return 5

    def order(self, master: str, host: str) -> tuple[float | None, bool]:
        return None, self.paused

    def stores(self, state: str, version: int, node: str = "m0") -> None:
        row = JobRow(state, "", version)
        self.calls.stored(node, 7, row)
        self.rows.setdefault(node, {})[7] = row

    def asks(self, verb: str, answer: Any, **arguments: Any) -> None:
        self._pass()
        self.moments.happen("m0", f"verb {verb}", ASKED, what={"job": 7, **arguments})
        self._pass()
        self.moments.happen("m0", f"verb {verb}", FAILED if isinstance(answer, Exception) else TOLD, what=answer)

    def judged(self) -> list[str]:
        self.calls.judge(self.told.append)
        return self.told

    def looks(self) -> None:
        self._pass()
        self.calls.look()

    def _pass(self) -> None:
        self.now_s = self.now = self.now_s + 1.0


def verdict(*acts: Callable[[Case], None]) -> list[str]:
    """Lets a master be asked for a job, and what follows; returns what is told."""

    async def play() -> list[str]:
        case = Case()
        case.asks("submit", {"job": 7})
        case.stores("running", 0)
        for act in acts:
            act(case)
        return case.judged()

    return asyncio.run(play())


def pause(case: Case) -> None:
    case.stores("paused", 1)
    case.asks("pause", {"job": 7, "was": "running", "state": "paused"})


def look(case: Case) -> None:
    case.looks()


def forget(case: Case) -> None:
    case.lives += 1
    case.rows["m0"][7] = JobRow("running", "", 0)


def end(case: Case) -> None:
    case.stores("finished", 9)


def asks(verb: str, answer: Any, **arguments: Any) -> Callable[[Case], None]:
    return lambda case: case.asks(verb, answer, **arguments)


RESUMED = {"job": 7, "was": "paused", "state": "running"}
OK: dict[str, list[Callable[[Case], None]]] = {
    "nothing more": [],
    "it is paused and stays so": [pause, look, asks("job", {"state": "paused"})],
    "who asks for nothing new is told so": [pause, asks("pause", {"job": 7, "was": "paused", "state": "paused"})],
    "what was not answered has come about": [asks("pause", P2PCrawlError("not stored in time")), pause],
    "a refusal fits what is there": [end, look, asks("resume", NotNow("it is finished"))],
    "a host rests as it was told to": [
        asks("set-host", {"host": "h", "was": {"paused": False}, "set": {"paused": True}}, host="h", paused=True),
        lambda case: setattr(case, "paused", True), look,
    ],
    "a setting is what it was set to": [asks("set", {"was": {"DEPTH_LIMIT": 0}, "set": {"DEPTH_LIMIT": 5}}), look],
}  # fmt: skip
AMISS: dict[str, tuple[list[Callable[[Case], None]], str]] = {
    "the next life has forgotten it": ([pause, forget, look], "m0 had it running at"),
    "it ends though it rests": ([pause, look, lambda case: setattr(case, "now_s", 60.0), end, look], "finished"),
    "a refusal does not fit": ([pause, asks("resume", NotNow("it is finished"))], "resume at m0"),
    "nobody has ever heard of it": ([asks("job", NotThere("there is no job 7"))], "job at m0"),
    "a verb made something else of it": (
        [asks("pause", {"job": 7, "was": "running", "state": "cancelled"})], "was told that it is cancelled",
    ),
    "a host does not rest": (
        [asks("set-host", {"host": "h", "was": {"paused": False}, "set": {"paused": True}}, host="h", paused=True),
         look], f"{REST} h: m0 had it false",
    ),
    "a setting is another": (
        [asks("set", {"was": {"DEPTH_LIMIT": 0}, "set": {"DEPTH_LIMIT": 6}}), look],
        f"{SETTING} DEPTH_LIMIT of job 7: m0 had it 5",
    ),
}  # fmt: skip


@pytest.mark.parametrize("acts", OK.values(), ids=OK)
def test_what_fits_is_not_told(acts: list[Callable[[Case], None]]) -> None:
    assert verdict(*acts) == []


@pytest.mark.parametrize(("acts", "said"), AMISS.values(), ids=AMISS)
def test_what_no_order_explains_is_told(acts: list[Callable[[Case], None]], said: str) -> None:
    told = verdict(*acts)

    assert len(told) == 1
    assert said in told[0]


def test_end_that_another_disk_has_told_is_nobody_elses() -> None:
    case = Case()

    case.stores("running", 0)
    case.stores("running", 0, "m1")
    case.stores("finished", 1)
    case.stores("finished", 1, "m1")

    assert [deed.who for deed in case.calls.deeds[ONE]] == ["m0"]


@pytest.mark.parametrize("again", [True, False])
def test_answer_tells_what_is_in_force_when_it_comes(again: bool) -> None:
    async def play() -> list[str]:
        case, rests = Case(), [False, True]
        for node, phase in ("m0", ASKED), ("m1", ASKED), ("m1", TOLD), ("m0", TOLD):
            case.now_s = case.now = case.now + 1.0
            if node == "m1" and not again:
                continue
            was, now = {"paused": rests[node == "m1"]}, {"paused": False}
            asked = {"host": "h", "paused": node == "m0"}
            case.moments.happen(
                node, "verb set-host", phase, what=asked if phase == ASKED else {"host": "h", "was": was, "set": now}
            )
        return case.judged()

    assert bool(asyncio.run(play())) is not again
