"""The verb ``reextract``: a changed spider over the pages that a crawl has stored, and what comes out differently."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from p2pcrawl.cli.crawl import STANDARD_OUTPUT, crawl_in
from p2pcrawl.cli.screen.summary import summary
from p2pcrawl.cli.screen.terminal import Terminal, json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.crawler.item_differences import Differences, DifferenceSought
from p2pcrawl.crawler.reextraction import Reextraction, StoredPages, told_counts
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import read_sink

_FIELDS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ReextractOptions:
    """The options of ``reextract``, as typed. ``crawls``: the data folders of the crawl that stored the pages."""

    target: str
    folders: tuple[Path, ...]
    crawls: tuple[Path, ...]
    job: str
    appended: tuple[str, ...]
    replaced: tuple[str, ...]
    against: Path | None
    keys: tuple[str, ...]
    diff: Path | None
    data: Path | None
    slaves: int | None
    settings: dict[str, str]
    arguments: dict[str, str]
    as_json: bool


def run_reextract(options: ReextractOptions) -> int:
    """Reads all stored pages, tells what came of it and what differs, and returns the exit code."""
    _check(options)
    pages = StoredPages(options.folders, options.crawls, options.job)
    sought = _sought(options, pages)
    outputs = [read_sink(typed) for typed in options.appended]
    outputs += [read_sink(typed, replace=True) for typed in options.replaced]
    if sought is not None:
        sought.check(Path(spec.url) for spec in outputs if "://" not in spec.url and spec.url != STANDARD_OUTPUT)
    terminal = Terminal()
    again = Reextraction(
        options.target,
        pages,
        sought=sought,
        told=terminal.say,
        outputs=outputs,
        data=options.data,
        slaves=options.slaves,
        settings=options.settings,
        arguments=options.arguments,
    )
    again.output_to_stderr = options.as_json or STANDARD_OUTPUT in again.outputs
    ending = crawl_in(terminal, again, again="the same command")
    lines = [line.replace("; the spider's start is among them", "") for line in summary(ending)]
    for line in (*lines, *(f"  {told}" for told in told_counts(again.counted))):
        terminal.say(line)
    if not options.crawls:
        terminal.say("  without --of DIR nobody knows the pages' callbacks, meta and cb_kwargs: all went to parse()")
    found = again.differences
    if found is not None:
        for line in difference_words(found, options.diff):
            terminal.say(line)
    elif sought is not None:
        terminal.say("  nothing was compared: not all pages have been read yet")
    if options.as_json:
        told = {**ending.as_json(), "left_out": dict(again.counted), "differences": differences_as_json(found)}
        print(json_line(told), file=sys.stderr if STANDARD_OUTPUT in again.outputs else sys.stdout)
    return ending.exit_code


def _check(options: ReextractOptions) -> None:
    for folder in options.folders:
        if not folder.is_dir():
            raise ConfigurationError(f"{folder} is not a folder with WARC files")
    if options.job and not options.crawls:
        raise ConfigurationError("--job says which job of --of DIR is meant: give --of, too")
    if options.keys and options.against is None:
        raise ConfigurationError(
            "--key says by which fields the items of --against FILE are known: give --against, too"
        )
    if options.diff is not None and options.against is None and not options.crawls:
        raise ConfigurationError("--diff wants something to compare with: give --of DIR, or --against FILE")
    if options.data is not None and options.data.resolve() in [crawl.resolve() for crawl in options.crawls]:
        raise ConfigurationError(
            "--of is the crawl that stored the pages, --data is kept of this run: name two folders"
        )


def _sought(options: ReextractOptions, pages: StoredPages) -> DifferenceSought | None:
    """Returns what the items are compared with: a file, or else the items of the crawl."""
    sought = DifferenceSought(output=options.diff)
    if options.against is not None:
        return replace(sought, file=options.against, keys=options.keys)
    if options.crawls:
        return replace(sought, jobs=pages.jobs())
    return None


def difference_words(found: Differences, output: Path | None) -> Iterator[str]:
    """Says what differs."""
    if not (found.added or found.removed or found.changed):
        yield f"  compared: all {counted(found.same, 'item')} are the same"
    else:
        where = f" on {counted(found.pages, 'page')}" if found.pages else ""
        yield (
            f"  compared: {found.changed:,} changed, {found.added:,} added, {found.removed:,} removed{where},"
            f" {found.same:,} the same"
        )
    if found.fields:
        some = ", ".join(f"{name} {n:,}" for name, n in found.fields.most_common(_FIELDS_SHOWN))
        yield f"  fields that changed: {some}"
    if found.apart:
        yield f"  {counted(found.apart, 'item')} of before are of pages that were not read, and compared with nothing"
    if output is not None:
        yield f"  {output}: {counted(found.added + found.removed + found.changed, 'difference')}"


def differences_as_json(found: Differences | None) -> dict[str, Any] | None:
    """Returns what differs as plain data."""
    if found is None:
        return None
    return {
        "same": found.same,
        "changed": found.changed,
        "added": found.added,
        "removed": found.removed,
        "pages": found.pages,
        "not_compared": found.apart,
        "fields": dict(found.fields.most_common()),
    }
