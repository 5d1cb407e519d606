"""When a session ends for a slave, and that nothing which is guarded goes on then."""

from __future__ import annotations

import asyncio
import time

import pytest

from p2pcrawl.slave.link import fence as fence_module
from p2pcrawl.slave.link.fence import Fence, SessionExpired

LENGTH_S = 0.2


def block(seconds: float) -> None:
    """Holds up the loop, as a callback does."""
    time.sleep(seconds)


def fence_of(length_s: float = LENGTH_S, begun_ago_s: float = 0.0) -> tuple[Fence, asyncio.Event]:
    passed = asyncio.Event()
    return Fence(length_s, asyncio.get_running_loop().time() - begun_ago_s, passed.set), passed


async def test_session_that_is_never_renewed_ends() -> None:
    fence, passed = fence_of()

    async with asyncio.timeout(5):
        await passed.wait()

    assert fence.passed


class Clock:
    """The time that a fence sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(fence_module, "monotonic", lambda: self.now)

    def fence(self, length_s: float) -> Fence:
        return Fence(length_s, self.now, lambda: None)


async def test_session_lasts_from_when_the_answered_beat_was_sent_not_from_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    fence = clock.fence(1000.0)
    clock.now = 10.0
    fence.sent(1)
    clock.now = 60.0

    fence.renewed(1)

    clock.now = 1009.9
    assert not fence.passed
    clock.now = 1010.0
    assert fence.passed


async def test_answer_to_an_older_beat_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    fence = clock.fence(1000.0)
    fence.sent(1)
    clock.now = 10.0
    fence.sent(2)
    fence.renewed(2)

    fence.renewed(1)
    fence.renewed(3)

    clock.now = 1009.9
    assert not fence.passed
    clock.now = 1010.0
    assert fence.passed


async def test_answer_that_comes_too_late_revives_nothing() -> None:
    fence, _ = fence_of(begun_ago_s=LENGTH_S - 0.01)
    fence.sent(1)
    block(0.02)

    fence.renewed(1)

    assert fence.passed


async def test_what_is_guarded_is_cancelled_when_the_session_ends() -> None:
    fence, _ = fence_of(1000.0)
    cleaned = []

    async def fetch() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    async def work() -> str:
        try:
            await fence.guard(fetch())
        except SessionExpired:
            # The worker itself was not cancelled: it may wait for something else.
            await asyncio.sleep(0)
            return "given up"
        return "done"

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    fence.close()

    async with asyncio.timeout(5):
        assert await working == "given up"
    assert cleaned == [True]


async def test_request_that_was_ready_when_a_callback_blocked_the_loop_does_not_go_out() -> None:
    fence, _ = fence_of()
    connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    sent = []

    async def fetch() -> None:
        await connected
        sent.append(True)

    fetching = asyncio.ensure_future(fence.guard(fetch()))
    await asyncio.sleep(0)
    connected.set_result(None)
    block(1.5 * LENGTH_S)

    with pytest.raises(SessionExpired):
        await fetching
    assert sent == []


async def test_work_that_swallows_its_cancellation_gets_no_further() -> None:
    fence, _ = fence_of(1000.0)
    steps = 0

    async def stubborn() -> None:
        nonlocal steps
        while steps < 3:
            try:
                await asyncio.sleep(0)
                return
            except asyncio.CancelledError:
                steps += 1
        await asyncio.sleep(0)
        raise AssertionError("it went on")

    fetching = asyncio.ensure_future(fence.guard(stubborn()))
    await asyncio.sleep(0)
    fence.close()

    with pytest.raises(SessionExpired):
        await fetching


async def test_cancellation_by_others_stays_one() -> None:
    fence, _ = fence_of(1000.0)
    fetching = asyncio.ensure_future(fence.guard(asyncio.Event().wait()))
    await asyncio.sleep(0)

    fetching.cancel()
    fence.close()
    await asyncio.wait([fetching])

    assert fetching.cancelled()


async def test_work_that_ends_in_time_gives_its_result_and_its_errors() -> None:
    fence, _ = fence_of(1000.0)

    async def answer() -> str:
        await asyncio.sleep(0)
        return "page"

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("of its own")

    assert await fence.guard(answer()) == "page"
    with pytest.raises(ValueError, match="of its own"):
        await fence.guard(fail())


async def test_without_a_length_a_session_never_ends_by_itself() -> None:
    fence, _ = fence_of(0.0, begun_ago_s=1000.0)

    assert not fence.passed
