"""Pages that ask a job's components whether it is to end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from p2pcrawl.master.idle_pages import IdlePages
from p2pcrawl.model.crawl.job import START_URL, is_idle

JOB: Any = SimpleNamespace(id=7, closing="")


def test_idle_job_is_asked_until_nothing_but_the_question_has_come() -> None:
    pages = IdlePages()

    first = pages.due(JOB, 10, wanted=True)
    after_links = pages.due(JOB, 13, wanted=True)
    after_none = pages.due(JOB, 14, wanted=True)

    assert first is not None
    assert after_links is not None
    assert (first.url, after_links.url) == (f"{START_URL}7/idle/10", f"{START_URL}7/idle/13")
    assert after_none is None


def test_question_that_was_known_already_is_not_asked_for_ever() -> None:
    pages = IdlePages()

    pages.due(JOB, 10, wanted=True)

    assert pages.due(JOB, 10, wanted=True) is None


def test_another_decider_asks_once_more() -> None:
    IdlePages().due(JOB, 10, wanted=True)

    page = IdlePages().due(JOB, 11, wanted=True)

    assert page is not None
    assert is_idle(page.url)


def test_job_that_nobody_listens_for_or_that_is_being_closed_ends() -> None:
    closing: Any = SimpleNamespace(id=7, closing="closespider_itemcount")

    assert IdlePages().due(JOB, 10, wanted=False) is None
    assert IdlePages().due(closing, 10, wanted=True) is None


def test_start_of_a_job_is_no_question() -> None:
    assert not is_idle(f"{START_URL}7")
