"""Signals: who hears of them, with which facts, and for how long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from p2pcrawl.spiders.hooks.signal_bus import SignalBus
from p2pcrawl.spiders.hooks.signal_names import item_scraped, spider_closed


class Listener:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_item(self, item: Any, spider: Any) -> str:
        self.heard.append((item, spider))
        return "plain"

    async def on_item_later(self, item: Any) -> str:
        await asyncio.sleep(0)
        self.heard.append(item)
        return "async"

    def on_all(self, **facts: Any) -> None:
        self.heard.append(sorted(facts))

    def on_item_failing(self, item: Any) -> None:
        raise ValueError("no room")


async def test_handler_gets_the_facts_that_it_has_parameters_for() -> None:
    bus, listener = SignalBus("crawler"), Listener()
    for handler in (listener.on_item, listener.on_item_later, listener.on_all):
        bus.connect(handler, signal=item_scraped)

    told = await bus.send(item_scraped, item=1, spider="s", response="r")

    assert listener.heard == [(1, "s"), 1, ["item", "response", "sender", "signal", "spider"]]
    assert [result for _, result in told] == ["plain", "async", None]


async def test_handler_that_nobody_holds_hears_nothing() -> None:
    bus = SignalBus()
    heard: list[str] = []

    def held(item: Any) -> None:
        heard.append("held")

    bus.connect(Listener().on_item, item_scraped)
    bus.connect(lambda item: heard.append("weak"), item_scraped)
    bus.connect(lambda item: heard.append("strong"), item_scraped, weak=False)
    bus.connect(held, item_scraped)
    await bus.send(item_scraped, item=1, spider="s")

    assert heard == ["strong", "held"]


async def test_handler_is_called_once_and_not_after_it_left() -> None:
    bus, listener = SignalBus(), Listener()
    bus.connect(listener.on_item, item_scraped)
    bus.connect(listener.on_item, item_scraped)

    await bus.send(item_scraped, item=1, spider="s")
    bus.disconnect(listener.on_item, item_scraped)
    await bus.send(item_scraped, item=2, spider="s")

    assert listener.heard == [(1, "s")]
    assert not bus.has(item_scraped)
    assert not bus.has(spider_closed)


async def test_what_a_handler_raises_is_told_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    bus, listener = SignalBus(), Listener()
    bus.connect(listener.on_item_failing, item_scraped)
    bus.connect(listener.on_item, item_scraped)

    told = await bus.send(item_scraped, item=1, spider="s")

    assert isinstance(told[0][1], ValueError)
    assert listener.heard == [(1, "s")]
    assert "on_item_failing raised" in caplog.text


async def test_async_handler_of_what_is_not_waited_for_ends_all_the_same() -> None:
    bus, listener = SignalBus(), Listener()
    bus.connect(listener.on_item_later, item_scraped)

    bus.send_catch_log(item_scraped, item=1)
    before = list(listener.heard)
    await bus.settle()

    assert (before, listener.heard) == ([], [1])
