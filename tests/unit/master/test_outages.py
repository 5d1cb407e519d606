"""What a name server or a network that is away for a while costs a crawl: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.master.slaves import outcomes as intake
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import Drop, Failure
from p2pcrawl.wire.messages.slave_messages import Outcome, Page, RobotsResult, RobotsTask, Task
from tests.unit.master.fake_slaves import Slaves, crawl, page_of

FIRST, SECOND = "http://a.example/1", "http://a.example/2"


class Outage:
    """The first page is answered and leads to the second, which leaves some attempts without an answer."""

    def __init__(self, failure: Failure, times: int, attempts_max: int = 3) -> None:
        self.failure = failure
        self.times = times
        self.attempts_max = attempts_max
        self.attempts: list[int] = []
        """As the master counts them."""

    def __call__(self, task: Task) -> Page:
        if task.link.url != SECOND:
            return page_of(task, [FIRST] if task.link.url.startswith(START_URL) else [SECOND])
        self.attempts.append(task.attempt)
        if len(self.attempts) > self.times:
            return page_of(task)
        phase = Phase.QUEUED if task.attempt < self.attempts_max else Phase.FAILED
        return page_of(task, outcome=Outcome(phase, self.failure))


@pytest.mark.parametrize("failure", [Failure.FIRST_BYTE_TIMEOUT, Failure.NETWORK, Failure.DNS, Failure.NO_NAME])
async def test_attempts_while_nobody_answers_are_not_counted(tmp_path: Path, failure: Failure) -> None:
    outage = Outage(failure, times=6)

    _, census = await crawl(tmp_path, Slaves(outage))

    assert outage.attempts == [1] * 7
    assert census["done"] == 3


@pytest.mark.parametrize("failure", [Failure.CONNECT, Failure.LOST_CONNECTION])
async def test_attempts_that_reach_the_host_are_counted(tmp_path: Path, failure: Failure) -> None:
    outage = Outage(failure, times=6)

    _, census = await crawl(tmp_path, Slaves(outage))

    assert outage.attempts == [1, 2, 3]
    assert census["failed"] == 1


async def test_silence_of_all_for_too_long_is_counted(tmp_path: Path) -> None:
    """So that the silence of the last host of a crawl has an end."""
    outage = Outage(Failure.CONNECT_TIMEOUT, times=6)

    _, census = await crawl(tmp_path, Slaves(outage), host_down_after=1e-9)

    assert outage.attempts == [1, 2, 3]
    assert census["failed"] == 1


@pytest.mark.parametrize(("failure", "tries"), [(Failure.DNS, 11), (Failure.NO_NAME, 2), (Failure.CONNECT, 3)])
async def test_robots_txt_is_asked_for_as_often_as_the_failure_deserves(
    tmp_path: Path, failure: Failure, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "ROBOTS_RETRY_S", 0.0)
    monkeypatch.setattr("p2pcrawl.core.hosts.politeness.REST_START_S", 1e-3)
    asked: list[RobotsTask] = []

    def robots(task: RobotsTask) -> RobotsResult:
        asked.append(task)
        return RobotsResult(task.lease, task.origin, "disallow", "", f"{failure}: it was not read")

    def answer(task: Task) -> Page:
        if task.link.url.startswith(START_URL):
            return page_of(task, [FIRST])
        return page_of(task, outcome=Outcome(Phase.FAILED, Drop.ROBOTS_UNREACHABLE))

    _, census = await crawl(tmp_path, Slaves(answer, robots), robotstxt_obey=True)

    assert len(asked) == tries
    assert census["failed"] == 1
