"""What follows from the end of a visit for the next one."""

from __future__ import annotations

from collections import Counter

import pytest

from p2pcrawl.core.journal import Journal
from p2pcrawl.frontier.records.batch import Ending
from p2pcrawl.master.jobs.job import Job, job_of
from p2pcrawl.master.revisits.visit_ends import VisitEnds
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import NoPage
from tests.unit.core.bench.benches import candidate

NOW, DAY_S = 1_800_000_000, 86_400


def job(**settings: object) -> Job:
    return job_of(JobSpec(JobId(1), "news", SpiderRef(), settings=dict(settings)))


def ended(kind: str, page_type: str, *, visit: int = 0, past: bytes = b"", reason: str = "") -> Ending:
    one = candidate(1, kind=kind)
    one.visit = visit
    return Ending(one, Phase.DONE, 1, 0, reason, page_type=page_type, past=past)


@pytest.mark.parametrize(
    ("guessed", "shown", "period"),
    [
        ("index", "article:content 97% sure: long text", 7200),
        ("detail", "navigation:content 90% sure: many links", 600),
        ("detail", "other:content 80% sure: no text", 7200),
        ("detail", "", 7200),
    ],
)
def test_page_is_due_by_the_kind_that_it_shows_to_be(guessed: str, shown: str, period: int) -> None:
    news = job(revisit_index=600, revisit_detail=7200)

    end = VisitEnds(Journal(lambda: NOW), lambda: NOW).end(news, ended(guessed, shown), Counter())

    assert end.due == NOW + period


def test_kind_that_a_page_has_shown_stays_while_it_is_unchanged() -> None:
    news, ends = job(revisit_index=600, revisit_detail=7200), VisitEnds(Journal(lambda: NOW), lambda: NOW)
    first = ends.end(news, ended("index", "article:pattern"), Counter())

    again = ends.end(news, ended("index", "", visit=1, past=first.past, reason=NoPage.UNCHANGED), Counter())

    assert again.due == NOW + 7200


def test_new_page_is_due_by_what_the_others_of_its_host_have_been() -> None:
    news, clock = job(revisit_index="adaptive"), [NOW]
    ends = VisitEnds(Journal(lambda: NOW), lambda: clock[0])
    first = ends.end(news, ended("index", ""), Counter())
    past, alone_s = first.past, first.due - NOW
    for visit in range(1, 10):
        clock[0] += DAY_S
        past = ends.end(news, ended("index", "", visit=visit, past=past, reason=NoPage.UNCHANGED), Counter()).past

    beside = ends.end(news, ended("index", ""), Counter())

    assert beside.due - clock[0] > alone_s
