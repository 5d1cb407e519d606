"""Requests there and back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.crawl.referrer import ReferrerPolicy
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.slave.pages.travel import packed_request, request_of
from tests.unit.slave.tasks import task_of

text = st.text(max_size=5, alphabet=st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | text
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


@given(
    meta=st.dictionaries(
        text.filter(lambda k: k not in ("depth", "retry_times", "download_latency")), plain, max_size=3
    ),
    cb_kwargs=st.dictionaries(text, plain, max_size=3),
    headers=st.dictionaries(
        st.sampled_from(["X-A", "X-B", "Accept"]), st.lists(st.from_regex(r"[ -~é]*", fullmatch=True)), max_size=2
    ),
    body=st.binary(max_size=9),
    method=st.sampled_from(["GET", "POST", "PUT"]),
)
def test_request_arrives_as_it_left(meta, cb_kwargs, headers, body, method) -> None:
    request = Request(
        "http://a.example/",
        "parse_page",
        method,
        headers,
        body,
        {"c": "1"},
        meta,
        "latin-1",
        cb_kwargs=cb_kwargs,
        errback="failed",
        flags=["f"],
    )

    task = task_of(request.url, callback="parse_page", extra=packed_request(request))
    arrived = request_of(task)

    for name in set(Request.attributes) - {"meta"}:
        assert getattr(arrived, name) == getattr(request, name)
    assert arrived.meta == request.meta | {"depth": 1}


def test_plain_get_travels_as_its_url_alone() -> None:
    assert packed_request(Request("http://a.example/", "parse_page", priority=3, kind="detail")) == b""


@pytest.mark.parametrize("thing", [object(), {"a": [object()]}, {(1, 2): 3}])
def test_what_is_not_plain_data_is_refused(thing: object) -> None:
    with pytest.raises(TypeError, match="meta"):
        packed_request(Request("http://a.example/", meta={"a": thing}))


def test_date_arrives_as_a_date() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    task = task_of(extra=packed_request(Request("http://a.example/", meta={"when": when})))

    assert request_of(task).meta["when"] == when


def test_retry_and_referer_are_seen_by_the_callback() -> None:
    request = request_of(task_of(attempt=3, referer="http://b.example/"))

    assert request.meta["retry_times"] == 2
    assert request.headers == {"Referer": "http://b.example/"}


@pytest.mark.parametrize("name", ["Referer", "referer"])
def test_a_referer_of_its_own_is_the_only_one(name: str) -> None:
    request = Request("http://a.example/", headers={name: "mine"})

    arrived = request_of(task_of(request.url, extra=packed_request(request), referer="http://b.example/"))

    assert arrived.headers == {name: "mine"}


def test_what_a_page_says_about_referrers_holds_for_its_links_and_no_further() -> None:
    link = Request("http://a.example/x")

    arrived = request_of(task_of(link.url, extra=packed_request(link, "no-referrer"), referer="http://a.example/"))
    handed_on = Request("http://a.example/y", meta=arrived.meta)
    next_one = request_of(task_of(handed_on.url, extra=packed_request(handed_on), referer=link.url))

    assert arrived.headers == {}
    assert next_one.headers == {"Referer": link.url}


def test_a_referer_tells_another_host_the_origin_only() -> None:
    task = task_of("http://b.example/", referer="http://u:p@a.example/x?token=1")

    assert request_of(task).headers == {"Referer": "http://a.example/"}
    assert request_of(task, ReferrerPolicy.NO_REFERRER).headers == {}


def test_what_is_changed_in_a_request_after_it_was_made_travels() -> None:
    request = Request("http://a.example/")
    request.headers["X-A"] = [b"1", b"2"]  # type: ignore[assignment]
    request.cookies = [{"name": b"a", "value": 1}]

    arrived = request_of(task_of(extra=packed_request(request)))

    assert arrived.headers.getlist("X-A") == ["1", "2"]
    assert arrived.cookies == [{"name": "a", "value": "1"}]
