"""Who is asked whether a job is finished, and how often."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from p2pcrawl.master.jobs import completion as completion_module
from p2pcrawl.master.jobs.completion import QUESTIONS_PER_S, Completion
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.wire.messages.peer_messages import JobAtMaster, Quiet
from tests.peers import FakePeers, member


class Round:
    """Some masters, what they have to do, and who of them was asked. The first asks."""

    def __init__(self, *busy: int, pages: int = 0, **settings: Any) -> None:
        """``pages``: of each."""
        self.job: Any = SimpleNamespace(id=77, closing="", settings=Settings(**settings))
        self.pages = pages
        self.busy = {NodeId(f"{number:040x}"): count for number, count in enumerate(busy)}
        self.peers = FakePeers(next(iter(self.busy)), map(member, self.busy), self.answer)
        self.closing = ""
        self.asked: list[int] = []
        self.told: list[str] = []
        self.completion = Completion(self.peers, self._own, self._close)

    async def answer(self, node: NodeId, question: Quiet) -> JobAtMaster:
        self.asked.append(int(node, 16))
        self.told.append(question.closing)
        return self.standing(node, 1)

    def standing(self, node: NodeId, view: int) -> JobAtMaster:
        closing = self.closing if node != self.peers.me else ""
        return JobAtMaster(0, True, self.busy[node], 0, 0, view, closing, pages=self.pages)

    def _own(self, job: int) -> JobAtMaster:
        return self.standing(self.peers.me, 1)

    def _close(self, job: int, why: str) -> None:
        self.job.closing = why

    def let(self, number: int, busy: int) -> None:
        self.busy[NodeId(f"{number:040x}")] = busy

    async def ask(self) -> list[int]:
        """Asks once; returns who was asked."""
        self.asked, self.told = [], []
        await self.completion.finished_in(self.job)
        return self.asked


async def test_when_the_last_member_has_said_good_bye_it_falls_to_nobody_to_ask() -> None:
    gone = Round(0)
    gone.peers.everybody.clear()

    assert not gone.completion.falls_to_us()
    assert not gone.completion.may_ask(asyncio.get_running_loop().time())


async def test_large_cluster_is_not_asked_more_often() -> None:
    large = Round(*[1] * 201)
    now = asyncio.get_running_loop().time()
    assert large.completion.may_ask(now)

    await large.ask()

    assert not large.completion.may_ask(now + 0.9 * 200 / QUESTIONS_PER_S)
    assert large.completion.may_ask(now + 1.0 + 200 / QUESTIONS_PER_S)


async def test_while_the_busiest_is_busy_nobody_else_is_asked() -> None:
    some = Round(0, 1, 5, 0)
    await some.ask()

    some.let(2, 1)
    again = await some.ask()

    assert again == [2]


async def test_all_are_asked_once_the_busiest_has_nothing_to_do() -> None:
    some = Round(0, 1, 5, 0)
    await some.ask()

    some.let(2, 0)
    again = await some.ask()

    assert again == [2, 1, 2, 3]


async def test_who_has_most_to_do_itself_asks_nobody() -> None:
    some = Round(9, 1, 5)
    await some.ask()

    assert await some.ask() == []


async def test_busiest_that_is_gone_is_not_waited_for() -> None:
    some = Round(0, 1, 5, 0)
    await some.ask()

    some.peers.everybody.pop(2)

    assert await some.ask() == [1, 3]


async def test_word_of_a_spider_that_closed_does_not_wait_for_the_busiest(monkeypatch: Any) -> None:
    some = Round(0, 1, 5, 0)
    await some.ask()
    monkeypatch.setattr(completion_module, "CLOSING_S", 0.0)

    some.closing = "closespider_itemcount"
    again = await some.ask()

    assert again == [1, 2, 3, 1, 2, 3]
    assert some.told == [*[""] * 3, *["closespider_itemcount"] * 3]


async def test_word_of_the_busiest_that_it_closes_is_passed_on_at_once() -> None:
    some = Round(0, 1, 5, 0)
    await some.ask()

    some.closing = "closespider_itemcount"
    await some.ask()

    assert some.told[-3:] == ["closespider_itemcount"] * 3


async def test_limit_that_masters_have_reached_together_closes_the_job_at_all_of_them() -> None:
    some = Round(5, 1, 1, pages=20, closespider_pagecount=60)

    await some.ask()

    assert some.job.closing == "closespider_pagecount"
    assert some.told == ["", "", "closespider_pagecount", "closespider_pagecount"]


async def test_job_goes_on_below_its_limit_and_all_are_asked_each_time() -> None:
    some = Round(5, 1, 1, pages=20, closespider_pagecount=61)
    await some.ask()

    assert await some.ask() == [1, 2] and not some.job.closing


async def test_pages_that_masters_count_in_another_view_do_not_count_towards_a_limit() -> None:
    some = Round(5, 1, pages=30, closespider_pagecount=60)

    async def answer(node: NodeId, question: Quiet) -> JobAtMaster:
        return some.standing(node, 2)

    some.peers.answer = answer
    await some.ask()

    assert not some.job.closing


async def test_nothing_to_do_anywhere_in_two_rounds_is_finished() -> None:
    idle = Round(0, 0, 0)

    assert await idle.completion.finished_in(idle.job) == 1
    assert idle.asked == [1, 2, 1, 2]


async def test_master_that_does_not_know_the_job_keeps_it_from_being_finished() -> None:
    some = Round(0, 0)

    async def answer(node: NodeId, question: Quiet) -> JobAtMaster:
        return JobAtMaster(0, False, 0, 0, 0, 1)

    some.peers.answer = answer

    assert await some.completion.finished_in(some.job) is None
