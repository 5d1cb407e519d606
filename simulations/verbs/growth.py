"""Measures what a cluster says to itself as it grows: messages and bytes, per master and per page, at several sizes.

Each size crawls a web that grows with it, so that every master has as much to do as in a small cluster, and nothing
fails. Three things are told apart: how all meet, which happens once; the crawl; and what goes on when there is nothing
to do. A *message* is a datagram, or what was written to a link at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.port import GOSSIP

from ..kernel.node import Node
from ..kernel.own_name import COMMAND
from ..play.options import Options
from ..play.stage import Stage
from ..report.outputs import refuse_unwritable
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from ..world.web import WebPlan
from .growth_picture import Panel, picture

PAGES_EACH = 60
"""Pages of the web for each master, and hosts: with the delay of a second, a master has two pages a second to crawl."""
HOSTS_EACH = 2
IDLE_S = 60.0
"""How long it is listened to a cluster that has nothing to do."""
CHANNEL = 1
"""Where a datagram tells, for all to read, what it is for."""

EXAMPLES = f"""\
  {COMMAND} growth
  {COMMAND} growth --masters 5 10 50 200 --kept growth.json -o docs/growth.svg"""


class Count(NamedTuple):
    """The messages and bytes that were sent in some time."""

    virtual_s: float
    cpu_s: float
    """What simulating it took: on a machine that does nothing else, that is as long as it took."""
    gossip: int
    directory: int
    links: int
    bytes: int

    @property
    def messages(self) -> int:
        return self.gossip + self.directory + self.links

    def since(self, before: Count) -> Count:
        return Count(
            self.virtual_s - before.virtual_s,
            self.cpu_s - before.cpu_s,
            self.gossip - before.gossip,
            self.directory - before.directory,
            self.links - before.links,
            self.bytes - before.bytes,
        )


@dataclass(frozen=True, slots=True)
class Size:
    """The counts at one size."""

    masters: int
    pages: int
    """That were answered."""
    meeting: Count
    crawl: Count
    idle: Count
    violations: int

    @property
    def per_page(self) -> float:
        """Messages of all masters together for each page."""
        return self.crawl.messages / self.pages

    @property
    def bytes_per_page(self) -> float:
        return self.crawl.bytes / self.pages

    @property
    def idle_per_s(self) -> float:
        """Messages of one master in a second."""
        return self.idle.messages / self.masters / self.idle.virtual_s

    @property
    def speed(self) -> float:
        """Virtual seconds of the crawl in a second of the processor."""
        return self.crawl.virtual_s / self.crawl.cpu_s


class Listener:
    """Counts what one run sends, in place of a scenario's faults."""

    def __init__(self) -> None:
        self._channels: Counter[int] = Counter()
        self.meeting = self.crawl = self.idle = Count(0, 0, 0, 0, 0, 0)

    async def __call__(self, stage: Stage) -> None:
        # The channels of what is sent while they meet are not counted: that is told as a whole.
        stage.world.network.filters.append(self._hear)
        self.meeting = began = self._count(stage)
        await stage.until(lambda: stage.ended)
        through = self._count(stage)
        await asyncio.sleep(IDLE_S)
        self.crawl, self.idle = through.since(began), self._count(stage).since(through)

    def _hear(self, source: Node, target: Node, data: bytes) -> bool:
        self._channels[data[CHANNEL]] += 1
        return True

    def _count(self, stage: Stage) -> Count:
        traffic = stage.world.network.traffic
        gossip = self._channels[GOSSIP]
        return Count(
            stage.world.now, _cpu_s(), gossip, traffic.datagrams - gossip, traffic.segments,
            traffic.datagram_bytes + traffic.segment_bytes,
        )  # fmt: skip


def measure(masters: int, seed: int) -> Size:
    """Runs a cluster of this size. Raises ValueError for a size that cannot be."""
    pages, hosts = PAGES_EACH * masters, HOSTS_EACH * masters
    options = Options(seed=seed, masters=masters, pages=pages, hosts=hosts)
    web = WebPlan(pages=pages, hosts=hosts, zipf=0.0, flaky=0.0, failing=0.0, delayed_hosts=0.0, dead_hosts=0.0)
    listener, began_s = Listener(), _cpu_s()
    report = Simulation(Plan(options, web=web, faults=listener)).run()
    meeting = listener.meeting._replace(cpu_s=listener.meeting.cpu_s - began_s)
    answered = report.figures["answered"]
    return Size(masters, answered, meeting, listener.crawl, listener.idle, len(report.violations))


