"""The way of an item from the spider into the report of its page: through the pipelines, and into bytes.

An item that a pipeline drops, or that fails, is lost alone. The page goes on with its other items and its links, and is
a failed one at its end if an item failed, so that it is seen and can be retried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from p2pcrawl.model.errors import CloseSpider, DropItem, TooSlow
from p2pcrawl.model.packing import PACKED_MAX, UNPACKED_MAX
from p2pcrawl.slave.hooks.own_lines import told_by_own
from p2pcrawl.slave.link.fence import SessionExpired
from p2pcrawl.slave.pages.complaints import Complaints
from p2pcrawl.slave.pages.errands import Errands
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.traces import trace_of
from p2pcrawl.spiders.callbacks import is_of_a_spider
from p2pcrawl.spiders.failure import PageFailure
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.signal_names import item_dropped, item_error, item_scraped
from p2pcrawl.spiders.items.item_json import encode_item, with_field
from p2pcrawl.spiders.loading.parked import Parked
from p2pcrawl.spiders.loading.pipelines import Pipelines

ITEM_MAX = 16 * 1024 * 1024


class ItemPassage:
    """Takes the items of one job's pages. ``silence_s``: how long pipelines may take over one."""

    def __init__(
        self, pipelines: Pipelines, errands: Errands, handle: CrawlHandle, complaints: Complaints, silence_s: float
    ) -> None:
        self._pipelines, self._errands = pipelines, errands
        self._handle = handle
        self._stats, self._signals, self._spider = handle.stats, handle.signals, handle.spider
        self._complaints = complaints
        self._silence_s = silence_s
        self._usage_field = handle.settings.usage_field

    async def take(self, item: Any, harvest: Harvest, *, bounded: bool) -> None:
        """Adds to a harvest what becomes of an item. ``bounded``: a page's items have to fit in a message.

        Raises CloseSpider, TooSlow and SessionExpired, which are of the page, and what ends the task that runs this.
        """
        passing = self._pipelines.process(item) if self._pipelines else None
        usage = harvest.response.usage if self._usage_field and harvest.response is not None else None
        await self._end(item, passing, harvest, usage, bounded=bounded)

    async def forward(self, parked: Parked, harvest: Harvest, *, bounded: bool) -> None:
        """Takes an item on whose file was had, or was not. Raises as :meth:`take`."""
        await self._end(parked.item, _parked(parked), harvest, parked.usage, bounded=bounded)

    async def _end(
        self, item: Any, passing: Coroutine[Any, Any, Any] | None, harvest: Harvest, usage: Any, *, bounded: bool
    ) -> None:
        passed = item
        try:
            if passing is not None:
                async with asyncio.timeout(self._silence_s):
                    passed = await self._through(passing, harvest, usage)
                if passed is None:
                    return
            data = encode_item(passed)
            if usage is not None:
                data = with_field(data, self._usage_field, usage)
            _check_size(len(data), harvest, bounded=bounded)
        except DropItem as error:
            await self._dropped(item, harvest, error)
        except (CloseSpider, TooSlow, SessionExpired):
            raise
        except BaseException as error:
            if not is_of_a_spider(error):
                raise
            await self._failed(item, harvest, error)
        else:
            harvest.add_item(data)
            self._stats.count_here("item_scraped_count")
            told_by_own(self._handle, "scraped", passed, harvest.response)
            if self._signals.has(item_scraped):
                await self._signals.send(item_scraped, item=passed, response=harvest.response, spider=self._spider)

    async def _through(self, passing: Coroutine[Any, Any, Any], harvest: Harvest, usage: Any) -> Any:
        """Returns the item that came through all pipelines; None when it waits for a file."""
        passed = await passing
        while type(passed) is Parked:
            passed.usage = usage
            item = await self._errands.go_on(passed, harvest)
            if item is None:
                return None
            passed = await self._pipelines.process(item, passed.step + 1)
        return passed

    async def _dropped(self, item: Any, harvest: Harvest, error: DropItem) -> None:
        harvest.dropped_items += 1
        if not told_by_own(self._handle, "dropped", item, error, harvest.response):
            self._complaints.item_dropped(harvest.url, item, error)
        self._stats.count_here("item_dropped_count")
        self._stats.count_here(f"item_dropped_reasons_count/{type(error).__name__}")
        if self._signals.has(item_dropped):
            facts = {"item": item, "response": harvest.response, "exception": error, "spider": self._spider}
            await self._signals.send(item_dropped, **facts)

    async def _failed(self, item: Any, harvest: Harvest, error: BaseException) -> None:
        trace = trace_of(error)
        if not told_by_own(self._handle, "item_error", item, error, harvest.response):
            self._complaints.item_failed(harvest.url, error, trace)
        harvest.failed_items += 1
        harvest.item_trace = harvest.item_trace or trace
        self._stats.count_here("item_error_count")
        if self._signals.has(item_error):
            request: Any = harvest.response.request if harvest.response is not None else None
            failure = PageFailure(request, error, harvest.response)
            facts = {"item": item, "response": harvest.response, "spider": self._spider, "failure": failure}
            await self._signals.send(item_error, **facts)


async def _parked(parked: Parked) -> Parked:
    return parked


def _check_size(size: int, harvest: Harvest, *, bounded: bool) -> None:
    if size > ITEM_MAX:
        raise ValueError(f"an item of {size} bytes is over the limit of {ITEM_MAX}")
    if bounded and not harvest.has_room(size):
        raise ValueError(
            f"in a cluster the items of one page may have {UNPACKED_MAX >> 20} MiB, and {PACKED_MAX >> 20} MiB"
            " when they are packed"
        )
