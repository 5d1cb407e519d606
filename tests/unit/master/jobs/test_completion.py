"""Who is asked whether a job is finished, and how often."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from p2pcrawl.master.jobs import completion as completion_module
from p2pcrawl.master.jobs.completion import QUESTIONS_PER_S, Completion
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import JobAtMaster, Quiet
from tests.peers import FakePeers, member

JOB: Any = SimpleNamespace(id=77, closing="")


class Round:
    """Some masters, what they have to do, and who of them was asked. The first asks."""

    def __init__(self, *busy: int) -> None:
        self.busy = {NodeId(f"{number:040x}"): count for number, count in enumerate(busy)}
        self.peers = FakePeers(next(iter(self.busy)), map(member, self.busy), self.answer)
        self.closing = ""
        self.asked: list[int] = []
        self.closed: list[str] = []
        self.completion = Completion(self.peers, self._own, lambda job, why: self.closed.append(why))

    async def answer(self, node: NodeId, question: Quiet) -> JobAtMaster:
        self.asked.append(int(node, 16))
        return JobAtMaster(0, True, self.busy[node], 0, 0, 1, self.closing)

    def _own(self, job: int) -> JobAtMaster:
        return JobAtMaster(0, True, self.busy[self.peers.me], 0, 0, 1)

    def let(self, number: int, busy: int) -> None:
        self.busy[NodeId(f"{number:040x}")] = busy

    async def ask(self) -> list[int]:
        """Asks once; returns who was asked."""
        self.asked = []
        await self.completion.finished_in(JOB)
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

    assert again == [1, 2, 3]
    assert some.closed


async def test_nothing_to_do_anywhere_in_two_rounds_is_finished() -> None:
    idle = Round(0, 0, 0)

    assert await idle.completion.finished_in(JOB) == 1
    assert idle.asked == [1, 2, 1, 2]


async def test_master_that_does_not_know_the_job_keeps_it_from_being_finished() -> None:
    some = Round(0, 0)

    async def answer(node: NodeId, question: Quiet) -> JobAtMaster:
        return JobAtMaster(0, False, 0, 0, 0, 1)

    some.peers.answer = answer

    assert await some.completion.finished_in(JOB) is None
