"""Item pipelines: what happens to an item between the spider and the output."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from p2pcrawl.model.errors import DropItem
from p2pcrawl.spiders.aids.awaited import ensure_awaitable
from p2pcrawl.spiders.callbacks import is_of_a_spider
from p2pcrawl.spiders.hooks.binding import bound
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component, taking_part
from p2pcrawl.spiders.loading.parked import MediaMaker, Parked
from p2pcrawl.spiders.spider import Spider

logger = logging.getLogger(__name__)


class NothingReturned(DropItem):
    """A pipeline gave nothing back for an item, as many do that store items themselves: it is told, and the item ends
    there.
    """


class Pipelines:
    """The pipelines of one spider, lowest number first. Their methods may be plain or async."""

    def __init__(self, pipelines: Sequence[Any], spider: Spider) -> None:
        self._pipelines = list(pipelines)
        self._spider = spider
        self._open: list[Any] = []
        self._steps = [
            (pipeline, bound(pipeline, "process_item", spider, 1))
            for pipeline in pipelines
            if hasattr(pipeline, "process_item")
        ]

    @classmethod
    def load(cls, paths: Mapping[str, int | None] | Mapping[type, int | None], handle: CrawlHandle) -> Pipelines:
        """Makes pipelines by ``module.Class``, ``file.py:Class`` or class, but for those that do not want to take part.
        Raises ConfigurationError.
        """
        wanted = [(order, path) for path, order in paths.items() if order is not None]
        handle.parts["pipeline"] = made = []
        for _, path in sorted(wanted, key=lambda pair: pair[0]):
            name = path if isinstance(path, str) else getattr(path, "__name__", str(path))
            with taking_part(f"pipeline {name}"):
                made.append(make_component(path, handle))
        return cls(made, handle.spider)

    def __len__(self) -> int:
        return len(self._pipelines)

    async def open(self) -> None:
        """Calls each ``open_spider``. When one raises, those that were opened are closed."""
        try:
            for pipeline in self._pipelines:
                self._open.append(pipeline)
                if isinstance(pipeline, MediaMaker):
                    await pipeline.check_place()
                if hasattr(pipeline, "open_spider"):
                    await ensure_awaitable(bound(pipeline, "open_spider", self._spider)())
        except BaseException:
            self._open.pop()
            await self.close()
            raise

    async def process(self, item: Any, first: int = 0) -> Any:
        """Passes an item through all pipelines, or those from the ``first`` one on. Returns it as the last one did, or
        Parked, as soon as one has it wait. Raises DropItem, also when one of them returns None, or whatever a pipeline
        raises.
        """
        for step, (pipeline, process_item) in enumerate(self._steps[first:] if first else self._steps, first):
            item = process_item(item)
            if inspect.isawaitable(item):
                item = await item
            if type(item) is Parked:
                item.step = step
                return item
            if item is None:
                raise NothingReturned(
                    f"{type(pipeline).__name__}.process_item returned None, so its items go no further: return the item"
                    " or raise DropItem"
                )
        return item

    def at(self, step: int) -> Any:
        """Returns the pipeline at a place. Raises LookupError where there is none."""
        if step < 0:
            raise LookupError(step)
        return self._steps[step][0]

    async def close(self) -> None:
        """Calls each ``close_spider``, last opened first, even when one of them raises; then raises the first error."""
        first: BaseException | None = None
        while self._open:
            pipeline = self._open.pop()
            if not hasattr(pipeline, "close_spider"):
                continue
            try:
                await ensure_awaitable(bound(pipeline, "close_spider", self._spider)())
            except BaseException as error:
                if not is_of_a_spider(error):
                    raise
                logger.exception("%s.close_spider failed", type(pipeline).__name__)
                first = first or error
        if first is not None:
            raise first
