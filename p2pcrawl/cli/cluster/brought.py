"""The items of a job from the cluster into a sink, by the keys of the job: what is brought twice is there once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.master.jobs.job_names import JobNames
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.stores.kinds import address_of, make_sink
from p2pcrawl.stores.sink import Sink, SinkAway, SinkPage

PATIENCE_S = 60.0
"""How long a sink may be away before the verb gives up; the same command goes on from the beginning."""
PAUSE_S = 0.5


class _ToldPage(msgspec.Struct):
    """A page as the API tells it."""

    page: str
    url: str
    visit: int
    fetched_at: int
    items: list[msgspec.Raw]


_decoded = msgspec.json.Decoder(_ToldPage).decode


@dataclass(slots=True)
class BroughtItems:
    """The outcome: how many items the sink has taken, and what it would not take."""

    items: int = 0
    refused: int = 0
    why: str = ""
    """Of the last one that it refused."""


def bring(remote: Remote, job: int, sink: SinkSpec) -> BroughtItems:
    """Brings what there is so far of a job. Raises ConfigurationError for a sink that cannot be used, P2PCrawlError
    when it is away for too long, or the peer does not answer.
    """
    names = JobNames.of(job, f"{job:016x}", shared=True)
    spider = str(remote.get(job_path(job))["name"])
    place = names.place(spider, Settings(), replace=sink.replace)
    made = make_sink(address_of(sink), place)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_bring(remote, job, names.job, made))


async def _bring(remote: Remote, job: int, name: str, sink: Sink) -> BroughtItems:
    brought = BroughtItems()
    try:
        try:
            await sink.open(None)
        except SinkAway as error:
            raise ConfigurationError(f"nothing was brought: {error}") from None
        batches = _batches(remote, job, name, sink)
        # The peer is listened to in a thread: drivers have work of their own on the loop.
        while pages := await asyncio.to_thread(next, batches, None):
            await _write(sink, pages, brought)
        await sink.finish()
    finally:
        await sink.close()
    return brought


def _batches(remote: Remote, job: int, name: str, sink: Sink) -> Iterator[list[SinkPage]]:
    limits, pages, items, size = sink.limits, list[SinkPage](), 0, 0
    for lines in remote.lines(job_path(job, "pages")):
        for line in filter(None, lines):
            told = _decoded(line)
            held = [bytes(item) for item in told.items]
            # Masters may have brought it before, or may do so now.
            pages.append(SinkPage(name, told.page, told.url, told.visit, told.fetched_at, held, again=True))
            items, size = items + len(held), size + len(line)
            if items >= limits.items or size >= limits.bytes:
                yield pages
                pages, items, size = [], 0, 0
    if pages:
        yield pages


async def _write(sink: Sink, pages: list[SinkPage], brought: BroughtItems) -> None:
    """Brings a batch, again and again while the sink is away for a while."""
    loop, pause_s = asyncio.get_running_loop(), PAUSE_S
    until, told, open_ = loop.time() + PATIENCE_S, False, True
    while True:
        try:
            if not open_:
                await sink.open(None)
            written = await sink.write(pages)
            break
        except SinkAway as error:
            if loop.time() >= until:
                raise P2PCrawlError(f"{error}; what is there stays, and the same command completes it") from None
            if not told:
                print(f"p2pcrawl: waiting: {on_one_line(str(error))}", file=sys.stderr, flush=True)
            told, open_ = True, False
            await asyncio.sleep(pause_s)
            pause_s *= 2
    brought.items += sum(len(page.items) for page in pages) - written.left_out - len(written.refused)
    if written.refused:
        brought.refused += len(written.refused)
        brought.why = written.refused[-1].reason
