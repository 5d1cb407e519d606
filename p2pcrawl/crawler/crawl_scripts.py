"""Crawls that scripts begin in Scrapy's words: CrawlerProcess, CrawlerRunner.

Slaves import the script to find its spiders. A script that begins its crawls at its top, without ``if __name__ ==
"__main__"``, would begin them there too: its import ends at that line instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Any, NoReturn

from p2pcrawl.crawler.event_loops import new_event_loop
from p2pcrawl.crawler.interruption import interruptible
from p2pcrawl.crawler.local_crawl import Crawler
from p2pcrawl.crawler.plans import WithArguments
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.log_setup import configure_logging
from p2pcrawl.spiders.finding.modules import CrawlBegins, importing
from p2pcrawl.spiders.loading.spider_loader import SpiderLoader
from p2pcrawl.spiders.spider import Spider

log = logging.getLogger(__name__)


class CrawlerRunner:
    """Begins crawls on the loop that runs. ``settings`` rank as a project's."""

    def __init__(self, settings: RankedSettings | Settings | Mapping[str, Any] | None = None) -> None:
        if isinstance(settings, RankedSettings):
            self.settings = settings
        else:
            given = settings.chosen() if isinstance(settings, Settings) else settings
            self.settings = RankedSettings(given, known=Settings())
        self.crawlers: set[Crawler] = set()
        """Those that are under way."""
        self.bootstrap_failed = False
        """Whether a crawl could not be begun."""
        self._crawling: set[asyncio.Task[None]] = set()

    @property
    def spider_loader(self) -> SpiderLoader:
        """The spiders of the project that the settings are of."""
        return SpiderLoader(self.settings)

    def crawl(self, crawler_or_spidercls: type[Spider] | str, *args: Any, **kwargs: Any) -> asyncio.Future[None]:
        """Begins a crawl; what comes back is awaited for its end. ``kwargs``: the spider's arguments, plain data."""
        spider = self._asked(crawler_or_spidercls, args, kwargs)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise ConfigurationError(
                "CrawlerRunner begins crawls on an asyncio loop that runs, and there is none (no Twisted reactor is "
                "used): take CrawlerProcess, or `await runner.crawl(...)` inside asyncio.run"
            ) from None
        task = loop.create_task(self._run([spider], signals=False))
        self._crawling.add(task)
        task.add_done_callback(self._crawling.discard)
        return task

    def create_crawler(self, crawler_or_spidercls: type[Spider] | str) -> NoReturn:
        """Raises ConfigurationError: what a crawler would be asked for is in the slaves."""
        raise ConfigurationError(
            "there is no create_crawler here, as spiders run in processes of their own: connect to signals in the "
            "spider's from_crawler, and give crawl() the spider's class or name"
        )

    async def join(self) -> None:
        """Waits until all crawls that were begun have ended. Raises what one of them raised."""
        while self._crawling:
            await asyncio.gather(*self._crawling)

    async def stop(self) -> None:
        """Ends all crawls gently, and waits for their ends."""
        for crawler in self.crawlers:
            crawler.stop()
        await self.join()

    def _asked(self, what: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> WithArguments:
        if args:
            raise ConfigurationError("arguments of a spider have names here: crawl(spider, name=value)")
        if isinstance(what, str):
            what = self.spider_loader.load(what)
        if not (isinstance(what, type) and issubclass(what, Spider)):
            raise ConfigurationError(f"crawl() takes a spider's class or its name, not {what!r:.80}")
        return WithArguments(what, {name: _plain(value) for name, value in kwargs.items()})

    async def _run(self, spiders: list[WithArguments], *, signals: bool) -> None:
        crawler: Crawler | None = None
        try:
            crawler = Crawler(spiders, settings=self.settings)
            self.crawlers.add(crawler)
            async with crawler:
                with interruptible(crawler) if signals else nullcontext():
                    await crawler.wait()
                certificates = await crawler.audit()
        except ConfigurationError:
            self.bootstrap_failed = True
            raise
        finally:
            if crawler is not None:
                self.crawlers.discard(crawler)
        for name, found in zip(crawler.names, certificates, strict=True):
            told = ", ".join(f"{found[what]:,} {what}" for what in ("pages", "items", "failed", "dropped"))
            log.info("%s has ended: %s", name, told)


class CrawlerProcess(CrawlerRunner):
    """Runs the crawls of a script, side by side, with a log of their own: :meth:`crawl` each, then :meth:`start`."""

    def __init__(
        self,
        settings: RankedSettings | Settings | Mapping[str, Any] | None = None,
        install_root_handler: bool = True,
    ) -> None:
        super().__init__(settings)
        if not importing():
            configure_logging(self.settings, install_root_handler)
        self._asked_for: list[WithArguments] = []

    def crawl(self, crawler_or_spidercls: type[Spider] | str, *args: Any, **kwargs: Any) -> Any:
        """Takes a spider in, to be crawled by :meth:`start`. ``kwargs``: its arguments, plain data."""
        self._asked_for.append(self._asked(crawler_or_spidercls, args, kwargs))
        return Awaited()

    def start(self, stop_after_crawl: bool = True, install_signal_handlers: bool = True) -> None:
        """Crawls to the end of all. Raises ConfigurationError for what cannot work, before anything is fetched."""
        if importing():
            raise CrawlBegins
        asked, self._asked_for = self._asked_for, []
        if asked:
            _refuse_on_loop()
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self._run(asked, signals=install_signal_handlers))


def _refuse_on_loop() -> None:
    """Raises ConfigurationError where a loop runs already, as in notebooks."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise ConfigurationError(
            "start() runs a loop of its own, and one is running here: `await CrawlerRunner(settings).crawl(spider)`"
        )


class Awaited:
    """A crawl that :meth:`CrawlerProcess.start` will run; there is nothing to be asked of it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"what crawl() returns has no {name}: there are no deferreds. What is to follow stands after start()"
        )


def _plain(value: Any) -> Any:
    """Returns an argument as other processes will read it: lists for tuples and sets."""
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value
