"""The columns of the tables ``record`` and ``host`` by their names, and what is made of them: the only place that knows
which fact is in which column.

Rows that are read are ``sqlite3.Row``, so that each value is asked for by name; rows that are written are mappings from
columns to values. No order of columns is relied on anywhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from sys import intern
from typing import Any

from p2pcrawl.core.bench.candidate import Candidate, Rank, rank_of
from p2pcrawl.frontier.database.integrity import Nonsense
from p2pcrawl.frontier.records.batch import HostRow, NewLink
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Order, Phase, stamp_of
from p2pcrawl.wire.messages.peer_messages import UNTOLD, Row

PARENT = "LEFT JOIN record AS p ON p.id = r.parent"
"""Joins the page that led to a record, which knows its own URL better than to be stored twice."""
_STATE = "r.id, r.job, r.visit, r.attempts, r.losses"
_LINK = "r.url, r.hi, r.lo, r.depth, r.priority, r.kind, r.callback, r.seed, r.extra"
CANDIDATE = (
    f"{_STATE}, r.host, r.bucket, r.due, r.past, {_LINK},"
    " CASE WHEN p.reason = 'redirect' THEN '' ELSE coalesce(r.referer, p.url, '') END AS referer"
)
"""Selects what :func:`candidate_of` reads, from ``record AS r`` with its ``PARENT``."""
TOLD = (
    f"{_STATE}, r.phase, r.status, r.reason, r.size, r.due, r.told, r.past, r.page_type, {_LINK},"
    " coalesce(r.referer, p.url, '') AS referer"
)
"""Selects what :func:`travelling_row` reads, from ``record AS r`` with its ``PARENT``."""
PLACE = "r.id, r.job, r.host, r.kind, r.priority, r.depth"
"""Selects what :func:`place_of` reads, from ``record AS r``."""
ITEMS_VISIT = f"coalesce(r.told, CASE WHEN r.phase = {int(Phase.QUEUED)} THEN max(r.visit - 1, 0) ELSE r.visit END)"
"""The visit that the items of a record are of. Before format 5 none but the last one had any."""
STAMPED = "r.visit, r.phase, r.attempts, r.losses, r.seed"
"""Selects what :func:`stamp_in` reads, from ``record AS r``."""
KNOWN = (
    f"{_STATE}, r.host, r.bucket, r.parent, r.found, r.phase, r.status, r.reason, r.size, r.ended,"
    f" r.due, r.turn, r.past, r.page_type, {_LINK},"
    " coalesce(r.referer, '') AS referer"
)
"""Selects what an inquiry tells of a record, from ``record AS r``."""


def named(db: sqlite3.Connection) -> sqlite3.Cursor:
    """Returns a cursor whose rows can be asked for their columns by name."""
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor


def stamp_in(row: sqlite3.Row) -> int:
    """Returns the stamp of a record."""
    return stamp_of(row["visit"], row["phase"], row["attempts"], row["losses"], entry=bool(row["seed"]))


def link_of(row: sqlite3.Row) -> Link:
    """Makes a link of its columns. Texts that most links share are one object, for many are held in memory."""
    return Link(
        url=row["url"],
        fingerprint=pack_halves(row["hi"], row["lo"]),
        depth=row["depth"],
        priority=row["priority"],
        kind=_shared(row["kind"]),
        callback=_shared(row["callback"]),
        seed=bool(row["seed"]),
        referer=row["referer"],
        extra=row["extra"] or b"",
    )


def _shared(text: str) -> str:
    """Returns the one object of all that are equal. Raises Nonsense for what is no text."""
    try:
        return intern(text)
    except TypeError as error:
        raise Nonsense(f"a record has {text!r:.20} where a text should be") from error


def candidate_of(row: sqlite3.Row, rank: Rank) -> Candidate:
    """Makes a candidate of the columns of a queued record. Only a page of the web is told as a referer."""
    link = link_of(row)
    if link.referer and not link.referer.startswith("http"):
        link = link._replace(referer="")
    return Candidate(
        record=row["id"],
        link=link,
        job=row["job"],
        host=row["host"],
        bucket=row["bucket"],
        prio=rank[0],
        seq=rank[1],
        attempts=row["attempts"],
        losses=row["losses"],
        visit=row["visit"],
        due=row["due"],
        past=row["past"] or b"",
    )


def place_of(row: sqlite3.Row, orders: Mapping[int, Order]) -> tuple[int, int, str, int, int]:
    """Returns the place of a record in its queue: the key of the tables ``queue``."""
    rank = rank_of(orders[row["job"]], row["id"], row["priority"], row["depth"])
    return (row["job"], row["host"], row["kind"], *rank)


def found_row(row: sqlite3.Row) -> Row:
    """Makes of a record what it was when it was found: a link, and nothing that has come of it."""
    return Row(row["job"], link_of(row), Phase.QUEUED, attempts=0, losses=0, status=0, reason="", size=0)


def travelling_row(row: sqlite3.Row, items: int, data: bytes, marks: int) -> Row:
    """Makes what other masters are told of a record; ``items``, ``data`` and ``marks`` are those of its page."""
    return Row(
        job=row["job"],
        link=link_of(row),
        phase=row["phase"],
        attempts=row["attempts"],
        losses=row["losses"],
        status=row["status"],
        reason=row["reason"],
        size=row["size"],
        items=items,
        data=data,
        visit=row["visit"],
        marks=marks,
        due=row["due"],
        told=UNTOLD if row["told"] is None else row["told"],
        past=row["past"] or b"",
        page_type=row["page_type"],
    )


def columns_of(record: int, new: NewLink, hi: int, lo: int, now: int) -> dict[str, Any]:
    """Makes the columns of a record that has just been found; ``hi`` and ``lo`` are its fingerprint's halves."""
    link = new.link
    return {
        "id": record,
        "job": new.job,
        "hi": hi,
        "lo": lo,
        "host": new.host,
        "kind": link.kind,
        "priority": link.priority,
        "depth": link.depth,
        "seed": int(link.seed),
        "callback": link.callback,
        "parent": new.parent,
        "found": now,
        "phase": 0,
        "attempts": 0,
        "losses": 0,
        "status": 0,
        "reason": "",
        "size": 0,
        "ended": 0,
        "url": link.url,
        "extra": link.extra or None,
        "bucket": new.bucket,
        "referer": link.referer if new.foreign else None,
    }


def host_of_columns(row: sqlite3.Row) -> HostRow:
    """Makes what a host told about itself of the columns of the table ``host``."""
    return HostRow(
        key=row["key"],
        origin=row["origin"],
        agent=row["agent"],
        verdict=row["verdict"],
        body=row["body"],
        reason=row["reason"],
        crawl_delay_s=row["crawl_delay"],
    )


def host_columns(host: HostRow, now: int) -> dict[str, Any]:
    """Makes the columns of what a host has just told about itself."""
    return {
        "key": host.key,
        "origin": host.origin,
        "agent": host.agent,
        "verdict": host.verdict,
        "body": host.body,
        "reason": host.reason,
        "crawl_delay": host.crawl_delay_s,
        "known": now,
    }
