"""The verb ``crawl``: from options to a crawl, and from its end to an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.progress import progress
from p2pcrawl.cli.screen.relay import Relay
from p2pcrawl.cli.screen.summary import CrawlEnd, summary
from p2pcrawl.cli.screen.terminal import Terminal, json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.crawler import Crawler, Target, TogetherBoards, interruptible, new_event_loop
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.log_setup import own_lines
from p2pcrawl.spiders.loading.unchanged import chosen_spiders, is_script, run_as_main
from p2pcrawl.stores.kinds import read_sink
from p2pcrawl.stores.warc.place import chosen_place

STANDARD_OUTPUT = "-"


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of ``crawl``, as typed."""

    targets: tuple[str, ...]
    appended: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    slaves: int | None = None
    data: Path | None = None
    again: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    as_json: bool = False
    loglevel: str | None = None
    logfile: str | None = None
    debug: bool = False
    warc: Path | None = None
    warc_size: str = "1GB"
    scrapy: Path | None = None
    together: bool = False


def run_crawl(options: CrawlOptions) -> int:
    """Runs a crawl, tells how it goes and how it ended, and returns the exit code."""
    if options.scrapy is not None and options.scrapy.is_file() and not options.targets and is_script(options.scrapy):
        return run_as_main(_alone(options))
    place, appended = chosen_place(options.warc, options.warc_size, options.appended, options.replaced)
    targets: Sequence[Target] = options.targets
    settings: RankedSettings | dict[str, str] = _settings(options)
    if options.scrapy is not None:
        targets, settings = chosen_spiders(options.scrapy, options.targets, settings)
    if options.together and options.scrapy is not None:
        raise ConfigurationError("--together is for boards; those of a Scrapy project are spiders")
    crawler = Crawler(
        [TogetherBoards(options.targets)] if options.together else list(targets),
        outputs=[read_sink(typed) for typed in appended]
        + [read_sink(typed, replace=True) for typed in options.replaced],
        data=options.data,
        again=options.again,
        slaves=options.slaves,
        settings=settings,
        arguments=options.arguments,
        warc=place,
    )
    items_on_stdout = STANDARD_OUTPUT in crawler.outputs
    crawler.output_to_stderr = items_on_stdout or options.as_json
    terminal = Terminal(live=False if items_on_stdout and sys.stdout.isatty() else None)
    ending = crawl_in(terminal, crawler, again="the same command")
    for line in summary(ending):
        terminal.say(line)
    if options.as_json:
        print(json_line(ending.as_json()), file=sys.stderr if items_on_stdout else sys.stdout)
    return ending.exit_code


def _alone(options: CrawlOptions) -> Path:
    """Returns the script to run. Raises ConfigurationError where options were typed that would not reach it."""
    script = options.scrapy
    assert script is not None
    if replace(options, scrapy=None, debug=False) != CrawlOptions(()):
        raise ConfigurationError(
            f"{script} begins its crawls by itself, and no option reaches them: leave the options out, or name a spider"
        )
    return script


def _settings(options: CrawlOptions) -> dict[str, str]:
    values = dict(options.settings)
    names = {name.lower() for name in values}
    if options.debug and not names & {"log_level", "loglevel"}:
        values["LOG_LEVEL"] = "DEBUG"
    if options.loglevel is not None:
        values = {n: v for n, v in values.items() if n.lower() not in ("log_level", "loglevel")}
        values["LOG_LEVEL"] = options.loglevel
    if options.logfile is not None:
        values = {n: v for n, v in values.items() if n.lower() not in ("log_file", "logfile")}
        values["LOG_FILE"] = os.path.abspath(options.logfile)
    return values


