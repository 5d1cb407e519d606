"""The verb ``why``: what became of a URL, and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from p2pcrawl.cli.screen.terminal import show_answer
from p2pcrawl.cli.screen.types_told import type_words
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote
from p2pcrawl.frontier.reading.inquiry import Inquiry
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.outcome import Failure, NoPage
from p2pcrawl.peer.answers.history import history
from p2pcrawl.spiders.page.typed_urls import checked_url


def run_why(
    text: str, folder: Path | None, peer: str | None = None, token_file: Path | None = None, *, as_json: bool
) -> int:
    """Prints what the folder, or without one the cluster, knows of the URL. 1 when it knows nothing."""
    url = checked_url(text)
    if folder is None:
        found: dict[str, Any] = Remote.find(
            peer, token_file, otherwise="; a crawl of this machine is looked into with --data DIR"
        ).get("/v1/urls/why", url=url)
    else:
        with Inquiry(folder) as inquiry:
            found, _ = history(inquiry, url)
    show_answer(found, history_words, as_json=as_json)
    return 0 if found["seen"] else 1


# -- in words -----------------------------------------------------------------------------------------


def history_words(found: dict[str, Any]) -> Iterator[str]:
    """Says in lines what was found of a URL."""
    yield found["url"]
    if found["canonical"] != found["url"]:
        yield f"  as {found['canonical']}"
    if not found["seen"]:
        yield "  never seen"
    for record in found["records"]:
        yield from _record_told(record, found["crawled_by"])
    for text in found["texts"]:
        yield f"  {_text_told(text)}"
    for hint in found["hints"]:
        yield f"  - {hint}"
    for note in found["notes"]:
        yield f"  note: {note}"


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
        again = f", in visit {r['visit']} after the first" if r["visit"] else ""
        yield f"    tried {_times(r['attempts'])}{losses}{again}"
    if r["page_type"]:
        yield f"    {type_words(r['page_type'])}"
    yield from _visits_told(r)
    for trouble in r["troubles"]:
        yield from _trouble_told(trouble)
    if r["reason"] == Failure.HOST_DOWN:
        yield "    put aside with all else that was queued for its host, which had not answered for HOST_DOWN_AFTER s"
    if r["queue"]:
        yield f"    number {r['queue']['position']:,} of {r['queue']['length']:,} in its host's {r['kind']} queue"
    yield from _host_told(r["host"])
    if "owner" in r:
        yield from _cluster_told(r)


def _visits_told(r: dict[str, Any]) -> Iterator[str]:
    """Says what the visits of a page have learnt, and when the next one is due."""
    past = r["past"]
    if past is not None:
        asked = f"last answered at {_when(past['asked'])}" if past["asked"] else "not answered yet"
        known = [name for name, key in (("an ETag", "etag"), ("Last-Modified", "last_modified")) if past[key]]
        by = f", asked for with {' and '.join(known)}" if known else ""
        changed = f"; of the last {past['visits']:.1f} visits {past['changes']:.1f} found it changed" * (
            past["visits"] > 0
        )
        yield f"    {asked}{by}{changed}"
        if past["gone"]:
            yield f"    gone: its host has said so {_times(past['gone'])} in a row"
    if r["phase"] == "queued" and r["due"]:
        yield f"    this visit was due at {_when(r['due'])}"
    elif r["due"]:
        every = f", {past['period_s']:,} s after the last" if past is not None else ""
        waits = f"; its host has room for it from {_when(r['next_at'])} on" if r["next_at"] > r["due"] else ""
        yield f"    due again at {_when(r['due'])}{every}{waits}"


def _cluster_told(r: dict[str, Any]) -> Iterator[str]:
    """Says what only a peer knows of a URL: who owns it, who holds copies, and which slave has it in hand."""
    if lease := r["lease"]:
        slave = f"slave {lease['session']} (process {lease['pid']}, {lease['at']})"
        yield f"    in the hands of {slave} for {lease['since_s']:,.1f} s, attempt {lease['attempt']}"
    if r["next"] and r["next"]["waits_for"]:
        left = f", {r['next']['seconds']:,.1f} s more" if r["next"]["seconds"] else ""
        yield f"    its host waits for {r['next']['waits_for']}{left}"
    serving = "" if r["serving"] else ", which is still taking the bucket over"
    whole = "" if r["whole"] else "; the bucket is not whole"
    yield f"    owner {r['owner'][:8]} at {r['address']}, bucket {r['bucket']}, epoch {r['epoch'][0]}{serving}{whole}"
    for copy in r["copies"]:
        agrees = "agrees" if copy["agrees"] else f"does not agree: {copy['state']}"
        yield f"    copy at {copy['holder'][:8]} {agrees}"


def _text_told(text: dict[str, Any]) -> str:
    """Says what was found out about the text of a page by one band of its signature."""
    items, where = counted(text["items"], "item"), ""
    if text["bands"] > 1:
        where = f" (band {text['band'] + 1} of {text['bands']})"
    its = f"its text in job {text['job']}{where}"
    if text["first"]:
        bits = f", but for {text['distance']} of 64 bits" if text["distance"] else ""
        became = {"dropped": f"{items} dropped", "done": f"{items} marked"}.get(
            text["phase"], f"{items} {text['phase']}"
        )
        if text["reason"] == NoPage.MET:
            became = "asked no further"
        return f"{its}: says the same as {text['first']}{bits}; {became}"
    match text["phase"], text["reason"]:
        case "queued", _:
            return f"{its}: not met before; {items} wait for a slave"
        case "done", NoPage.ASKED_ON:
            return f"{its}: not met before, asked on"
        case "done", _:
            return f"{its}: not met before; {items} out"
        case phase, reason:
            return f"{its}: {phase}, {reason}"


def _fate(r: dict[str, Any], writer: int) -> str:
    at = f" at {_when(r['ended'])}" if r["ended"] else ""
    match r["phase"]:
        case "done" if r["reason"] == "redirect":
            return f"done: redirected (status {r['status']}){at}"
        case "done" if r["reason"] in ("unchanged", "gone"):
            items = "" if r["items"] is None else f", {counted(r['items'], 'item')} of an earlier visit kept"
            return f"done: {r['reason']} (status {r['status']}){items}{at}"
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
    if r["job_state"] != "running" or "owner" in r:
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
        yield f"    its Crawl-delay is {host['crawl_delay_s']:,.12g} s"
    if host["pause_s"]:
        yield f"    the host asked to be left alone for {host['pause_s']:,.0f} s more"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