def table(sizes: list[Size]) -> str:
    """Writes the counts as Markdown, a column for each size."""
    rows: list[tuple[str, str, Callable[[Size], float]]] = [
        ("pages", ",.0f", lambda one: one.pages),
        ("messages for a page, of all together", ".1f", lambda one: one.per_page),
        ("of these on links", ".1f", lambda one: one.crawl.links / one.pages),
        ("of these gossip", ".1f", lambda one: one.crawl.gossip / one.pages),
        ("of these of the directory", ".1f", lambda one: one.crawl.directory / one.pages),
        ("bytes for a page, of all together", ",.0f", lambda one: one.bytes_per_page),
        ("messages for a page and master", ".2f", lambda one: one.per_page / one.masters),
        ("bytes for a page and master", ",.0f", lambda one: one.bytes_per_page / one.masters),
        ("idle: messages a second and master", ".1f", lambda one: one.idle_per_s),
        ("idle: bytes a second and master", ",.0f", lambda one: one.idle.bytes / one.masters / one.idle.virtual_s),
        ("to meet: messages for each master", ",.0f", lambda one: one.meeting.messages / one.masters),
        ("to meet: virtual seconds", ".1f", lambda one: one.meeting.virtual_s),
        ("simulated: virtual seconds in a CPU second", ".1f", lambda one: one.speed),
        ("simulated: messages in a CPU second", ",.0f", lambda one: one.crawl.messages / one.crawl.cpu_s),
    ]
    lines = [f"| masters | {' | '.join(f'{one.masters:,}' for one in sizes)} |", "|---" * (1 + len(sizes)) + "|"]
    lines += [f"| {name} | {' | '.join(format(value(one), form) for one in sizes)} |" for name, form, value in rows]
    return "\n".join(lines)


def panels(sizes: list[Size]) -> list[Panel]:
    """Makes the panels of the picture."""

    def panel(heading: str, form: str, values: list[float]) -> Panel:
        return Panel(heading, form, [(f"{one.masters} masters", v) for one, v in zip(sizes, values, strict=True)])

    return [
        panel("messages for a page, all masters together", "{:.1f}", [one.per_page for one in sizes]),
        panel("bytes for a page, all masters together", "{:,.0f}", [one.bytes_per_page for one in sizes]),
        panel("messages for a page and master", "{:.2f}", [one.per_page / one.masters for one in sizes]),
        panel("messages a second and master when idle", "{:.1f}", [one.idle_per_s for one in sizes]),
    ]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``python -m simulations growth``."""
    parser.add_argument("--masters", type=int, nargs="+", default=[5, 10, 20], metavar="N", help="the sizes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.svg", help="draw the picture here")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep figures here; sizes that it has are not run")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run(asked: argparse.Namespace) -> int:
    """Measures, prints, draws; returns the exit status. Raises ConfigurationError."""
    kept = _kept(asked.kept)
    for path in (asked.kept, asked.output):
        if path is not None:
            refuse_unwritable(path)
    for masters in asked.masters:
        if masters in kept:
            continue
        try:
            kept[masters] = measure(masters, asked.seed)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None
        print(f"{masters} masters measured", file=sys.stderr, flush=True)
        if asked.kept is not None:
            asked.kept.write_text(json.dumps([asdict(size) for size in kept.values()], indent=1), encoding="utf-8")
    sizes = [kept[masters] for masters in asked.masters]
    if asked.output is not None:
        asked.output.write_text(picture(panels(sizes)), encoding="utf-8")
    print(json.dumps([asdict(size) for size in sizes]) if asked.json else table(sizes))
    return 1 if any(size.violations for size in sizes) else 0


def _cpu_s() -> float:
    """Returns the CPU time of this process. ``time.process_time`` tells virtual time while a world runs."""
    times = os.times()
    return times.user + times.system


def _kept(path: Path | None) -> dict[int, Size]:
    if path is None or not path.exists() or not path.stat().st_size:
        return {}
    counts = ("meeting", "crawl", "idle")
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {row["masters"]: Size(**row | {name: Count(*row[name]) for name in counts}) for row in rows}
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError):
        raise ConfigurationError(f"{path}: has no figures that were kept by this verb") from None
