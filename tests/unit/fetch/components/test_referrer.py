"""How much the Referer tells, and whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.components.referrer import page_policy, policy_of, referer
from p2pcrawl.model.crawl.referrer import ReferrerPolicy, policy_named
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError

PAGE = "https://user:pass@a.example/dir/page?token=secret#part"
WHOLE = "https://a.example/dir/page?token=secret"
ORIGIN = "https://a.example/"
SAME, OTHER, CLEAR = "https://a.example/x", "https://b.example/x", "http://a.example/x"


@pytest.mark.parametrize(
    ("policy", "same", "other", "clear"),
    [
        ("no-referrer", "", "", ""),
        ("no-referrer-when-downgrade", WHOLE, WHOLE, ""),
        ("scrapy-default", WHOLE, WHOLE, ""),
        ("same-origin", WHOLE, "", ""),
        ("origin", ORIGIN, ORIGIN, ORIGIN),
        ("strict-origin", ORIGIN, ORIGIN, ""),
        ("origin-when-cross-origin", WHOLE, ORIGIN, ORIGIN),
        ("strict-origin-when-cross-origin", WHOLE, ORIGIN, ""),
        ("unsafe-url", WHOLE, WHOLE, WHOLE),
    ],
)
def test_each_policy_tells_what_the_standard_says(policy: str, same: str, other: str, clear: str) -> None:
    chosen = Settings().updated({"REFERRER_POLICY": policy}).referrer_policy

    assert [referer(chosen, PAGE, target) for target in (SAME, OTHER, CLEAR)] == [same, other, clear]


@pytest.mark.parametrize(
    ("page", "target", "told"),
    [
        ("http://a.example/p?q=1", "http://a.example/x", "http://a.example/p?q=1"),
        ("http://a.example/p?q=1", "https://a.example/x", "http://a.example/"),
        ("http://a.example/p?q=1", "http://a.example:81/x", "http://a.example/"),
        ("http://a.example/p", "http://a.example.evil.example/", "http://a.example/"),
        ("http://a.example/p", "http://a.example@evil.example/", "http://a.example/"),
        ("http://a.example/p", "http://u:p@a.example/x", "http://a.example/p"),
        ("http://a.example/" + "p" * 5000, "http://a.example/x", "http://a.example/"),
        ("http://u@a.example/" + "p" * 5000, "http://a.example/x", "http://a.example/"),
        ("p2pcrawl://start/1", "http://a.example/x", ""),
        ("", "http://a.example/x", ""),
    ],
)
def test_the_default_is_that_of_browsers(page: str, target: str, told: str) -> None:
    assert referer(Settings().referrer_policy, page, target) == told


@given(
    st.sampled_from(list(ReferrerPolicy)),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "u@", "u:p@", "@", "a@b@"]),
    st.sampled_from(["", "/", "/x?q@y", "?q", "/x#f@g", "#f"]),
)
def test_no_policy_tells_user_password_or_fragment(policy, scheme, credentials, rest) -> None:
    for target in (SAME, OTHER, CLEAR):
        told = referer(policy, f"{scheme}://{credentials}a.example{rest}", target)

        assert not told or told.startswith(f"{scheme}://a.example")
        assert "#" not in told


@pytest.mark.parametrize(
    ("headers", "body", "policy"),
    [
        ({}, b"", ""),
        ({"Referrer-Policy": "no-referrer"}, b"", "no-referrer"),
        ({"Referrer-Policy": "origin, made-up"}, b"", "origin"),
        ({"Referrer-Policy": "unsafe-url, Same-Origin"}, b"", "same-origin"),
        ({"Referrer-Policy": "rubbish" * 10_000}, b"", ""),
        ({}, b'<meta name="referrer" content="no-referrer">', "no-referrer"),
        ({}, b"<META CONTENT=origin NAME=Referrer>", "origin"),
        ({}, b'<meta name="referrerx" content="origin">', ""),
        ({}, b'<meta name="referrer">' + b"<meta " * 10_000, ""),
        ({}, b'<a rel="noreferrer">', ""),
        ({"Referrer-Policy": "origin"}, b'<meta name="referrer" content="unsafe-url">', "origin"),
    ],
)
def test_a_page_may_ask_for_a_policy(headers: dict[str, str], body: bytes, policy: str) -> None:
    assert page_policy(headers, body) == policy


def test_a_requests_own_policy_wins_over_the_pages_and_that_over_the_setting() -> None:
    setting = ReferrerPolicy.ORIGIN
    page = {"page_referrer_policy": "same-origin"}

    assert policy_of({}, setting) is setting
    assert policy_of(page, setting) is ReferrerPolicy.SAME_ORIGIN
    assert policy_of(page | {"referrer_policy": "unsafe-url"}, setting) is ReferrerPolicy.UNSAFE_URL
    assert policy_of({"referrer_policy": "made-up"}, setting) is setting


def test_the_setting_takes_scrapys_values_and_refuses_others() -> None:
    path = "scrapy.spidermiddlewares.referer.SameOriginPolicy"

    assert Settings().updated({"REFERRER_POLICY": path}).referrer_policy is ReferrerPolicy.SAME_ORIGIN
    assert policy_named("scrapy.spidermiddlewares.referer.DefaultReferrerPolicy") is ReferrerPolicy.SCRAPY_DEFAULT
    with pytest.raises(ConfigurationError, match="no-referrer"):
        Settings().updated({"REFERRER_POLICY": "everything"})
