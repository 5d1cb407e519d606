"""The history of a URL from a data folder, as plain data: its state and how it came to that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.fetch.components.robots import RobotsRules, RobotsText
from p2pcrawl.frontier.reading.inquiry import Inquiry, JobRow, RecordRow
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.url import canonical, host_of, origin_of
from p2pcrawl.peer.answers.never_seen import hints, spec_of
from p2pcrawl.peer.answers.page_texts import page_texts
from p2pcrawl.wire.messages.past_form import past_in


def nothing_known_of(url: str) -> dict[str, Any]:
    """Returns the history of a URL of which nothing is known."""
    return {
        "url": url,
        "canonical": canonical(url),
        "fingerprint": fingerprint(url).hex(),
        "seen": False,
        "crawled_by": 0,
        "records": [],
        "texts": [],
        "hints": [],
        "notes": [],
    }


def history(inquiry: Inquiry, url: str, only: Collection[int] | None = None) -> tuple[dict[str, Any], list[RecordRow]]:
    """Tells all that is known about one URL, and the records that it is about; of these jobs ``only``, if any are
    given.
    """
    jobs = {job.id: job for job in inquiry.jobs() if only is None or job.id in only}
    plain = [r for r in inquiry.find(url) if r.job in jobs]
    others = [] if plain else [r for r in inquiry.same_url(url) if r.job in jobs]
    records = plain or others
    found = nothing_known_of(url) | {
        "seen": bool(records),
        "crawled_by": inquiry.writer(),
        "records": [_record(inquiry, jobs[r.job], r) for r in records],
        "texts": page_texts(inquiry, url, jobs) if plain else [],
        "hints": [] if plain else hints(inquiry, list(jobs.values()), url, bool(others)),
    }
    return found, records


def _record(inquiry: Inquiry, job: JobRow, record: RecordRow) -> dict[str, Any]:
    lineage = inquiry.lineage(record)
    found_on = [above.link.url for above in lineage if not above.link.url.startswith(START_URL)]
    if (oldest := [record, *lineage][-1].link.referer).startswith("http"):
        # The page that the oldest one was found on is another master's.
        found_on.append(oldest)
    return {
        "job": job.id,
        "name": job.name,
        "job_state": job.state,
        "url": record.link.url,
        "phase": record.phase.name.lower(),
        "leased": inquiry.leased(record),
        "reason": record.reason,
        "status": record.status,
        "bytes": record.size,
        "items": inquiry.items(record) if record.phase is Phase.DONE else 0,
        "depth": record.link.depth,
        "priority": record.link.priority,
        "kind": record.link.kind,
        "callback": record.link.callback or "parse",
        "start_url": record.link.seed,
        "found": record.found,
        "ended": record.ended,
        "found_on": found_on,
        "visit": record.visit,
        "due": record.due,
        "next_at": record.turn,
        "page_type": record.page_type,
        "past": _past(record),
        "attempts": record.attempts,
        "losses": record.losses,
        "troubles": [asdict(attempt) for attempt in inquiry.attempts(record)],
        "queue": dict(zip(("position", "length"), place, strict=True)) if (place := inquiry.place(record)) else None,
        "host": _host(inquiry, job, record),
    }


def _past(record: RecordRow) -> dict[str, Any] | None:
    """Tells what the visits of a page so far have learnt; None where it is not visited again."""
    if not record.past:
        return None
    past = past_in(record.past)
    return {
        "asked": past.asked,
        "period_s": past.period,
        "visits": round(past.visits, 2),
        "changes": round(past.changes, 2),
        "etag": past.etag,
        "last_modified": past.modified,
        "gone": past.gone,
    }


def _host(inquiry: Inquiry, job: JobRow, record: RecordRow) -> dict[str, Any]:
    _, settings = spec_of(inquiry, job)
    agent = settings.robots_agent
    key = settings.robots_key
    host: dict[str, Any] = {
        "name": host_of(record.link.url),
        "pause_s": round(inquiry.pause_s(key_hash(host_of(record.link.url))), 1),
        "robots": "not obeyed" if not settings.robotstxt_obey else "unknown",
        "robots_known": 0,
        "robots_reason": "",
        "crawl_delay_s": 0.0,
    }
    for row in inquiry.robots(key_hash(host_of(record.link.url)), origin_of(record.link.url)):
        if row.agent != key:
            continue
        # The verdict is made of these words only; anything else would be a damaged table.
        verdict: Any = row.verdict
        rules = RobotsRules(RobotsText(verdict, row.body, row.reason), agent)
        if settings.robotstxt_obey:
            host["robots"] = "allowed" if rules.allowed(record.link.url) else "forbidden"
        host |= {"robots_known": row.known, "robots_reason": row.reason, "crawl_delay_s": row.crawl_delay_s}
    return host
