"""The log of a crawl that a script or a notebook has begun: warnings, a line now and then, and how it ended.

It is told to the log. Where nobody has set that up, it goes to standard error for as long as the crawl runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from p2pcrawl.crawler.told_end import end_line, fruitless, fruitless_words
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import LogLines
from p2pcrawl.overlay.tasks import end
from p2pcrawl.spiders.aids.log_setup import QUIET

log = logging.getLogger(__name__)


@contextmanager
def script_log(settings: Settings) -> Iterator[int | None]:
    """Lets log lines go to standard error, or to LOG_FILE, where nothing else is set up. Gives the descriptor of the
    file, for slaves to write to.
    """
    root = logging.getLogger()
    if root.handlers:
        yield None
        return
    descriptor = _opened(settings.log_file) if settings.log_file else None
    lines = logging.StreamHandler(None if descriptor is None else os.fdopen(os.dup(descriptor), "a", encoding="utf-8"))
    lines.setFormatter(LogLines(settings.log_format, settings.log_dateformat))
    level_before = root.level
    root.addHandler(lines)
    root.setLevel(settings.log_level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield descriptor
    finally:
        root.removeHandler(lines)
        root.setLevel(level_before)
        if descriptor is not None:
            lines.stream.close()
            os.close(descriptor)


@asynccontextmanager
async def told_progress(jobs: Sequence[Job], interval_s: float) -> AsyncIterator[None]:
    """Tells now and then how jobs go, for the length of the block."""
    telling = asyncio.create_task(_tell(jobs, interval_s))
    try:
        yield
    finally:
        await end([telling])


def tell_end(jobs: Sequence[Job]) -> None:
    """Tells how each job ended; at ERROR where nothing came of it."""
    for job in jobs:
        certificate = job.certificate()
        log.info("%s", end_line(certificate))
        if fruitless(certificate):
            log.error("%s: %s", certificate["name"], fruitless_words([certificate]))


async def _tell(jobs: Sequence[Job], interval_s: float) -> None:
    while True:
        await asyncio.sleep(interval_s)
        for job in jobs:
            count = job.counts
            told = (count["pages"], count["items"], job.queued, count["failed"])
            log.info("%s: %d pages, %d items, %d queued, %d failed", job.spec.name, *told)


def _opened(path: str) -> int:
    try:
        # Appending, so that the lines of several processes do not overwrite each other.
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        raise ConfigurationError(f"cannot write the log file {path}: {error.strerror}") from error
