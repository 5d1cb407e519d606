"""RFC 9111 for a cache of one user, section by section."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from p2pcrawl.core.caching.replay import ReplayRules
from p2pcrawl.core.caching.rules import FOR_GOOD_S, HEURISTIC_MAX_S, CacheRules, choice_of, chosen_by
from p2pcrawl.core.caching.stored_answer import StoredAnswer, kept

NOW = 1_000_000_000.0
DAY = 86_400.0
RULES = CacheRules()


def date(after_s: float = 0.0) -> str:
    return formatdate(NOW + after_s, usegmt=True)


def stored(
    *lines: tuple[str, str], status: int = 200, took_s: float = 0.0, dated: bool = True, **asked: str
) -> StoredAnswer:
    """Came at NOW."""
    headers = (*lines, ("Date", date())) if dated else lines
    names = chosen_by({name.lower(): value for name, value in headers})
    return StoredAnswer(
        "http://a.example/", status, tuple(headers), NOW - took_s, NOW, "", names, choice_of(names, asked)
    )


def cached(control: str, **lines: str) -> StoredAnswer:
    return stored(("Cache-Control", control), *((name.replace("_", "-"), value) for name, value in lines.items()))


def fresh_for_s(it: StoredAnswer, rules: CacheRules = RULES) -> float:
    """Finds for how long it may be used unasked, to a second."""
    low, high = 0, 1 << 32
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if rules.may_use(it, {}, NOW + middle) else (low, middle)
    return low


# -- 3: storing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "status", "lines", "asked", "may"),
    [
        ("max-age=60", 200, {}, {}, True),
        ("max-age=60", 302, {}, {}, True),
        ("max-age=60", 500, {}, {}, True),
        ("max-age=60", 206, {}, {}, False),
        ("max-age=60", 304, {}, {}, False),
        ("private, max-age=60", 200, {}, {}, True),
        ("max-age=0", 200, {}, {}, False),
        ("max-age=0", 200, {"ETag": '"a"'}, {}, True),
        ("no-cache", 200, {"ETag": '"a"'}, {}, True),
        ("no-store, max-age=60", 200, {}, {}, False),
        ("max-age=60", 200, {}, {"cache-control": "no-store"}, False),
        ("max-age=60", 200, {"Vary": "*"}, {}, False),
        ("no-store, must-understand, max-age=60", 200, {}, {}, True),
        ("no-store, must-understand, max-age=60", 299, {}, {}, False),
        ("", 200, {}, {}, False),
        ("", 200, {"ETag": '"a"'}, {}, True),
        ("", 200, {"Last-Modified": date(-DAY)}, {}, True),
        ("", 404, {"Last-Modified": date(-DAY)}, {}, True),
        ("", 302, {"Last-Modified": date(-DAY)}, {}, False),
        ("", 401, {"ETag": '"a"'}, {}, False),
        ("", 301, {}, {}, True),
        ("max-age=60", 200, {}, {"authorization": "Basic eDp5"}, True),
    ],
)
def test_what_is_stored(control: str, status: int, lines: dict[str, str], asked: dict[str, str], may: bool) -> None:
    it = stored(*([("Cache-Control", control)] if control else []), *lines.items(), status=status)

    assert RULES.may_store(it, asked) is may


def test_always_store_leaves_out_only_what_says_no_store() -> None:
    rules = CacheRules(always_store=True)

    assert rules.may_store(stored(status=500), {})
    assert not rules.may_store(cached("no-store"), {})
    assert CacheRules(True, frozenset({"no-store"})).may_store(cached("no-store"), {})


def test_headers_of_the_connection_are_not_stored() -> None:
    lines = [("Connection", "X-Hop, close"), ("X-Hop", "1"), ("Transfer-Encoding", "chunked"), ("X-Page", "2")]

    assert kept(lines) == [("X-Page", "2")]


# -- 4.1: choosing -----------------------------------------------------------------------------


def test_answer_is_for_requests_that_the_host_would_have_answered_so() -> None:
    it = stored(("Vary", "Accept-Language, Cookie"), **{"accept-language": "en, de"})

    assert RULES.selects(it, {"accept-language": "en,de"})
    assert not RULES.selects(it, {"accept-language": "de, en"})
    assert not RULES.selects(it, {"accept-language": "en, de", "cookie": "a=b"})
    assert not RULES.selects(it, {})


def test_answer_to_credentials_is_for_no_other_ones() -> None:
    it = stored(("Cache-Control", "max-age=60"), authorization="Basic eDp5")

    assert RULES.selects(it, {"authorization": "Basic eDp5"})
    assert not RULES.selects(it, {})


def test_secrets_of_requests_are_not_told_by_what_is_stored() -> None:
    assert b"secret" not in stored(("Vary", "Cookie"), cookie="secret").choice


# -- 4.2: freshness ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("it", "seconds"),
    [
        (cached("max-age=60"), 60),
        (cached("max-age=60, s-maxage=10"), 60),
        (cached("max-age=60", Expires=date(5)), 60),
        (stored(("Expires", date(30))), 30),
        (stored(("Expires", "0")), 0),
        (stored(("Expires", date(-30))), 0),
        (stored(("Last-Modified", date(-1_000.0))), 100),
        (stored(("Last-Modified", date(-9_999 * DAY))), HEURISTIC_MAX_S),
        (stored(("Last-Modified", date(100.0))), 0),
        (stored(("Last-Modified", date(-1_000.0)), status=302), 0),
        (stored(status=301), FOR_GOOD_S),
        (stored(status=410), FOR_GOOD_S),
        (stored(), 0),
        (cached("no-cache, max-age=60"), 0),
        (cached("max-age=60", Age="20"), 40),
        (stored(("Cache-Control", "max-age=60"), took_s=15.0), 45),
        (stored(("Cache-Control", "max-age=60"), ("Date", date(-50.0)), dated=False), 10),
        (stored(("Cache-Control", "max-age=60"), dated=False), 60),
        (stored(("Expires", date(30)), dated=False), 30),
    ],
)
def test_how_long_an_answer_is_fresh(it: StoredAnswer, seconds: float) -> None:
    assert fresh_for_s(it) == seconds


def test_directives_that_are_passed_over_count_for_nothing() -> None:
    it = cached("no-cache, max-age=0", Expires=date(30))

    assert fresh_for_s(it, CacheRules(ignored=frozenset({"no-cache", "max-age"}))) == 30


@pytest.mark.parametrize(
    ("control", "asked", "until_s"),
    [
        ("max-age=60", "no-cache", 0),
        ("max-age=60", "max-age=10", 11),
        ("max-age=60", "max-age=0", 1),
        ("max-age=60", "min-fresh=20", 40),
        ("max-age=60", "max-stale=30", 91),
        ("max-age=60", "max-stale=30, max-age=70", 71),
        ("max-age=60, must-revalidate", "max-stale=30", 60),
        ("max-age=60, no-cache", "max-stale=30", 0),
    ],
)
def test_what_a_request_says_of_age_counts(control: str, asked: str, until_s: int) -> None:
    it = cached(control)

    may = [RULES.may_use(it, {"cache-control": asked}, NOW + age_s) for age_s in range(120)]

    assert may == [age_s < until_s for age_s in range(120)]


def test_request_may_take_an_answer_however_stale() -> None:
    assert RULES.may_use(cached("max-age=1"), {"cache-control": "max-stale"}, NOW + 1e8)


@pytest.mark.parametrize(
    ("control", "asked", "until_s"),
    [
        ("max-age=10", "", 1_000),
        ("max-age=10, stale-if-error=50", "", 61),
        ("max-age=10", "stale-if-error=50", 61),
        ("max-age=10, stale-if-error=20", "stale-if-error=50", 61),
        ("max-age=10, must-revalidate", "stale-if-error=50", 0),
        ("no-cache, stale-if-error=50", "", 0),
    ],
)
def test_how_long_an_answer_may_stand_in_for_a_host_that_fails(control: str, asked: str, until_s: int) -> None:
    it, fields = cached(control), {"cache-control": asked} if asked else {}

    may = [RULES.may_use_in_need(it, fields, NOW + age_s) for age_s in range(1_000)]

    assert may == [age_s < until_s for age_s in range(1_000)]


# -- 4.3: asking whether it is still good --------------------------------------------------------


def test_host_is_asked_by_both_of_its_marks() -> None:
    it = stored(("ETag", 'W/"a"'), ("Last-Modified", date(-5)))

    assert RULES.conditions(it) == {"If-None-Match": 'W/"a"', "If-Modified-Since": date(-5)}
    assert not RULES.conditions(stored())


def test_confirmed_answer_says_what_the_confirmation_says() -> None:
    it = cached("max-age=60", ETag='"a"', Age="50", X_Page="old", Content_Length="7")
    news = [("Cache-Control", "max-age=10"), ("X-Page", "new"), ("Content-Length", "0"), ("Date", date(100))]

    fresh = it.freshened(news, NOW + 100, NOW + 100)

    assert fresh.fields["x-page"] == "new"
    assert fresh.fields["content-length"] == "7"
    assert fresh.fields["etag"] == '"a"'
    assert "age" not in fresh.fields
    assert RULES.may_use(fresh, {}, NOW + 109)
    assert not RULES.may_use(fresh, {}, NOW + 110)


@pytest.mark.parametrize(
    ("ours", "theirs", "of_it"),
    [('"a"', '"a"', True), ('W/"a"', '"a"', True), ('"a"', '"b"', False), ('"a"', 'W/"b"', True), ('"a"', "", True)],
)
def test_confirmation_of_another_answer_is_none(ours: str, theirs: str, of_it: bool) -> None:
    assert RULES.is_of(stored(("ETag", ours)), {"etag": theirs} if theirs else {}) is of_it


def test_spiders_own_conditions_and_ranges_are_not_the_caches() -> None:
    assert RULES.covers("GET", {})
    assert RULES.covers("HEAD", {})
    assert not RULES.covers("POST", {})
    assert not RULES.covers("GET", {"range": "bytes=0-9"})
    assert not RULES.covers("GET", {"if-none-match": '"a"'})


# -- 4.4: what is void ---------------------------------------------------------------------------


def test_successful_change_voids_its_url_and_those_it_names_of_one_origin() -> None:
    url = "http://a.example/form"
    fields = {"location": "/new", "content-location": "http://b.example/elsewhere"}

    assert RULES.voided("POST", url, 201, fields) == [url, "http://a.example/new"]
    assert RULES.voided("DELETE", url, 204, {"location": "http://["}) == [url]
    assert not RULES.voided("POST", url, 500, fields)
    assert not RULES.voided("GET", url, 200, fields)


# -- the other policy ----------------------------------------------------------------------------


def test_replay_uses_whatever_is_there_and_stores_all_but_what_is_tried_again() -> None:
    rules = ReplayRules(frozenset({503}))
    it = cached("no-store, max-age=0")

    assert rules.covers("POST", {"range": "bytes=0-9"})
    assert rules.may_store(it, {"cache-control": "no-store"})
    assert rules.may_use(it, {"cache-control": "no-cache"}, NOW + 1e9)
    assert not rules.may_store(stored(status=503), {})
