"""Redirects become new requests, as browsers would make them."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.redirect import Redirect
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Kind, Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

URL = "http://a.example/dir/page"


def answer(location: str | None, status: int = 302, cookies: tuple[str, ...] = ()) -> Answer:
    return Answer(URL, status, {} if location is None else {"Location": location}, b"", set_cookies=cookies)


def follow(request: Request, got: Answer, settings: Settings | None = None) -> Request:
    with pytest.raises(Redirected) as caught:
        Redirect(settings or Settings()).process_answer(request, got)
    assert caught.value.status == got.status
    return caught.value.request


def refusal(request: Request, got: Answer) -> Failure:
    with pytest.raises(FetchError) as caught:
        Redirect(Settings()).process_answer(request, got)
    return caught.value.kind


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/x", "http://a.example/x"),
        ("x?q=1", "http://a.example/dir/x?q=1"),
        ("//b.example/x", "http://b.example/x"),
        ("https://b.example", "https://b.example/"),
        ("?q", "http://a.example/dir/page?q"),
        ("/x#part", "http://a.example/x"),
        (" /x ", "http://a.example/x"),
        ("/é", "http://a.example/%C3%A9"),
        ("/\udce9", "http://a.example/%E9"),
        ("/a b", "http://a.example/a%20b"),
        ("/%7Ea%2fb", "http://a.example/%7Ea%2fb"),
    ],
)
def test_the_location_is_resolved(location, url):
    assert follow(Request(URL), answer(location)).url == url


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "HEAD", "HEAD"),
    ],
)
def test_the_method_changes_as_in_browsers_and_the_body_goes_with_it(status, method, becomes):
    before = Request(URL, method=method, body=b"data", headers={"Content-Type": "x/y", "X-A": "1"})

    after = follow(before, answer("/x", status))

    assert after.method == becomes
    assert after.body == (b"data" if becomes == method else b"")
    assert after.headers == ({"Content-Type": "x/y", "X-A": "1"} if becomes == method else {"X-A": "1"})


@pytest.mark.parametrize(
    ("location", "kept"),
    [
        ("/x", True),
        ("https://a.example/x", True),
        ("http://a.example:81/x", False),
        ("https://a.example:8443/x", False),
        ("http://b.example/x", False),
        ("http://sub.a.example/x", False),
    ],
)
def test_secrets_stay_with_their_host(location, kept):
    before = Request(URL, headers={"Authorization": "Basic x", "cookie": "a=b", "X-A": "1"})

    after = follow(before, answer(location), Settings(cookies_enabled=False))

    assert ("Authorization" in after.headers, "cookie" in after.headers) == (kept, kept)


@pytest.mark.parametrize("name", ["X-Api-Key", "x-auth-token", "Proxy-Authorization", "Apikey", "X-Made-Up"])
@pytest.mark.parametrize(
    ("before", "location", "kept"),
    [
        (URL, "/x", True),
        (URL, "https://a.example/x", True),
        (URL, "http://b.example/x", False),
        (URL, "http://a.example:81/x", False),
        (URL, "http://sub.a.example/x", False),
        ("https://a.example/", "http://a.example/x", False),
        ("https://a.example/", "https://a.example.evil.example/x", False),
        ("https://a.example/", "https://a.example@evil.example/x", False),
    ],
)
def test_what_a_request_brings_stays_with_the_origin_that_it_was_for(name, before, location, kept):
    after = follow(Request(before, headers={name: "secret"}), answer(location))

    assert after.headers == ({name: "secret"} if kept else {})


def test_headers_that_tell_nothing_follow_and_so_do_those_that_are_named():
    headers = {"Accept": "text/x", "accept-language": "fr", "Cache-Control": "no-cache", "X-Free": "1", "X-Other": "2"}

    after = follow(Request(URL, headers=headers), answer("http://b.example/"), named := Settings().updated(
        {"CROSS_ORIGIN_HEADERS": "x-free"}
    ))  # fmt: skip
    all_of_them = follow(
        Request(URL, headers=headers | {"Authorization": "x"}),
        answer("http://b.example/"),
        named.updated({"CROSS_ORIGIN_HEADERS": "*"}),
    )

    assert set(after.headers) == {"Accept", "accept-language", "Cache-Control", "X-Free"}
    assert set(all_of_them.headers) == set(headers)


@pytest.mark.parametrize(
    ("before", "location", "told"),
    [
        (URL, "/x", "http://a.example/from?q=secret"),
        (URL, "http://b.example/x", "http://a.example/"),
        ("https://a.example/", "http://b.example/", "http://a.example/"),
    ],
)
def test_the_referer_tells_another_origin_no_more_than_the_policy_lets_it(before, location, told):
    after = follow(Request(before, headers={"Referer": "http://u:p@a.example/from?q=secret"}), answer(location))

    assert after.headers == {"Referer": told}


def test_the_redirects_own_policy_counts():
    got = Answer(URL, 302, {"Location": "/x", "Referrer-Policy": "no-referrer"}, b"")

    assert follow(Request(URL, headers={"referer": "http://a.example/"}), got).headers == {}


def test_secrets_do_not_go_from_https_to_http():
    before = Request("https://a.example/", headers={"Authorization": "Basic x"})

    assert follow(before, answer("http://a.example/x")).headers == {}


def test_what_the_chain_added_is_left_to_the_chain():
    settings = Settings(http_proxy="http://proxy:1")
    headers = {**settings.default_request_headers, "User-Agent": settings.user_agent, "Cookie": "a=b", "X-A": "1"}
    before = Request(URL, headers=headers, meta={"proxy": "http://proxy:1"})

    after = follow(before, answer("/x"), settings)

    assert after.headers == {"X-A": "1"}
    assert "proxy" not in after.meta


def test_callback_arguments_and_place_in_the_queue_are_kept():
    before = Request(URL, "parse_it", cb_kwargs={"a": 1}, meta={"m": 2}, priority=7, errback="fail", kind=Kind.DETAIL)

    after = follow(before, answer("/x"))

    assert (after.callback, after.errback, after.cb_kwargs, after.meta["m"]) == ("parse_it", "fail", {"a": 1}, 2)
    assert (after.priority, after.kind) == (7, Kind.DETAIL)


def test_hops_are_counted_up_to_the_limit():
    request = Request(URL)
    for hop in range(1, 21):
        request = follow(request, answer(f"/hop{hop}"))

    assert request.meta["redirect_times"] == 20
    assert request.meta["redirect_urls"][:2] == [URL, "http://a.example/hop1"]
    assert refusal(request, answer("/hop21")) is Failure.BAD_REDIRECT


@pytest.mark.parametrize(
    "location",
    [
        None,
        "",
        URL,
        "page",
        "#part",
        "ftp://a.example/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://",
        "http://[::1",
        "http://a.example:99999/",
        "http://a.example:x/",
        "data:text/html,x",
    ],
)
def test_what_leads_nowhere_is_a_bad_redirect(location):
    assert refusal(Request(URL), answer(location)) is Failure.BAD_REDIRECT


def test_a_redirect_to_itself_that_sets_a_cookie_is_followed():
    assert follow(Request(URL), answer(URL, cookies=("seen=1",))).url == URL


def test_a_post_that_is_answered_with_its_own_url_becomes_a_get():
    assert follow(Request(URL, method="POST"), answer(URL, 303)).method == "GET"


@pytest.mark.parametrize(
    "meta", [{"dont_redirect": True}, {"handle_httpstatus_list": [302]}, {"handle_httpstatus_all": True}]
)
def test_a_request_may_keep_the_redirect_for_itself(meta):
    got = answer("/x")

    assert Redirect(Settings()).process_answer(Request(URL, meta=meta), got) is got
    assert Redirect(Settings(), handled=(302,)).process_answer(Request(URL), got) is got


@pytest.mark.parametrize("status", [200, 300, 304, 305, 404])
def test_other_answers_pass(status):
    got = answer("/x", status)

    assert Redirect(Settings()).process_answer(Request(URL), got) is got
