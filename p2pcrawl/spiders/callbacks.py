"""Runs callbacks: makes one stream of whatever they returned, and tells what they raised from what others want of their
task.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterable
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.items.item_json import is_item
from p2pcrawl.spiders.page.links import LinkBatch


async def iterate(result: Any) -> AsyncIterator[Any]:
    """Yields the requests, batches and items of a callback's result, one by one; None is nothing.

    The result may be one of them, a list or any other iterable, a generator, an async generator, or a coroutine that
    returns any of these. Anything else comes out as it is, for :func:`encode_item` to refuse. A generator that is left
    early is closed.
    """
    if inspect.isawaitable(result):
        result = await result
    if result is None:
        return
    if isinstance(result, Request | LinkBatch | str | bytes) or is_item(result):
        yield result
    elif hasattr(result, "__aiter__"):
        try:
            async for each in result:
                if each is not None:
                    yield each
        finally:
            if inspect.isasyncgen(result):
                await result.aclose()
    elif hasattr(result, "__iter__"):
        try:
            for each in result:
                if each is not None:
                    yield each
        finally:
            if inspect.isgenerator(result):
                result.close()
    else:
        yield result


def several(result: Any) -> Iterable[Any]:
    """Returns the requests, batches and items of a result that needs no waiting, as an iterable: one thing alone is
    one, None is nothing.
    """
    if result is None:
        return ()
    if isinstance(result, Request | LinkBatch | str | bytes) or is_item(result) or not hasattr(result, "__iter__"):
        return (result,)
    things: Iterable[Any] = result
    return things


def is_of_a_spider(error: BaseException) -> bool:
    """Tells whether this is the failure of the code that raised it, and no more: any exception, also an end of the
    process (``sys.exit``), and a cancellation that nobody asked for, as of something that it awaited.

    What remains are the end of the running task, its closing, and Ctrl-C.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return type(error) is asyncio.CancelledError and task is not None and not task.cancelling()
    return not isinstance(error, KeyboardInterrupt | GeneratorExit)
