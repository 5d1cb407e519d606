"""The verb ``why``: what became of a URL, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from p2pcrawl.cli.hints import hints
from p2pcrawl.cli.words import counted
from p2pcrawl.core.ring import key_hash
from p2pcrawl.fetch.robots import RobotsRules, RobotsText
from p2pcrawl.frontier.inquiry import Inquiry, JobRow, RecordRow
from p2pcrawl.master.job import unpack_spec
from p2pcrawl.model.fingerprint import fingerprint
from p2pcrawl.model.job import START_URL
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.record import Phase
from p2pcrawl.model.settings import Settings
from p2pcrawl.model.url import canonical, host_of, origin_of
from p2pcrawl.spiders.addresses import checked_url


def run_why(text: str, folder: Path, *, as_json: bool) -> int:
    """Prints what the folder knows of the URL. 1 when it knows nothing."""
    url = checked_url(text)
    with Inquiry(folder) as inquiry:
        found = facts(inquiry, url)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        for line in _told(found):
            print(line)
    return 0 if found["seen"] else 1


def facts(inquiry: Inquiry, url: str) -> dict[str, Any]:
    """Everything about one URL, as plain data."""
    jobs = {job.id: job for job in inquiry.jobs()}
    records = inquiry.find(url)
    others = [] if records else [r for r in inquiry.same_url(url) if r.job in jobs]
    return {
        "url": url,
        "canonical": canonical(url),
        "fingerprint": fingerprint(url).hex(),
        "seen": bool(records or others),
        "crawled_by": inquiry.writer(),
        "records": [_record(inquiry, jobs[r.job], r) for r in records or others if r.job in jobs],
        "hints": [] if records else hints(inquiry, list(jobs.values()), url, bool(others)),
    }


def _record(inquiry: Inquiry, job: JobRow, record: RecordRow) -> dict[str, Any]:
    lineage = inquiry.lineage(record)
    return {
        "job": job.id,
        "name": job.name,
        "job_state": job.state,
        "url": record.url,
        "phase": record.phase.name.lower(),
        "leased": inquiry.leased(record),
        "reason": record.reason,
        "status": record.status,
        "bytes": record.size,
        "items": inquiry.items(record) if record.phase is Phase.DONE else 0,
        "depth": record.depth,
        "priority": record.priority,
        "kind": record.kind,
        "callback": record.callback or "parse",
        "start_url": record.seed,
        "found": record.found,
        "ended": record.ended,
        "found_on": [above.url for above in lineage if not above.url.startswith(START_URL)],
        "attempts": record.attempts,
        "losses": record.losses,
        "troubles": [asdict(attempt) for attempt in inquiry.attempts(record)],
        "queue": dict(zip(("position", "length"), place, strict=True)) if (place := inquiry.place(record)) else None,
        "host": _host(inquiry, job, record),
    }


def _host(inquiry: Inquiry, job: JobRow, record: RecordRow) -> dict[str, Any]:
    settings = Settings().updated(unpack_spec(job.spec).settings)
    agent = settings.robots_agent
    host: dict[str, Any] = {
        "name": host_of(record.url),
        "pause_s": round(inquiry.pause_s(key_hash(host_of(record.url))), 1),
        "robots": "not obeyed" if not settings.robotstxt_obey else "unknown",
        "robots_known": 0,
        "robots_reason": "",
        "crawl_delay_s": 0.0,
    }
    for row in inquiry.robots(key_hash(host_of(record.url)), origin_of(record.url)):
        if row.agent != agent:
            continue
        # The verdict is made of these words only; anything else would be a damaged table.
        verdict: Any = row.verdict
        rules = RobotsRules(RobotsText(verdict, row.body, row.reason), agent)
        if settings.robotstxt_obey:
            host["robots"] = "allowed" if rules.allowed(record.url) else "forbidden"
        host |= {"robots_known": row.known, "robots_reason": row.reason, "crawl_delay_s": row.crawl_delay_s}
    return host


# -- in words -----------------------------------------------------------------------------------------


def _told(found: dict[str, Any]) -> Iterator[str]:
    yield found["url"]
    if found["canonical"] != found["url"]:
        yield f"  as {found['canonical']}"
    if not found["seen"]:
        yield "  never seen"
    for record in found["records"]:
        yield from _record_told(record, found["crawled_by"])
    for hint in found["hints"]:
        yield f"  - {hint}"


def _record_told(r: dict[str, Any], writer: int) -> Iterator[str]:
    yield f"  {_fate(r, writer)}"
    callback = "" if r["url"].startswith(START_URL) else f", callback {r['callback']}"
    place = f"{r['kind']}, depth {r['depth']}, priority {r['priority']}"
    yield f"    job {r['job']} ({r['name']}, {_job_state(r, writer)}): {place}{callback}"
    origin = "a start URL" if r["start_url"] else "found"
    yield f"    {origin} at {_when(r['found'])}" + ("" if r["found_on"] else ", from the spider's start")
    for number, above in enumerate(r["found_on"]):
        yield f"    {'on' if not number else '<-'} {above}"
    if r["attempts"] or r["losses"]:
        losses = f", {_times(r['losses'])} lost with its slave" if r["losses"] else ""
        yield f"    tried {_times(r['attempts'])}{losses}"
    for trouble in r["troubles"]:
        yield from _trouble_told(trouble)
    if r["reason"] == Failure.HOST_DOWN:
        yield "    put aside with all else that was queued for its host, which had not answered for HOST_DOWN_AFTER s"
    if r["queue"]:
        yield f"    number {r['queue']['position']:,} of {r['queue']['length']:,} in its host's {r['kind']} queue"
    yield from _host_told(r["host"])


def _fate(r: dict[str, Any], writer: int) -> str:
    at = f" at {_when(r['ended'])}" if r["ended"] else ""
    match r["phase"]:
        case "done" if r["reason"] == "redirect":
            return f"done: redirected (status {r['status']}){at}"
        case "done":
            items = "" if r["items"] is None else f", {counted(r['items'], 'item')}"
            return f"done: status {r['status']}, {r['bytes']:,} bytes{items}{at}"
        case "queued" if r["leased"] and writer:
            return "leased: a slave has it in hand"
        case "queued" if r["leased"]:
            return "queued: it was in a slave's hands when the crawl stopped, and will be fetched again"
        case "queued" if r["reason"]:
            return f"queued: waits for its next attempt after {r['reason']}{at}"
        case "queued":
            return "queued: waits for its turn"
        case _:
            status = f", status {r['status']}" if r["status"] else ""
            return f"{r['phase']}: {r['reason']}{status}{at}"


def _job_state(r: dict[str, Any], writer: int) -> str:
    if r["job_state"] != "running":
        return str(r["job_state"])
    return f"running in process {writer}" if writer else "stopped, can be resumed"


def _trouble_told(trouble: dict[str, Any]) -> Iterator[str]:
    status = f", status {trouble['status']}" if trouble["status"] else ""
    latency = f", after {trouble['latency_s']:.2f} s" if trouble["latency_s"] else ""
    first, *rest = trouble["detail"].rstrip().splitlines() or [""]
    detail = f": {first}" if first and first != f"status {trouble['status']}" else ""
    yield f"      {trouble['number']}. {_when(trouble['ended'])}  {trouble['reason']}{status}{latency}{detail}"
    for line in rest:
        yield f"         {line}"


def _host_told(host: dict[str, Any]) -> Iterator[str]:
    match host["robots"]:
        case "not obeyed":
            yield f"    robots.txt of {host['name']} is not obeyed in this job"
        case "unknown":
            yield f"    robots.txt of {host['name']}: not known (not asked for yet, or it could not be had)"
        case verdict:
            reason = f" ({host['robots_reason']})" if host["robots_reason"] else ""
            yield f"    robots.txt of {host['name']}: {verdict}{reason}, as of {_when(host['robots_known'])}"
    if host["crawl_delay_s"]:
        yield f"    its Crawl-delay is {host['crawl_delay_s']:g} s"
    if host["pause_s"]:
        yield f"    the host asked to be left alone for {host['pause_s']:,.0f} s more"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
