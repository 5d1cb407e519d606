"""Metrics: bounded, and whole all the same."""

from __future__ import annotations

import re

from p2pcrawl.core.meters.histogram import Histogram
from p2pcrawl.peer.watching.metrics import JOBS_MAX, JobFigures, MasterFigures, rendered, told_apart


def job(number: int, pages: int, name: str = "shop") -> JobFigures:
    return JobFigures(number, "", name, "running", 0, 0, {"pages": pages}, 0, 0)


def figures(jobs: list[JobFigures], gone: dict[str, int] | None = None) -> MasterFigures:
    answers = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.5, 5.0):
        answers.note(seconds)
    return MasterFigures(jobs, [], {"2xx": 3}, answers, {"alive": 1}, 0, 7, {}, {}, 0, 0, 0, gone=gone or {})


def text_of(told: MasterFigures) -> str:
    return rendered("master", "1.2.3", told).decode()


def test_of_very_many_jobs_the_newest_are_told_and_the_work_on_all() -> None:
    jobs = [job(number, 10) for number in range(3 * JOBS_MAX)]

    told, gone = told_apart(jobs, {"pages": 30 * JOBS_MAX})

    text = text_of(figures(told, gone))
    pages = {
        name: float(count) for name, count in re.findall(r'^p2pcrawl_pages_total\{job="(\w+)"\} (\S+)$', text, re.M)
    }
    assert len(pages) == JOBS_MAX + 1 and str(3 * JOBS_MAX - 1) in pages
    assert (pages["other"], sum(pages.values())) == (20.0 * JOBS_MAX, 30.0 * JOBS_MAX)


def test_buckets_of_the_histogram_count_all_that_was_faster() -> None:
    text = text_of(figures([]))

    assert re.findall(r'^p2pcrawl_fetch_seconds_bucket\{le="(\S+)"\} (\S+)$', text, re.M) == [
        ("0.1", "1.0"),
        ("1.0", "2.0"),
        ("+Inf", "3.0"),
    ]


def test_name_of_a_job_cannot_break_out_of_its_line() -> None:
    text = text_of(figures([job(1, 1, 'a"} 1\np2pcrawl_pages_total{job="7')]))

    assert 'p2pcrawl_pages_total{job="7' not in text.splitlines()
    assert r'name="a\"} 1\np2pcrawl' in text


def test_slave_peer_tells_of_itself() -> None:
    text = rendered("slave", "1.2.3", None).decode()

    assert 'p2pcrawl_peer_info{role="slave",version="1.2.3"} 1.0' in text
    assert "p2pcrawl_pages" not in text
