"""The harvesting of pages: what a callback yields goes into the harvest of its page, and ahead where it is much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from inspect import isgenerator
from time import monotonic
from typing import Any, Final

from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import CloseSpider, TooSlow
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.hooks.announcing import Announcing
from p2pcrawl.slave.link.fence import SessionExpired
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.pages.complaints import Complaints
from p2pcrawl.slave.pages.harvest import PART_LINKS, Harvest
from p2pcrawl.slave.pages.item_passage import ItemPassage
from p2pcrawl.slave.pages.page_ends import too_slow, with_failed_items
from p2pcrawl.slave.pages.traces import trace_of
from p2pcrawl.spiders.callbacks import is_of_a_spider, iterate
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.wire.messages.slave_messages import Outcome

PARTS_AHEAD: Final = 4
"""Parts of one page that may be on their way at once: what is reported after them waits behind them."""
TURN_S: Final = 0.02
"""After so long a callback that yields on and on lets others go on."""


class Harvesting:
    """Takes what callbacks yield."""

    def __init__(self, items: ItemPassage, announcing: Announcing, complaints: Complaints) -> None:
        self._items = items
        self._announcing = announcing
        self._complaints = complaints

    async def collect(
        self, result: Any, harvest: Harvest, outbox: Outbox, outcome: Outcome, silence_s: float | None
    ) -> Outcome:
        """Takes all that a callback yields; an exception keeps what came before it, and an item that fails is lost
        alone.

        A callback that waits for longer than ``silence_s`` has failed: it would hold its slot for ever. One that never
        waits is interrupted at what it yields, so that the rest of the slave gets its turn.
        """
        over_at = monotonic() + TURN_S
        try:
            if isgenerator(result):
                # The common case, without the cost of an asynchronous step per item.
                for thing in result:
                    if thing is not None:
                        await self._take(thing, harvest, outbox)
                    if monotonic() >= over_at:
                        over_at = await _next_turn()
            else:
                async for thing in _patient(iterate(result), silence_s):
                    await self._take(thing, harvest, outbox)
                    if monotonic() >= over_at:
                        over_at = await _next_turn()
        except CloseSpider as close:
            outcome.close = close.reason
        except TooSlow as error:
            return too_slow(outcome, error)
        except BaseException as error:
            return self.raised(harvest.url, outcome, error, harvest.response)
        return with_failed_items(harvest, outcome)

    def raised(self, url: str, outcome: Outcome, error: BaseException, response: Any = None) -> Outcome:
        """Makes the page's end by what its spider raised. Raises again what the spider did not."""
        if isinstance(error, SessionExpired) or not is_of_a_spider(error):
            raise error
        outcome.phase, outcome.reason, outcome.detail = Phase.FAILED, Failure.CALLBACK, trace_of(error)
        self._complaints.raised(url, error, outcome.detail)
        self._announcing.raised(error, response.request if response is not None else None, response)
        return outcome

    async def send_part(self, harvest: Harvest, outbox: Outbox) -> None:
        """Sends ahead what has gathered, and waits while too much is on its way."""
        harvest.ahead.append(outbox.put(harvest.take_part(), harvest.task, whole=False))
        await asyncio.sleep(0)
        if len(harvest.ahead) > PARTS_AHEAD:
            await outbox.safe(harvest.ahead.popleft())
        await outbox.room()

    async def _take(self, thing: Any, harvest: Harvest, outbox: Outbox) -> None:
        if self._announcing.hears_requests and isinstance(thing, LinkBatch | Request):
            await self._take_aloud(thing, harvest, outbox)
        elif isinstance(thing, LinkBatch):
            urls = thing.urls
            for start in range(0, len(urls), PART_LINKS):
                harvest.add_links(thing, urls[start : start + PART_LINKS])
                if harvest.full:
                    await self.send_part(harvest, outbox)
        elif isinstance(thing, Request):
            harvest.add_request(thing)
        else:
            await self._items.take(thing, harvest, bounded=outbox.copied)
        if harvest.full:
            await self.send_part(harvest, outbox)

    async def _take_aloud(self, thing: LinkBatch | Request, harvest: Harvest, outbox: Outbox) -> None:
        """Takes requests one by one, for those who want to hear of each."""
        for request in map(thing.request, thing.urls) if isinstance(thing, LinkBatch) else (thing,):
            if await self._announcing.scheduled(request) and not harvest.add_request(request):
                await self._announcing.dropped(request)
            if harvest.full:
                await self.send_part(harvest, outbox)


async def _next_turn() -> float:
    """Lets everything else go on for once. Returns when this callback's turn is over."""
    await asyncio.sleep(0)
    return monotonic() + TURN_S


async def _patient(things: AsyncIterator[Any], silence_s: float | None) -> AsyncIterator[Any]:
    """Yields these things. Raises TimeoutError when the next one is longer in coming than that."""
    while True:
        try:
            async with asyncio.timeout(silence_s):
                thing = await anext(things)
        except StopAsyncIteration:
            return
        yield thing
