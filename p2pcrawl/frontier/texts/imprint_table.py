"""The imprints of texts that are known here, and the verdict on each.

The verdict is part of the transaction that grants an imprint. That is done in buckets that are served, all records of
which are here, by their owner alone: so of two with the same text one is the first, and whoever hears of the other
finds it. The table holds nothing that is not in the records, which other masters have copies of: one that has ended as
an original is a first wherever it comes to. One that has not ended, and has a band before it, may have gone on to that
from where it was before: so it goes on here, too, and is held against nobody. The table is made with the first imprint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping

import msgspec

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.database.tables import IMPRINT_TABLE
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import NoPage
from p2pcrawl.model.texts.imprint_url import without_imprint
from p2pcrawl.model.texts.text_signatures import distance
from p2pcrawl.wire.messages.imprints import Imprint, imprint_of, with_imprint

LOOKED_AT_MAX = 1_000
"""Imprints with one band that are compared, the latest; a band of 16 bits that is shared by more has 65 million texts
about it, or says nothing."""
FIRSTS = (NoPage.ORIGINAL, NoPage.ASKED_ON)
"""The reasons with which an imprint ends that others are held against."""

_IS_THERE = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'imprint')"


class ImprintTable:
    """Reads and writes the table. Methods are called inside a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def add(self, found: Iterable[tuple[int, int, Link]]) -> None:
        """Takes note of new imprints: the numbers of their records, their jobs and links."""
        for statement in IMPRINT_TABLE:
            self._db.execute(statement)
        rows = []
        for record, job, link in found:
            if (imprint := imprint_of(link)) is not None:
                hi, _ = halves(imprint.fingerprint)
                page = without_imprint(link.url)
                rows.append((record, job, hi, imprint.page, imprint.signature, page, 0))
        run_many(self._db, "INSERT OR REPLACE INTO imprint (record, job, hi, page, signature, url, first)", rows)

    def learn(self, records: Mapping[int, Link]) -> None:
        """Takes note of how those of these records have ended that came from another master, and of those that may
        have gone on there.
        """
        ended = ", ".join(f"'{reason}'" for reason in FIRSTS)
        run_many(
            self._db,
            f"UPDATE imprint SET first = 1 FROM record AS r WHERE r.id = imprint.record AND r.phase = {int(Phase.DONE)}"
            f" AND r.reason IN ({ended}) AND r.id IN (",
            [(record,) for record in records],
            ")",
        )
        run_many(
            self._db,
            "UPDATE imprint SET first = 1 FROM record AS r WHERE r.id = imprint.record"
            f" AND r.phase = {int(Phase.QUEUED)} AND r.id IN (",
            [(record,) for record, link in records.items() if _may_have_gone_on(link)],
            ")",
        )

    def judge(self, candidate: Candidate) -> Link:
        """Gives the verdict on an imprint that is granted, and returns its link with that. One that is granted again
        keeps what was said of it.
        """
        imprint = imprint_of(candidate.link)
        if imprint is None or imprint.first or self._is_first(candidate.record):
            return candidate.link
        verdict = self._verdict(candidate.job, imprint)
        if not verdict.first:
            self._db.execute("UPDATE imprint SET first = 1 WHERE record = ?", (candidate.record,))
            return candidate.link
        link = with_imprint(candidate.link, verdict)
        self._db.execute("UPDATE record SET extra = ? WHERE id = ?", (link.extra, candidate.record))
        return link

    def remove(self, records: Collection[int]) -> None:
        """Forgets the imprints of these records."""
        if self._db.execute(_IS_THERE).fetchone()[0]:
            run_many(self._db, "DELETE FROM imprint WHERE record IN (", [(record,) for record in records], ")")

    def _is_first(self, record: int) -> bool:
        row = self._db.execute("SELECT first FROM imprint WHERE record = ?", (record,)).fetchone()
        return row is not None and bool(row[0])

    def _verdict(self, job: int, imprint: Imprint) -> Imprint:
        hi, _ = halves(imprint.fingerprint)
        rows = self._db.execute(
            "SELECT signature, page, url FROM imprint WHERE first AND job = ? AND hi = ? ORDER BY record DESC LIMIT ?",
            (job, hi, LOOKED_AT_MAX),
        )
        best, first = imprint.near, ""
        for signature, page, url in rows:
            apart = distance(signature, imprint.signature)
            # No page is a copy of what it was before.
            if apart <= best and page != imprint.page:
                best, first = apart, url
        return msgspec.structs.replace(imprint, first=first, distance=best) if first else imprint


def _may_have_gone_on(link: Link) -> bool:
    imprint = imprint_of(link)
    return imprint is not None and not imprint.first and not imprint.is_last
