"""Computing in a thread, within the limit."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count

import pytest

from p2pcrawl.model.errors import TooSlow
from p2pcrawl.spiders.page.aside import aside


def endless() -> None:
    for _ in count():
        pass


async def test_result_comes_from_another_thread() -> None:
    assert await aside(threading.get_ident, 1.0) != threading.get_ident()


async def test_error_is_that_of_the_call() -> None:
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 // 0, 1.0)


async def test_call_that_computes_for_too_long_is_ended_and_the_loop_goes_on_meanwhile() -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    other = asyncio.create_task(turn())
    with pytest.raises(TooSlow, match=r"more than 0\.1 s of computing"):
        await aside(endless, 0.1)
    other.cancel()

    assert turns > 1


async def test_call_that_waits_is_not_ended_for_that() -> None:
    await aside(lambda: time.sleep(0.4), 0.1)


async def test_call_that_nobody_waits_for_any_more_is_ended() -> None:
    ended = threading.Event()

    def call() -> None:
        try:
            endless()
        finally:
            ended.set()

    waiting = asyncio.create_task(aside(call, 0.0))
    await asyncio.sleep(0.05)
    waiting.cancel()

    assert await asyncio.to_thread(ended.wait, 10.0)
