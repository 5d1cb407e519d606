"""The limit on the library's own work on one answer."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import TooSlow
from p2pcrawl.spiders.page import limit
from p2pcrawl.spiders.page.answer_kinds import response_of
from p2pcrawl.spiders.page.limit import TICK_S, Work
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.wire.messages.desk import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk.make()
    yield desk
    desk.close()


@pytest.fixture
def work(desk: Desk) -> Iterator[Work]:
    before = signal.getsignal(signal.SIGPROF)
    work = Work()
    work.watch(desk)
    work.allow(TICK_S)
    yield work
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    signal.signal(signal.SIGPROF, before)


def compute(cpu_s: float) -> None:
    until = time.process_time() + cpu_s
    while time.process_time() < until:
        pass


def test_work_that_does_not_end_is_given_up_where_it_is(work: Work) -> None:
    with pytest.raises(TooSlow), work:
        compute(60.0)


@pytest.mark.slow
def test_what_a_callback_computes_itself_is_its_own_affair(work: Work) -> None:
    compute(4 * TICK_S)


@pytest.mark.slow
def test_each_piece_of_work_has_the_limit_for_itself(work: Work) -> None:
    began = time.process_time()
    while time.process_time() - began < 4 * TICK_S:
        with work:
            compute(TICK_S / 10)


def test_work_within_work_is_one_piece(work: Work, desk: Desk) -> None:
    work.begin(77)

    with work:
        outer = desk.seen()
        with work:
            inner = desk.seen()
        after = desk.seen()
    over = desk.seen()

    assert outer[:2] == inner[:2] == after[:2] == (1, 77)
    assert over[:2] == (0, 0)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    """Answers are under this limit."""
    monkeypatch.setattr(limit, "work", work)


@pytest.mark.parametrize(
    "ask",
    [
        lambda response: response.re("(?:x|x)*z"),
        lambda response: response.css("p")[0].re("(?:x|x)*z"),
        lambda response: response.xpath("//p").xpath("re:test(., '^(x|x)*z')"),
    ],
)
def test_pattern_that_takes_exponential_time_on_a_page_is_given_up(
    watched: None, ask: Callable[[Response], Any]
) -> None:
    answer = Answer("http://a.example/", 200, {"Content-Type": "text/html"}, b"<p>" + b"x" * 60, 0.1, "93.184.216.34")

    with pytest.raises(TooSlow):
        ask(response_of(answer, Request("http://a.example/")))


def test_desk_says_what_a_piece_may_take(work: Work, desk: Desk) -> None:
    work.allow(2.0)
    work.allow(1.0)

    assert desk.seen()[2] > 2.0, "the parent is more patient than the process itself"
