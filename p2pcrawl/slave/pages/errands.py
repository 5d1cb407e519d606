"""Errands: the way of an item that waits for files, from one file's page to the next.

An item that a pipeline has parked leaves its page as a link to its first file, in whose request it travels. The slave
that is granted this file, whichever that is, makes the pipeline's result of it and sends the item on: to the next file,
or, with all results, through the pipelines that are left. See docs/media.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.travel import request_in, whole_request
from p2pcrawl.spiders.callbacks import is_of_a_spider
from p2pcrawl.spiders.failure import PageFailure
from p2pcrawl.spiders.items.travelling import packed_plainly, unpacked_plainly
from p2pcrawl.spiders.loading.parked import FileException, MediaMaker, Parked
from p2pcrawl.spiders.loading.pipelines import Pipelines
from p2pcrawl.stores.sink import SinkAway

NOT_HAD = "p2pcrawl_no_media"
"""The errback of the request for a file, as FILE_CALLBACK is its callback: no method of the spider."""
STATE = "p2pcrawl_media"
"""The key of its meta under which the item travels."""
SOONER = 1 << 20
"""What is added to the priority of a file: items that were begun are finished before others, also at a host that has
very many pages before them.
"""
STATE_MAX = 256 * 1024
"""Bytes of an item that waits, with what is known of its files."""


@dataclass(slots=True)
class Errand:
    """One file that an item waits for. ``request`` is as its pipeline made it; that of the task may be a redirect's."""

    parked: Parked
    request: Request
    known: bool = False
    """The result of this file is among those of the item."""
    away: SinkAway | None = None
    """The file was had, and the place that is to keep it cannot be reached."""

    @property
    def maker(self) -> MediaMaker:
        return self.parked.maker

    async def is_there(self) -> bool:
        """Tells whether the file is kept already, in which case nobody has to be asked. Raises SinkAway."""
        result = await self.maker.known_result(self.request, self.parked.item)
        return result is not None and self._end(True, result)

    async def had(self, response: Any) -> None:
        """Makes a result of an answer. What the pipeline raises at it is a failure of this file alone."""
        response.request.meta.pop(STATE, None)
        try:
            self._end(True, await self.maker.result_of(self.request, response, self.parked.item))
        except SinkAway as error:
            self.away = error
        except BaseException as error:
            if not is_of_a_spider(error):
                raise
            self._fail(error, response)

    async def not_had(self, failure: PageFailure) -> None:
        """Goes without a file, unless the pipeline makes something of the answer that came."""
        if failure.response is not None:
            await self.had(failure.response)
        else:
            self._fail(failure.value)

    def give_up(self, why: str) -> None:
        """Goes without the file."""
        self._fail(FileException(why))

    def _fail(self, error: BaseException, response: Any = None) -> None:
        failure = PageFailure(self.request, error, response)
        self._end(False, failure)
        self.maker.note_failure(self.request, failure)

    def _end(self, ok: bool, result: Any) -> bool:
        self.parked.results.append((ok, result))
        self.known = True
        return ok


class Errands:
    """The errands of one job in one slave."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._turns: dict[str, _Turn] = {}

    async def go_on(self, parked: Parked, harvest: Harvest) -> Any:
        """Sends an item on to the first of its files that is not there already, and returns None. When there is none
        left, returns the item with all results. Raises what its pipeline raises, and TypeError or ValueError for an
        item that cannot travel.
        """
        while parked.waiting:
            errand = Errand(parked, parked.waiting[0])
            if not await _is_surely_there(errand):
                if harvest.add_media(_link_of(errand)):
                    return None
                errand.give_up(f"not a URL that can be asked for: {errand.request.url:.200}")
            del parked.waiting[0]
        return await parked.maker.item_with(parked.results, parked.item)

    def arrived(self, request: Request) -> Errand:
        """Reads the errand that a request for a file is. Raises ConfigurationError for what is none, and when the job
        has no such pipeline.
        """
        try:
            state = unpacked_plainly(request.meta[STATE])
            step, name = state["step"], state["maker"]
            maker = self._pipelines.at(step)
            if type(maker).__name__ != name:
                raise LookupError(f"pipeline {step} is {type(maker).__name__}, and it waits for {name}")
            wanted, *waiting = [request_in(each) for each in state["waiting"]]
            results = [_result_of(*each) for each in state["results"]]
        except (LookupError, TypeError, ValueError) as error:
            raise ConfigurationError(f"not an item that waits for a file of this job: {error}") from error
        return Errand(Parked(state["item"], maker, waiting, results, step, state["usage"]), wanted)

    @asynccontextmanager
    async def turn(self, errand: Errand) -> AsyncIterator[None]:
        """Waits until no other errand of this slave is at the same file."""
        url = errand.request.url
        turn = self._turns.setdefault(url, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[url]


class _Turn:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


async def _is_surely_there(errand: Errand) -> bool:
    """Tells whether a file is kept already. While the place cannot be reached it is not: the file's own turn waits."""
    try:
        return await errand.is_there()
    except SinkAway:
        return False


def _link_of(errand: Errand) -> Request:
    """Returns the request in which an item travels to a file. Raises TypeError and ValueError when it cannot."""
    parked, request = errand.parked, errand.request
    state = {
        "step": parked.step,
        "maker": type(parked.maker).__name__,
        "item": parked.item,
        "usage": parked.usage,
        "waiting": [whole_request(each) for each in parked.waiting],
        "results": [_packed_result(ok, result) for ok, result in parked.results],
    }
    packed = packed_plainly(state, "what waits for a file")
    if len(packed) > STATE_MAX:
        raise ValueError(f"an item that waits for files has {len(packed)} bytes, over the limit of {STATE_MAX}")
    return request.replace(
        meta={**request.meta, STATE: packed},
        callback=FILE_CALLBACK,
        errback=NOT_HAD,
        dont_filter=True,
        priority=request.priority + SOONER,
    )


def _packed_result(ok: bool, result: Any) -> list[Any]:
    if ok:
        return [True, result]
    error = result.value
    told = str(error) if isinstance(error, FileException) else f"{type(error).__name__}: {error}"
    return [False, [result.request.url, told]]


def _result_of(ok: bool, result: Any) -> tuple[bool, Any]:
    if ok:
        return True, result
    url, told = result
    return False, PageFailure(Request(url), FileException(told))
