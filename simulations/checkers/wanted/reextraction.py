"""Stored pages are read in place of the web: nobody is asked, each page that is stored has its items once, as the
changed spider makes them, and what is not there any more is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.outcome import Failure

from ...observe.folders import DONE, FAILED
from ...play.evidence import Evidence, told
from ...play.spiders import reread
from ...play.wanted import READING, Rereading
from ...world.web import Web, has_failed

LOST = (Failure.NOT_STORED.value, Failure.RAW_PAGE_AWAY.value)


def check(evidence: Evidence) -> Iterator[str]:
    for read in evidence.rereadings:
        asked = [visit for visit in evidence.web.visits if visit.job == READING]
        if asked:
            yield f"the web was asked {len(asked)} times for stored pages, such as {asked[0].url} by {asked[0].node}"
        for who, state in sorted(read.states.items()):
            if state != FINISHED:
                yield f"{who}: the job that reads stored pages is {state or 'unknown'}"
        yield from _of_pages(evidence.web, read)
        yield from _of_items(evidence.web, read)


def _of_pages(web: Web, read: Rereading) -> Iterator[str]:
    pages = {url: record for url, record in read.records.items() if not url.startswith(START_URL)}
    for url in sorted(pages.keys() ^ read.pages):
        yield f"{url} is a page of one of two jobs only, of which one reads what the other has stored"
    lost = Counter[str]()
    for url in sorted(pages.keys() & read.pages):
        record = pages[url]
        # Where the last answer is lost, one before it may be left.
        if record.phase == FAILED and url not in read.stored and record.reason in {*LOST, *_failures(web, url)}:
            lost[record.reason] += 1
        elif record.phase != DONE:
            yield f"{url}, whose answer is {'' if url in read.stored else 'not '}on a disk, is {told(record)}"
    for who, failed in sorted(read.failed.items()):
        if Counter(failed) != lost:
            yield f"{who} tells that {dict(failed)} have failed, where on the disks {dict(lost)} have"


def _failures(web: Web, url: str) -> Iterator[str]:
    """Yields how a page has failed before it was had."""
    for visit in web.visits:
        if visit.url == url and has_failed(visit.status):
            yield (Failure.HTTP_429 if visit.status == 429 else Failure.HTTP_5XX).value


def _of_items(web: Web, read: Rereading) -> Iterator[str]:
    items = Counter(str(item.get("url")) for item in read.items)
    for url in sorted(read.pages):
        wanted = int(url in read.records and read.records[url].phase == DONE)
        if items[url] != wanted:
            yield f"{url} has {items[url]} items, of {wanted}, from its stored page"
    for item in read.items:
        url = str(item.get("url"))
        if url not in web.pages or item != reread(url, web.body(url)):
            yield f"the item of {url} is not what the changed spider makes of its page"