def crawl_in(terminal: Terminal, crawler: Crawler, *, again: str) -> CrawlEnd:
    """Runs a whole crawl, told of in ``terminal``. ``again``: what to run to go on with it."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(crawl_on_loop(terminal, crawler, again=again))


async def crawl_on_loop(terminal: Terminal, crawler: Crawler, *, again: str) -> CrawlEnd:
    """Runs a crawl for a terminal on the running loop, with its log, its live display and its summary."""
    relay = None
    chosen = crawler.settings
    lines = own_lines(chosen.log_format, chosen.log_dateformat)
    with log_to(terminal, chosen.log_level, chosen.log_file, lines) as log_descriptor:
        crawler.errors_to = log_descriptor
        if terminal.live and log_descriptor is None:
            # Slaves writing to the terminal themselves would tear the live display.
            relay = Relay(terminal.write)
            crawler.errors_to = relay.descriptor
            crawler.output_to_stderr |= sys.stdout.isatty()
        try:
            with redirect_stdout(sys.stderr) if crawler.output_to_stderr else nullcontext():
                return await _crawl(terminal, crawler, again)
        finally:
            if relay is not None:
                relay.close()


async def _crawl(terminal: Terminal, crawler: Crawler, again: str) -> CrawlEnd:
    begun = time.monotonic()
    times = 0

    def interrupted(count: int) -> None:
        nonlocal times
        times = count
        terminal.say(_interruption(crawler, count, again))

    async with crawler:
        for line in _opening(crawler):
            terminal.say(line)
        pages_before = sum(job.counts["pages"] for job in crawler.jobs)
        with interruptible(crawler, interrupted) as stopped:
            async with progress(terminal, crawler):
                await crawler.wait()
        certificates = await crawler.audit()
        undelivered = any(sink["waiting"] for certificate in certificates for sink in certificate["sinks"])
        troubles = await _troubles(crawler) if any(c["failed"] or c["dropped"] for c in certificates) else []
    return CrawlEnd(
        certificates,
        seconds=time.monotonic() - begun,
        pages=sum(c["pages"] for c in certificates) - pages_before,
        interrupted=times > 0 and not (crawler.finished and not undelivered),
        ended_by=stopped.by,
        resumable=str(crawler.folder) if crawler.folder is not None else "",
        kept_in=crawler.kept_in,
        nothing_to_do=crawler.was_finished,
        raw_pages=crawler.raw_pages,
        troubles=troubles,
    )


async def _troubles(crawler: Crawler) -> list[Any]:
    """Returns a few pages that did not succeed, as examples."""
    found: list[Any] = []
    for job in crawler.jobs:
        found.extend(await crawler.master.troubles(job, 3))
    return found[:3]


def _opening(crawler: Crawler) -> list[str]:
    lines = [f"{' and '.join(crawler.names)} had ended: begun anew"] if crawler.began_anew else []
    for job in crawler.jobs:
        count = job.counts
        if not crawler.resumed:
            continue
        if crawler.was_finished:
            got = f"{counted(count['pages'], 'page')}, {counted(count['items'], 'item')}"
            lines.append(f"{job.spec.name} is finished already: {got}; {crawler.begun_anew_by}")
            if crawler.undelivered:
                lines.append(f"{counted(crawler.undelivered, 'item')} are to be delivered yet")
            continue
        lines.append(
            f"going on with {job.spec.name}: {counted(count['pages'], 'page')} done, {count['queued']:,} queued"
        )
    lost = crawler.master.recovered
    if lost and not crawler.was_finished:
        lines.append(f"{counted(lost, 'fetch', 'fetches')} had been interrupted and will be made again")
    return lines


def _interruption(crawler: Crawler, count: int, again: str) -> str:
    if count > 1:
        return "stopping at once"
    if crawler.finished and crawler.undelivered:
        return "stopping when what can be delivered is (Ctrl-C again stops at once)"
    open_ = sum(job.leased for job in crawler.jobs)
    resume = (
        f"to go on later, run {again} again" if crawler.folder is not None else "without --data it cannot be resumed"
    )
    waits = f": {counted(open_, 'open request')} may end (Ctrl-C again stops at once)" if open_ else ""
    return f"stopping{waits}; {resume}"
