"""Statuses become failures unless someone wants to see them."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.components.status import HttpStatus, StatusError
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Failure

URL = "http://a.example/"


def answer(status: int, **headers: str) -> Answer:
    return Answer(URL, status, headers, b"")


@pytest.mark.parametrize("status", [200, 201, 204, 206, 299])
def test_success_passes(status):
    got = answer(status)

    assert HttpStatus(Settings()).process_answer(Request(URL), got) is got


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (304, Failure.HTTP_OTHER),
        (300, Failure.HTTP_OTHER),
        (404, Failure.HTTP_4XX),
        (408, Failure.HTTP_4XX),
        (429, Failure.HTTP_429),
        (500, Failure.HTTP_5XX),
        (599, Failure.HTTP_5XX),
        (999, Failure.HTTP_OTHER),
    ],
)
def test_anything_else_is_a_failure_of_its_kind_with_the_answer_on_it(status, kind):
    got = answer(status)

    with pytest.raises(StatusError) as caught:
        HttpStatus(Settings()).process_answer(Request(URL), got)

    assert caught.value.kind is kind
    assert caught.value.answer is got


@pytest.mark.parametrize(
    ("settings", "handled", "meta"),
    [
        (Settings(httperror_allow_all=True), (), {}),
        (Settings(httperror_allowed_codes=(404,)), None, {}),
        (Settings(), (404,), {}),
        (Settings(), (), {"handle_httpstatus_list": [404]}),
        (Settings(), (), {"handle_httpstatus_all": True}),
    ],
)
def test_a_status_that_is_wanted_passes(settings, handled, meta):
    got = answer(404)

    assert HttpStatus(settings, handled).process_answer(Request(URL, meta=meta), got) is got


@pytest.mark.parametrize(
    ("settings", "handled"),
    [(Settings(httperror_allow_all=True), ()), (Settings(httperror_allowed_codes=(404,)), None), (Settings(), (404,))],
)
def test_what_a_request_wants_takes_the_place_of_what_others_want(settings, handled):
    with pytest.raises(StatusError):
        HttpStatus(settings, handled).process_answer(Request(URL, meta={"handle_httpstatus_list": [500]}), answer(404))


@pytest.mark.parametrize("handled", [(500,), ()])
def test_list_of_the_spider_takes_the_place_of_the_settings(handled):
    with pytest.raises(StatusError):
        HttpStatus(Settings(httperror_allowed_codes=(404,)), handled).process_answer(Request(URL), answer(404))
