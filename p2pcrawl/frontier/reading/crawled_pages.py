"""The pages of a job that a callback got, each as the link that it was, read beside who writes them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.frontier.records.columns import KNOWN, link_of
from p2pcrawl.model.crawl.fingerprint import Fingerprint, fingerprint
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK, Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import Failure, NoPage

PAGES: Final = 2_000
"""Read at once."""
_OF_THE_SPIDER: Final = (Failure.CALLBACK, Failure.ITEM, Failure.TOO_SLOW)
"""Failures of pages that were had."""


class CrawledPage(NamedTuple):
    """A page, and what was asked for: the same for all that send the same request, whatever they are called."""

    place: int
    """To go on behind."""
    link: Link
    asked: Fingerprint


def crawled_after(folder: Path, job: int, after: int) -> list[CrawledPage]:
    """Returns the next pages of a job that were had, behind a place that is 0 at first; none: there are no more. Those
    with which the spider failed are among them, and those that a later visit found unchanged; files of items and
    redirects are not. Raises as every reading of a data folder does.
    """
    connection = open_for_reading(folder)
    connection.row_factory = sqlite3.Row
    failures = ", ".join(f"'{reason}'" for reason in _OF_THE_SPIDER)
    try:
        with MappedErrors(folder):
            rows = connection.execute(
                f"SELECT {KNOWN} FROM record AS r WHERE r.id > ? AND r.job = ? AND r.url LIKE 'http%'"
                f" AND r.callback != '{FILE_CALLBACK}'"
                f" AND (r.phase = {int(Phase.DONE)} AND r.reason IN ('', '{NoPage.UNCHANGED}')"
                f" OR r.phase = {int(Phase.FAILED)} AND r.reason IN ({failures})) ORDER BY r.id LIMIT {PAGES}",
                (after, job),
            ).fetchall()
            return [CrawledPage(row["id"], link := link_of(row), asked_by(link)) for row in rows]
    finally:
        connection.close()


def asked_by(link: Link) -> Fingerprint:
    """Returns what identifies the request of a link by its method, URL and body alone."""
    if not link.extra:
        return fingerprint(link.url)
    extra = msgspec.msgpack.decode(link.extra)
    return fingerprint(link.url, extra.get("method", "GET"), extra.get("body", b""))
