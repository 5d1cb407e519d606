"""The verb ``why`` with ``--summary`` or ``--urls``: why pages are not among the results, and which."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from p2pcrawl.cli.cluster.results_verb import write_whole
from p2pcrawl.cli.screen.terminal import show_answer
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.frontier.reading.inquiry import Inquiry
from p2pcrawl.frontier.reading.outside_pages import outside_pages
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.model.reason_choice import pages_named, reasons_named
from p2pcrawl.peer.figures.reasons_told import reasons_of_folder
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.files.opening import STANDARD_OUTPUT, open_local_sink

_PIECE: Final = 1_000
_URL_MAX: Final = 200
"""Characters of an example that are printed; --json has all."""
_TITLES: Final = {"failed": "failed", "dropped": "dropped", "filtered": "links that were not followed"}


@dataclass(frozen=True, slots=True)
class Wondering:
    """The question as typed. ``called``: a job, or "" for all; ``urls``: all pages in place of a summary."""

    called: str
    reason: str
    urls: bool
    output: str
    examples: int


def run_why_not(
    asked: Wondering, folder: Path | None, peer: str | None, token_file: Path | None, *, as_json: bool
) -> int:
    """Prints the reasons, or writes the pages, of a data folder, or without one of the cluster."""
    if asked.urls:
        return _list_pages(asked, folder, peer, token_file)
    if asked.output != STANDARD_OUTPUT:
        raise ConfigurationError("-o FILE is for --urls: a summary is printed, with --json as an object")
    choice = reasons_named(asked.reason)
    if folder is not None:
        answer: dict[str, Any] = {**reasons_of_folder(folder, asked.called, choice, asked.examples)}
    else:
        remote = Remote.find(peer, token_file, otherwise=_HERE)
        query = {"limit": asked.examples, **({"reason": asked.reason} if asked.reason else {})}
        answer = remote.get(job_path(asked.called, "reasons") if asked.called else "/v1/reasons", **query)
    show_answer(answer, reasons_words, as_json=as_json)
    for node in answer["missing"]:
        print(f"p2pcrawl: without {on_one_line(node[:8])}: it did not answer", file=sys.stderr, flush=True)
    return 0


def _list_pages(asked: Wondering, folder: Path | None, peer: str | None, token_file: Path | None) -> int:
    pages_named(asked.reason)
    if scheme_of(asked.output):
        raise ConfigurationError("URLs are listed into a file: give -o FILE.jsonl or FILE.csv")
    open_local_sink(asked.output, replace=True)
    if folder is not None:
        lines: Iterable[list[bytes]] = _pages_of(folder, asked)
    else:
        remote = Remote.find(peer, token_file, otherwise=_HERE)
        if not asked.called:
            raise ConfigurationError("whose URLs? name a JOB, or --data DIR of a crawl of this machine")
        query = f"?{urlencode({'reason': asked.reason})}" if asked.reason else ""
        lines = remote.lines(job_path(remote.job(asked.called), "urls") + query)
    count = write_whole(lines, asked.output)
    where = "standard output" if asked.output == STANDARD_OUTPUT else asked.output
    print(f"p2pcrawl: {counted(count, 'page')} in {where}", file=sys.stderr)
    return 0


def _pages_of(folder: Path, asked: Wondering) -> Iterator[list[bytes]]:
    with Inquiry(folder) as inquiry:
        jobs = inquiry.jobs_called(asked.called)
    choice, lines = reasons_named(asked.reason), list[bytes]()
    for job in jobs:
        for page in outside_pages(folder, job.id, choice):
            lines.append(page.line())
            if len(lines) >= _PIECE:
                yield lines
                lines = []
    yield lines


_HERE: Final = "; a crawl of this machine is looked into with --data DIR"


# -- in words -----------------------------------------------------------------------------------------


def reasons_words(answer: dict[str, Any]) -> Iterator[str]:
    """Says in lines why pages are missing."""
    if not answer["reasons"]:
        whose = f" of job {answer['job']} ({answer['name']})" if answer["job"] is not None else ""
        yield f"nothing{whose} has failed, was dropped or left out"
    before = ""
    for told in answer["reasons"]:
        if told["outcome"] != before:
            before = told["outcome"]
            yield _TITLES.get(before, before)
        what = "link" if before == "filtered" else "page"
        hosts = f" of {counted(told['hosts'], 'host')}" if told["hosts"] else ""
        statuses = ", ".join(f"{status}: {n:,}" for status, n in told["statuses"].items())
        shown = f" ({statuses})" if statuses else ""
        yield f"  {told['reason']}: {counted(told['count'], what)}{hosts}{shown}"
        for example in told["examples"]:
            yield f"    {_example_told(example)}"


def _example_told(example: dict[str, Any]) -> str:
    status = f" {example['status']}" if example["status"] else ""
    detail = example["detail"].strip().splitlines()
    said = f"  {detail[-1][:200]}" if detail else ""
    more = f"  (1 of {example['of_host']:,} of this host)" if example["of_host"] > 1 else ""
    page = f"  on {example['page']}" if example["page"] else ""
    return f"{example['url'][:_URL_MAX]}{status}{said}{more}{page}"
