"""A visit of a page: what goes along with its request, and what its answer comes to."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.model.choosing.revisit_period import revisit_period
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.model.outcome import Failure, NoPage
from p2pcrawl.model.page_past import PagePast
from p2pcrawl.slave.revisits.visit import Visit, visit_for
from p2pcrawl.spiders.page.answer_kinds import response_of
from p2pcrawl.wire.messages.past_form import packed_past, past_in
from p2pcrawl.wire.messages.slave_messages import Outcome
from tests.unit.slave.tasks import task_of

URL = "http://a.example/"
DAILY = Settings(revisit_index=86_400)
KNOWN = PagePast('"one"', "yesterday", b"12345678", asked=1_800_000_000, period=86_400)


def visit(number: int = 1, past: PagePast = KNOWN, request: Request | None = None) -> Visit:
    return Visit(task_of(URL, visit=number, past=packed_past(past)), request or Request(URL), DAILY)


def answered(status: int = 200, text: str = "<p>news</p>", **headers: str) -> Answer:
    said = {"Content-Type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Answer(URL, status, Headers(said), text.encode())


def learnt(visit: Visit, answer: Answer, outcome: Outcome | None = None) -> tuple[bool, Outcome]:
    outcome = outcome or Outcome(Phase.DONE)
    same = visit.is_unchanged(response_of(answer, Request(URL), 0), outcome)
    visit.learn(outcome)
    return same, outcome


@pytest.mark.parametrize(
    "number, past, asked",
    [
        (1, KNOWN, {"If-None-Match": '"one"', "If-Modified-Since": "yesterday"}),
        (0, PagePast(), {}),
        (1, PagePast('"one"'), {}),
        (2, PagePast("", "", b"12345678", asked=7), {}),
    ],
)
def test_only_a_page_that_was_had_is_asked_for_with_what_is_known_of_it(
    number: int, past: PagePast, asked: dict[str, str]
) -> None:
    request = Request(URL)

    visit(number, past).ask(request)

    assert {name: request.headers[name] for name in asked} == asked
    assert ("If-None-Match" in request.headers) == bool(asked)


def test_conditions_of_a_request_are_left_as_they_are() -> None:
    request = Request(URL, headers={"If-None-Match": '"mine"'})

    visit().ask(request)

    assert request.headers["If-None-Match"] == '"mine"' and "If-Modified-Since" not in request.headers


def test_page_that_says_the_same_is_unchanged_and_keeps_its_newest_validators() -> None:
    first, answer = visit(0, PagePast()), answered(ETag='"one"')
    _, before = learnt(first, answer)

    same, outcome = learnt(visit(1, PagePast(**_fields(past_in(before.past), asked=7))), answered(ETag='"two"'))

    assert (same, outcome.reason, past_in(outcome.past).etag) == (True, NoPage.UNCHANGED, '"two"')


def _fields(past: PagePast, **changes: Any) -> dict[str, Any]:
    return {name: getattr(past, name) for name in PagePast.__slots__} | changes


def test_page_whose_callback_raised_is_to_be_had_in_full_again() -> None:
    going = visit()
    outcome = Outcome(Phase.DONE)
    going.is_unchanged(response_of(answered(ETag='"two"'), Request(URL), 0), outcome)
    outcome.phase, outcome.reason = Phase.FAILED, Failure.CALLBACK

    going.learn(outcome)

    assert past_in(outcome.past) == KNOWN


@pytest.mark.parametrize("validator", ["gr\u00fc\u00dfe", "a\tb"])
def test_validator_that_cannot_be_sent_back_is_not_kept(validator: str) -> None:
    answer = Answer(URL, 200, Headers.lenient({"Content-Type": "text/html", "ETag": validator}), b"<p>news</p>")

    _, outcome = learnt(visit(0, PagePast()), answer)

    assert past_in(outcome.past).etag == ""


def test_304_is_unchanged_only_where_it_was_asked_for() -> None:
    asked, unasked = visit(), visit()
    asked.ask(Request(URL))
    error = StatusError(Failure.HTTP_OTHER, answered(304))
    outcomes = Outcome(Phase.FAILED, Failure.HTTP_OTHER), Outcome(Phase.FAILED, Failure.HTTP_OTHER)

    over = [each.ends_without_page(error, outcome) for each, outcome in zip((asked, unasked), outcomes, strict=True)]

    assert over == [True, False]
    assert [(each.phase, each.reason) for each in outcomes] == [
        (Phase.DONE, NoPage.UNCHANGED), (Phase.FAILED, Failure.HTTP_OTHER),
    ]  # fmt: skip


@pytest.mark.parametrize("gone, silent", [(0, False), (1, True)])
def test_errbacks_hear_once_of_a_page_that_is_gone(gone: int, silent: bool) -> None:
    going = visit(past=PagePast(**_fields(KNOWN, gone=gone)))
    outcome = Outcome(Phase.FAILED, Failure.HTTP_4XX, status=410)

    assert going.ends_without_page(StatusError(Failure.HTTP_4XX, answered(410)), outcome) is silent
    assert (outcome.phase, outcome.reason, past_in(outcome.past).digest) == (Phase.DONE, NoPage.GONE, b"")


def test_page_that_never_was_is_missing_and_not_gone() -> None:
    outcome = Outcome(Phase.FAILED, Failure.HTTP_4XX, status=404)

    assert not visit(1, PagePast()).ends_without_page(StatusError(Failure.HTTP_4XX, answered(404)), outcome)
    assert outcome.reason == Failure.HTTP_4XX


def test_period_of_a_request_goes_with_what_is_learnt_of_its_page() -> None:
    request = Request(URL, meta={"revisit": "adaptive"})
    going = visit_for(task_of(URL), request, Settings())
    assert going is not None

    _, outcome = learnt(going, answered())

    assert past_in(outcome.past).own == -1
    assert visit_for(task_of(URL), Request(URL), Settings()) is None


@pytest.mark.parametrize("value", ["often", -1, 0.5, True, [], "nan", 1e12])
def test_period_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match="number of seconds"):
        revisit_period(value, "REVISIT_INDEX")


def test_period_beyond_the_longest_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="REVISIT_MAX"):
        visit(request=Request(URL, meta={"revisit": 1e8}))
    with pytest.raises(ConfigurationError, match="REVISIT_MAX"):
        Settings(revisit_index=1e8)
