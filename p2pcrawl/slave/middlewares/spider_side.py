"""People's spider middlewares: what stands between an answer and its callback, and between that and what becomes of it.

Each one is a stage, and what it yields is what the next one gets, nearer to the crawl. As long as all of them are
plain generators nothing is gathered: what a callback yields goes through one by one. Where a plain one meets an async
callback, it gets what that yielded at once.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from p2pcrawl.model.errors import CloseSpider, ConfigurationError, TooSlow
from p2pcrawl.spiders.callbacks import iterate, several
from p2pcrawl.spiders.hooks.binding import bound
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.spiders.spider import Spider

OTHERS_BUSINESS = (CloseSpider, TooSlow)
"""Exceptions that no middleware is asked about."""


class SpiderSide:
    """The spider middlewares of one crawl; ``middlewares`` are in their order, nearest to the crawl first."""

    def __init__(self, middlewares: Sequence[Any], spider: Spider) -> None:
        self._spider = spider
        stages = [_Stage(each, spider) for each in middlewares]
        self._inwards = [stage.input for stage in stages if stage.input is not None]
        self._outwards = [stage for stage in reversed(stages) if stage.treats_output]
        self._reads = any(stage.reads_output for stage in stages)
        self._starts = [stage for stage in reversed(stages) if stage.start or stage.start_requests]
        self.empty = not stages

    async def refused(self, response: Any) -> Exception | None:
        """Passes a response through each ``process_spider_input``. Returns what one of them raised."""
        try:
            for take in self._inwards:
                got = take(response)
                if inspect.isawaitable(got):
                    await got
        except Exception as error:
            return error
        return None

    def around(self, callback: Callable[..., Any], response: Any, refused: Exception | None) -> Callable[..., Any]:
        """Returns what is to be called in the place of a callback: that, with the middlewares around what comes of it;
        or what raises ``refused`` among them.
        """

        def call(_: Any, **cb_kwargs: Any) -> Any:
            def real() -> Any:
                if refused is not None:
                    raise refused
                return callback(response, **cb_kwargs)

            return self.output(response, real)

        return call

    async def output(self, response: Any, call: Callable[[], Any]) -> Any:
        """Returns what comes out of the middlewares for what ``call``, the callback, gives: an iterable, plain or
        async.
        """
        if not self._outwards:
            return call()
        source: Any
        try:
            first = call()
        except Exception as error:
            source = _raising(error)
        else:
            if inspect.isawaitable(first) or hasattr(first, "__aiter__"):
                source = _spread_async(iterate(first)) if self._reads else iterate(first)
            else:
                source = _spread(several(first)) if self._reads else several(first)
        for stage in self._outwards:
            source = await stage.passed(response, source)
        return source

    def start(self) -> Any:
        """Returns what the spider's start comes to."""
        spider = self._spider
        if not self._starts:
            return spider.start()
        own_start = type(spider).start is not Spider.start
        if not own_start and all(stage.start_requests for stage in self._starts):
            requests: Any = spider.start_requests()
            for stage in self._starts:
                assert stage.start_requests is not None
                requests = stage.start_requests(requests)
            return requests
        started: Any = spider.start()
        for stage in self._starts:
            if stage.start is None:
                raise ConfigurationError(
                    f"{stage.name} has process_start_requests and no process_start, and the start of spider "
                    f"{spider.name} is async: give it process_start"
                )
            started = stage.start(started)
        return started


class _Stage:
    def __init__(self, middleware: Any, spider: Spider) -> None:
        def method(name: str, given: int) -> Callable[..., Any] | None:
            return bound(middleware, name, spider, given) if callable(getattr(middleware, name, None)) else None

        self.name = type(middleware).__name__
        self.input = method("process_spider_input", 1)
        self.start = method("process_start", 1)
        self.start_requests = method("process_start_requests", 1)
        self._output = method("process_spider_output", 2)
        self._output_async = method("process_spider_output_async", 2)
        self._exception = method("process_spider_exception", 2)
        self.reads_output = bool(self._output or self._output_async)
        self._is_async = inspect.isasyncgenfunction(getattr(middleware, "process_spider_output", None))
        self.treats_output = any((self._output, self._output_async, self._exception))

    async def passed(self, response: Any, source: Any) -> Any:
        """Returns what this middleware makes of what came so far."""
        if self._is_async or (self._output_async and hasattr(source, "__aiter__")):
            return self._async(response, _as_async(source), self._output_async or self._output)
        if hasattr(source, "__aiter__"):
            if self._output is None:
                return self._async(response, source, None)
            source = await _gathered(source)
        return self._plain(response, source)

    def _plain(self, response: Any, source: Any) -> Iterator[Any]:
        caught: list[Exception] = []
        calm = _calm(source, caught)
        yield from (self._checked(self._output(response, calm)) if self._output else calm)
        for error in caught:
            handled = self._handled(response, error)
            if handled is None:
                raise error
            yield from _spread(handled)

    async def _async(
        self, response: Any, source: AsyncIterator[Any], output: Callable[..., Any] | None
    ) -> AsyncIterator[Any]:
        caught: list[Exception] = []
        calm = _calm_async(source, caught)
        async for each in self._checked(output(response, calm)) if output else calm:
            yield each
        for error in caught:
            handled = self._handled(response, error)
            if handled is None:
                raise error
            async for each in _as_async(handled):
                yield each

    def _handled(self, response: Any, error: Exception) -> Any:
        if self._exception is None or isinstance(error, OTHERS_BUSINESS):
            return None
        return self._exception(response, error)

    def _checked(self, made: Any) -> Any:
        if not hasattr(made, "__iter__") and not hasattr(made, "__aiter__"):
            raise TypeError(f"{self.name}.process_spider_output must return an iterable, not {type(made).__name__}")
        return made


def _spread(things: Any) -> Iterator[Any]:
    """Yields what a callback yielded, links one by one: middlewares know requests."""
    for thing in things:
        if isinstance(thing, LinkBatch):
            yield from map(thing.request, thing.urls)
        elif thing is not None:
            yield thing


async def _spread_async(things: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for thing in things:
        for each in _spread((thing,)):
            yield each


def _raising(error: Exception) -> Iterator[Any]:
    yield from ()
    raise error


def _calm(source: Any, caught: list[Exception]) -> Iterator[Any]:
    try:
        yield from source
    except Exception as error:
        caught.append(error)


async def _calm_async(source: AsyncIterator[Any], caught: list[Exception]) -> AsyncIterator[Any]:
    try:
        async for each in source:
            yield each
    except Exception as error:
        caught.append(error)


async def _as_async(source: Any) -> AsyncIterator[Any]:
    if hasattr(source, "__aiter__"):
        async for each in source:
            yield each
    else:
        for each in source:
            yield each


async def _gathered(source: AsyncIterator[Any]) -> Any:
    """Gathers what an async iterable yields, with the error that it ends with at the end."""
    caught: list[Exception] = []
    things = [each async for each in _calm_async(source, caught)]

    def again() -> Iterator[Any]:
        yield from things
        if caught:
            raise caught[0]

    return again()
