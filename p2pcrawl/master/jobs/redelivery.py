"""Dead letters sent again, for their sinks may take them now: by a master that runs, or from the data folder of a crawl
that does not.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

import msgspec

from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.dead_letters import DeadLetter, DeadLetters, letter_of, page_of_letters
from p2pcrawl.master.jobs.delivery import Cursor, Delivery
from p2pcrawl.master.jobs.job import unpack_spec
from p2pcrawl.master.jobs.job_names import JobNames, stored_spec
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import address_of, make_sink
from p2pcrawl.stores.sink import Sink, SinkAway

AT_ONCE = 500


@dataclass(slots=True)
class Redelivered:
    """The outcome of sending a sink's dead letters again."""

    sink: str
    delivered: int = 0
    left: int = 0
    """Those that are dead letters still."""
    why: str = ""
    """Why the last of them is."""
    away: bool = False


async def send_again(folder: Path) -> list[Redelivered]:
    """Sends all dead letters of a data folder again; those that are not taken stay. Raises ConfigurationError where
    there are none, or where a sink cannot work, and as the store does when the folder is in use.
    """
    letters = DeadLetters(folder)
    if not letters.there:
        raise ConfigurationError(f"there are no dead letters in {folder}")
    recorder = Recorder(folder, clustered=False)
    await recorder.open()
    post = _LetterSinks(recorder)
    try:
        with letters.rewritten() as keep:
            waiting = letters.read()
            while some := list(islice(waiting, AT_ONCE)):
                keep(await post.bring(some))
    finally:
        await post.close()
        await recorder.close()
    return list(post.told.values())


async def send_again_here(letters: DeadLetters, deliveries: Sequence[Delivery], job: str) -> list[Redelivered]:
    """Sends the dead letters of a job (its name in the world) again, through the deliveries of a master that runs.
    Those that are not taken stay, and those of other jobs do. Raises StorageError.
    """
    told = {each.url: Redelivered(each.url) for each in deliveries}
    by_url = {each.url: each for each in deliveries}
    with letters.taken() as taken:
        while some := await asyncio.to_thread(lambda: list(islice(taken, AT_ONCE))):
            # After a crash one may be there twice.
            chosen = {(each.sink, each.job, each.key, each.visit): each for each in some}
            stays = [each for each in chosen.values() if each.job != job or each.sink not in by_url]
            for url, delivery in by_url.items():
                mine = sorted((each for each in chosen.values() if each.job == job and each.sink == url), key=_page)
                if mine:
                    stays += await _sent(delivery, mine, told[url])
            await letters.put_back(stays)
    return [each for each in told.values() if each.delivered or each.left]


async def _sent(delivery: Delivery, letters: list[DeadLetter], told: Redelivered) -> list[DeadLetter]:
    """Brings letters to one sink; returns those that stay."""
    left = letters
    if not told.away:
        try:
            refused = await delivery.bring_again(
                [page_of_letters(list(same)) for _, same in groupby(letters, key=_page)]
            )
            left = [letter_of(delivery.url, each) for each in refused]
            told.why = left[-1].reason if left else told.why
        except SinkAway as error:
            told.away, told.why = True, str(error)
    told.delivered += len(letters) - len(left)
    told.left += len(left)
    return left


@dataclass(slots=True)
class _OpenSink:
    sink: Sink
    job: int
    cursor: Cursor


class _LetterSinks:
    """The sinks of the letters, opened when the first letter to each is met."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sinks: dict[tuple[str, str], _OpenSink | None] = {}
        self.told: dict[str, Redelivered] = {}

    async def bring(self, letters: list[DeadLetter]) -> list[DeadLetter]:
        """Brings letters to their sinks; returns those that stay."""
        by_sink: dict[tuple[str, str], dict[tuple[str, int], DeadLetter]] = defaultdict(dict)
        for each in letters:
            # After a crash one may be there twice.
            by_sink[each.sink, each.job][each.key, each.visit] = each
        left: list[DeadLetter] = []
        for (sink, job), chosen in by_sink.items():
            told = self.told.setdefault(sink, Redelivered(sink))
            if not told.away:
                try:
                    refused = await self._brought(sink, job, list(chosen.values()))
                except SinkAway as error:
                    told.away, told.why = True, str(error)
            stays = list(chosen.values()) if told.away else refused
            told.delivered += len(chosen) - len(stays)
            told.left += len(stays)
            if stays and not told.away:
                told.why = stays[-1].reason
            left += stays
        return left

    async def _brought(self, url: str, job: str, letters: list[DeadLetter]) -> list[DeadLetter]:
        if (url, job) not in self._sinks:
            self._sinks[url, job] = await self._opened(url, job)
        to = self._sinks[url, job]
        if to is None:
            return [
                msgspec.structs.replace(each, reason="its job, or its sink, is not in this folder") for each in letters
            ]
        letters.sort(key=_page)
        written = await to.sink.write([page_of_letters(list(same)) for _, same in groupby(letters, key=_page)])
        taken, cursor = len(letters) - len(written.refused), to.cursor
        to.cursor = replace(
            cursor,
            position=written.position,
            delivered=cursor.delivered + taken,
            refused=max(0, cursor.refused - taken),
        )
        stored = (to.job, url, cursor.last, to.cursor.packed())
        await self._recorder.run(Store.commit, Batch(delivered=[stored]))
        return [letter_of(url, each) for each in written.refused]

    async def _opened(self, url: str, job: str) -> _OpenSink | None:
        """Opens the sink of a job, where it went on; None where there is none."""
        store = self._recorder.store_id
        for number, name, packed, *_ in await self._recorder.run(Store.jobs):
            for names in (JobNames.of(number, store, shared=shared) for shared in (False, True)):
                rows = await self._recorder.run(Store.sinks, number) if names.job == job else []
                for path, told, last, position in rows:
                    if path == url:
                        settings = Settings().updated(unpack_spec(packed).settings)
                        sink = make_sink(address_of(stored_spec(url, told)), names.place(name, settings))
                        cursor = Cursor.unpacked(last, position)
                        opened = _OpenSink(sink, number, cursor)
                        opened.cursor = replace(cursor, position=await sink.open(cursor.position))
                        return opened
        return None

    async def close(self) -> None:
        """Leaves the sinks whole, as far as they are there, and lets go of them."""
        for to in filter(None, self._sinks.values()):
            with suppress(SinkAway):
                await to.sink.finish()
            await to.sink.close()


def _page(letter: DeadLetter) -> tuple[str, int]:
    return letter.page, letter.visit
