"""A spider on its own, without a crawl: what its callbacks make of single pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from p2pcrawl.cli.trying.page_getter import PageGetter
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.slave.middlewares.assembly import assembled
from p2pcrawl.spiders.aids.class_search import iter_spider_classes
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names
from p2pcrawl.spiders.finding.modules import import_file
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.loading.chosen import merged_settings, spider_of
from p2pcrawl.spiders.loading.load import load_spider, parse_target
from p2pcrawl.spiders.loading.projects import closest_config, open_project
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider


class TriedSpider:
    """A spider with the chain that its crawl would have; see :func:`tried_spider`."""

    def __init__(self, spider: Spider, pages: PageGetter) -> None:
        self.spider = spider
        self._pages = pages

    async def get(self, request: Request) -> Response:
        """Fetches a page. Raises P2PCrawlError where it cannot be had."""
        return await self._pages.get(request, lambda line: None)

    async def results(self, response: Response, name: str, arguments: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Returns the items and the requests that a callback makes of a page. Raises what it raises."""
        callback = getattr(self.spider, name, None)
        if callback is None:
            raise ConfigurationError(f"spider {self.spider.name} has no method {name}")
        items: list[Any] = []
        requests: list[Any] = []
        async for thing in iterate(callback(response, **arguments)):
            if isinstance(thing, LinkBatch):
                requests.extend(map(thing.request, thing.urls))
            else:
                (requests if isinstance(thing, Request) else items).append(thing)
        return items, requests


def with_chain(
    cls: type[Spider], base: Settings | RankedSettings, arguments: Mapping[str, Any]
) -> tuple[Spider, Settings, PageGetter]:
    """Makes a spider, and what gets pages as its crawl would, with its settings and its middlewares."""
    handle = CrawlHandle(merged_settings(base, cls), cls)
    spider = spider_of(cls, handle, arguments)
    settings = handle.settings
    return spider, settings, PageGetter(settings, partial(assembled, settings, handle))


@asynccontextmanager
async def tried_spider(
    cls: type[Spider], base: Settings | RankedSettings, arguments: Mapping[str, Any]
) -> AsyncIterator[TriedSpider]:
    """Makes a spider and its way to the web, for the length of the block."""
    spider, _, pages = with_chain(cls, base, arguments)
    await pages.open()
    try:
        yield TriedSpider(spider, pages)
    finally:
        await pages.close()


def spiders_at(target: str, typed: Mapping[str, str]) -> list[tuple[type[Spider], Settings | RankedSettings]]:
    """Returns the spiders that a project's folder, a file or ``module:Spider`` has, each with the settings that hold
    for it. Raises ConfigurationError where there are none.
    """
    place = Path(target)
    if place.is_dir() or (place.is_file() and closest_config(place.absolute().parent) is not None):
        install_scrapy_names()
        project = open_project(place if place.is_dir() else place.absolute().parent)
        project.settings.setdict(typed, "cmdline")
        if place.is_dir():
            return [(cls, project.settings) for _, cls in sorted(project.spiders().items())]
        return [(cls, project.settings) for cls in _of_file(target)]
    settings = Settings().updated(typed)
    if place.is_file():
        return [(cls, settings) for cls in _of_file(target)]
    return [(load_spider(parse_target(target)), settings)]


def _of_file(file: str) -> list[type[Spider]]:
    return list(iter_spider_classes(import_file(file))) or [load_spider(parse_target(file))]
