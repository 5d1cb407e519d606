"""The verb ``reextract`` for a cluster: a job that reads the stored pages of another one, and what comes out
differently.

It is a job like any other, so it goes on without whoever began it. Differences are told here, when it has ended.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from p2pcrawl.cli.cluster.results_verb import fetch, fetched
from p2pcrawl.cli.cluster.submit import brought_to_sinks, end_told, say, settled_choice, waited_for
from p2pcrawl.cli.reextract import difference_words, differences_as_json
from p2pcrawl.cli.screen.summary import INTERRUPTED
from p2pcrawl.cli.screen.terminal import json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.core.control import CANCELLED, INCOMPLETE
from p2pcrawl.crawler.item_differences import DifferenceSought, Page, pages_in
from p2pcrawl.crawler.reextraction import SETTINGS
from p2pcrawl.crawler.told_end import fruitless
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.peer.answers.submission import submission_of
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.files.opening import STANDARD_OUTPUT, open_local_sink

AWAY_AGAIN_S: Final = 15
AWAY_TIMES: Final = 20
"""So often pages are tried again that may be on a machine which is away: for five minutes."""
_UNLESS_TYPED: Final[Mapping[str, Any]] = {
    "RETRY_FAILED_AFTER": AWAY_AGAIN_S,
    "RETRY_FAILED_TIMES": AWAY_TIMES,
    "RETRY_FAILED_REASONS": (Failure.RAW_PAGE_AWAY.value,),
}
_FORCED: Final[Mapping[str, Any]] = {
    **{name: value for name, value in SETTINGS.items() if name not in _UNLESS_TYPED},
    "REVISIT_HOST_BUDGET": 0,
}


class _ReadPage(msgspec.Struct):
    """A page that was read, as the API tells it."""

    page: str


_decoded = msgspec.json.Decoder(_ReadPage).decode


@dataclass(frozen=True, slots=True)
class ClusterReextraction:
    """The options of ``reextract`` in a cluster, as typed. ``job``: that which has stored the pages; ``resumed``: one
    that reads them already.
    """

    target: str
    job: str
    resumed: str
    label: str
    peer: str | None
    token_file: Path | None
    outputs: Sequence[SinkSpec]
    sought: DifferenceSought
    settings: Mapping[str, str]
    arguments: dict[str, str]
    as_json: bool


def run_reextract_in_cluster(asked: ClusterReextraction) -> int:
    """Begins the job, stays until it has ended, tells what differs, and returns the exit code."""
    files = [output.url for output in asked.outputs if not scheme_of(output.url)]
    if asked.resumed and len(files) < len(asked.outputs):
        raise ConfigurationError(
            "--resume begins no job, whose sinks could be named: give a FILE, or `p2pcrawl results`"
        )
    asked.sought.check(Path(path) for path in files if path != STANDARD_OUTPUT)
    for path in files:
        open_local_sink(path, replace=True)
    remote = Remote.find(asked.peer, asked.token_file)
    of = remote.job(asked.job)
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        before = asked.sought
        if before.file is None:
            # As they are now: a job that goes on may change them meanwhile.
            before = replace(before, file=_kept(remote, of, Path(folder) / "before.jsonl"))
        number = remote.job(asked.resumed) if asked.resumed else _begun(remote, of, asked, files)
        try:
            return _followed(remote, number, asked, before, files, Path(folder))
        except (KeyboardInterrupt, P2PCrawlError) as error:
            say(f"job {number} goes on; what differs is told by the same command with --resume {number}")
            if isinstance(error, P2PCrawlError):
                raise
            return INTERRUPTED


def _begun(remote: Remote, of: int, asked: ClusterReextraction, files: Sequence[str]) -> int:
    typed = {name.upper(): value for name, value in asked.settings.items()}
    chosen = {**_UNLESS_TYPED, **settled_choice(typed, list(files)), **_FORCED, "STORED_PAGES_OF": of}
    sinks = [output for output in asked.outputs if scheme_of(output.url)]
    submission = submission_of(asked.target, Settings(), chosen, asked.arguments, sinks, asked.label)
    number = int(remote.post("/v1/jobs", submission.plain())["job"])
    say(f"job {number} reads the stored pages of job {of}")
    return number


def _followed(
    remote: Remote,
    number: int,
    asked: ClusterReextraction,
    before: DifferenceSought,
    files: Sequence[str],
    folder: Path,
) -> int:
    begun = time.monotonic()
    end = waited_for(remote, number, doing="in hand")
    seconds = time.monotonic() - begun
    if any(scheme_of(output.url) for output in asked.outputs):
        end = brought_to_sinks(remote, number)
    found = None
    if end["state"] not in (CANCELLED, INCOMPLETE):
        found = before.compare_with(_ItemsThere(remote, number, folder), folder)
    for path in files:
        say(fetched(fetch(remote, number, path), path))
    for line in (*end_told(end, seconds), *_left_out(end, number)):
        say(line)
    for line in difference_words(found, before.output) if found is not None else ["  nothing was compared"]:
        say(line)
    if asked.as_json:
        told = {**end, "seconds": round(seconds, 3), "differences": differences_as_json(found)}
        print(json_line(told), file=sys.stderr if STANDARD_OUTPUT in files else sys.stdout)
    return 1 if fruitless(end) or found is None or _away(end) else 0


def _away(end: Mapping[str, Any]) -> int:
    return int(end["failed_by_reason"].get(Failure.RAW_PAGE_AWAY, 0))


def _left_out(end: Mapping[str, Any], number: int) -> Iterator[str]:
    """Says which pages were not read, and why."""
    if count := end["failed_by_reason"].get(Failure.NOT_STORED, 0):
        yield f"  {counted(count, 'page')} of the crawl: no raw page is on the machine of any master"
    if count := _away(end):
        yield (
            f"  {counted(count, 'page')} may be on a machine that is away: when it is back, "
            f"`p2pcrawl retry {number}`, and the same command with --resume {number}"
        )


def _kept(remote: Remote, job: int, path: Path) -> Path:
    """Keeps the items of a job, page by page, in a file."""
    with path.open("wb") as file:
        for lines in remote.lines(job_path(job, "pages")):
            file.writelines(line + b"\n" for line in lines if line)
    return path


class _ItemsThere:
    """The items of a job in the cluster."""

    def __init__(self, remote: Remote, job: int, folder: Path) -> None:
        self._remote = remote
        self._job = job
        self._path = folder / "read.db"
        self._db: sqlite3.Connection | None = None

    def pages(self) -> Iterator[Page]:
        for lines in self._remote.lines(job_path(self._job, "pages")):
            yield from pages_in(lines)

    def read_among(self, prints: Sequence[bytes]) -> set[bytes]:
        if not self._path.exists():
            self._ask()
        marks = ",".join("?" * len(prints))
        with closing(sqlite3.connect(self._path)) as db:
            return {print_ for (print_,) in db.execute(f"SELECT print FROM page WHERE print IN ({marks})", prints)}

    def _ask(self) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            db.execute("CREATE TABLE page (print BLOB PRIMARY KEY) WITHOUT ROWID")
            db.execute("BEGIN")
            for lines in self._remote.lines(job_path(self._job, "read")):
                rows = ((bytes.fromhex(_decoded(line).page),) for line in lines if line)
                db.executemany("INSERT OR IGNORE INTO page VALUES (?)", rows)
            db.execute("COMMIT")
