"""The trial of sinks before a job is accepted: whether their destinations are there, and would take items."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink
from p2pcrawl.stores.sink import Sink, SinkAway, SinkPage

TRIAL_S = 10.0
"""How long a destination may take to answer before a job is refused."""
_NO_PAGE = "0" * 32


async def try_sinks(specs: Sequence[SinkSpec], place: SinkPlace) -> None:
    """Opens each of these, all at once, and closes them again. Raises ConfigurationError, one line without a password,
    for the first one that cannot be used now.
    """
    await _with_each(specs, place, lambda sink: sink.open(None))


async def empty_sinks(specs: Sequence[SinkSpec], place: SinkPlace) -> None:
    """Takes out of these what earlier jobs left there; ``place`` says which job is not. Raises as ``try_sinks``."""

    async def empty(sink: Sink) -> None:
        await sink.open(None)
        # What is replaced goes with the first page, which here is one without items; or else at the end.
        await sink.write([SinkPage(place.job, _NO_PAGE, "", 0, int(time.time()), [])])
        await sink.finish()

    await _with_each(specs, place, empty)


async def _with_each(specs: Sequence[SinkSpec], place: SinkPlace, act: Callable[[Sink], Awaitable[object]]) -> None:
    trials = await asyncio.gather(*(_with_one(spec, place, act) for spec in specs), return_exceptions=True)
    for error in trials:
        if error is not None:
            raise error


async def _with_one(spec: SinkSpec, place: SinkPlace, act: Callable[[Sink], Awaitable[object]]) -> None:
    try:
        sink = make_sink(address_of(spec), place)
        try:
            async with asyncio.timeout(TRIAL_S):
                await act(sink)
        finally:
            await sink.close()
    except TimeoutError:
        raise ConfigurationError(f"{spec.url} did not answer in {TRIAL_S:g} s: nothing was begun") from None
    except ConfigurationError as error:
        raise ConfigurationError(_without(spec.secret, str(error))) from None
    except SinkAway as error:
        raise ConfigurationError(f"{_without(spec.secret, str(error))}: nothing was begun") from None


def _without(secret: str, text: str) -> str:
    """Returns a text of a driver's without the password, should it have got there."""
    return text.replace(secret, "***") if secret else text
