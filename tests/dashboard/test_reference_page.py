"""The page at ``/docs`` in a real browser: all calls of the document are on it, and nobody is kept out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.page.browser import Tab
from p2pcrawl.peer.api.table.every_operation import OPERATIONS
from tests.dashboard.conftest import violations
from tests.unit.peer.api.test_api import api

pytestmark = pytest.mark.slow


@contextmanager
def served() -> Iterator[str]:
    """Serves an API in a thread, and yields its address."""
    addresses: list[str] = []
    ready, loop = threading.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        stop = asyncio.Event()
        ends.append(lambda: loop.call_soon_threadsafe(stop.set))
        async with api() as (desk, _):
            addresses.append(desk.address)
            ready.set()
            await stop.wait()

    ends: list = []
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(20)
        yield addresses[0]
    finally:
        ends[0]()
        thread.join(20)
        loop.close()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_calls_are_shown_accessibly_and_the_console_stays_empty(tab: Tab, axe: str, look: str) -> None:
    tab.prefer(prefers_color_scheme="dark" if look == "dark" else "light")
    if look == "phone":
        tab.size(360, 780, phone=True)
    with served() as address:
        tab.go(f"http://{address}/docs")
        tab.until("document.querySelectorAll('main article').length")
        tab.run("document.querySelectorAll('main details').forEach((each) => { each.open = true })")

        shown = tab.run("document.querySelectorAll('main article').length")
        wide = tab.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        found = violations(tab, axe)

    assert shown == len(OPERATIONS)
    assert not wide
    assert found == []
    assert tab.complaints == []


def test_what_is_typed_leaves_the_calls_that_have_it(tab: Tab) -> None:
    with served() as address:
        tab.go(f"http://{address}/docs")
        tab.until("document.querySelectorAll('main article').length")
        tab.run(
            "(() => { const find = document.getElementById('find'); find.value = 'post jobs pause';"
            " find.dispatchEvent(new Event('input')) })()"
        )

        left = tab.run("[...document.querySelectorAll('main article:not([hidden])')].map((each) => each.id)")

    assert left == ["pauseJob"]
