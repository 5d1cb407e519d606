"""The verb ``results``: the items of a job from the cluster into a file."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from p2pcrawl.cli.cluster.brought import BroughtItems, bring
from p2pcrawl.cli.cluster.control import buckets_told
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.master.neighbours.absences import absent_told
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.files.opening import STANDARD_OUTPUT, open_local_sink
from p2pcrawl.stores.kinds import read_sink


def run_results(called: str, output: str, peer: str | None, token_file: Path | None) -> int:
    """Fetches what there is so far into a file, or brings it into a sink."""
    if scheme_of(output):
        sink = read_sink(output)
        remote = Remote.find(peer, token_file)
        job = remote.job(called)
        told = _brought_told(bring(remote, job, sink), sink.url)
    else:
        open_local_sink(output, replace=True)
        remote = Remote.find(peer, token_file)
        job = remote.job(called)
        told = fetched(fetch(remote, job, output), output)
    print(f"p2pcrawl: {told}", file=sys.stderr)
    for gap in gaps(remote.get(job_path(job))):
        print(f"p2pcrawl: warning: {on_one_line(gap)}", file=sys.stderr)
    return 0


def gaps(status: dict[str, Any]) -> Iterator[str]:
    """Yields the reasons why items of a job may be missing."""
    if status["not_whole"]:
        yield f"{buckets_told(status['not_whole'])}: items may be missing until who had the rest of them is back"
    if status["missing"]:
        yield f"without what {', '.join(node[:8] for node in status['missing'])} has: it did not answer"
    if status["away"]:
        yield f"{absent_told(status['away'])}: items that only they have are not here"
    if status["moving"]:
        yield f"{counted(status['moving'], 'bucket is', 'buckets are')} being taken over: ask again for their items"


def fetch(remote: Remote, job: int, output: str) -> int:
    """Fetches the items of a job into a file, and returns their number; the file is replaced when all of them are
    there, and not touched before.
    """
    return write_whole(remote.lines(job_path(job, "items")), output)


def write_whole(lines: Iterable[list[bytes]], output: str) -> int:
    """Writes lines of JSON into a file of any format, and returns their number; the file is replaced when all of them
    are there, and not touched before. Standard output gets them as they come.
    """
    if output == STANDARD_OUTPUT:
        return _fill(lines, output)
    folder, name = os.path.split(os.path.abspath(output))
    draft = os.path.join(folder, f".{secrets.token_hex(4)}-{name}")
    try:
        count = _fill(lines, draft)
        os.replace(draft, output)
    finally:
        if os.path.exists(draft):
            os.unlink(draft)
    return count


def _brought_told(brought: BroughtItems, url: str) -> str:
    told = f"{counted(brought.items, 'item')} brought to {url}"
    return f"{told}, {brought.refused:,} refused ({on_one_line(brought.why)})" if brought.refused else told


def fetched(count: int, output: str) -> str:
    return f"{counted(count, 'item')} in {'standard output' if output == STANDARD_OUTPUT else output}"


def _fill(batches: Iterable[list[bytes]], path: str) -> int:
    sink = open_local_sink(path, replace=True)
    count = 0
    try:
        sink.resume(None)
        for lines in batches:
            sink.write(lines)
            count += len(lines)
        sink.sync()
        sink.finish()
    finally:
        sink.close()
    return count
