"""The progress of a crawl: a live table where there is a terminal, else a line now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from p2pcrawl.cli.screen.figures import Figures, Meter
from p2pcrawl.cli.screen.sinks import away_lines, slow_lines
from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.core.bench.seat import HostState
from p2pcrawl.crawler import Crawler
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.overlay.tasks import end

REFRESH_S = 0.5


@asynccontextmanager
async def progress(terminal: Terminal, crawler: Crawler) -> AsyncIterator[None]:
    """Shows progress for the length of the block. Below log level INFO nothing is shown without a terminal."""
    settings = crawler.settings
    quiet = logging.getLevelName(settings.log_level.upper()) > logging.INFO
    if (crawler.was_finished and not crawler.undelivered) or (quiet and not terminal.live):
        yield
        return
    shows = _show(terminal, crawler) if terminal.live else _print_lines(terminal, crawler, settings.logstats_interval)
    showing = asyncio.create_task(shows)
    try:
        yield
    finally:
        await end([showing])
        terminal.end()


async def _print_lines(terminal: Terminal, crawler: Crawler, interval_s: float) -> None:
    meter = Meter(crawler)
    while True:
        await _interval(crawler, interval_s)
        figures = meter.read()
        terminal.say(progress_line(figures))
        for line in _waits_at_end(figures, crawler):
            terminal.say(line)


async def _interval(crawler: Crawler, interval_s: float) -> None:
    """Waits until the next line, or until there is nothing to do but to wait for sinks that are away."""
    over, left_s = crawler.finished, interval_s
    while left_s > 0 and (over or not (crawler.finished and crawler.undelivered)):
        await asyncio.sleep(min(left_s, REFRESH_S))
        left_s -= REFRESH_S


def _waits_at_end(figures: Figures, crawler: Crawler) -> list[str]:
    """Says for which sinks a crawl waits that has nothing else to do, and what Ctrl-C does then."""
    if not figures.over:
        return []
    away = [f"{line}; Ctrl-C leaves them in {crawler.works_in}" for line in away_lines(figures.sinks)]
    return [*away, *slow_lines(figures.sinks)]


async def _show(terminal: Terminal, crawler: Crawler) -> None:
    meter = Meter(crawler)
    title = ", ".join(crawler.names)
    terminal.begin("")
    while True:
        terminal.show(table(title, meter.read(), crawler.master.draining))
        await asyncio.sleep(REFRESH_S)


def progress_line(f: Figures) -> str:
    """Writes all figures of a crawl's progress on one line."""
    parts = [
        f"{f.seconds:.0f} s",
        f"{counted(f.pages, 'page')} ({f.recent:,.1f}/s, mean {f.mean:,.1f}/s)",
        *([f"visited again {f.again:,}"] if f.again else []),
        f"queued {f.queued:,}",
        f"leased {f.leased:,}",
        f"redirects {f.redirects:,}",
        f"failed {_reasons(f.failed)}",
        f"dropped {_reasons(f.dropped)}",
        f"items {f.items:,}",
        f"slaves {len(f.slaves)} ({_megabytes(sum(s[2] for s in f.slaves))})",
    ]
    return "  ".join([*parts, *_trying(f), *([] if f.over else away_lines(f.sinks))])


def _trying(f: Figures) -> list[str]:
    """Says how many requests are at hosts that do not answer, which no other figure tells."""
    if not f.unanswering:
        return []
    return [f"{counted(f.unanswering, 'request')} at hosts that do not answer yet (robots.txt tried {f.tried:,} times)"]


def table(title: str, f: Figures, draining: bool) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    minutes, seconds = divmod(int(f.seconds), 60)
    state = "stopping" if draining else "delivering" if f.over else "crawling"
    head = Text.assemble(
        (f"{state} {on_one_line(title)}", "bold"),
        f"  {minutes}:{seconds:02d}   ",
        (f"{f.recent:,.0f} pages/s", "bold cyan"),
        f" (mean {f.mean:,.0f})",
    )
    counts = Text.assemble(
        f"{f'visited again {f.again:,}   ' if f.again else ''}queued {f.queued:,}   leased {f.leased:,}"
        f"   redirects {f.redirects:,}   items {f.items:,}   retries {f.retries:,}"
    )
    failed = Text(
        "   ".join([f"failed {_reasons(f.failed)}", f"dropped {_reasons(f.dropped)}", *_trying(f)]),
        style="yellow" if f.failed else "",
    )
    slaves = Text(
        "slaves "
        + (
            ", ".join(f"{pid}: {counted(held, 'page')}, {_megabytes(rss)}" for pid, held, rss in f.slaves[:8])
            or "none yet"
        ),
        style="dim",
        no_wrap=True,
        overflow="ellipsis",
    )
    hosts = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    hosts.add_column("busiest hosts", no_wrap=True, overflow="ellipsis", max_width=44)
    hosts.add_column("open", justify="right")
    hosts.add_column("waiting", justify="right")
    hosts.add_column("for", no_wrap=True)
    for host in f.hosts:
        hosts.add_row(Text(host.name), str(host.open), f"{host.waiting:,}{'+' if host.more else ''}", _waits(host))
    late = away_lines(f.sinks) + (slow_lines(f.sinks) if f.over else [])
    away = [Text(on_one_line(line), style="yellow") for line in late]
    return Group(head, counts, failed, *away, slaves, hosts)


def _waits(host: HostState) -> str:
    return f"{host.waits} {host.seconds:.1f} s" if host.seconds else host.waits


def _reasons(reasons: dict[str, int]) -> str:
    total = sum(reasons.values())
    if not total:
        return "0"
    shown = [f"{name} {count:,}" for name, count in list(reasons.items())[:5]]
    return f"{total:,} ({', '.join(shown)}{', ...' if len(reasons) > 5 else ''})"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count else "?"
