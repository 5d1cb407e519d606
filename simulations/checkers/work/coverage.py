"""Checks that nothing is lost: what a crawl can reach is through, and what is through was really fetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.outcome import Drop
from p2pcrawl.model.texts.imprint_url import is_imprint

from ...observe.folders import DONE, DROPPED, FAILED, QUEUED, Record, print_of
from ...play.evidence import Evidence, listed, told
from ...world.web import NOWHERE, Kind, Page, Robots, Web
from ..wanted.put_aside import is_put_aside, may_be_put_aside

TRIES = 3
"""So often a page is asked for that does not answer, by default, before it is given up."""


def check(evidence: Evidence) -> Iterator[str]:
    web, records = evidence.web, evidence.phases()
    # What a master gave up on is not held against it here if the web agrees; what it led to is out of reach then.
    given_up = frozenset(url for url, record in records.items() if record.phase == FAILED)
    # So is what a page led to that is gone with all disks that had it.
    gone = [url for url in web.pages if evidence.is_destroyed(print_of(url))] if evidence.destroyed else []
    out_of_reach = given_up.union(url for url in gone if url not in records or records[url].phase != DONE)
    reachable = web.reachable(out_of_reach, evidence.crawl)

    missing = sorted(reachable - records.keys() - set(gone))
    if any(evidence.reasons.values()):
        # What a job leaves undone that was closed is judged by what closed it.
        missing, reachable = [], set()
    if missing:
        yield f"{len(missing)} reachable pages are unknown to all masters: {listed(missing)}"
    waiting = sorted(url for url in reachable if url in records and records[url].phase == QUEUED)
    if waiting:
        yield f"{len(waiting)} pages are still queued: {listed(waiting)}"
    known = reachable or web.pages.keys()
    yield from _ended_otherwise(evidence, {url: records[url] for url in sorted(known) if url in records})
    yield from _out_of_bounds(web, records)


def _ended_otherwise(evidence: Evidence, records: dict[str, Record]) -> Iterator[str]:
    """Yields what ended in another way than the web has it."""
    web = evidence.web
    answered = {visit.url for visit in evidence.pages if visit.answered}
    # Whoever reads a robots.txt reads it for all jobs.
    vain = Counter(v.url for v in (*evidence.pages, *evidence.robots) if not v.answered)
    for url, record in records.items():
        if record.phase == QUEUED:
            continue
        page = web.pages[url]
        wanted, reason = _wanted(web, page)
        tried = _is_tried(record, vain[url]) or vain[f"http://{page.host}/robots.txt"] >= TRIES
        excuse = record.phase == FAILED and (_is_lost(record) or tried)
        if is_put_aside(record):
            excuse = record.phase == FAILED and may_be_put_aside(evidence, page.host)
            if not excuse:
                yield f"{url} is {told(record)}, and its host was not, or was back in time"
                continue
        if record.phase != wanted and not excuse:
            yield f"{url} ({page.kind.value}) is {told(record)}"
        elif record.phase == DROPPED and record.reason != reason:
            yield f"{url} ({page.kind.value}) is {told(record)}, and the web has it that it is {reason}"
        if record.phase == DONE and url not in answered:
            yield f"{url} is done and was never fetched"


def _out_of_bounds(web: Web, records: Mapping[str, Record]) -> Iterator[str]:
    """Yields what is known, or was asked for, beyond what there is to crawl."""
    for url in NOWHERE:
        if url in records and records[url].phase not in (FAILED, DROPPED):
            yield f"{url!r}, which leads nowhere, is {told(records[url])}"
    closed = sorted({v.url for v in web.visits if v.host in web.hosts and not web.hosts[v.host].open})
    if closed:
        yield f"{len(closed)} URLs of private hosts were asked for that no start URL opens: {listed(closed)}"
    known = {*web.pages, *NOWHERE}
    own = (url for url in records if not url.startswith(START_URL) and not is_imprint(url))
    invented = sorted(url for url in own if url not in known)
    if invented:
        yield f"{len(invented)} records are of no page: {listed(invented)}"


def _wanted(web: Web, page: Page) -> tuple[int, str]:
    """Returns how the page must end, and if it is dropped, for what: no master is believed that there was a reason."""
    host = web.hosts[page.host]
    if not host.open:
        return DROPPED, Drop.PRIVATE_NETWORK
    if host.dead:
        return FAILED, ""
    if host.robots is Robots.DOWN:
        return FAILED, ""
    if page.kind is Kind.FORBIDDEN:
        return (DROPPED, Drop.ROBOTS) if web.forbids(page) else (DONE, "")
    return DONE if web.opens(page) else FAILED, ""


def _is_tried(record: Record, vain: int) -> bool:
    """Tells whether a page did not answer and had all its attempts: leases that were lost are among them, and the web
    knows of none.
    """
    return vain >= TRIES or (vain > 0 and record.attempts >= TRIES)


def _is_lost(record: Record) -> bool:
    """Tells whether a page was in the hands of too many slaves that died."""
    return record.reason == "slave-lost"
