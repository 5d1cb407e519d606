"""The trial of a sink before a job is accepted: whether its destination is there, and would take items."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink
from p2pcrawl.stores.sink import SinkAway

TRIAL_S = 10.0
"""How long a destination may take to answer before a job is refused."""


async def try_sinks(specs: Sequence[SinkSpec], place: SinkPlace) -> None:
    """Opens each of these, all at once, and closes them again. Raises ConfigurationError, one line without a password,
    for the first one that cannot be used now.
    """
    trials = await asyncio.gather(*(_try_one(spec, place) for spec in specs), return_exceptions=True)
    for error in trials:
        if error is not None:
            raise error


async def _try_one(spec: SinkSpec, place: SinkPlace) -> None:
    try:
        sink = make_sink(address_of(spec), place)
        try:
            async with asyncio.timeout(TRIAL_S):
                await sink.open(None)
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
