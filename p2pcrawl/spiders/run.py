"""Whatever a callback returned, as one stream."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Any

from p2pcrawl.model.request import Request
from p2pcrawl.spiders.items import is_item
from p2pcrawl.spiders.links import LinkBatch


async def iterate(result: Any) -> AsyncIterator[Any]:
    """The requests, batches and items of a callback's result, one by one; None is nothing.

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
