"""The end of a crawl: for people, as JSON, and as an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from signal import SIGINT
from typing import Any

from p2pcrawl.cli.screen.revisits import revisit_lines
from p2pcrawl.cli.screen.sinks import sink_lines
from p2pcrawl.cli.screen.types_told import type_lines
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.crawler.told_end import fruitless, fruitless_words
from p2pcrawl.master.jobs.dead_letters import FILE, FOLDER
from p2pcrawl.master.jobs.delivery import SinkState
from p2pcrawl.model.crawl.job import page_name

INTERRUPTED = 130
SIGNALLED = 128
"""To which the number of the signal is added that stopped a crawl, as shells do: 130 for Ctrl-C, 143 for SIGTERM."""
CUT = "pages_cut"
"""A stat: pages that were not parsed to their end."""

STARTS = "; the spider's start is among them"


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """The certificates of a run's jobs, and what else is known of the run. ``pages`` are those of this run."""

    certificates: list[dict[str, Any]]
    seconds: float
    pages: int
    interrupted: bool
    resumable: str
    """The data folder, or ""."""
    kept_in: str = ""
    """The folder in which what was not delivered is kept, where there is no data folder; or ""."""
    nothing_to_do: bool = False
    ended_by: int = SIGINT
    """The signal that interrupted it, if any."""
    raw_pages: str = ""
    """The folder of the WARC files, or ""."""
    troubles: list[tuple[str, str, str]] = field(default_factory=list)
    """Examples of what did not succeed: (url, reason, detail)."""

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return SIGNALLED + self.ended_by
        return 1 if any(fruitless(c) for c in self.certificates) else 0

    def as_json(self) -> dict[str, Any]:
        run = {
            "seconds": round(self.seconds, 3),
            "pages_per_second": round(self.pages / self.seconds, 2) if self.seconds else 0.0,
            "stopped_early": self.interrupted,
            "data": self.resumable or self.kept_in,
            "exit_code": self.exit_code,
        }
        if len(self.certificates) == 1:
            return {**self.certificates[0], **run}
        return {"jobs": self.certificates, **run}


def summary(ending: CrawlEnd) -> list[str]:
    """Writes the summary of a crawl in lines; those that begin with a space belong to the line before."""
    lines = []
    for certificate in ending.certificates:
        lines += _job(certificate, ending)
    if ending.raw_pages:
        lines.append(f"  raw pages: in {ending.raw_pages}")
    for url, reason, detail in ending.troubles:
        lines.append(f"  e.g. {reason}: {page_name(url)}{_short(detail)}")
    if ending.exit_code == 1:
        lines.append(f"{fruitless_words(ending.certificates)}: the reasons are above")
    return lines + _kept(ending)


def _kept(ending: CrawlEnd) -> list[str]:
    """Says where what was not delivered is kept, and what delivers it."""
    folder, lines = ending.kept_in or ending.resumable, []
    sinks = [sink for certificate in ending.certificates for sink in certificate["sinks"]]
    if folder and any(sink["refused"] for sink in sinks):
        lines.append(
            f"what was refused is in {folder}/{FOLDER}/{FILE}, with the reasons;"
            f" p2pcrawl retry --dead-letters --data {folder} sends it again"
        )
    if ending.kept_in and any(sink["waiting"] for sink in sinks):
        lines.append(f"run the same command with --data {folder} to deliver the rest, which is kept there")
    elif ending.interrupted and ending.resumable:
        lines.append(f"run the same command again to go on; all is kept in {ending.resumable}")
    return lines


def _job(c: dict[str, Any], ending: CrawlEnd) -> list[str]:
    rate = ending.pages / ending.seconds if ending.seconds else 0.0
    ended = "stopped" if c["state"] == "running" else c["state"]
    why = f" ({c['reason']})" if c["reason"] else ""
    speed = "" if ending.nothing_to_do else f" in {ending.seconds:.1f} s ({rate:,.1f} pages/s)"
    lines = [f"{c['name']} {ended}{why}: {counted(c['pages'], 'page')}, {counted(c['items'], 'item')}{speed}"]
    lines += [f"  {line}" for line in sink_lines(SinkState(**sink) for sink in c["sinks"])]
    for title, key in (
        ("failed", "failed_by_reason"),
        ("dropped", "dropped_by_reason"),
        ("marked", "marked_by_reason"),
        ("retries", "retries_by_reason"),
    ):
        if c.get(key):
            reasons = ", ".join(f"{name} {n:,}" for name, n in sorted(c[key].items(), key=lambda p: -p[1]))
            lines.append(f"  {title}: {reasons}")
    lines += _below((*type_lines(c), *revisit_lines(c), *_cut_lines(c)))
    if left_out := [f"{name} {n:,}" for name, n in c["filtered_links"].items() if name != "seen"]:
        lines.append(f"  links left out: {', '.join(left_out)}")
    rest = [
        counted(c["redirects"], "redirect") if c["redirects"] else "",
        f"{counted(c['items_dropped'], 'item')} dropped by pipelines" if c["items_dropped"] else "",
        f"{counted(c['slave_losses'], 'page')} lost with a slave and fetched again" if c["slave_losses"] else "",
    ]
    if told := ", ".join(part for part in rest if part):
        lines.append(f"  {told}")
    lines.append(
        f"  discovered {c['discovered']:,} = done {c['done']:,} + failed {c['failed']:,} + dropped {c['dropped']:,}"
        f" + queued {c['queued']:,} + leased {c['leased']:,}: {_holds(c)}{STARTS}"
    )
    return lines


def _cut_lines(c: dict[str, Any]) -> Iterable[str]:
    if cut := (c.get("stats") or {}).get(CUT, 0):
        yield f"{counted(cut, 'page')} had too many elements, and what stands behind them was not parsed"


def _below(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _holds(c: dict[str, Any]) -> str:
    if c["verified"]:
        return "holds, counted record by record"
    if c["conserved"]:
        return "adds up, but counting the records gives other numbers (this is a bug)"
    return "DOES NOT HOLD (this is a bug)"


def _short(detail: str) -> str:
    lines = [line for line in detail.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    # The last line of a traceback says what was raised.
    text = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    return f" ({text.strip()[:200]})"
