"""The cookie jar that spiders keep for themselves."""

from __future__ import annotations

from http.cookiejar import DefaultCookiePolicy

import pytest

from p2pcrawl.http import Request, Response
from p2pcrawl.http.cookies import CookieJar

PAGE = "http://shop.example/a"


def filled(*set_cookie: str, url: str = PAGE) -> CookieJar:
    jar, request = CookieJar(), Request(url)
    jar.extract_cookies(Response(url, headers={"Set-Cookie": list(set_cookie)}, request=request), request)
    return jar


def sent(jar: CookieJar, url: str) -> str | None:
    request = Request(url)
    jar.add_cookie_header(request)
    return request.headers.get("Cookie")


def test_cookies_of_an_answer_are_there_by_domain_path_and_name() -> None:
    jar = filled("id=7; Domain=shop.example; Path=/", "lang=en")

    assert {cookie.name: cookie.value for cookie in jar} == {"id": "7", "lang": "en"}
    # As people's spiders reach for them.
    held = jar._cookies
    assert held[".shop.example"]["/"]["id"].value == "7"
    assert held["shop.example"]["/"]["lang"].value == "en"


@pytest.mark.parametrize(
    ("url", "cookies"),
    [
        ("http://shop.example/b", "id=7; lang=en"),
        ("http://www.shop.example/", "id=7"),
        ("http://other.example/", None),
    ],
)
def test_request_gets_the_cookies_that_are_for_it(url: str, cookies: str | None) -> None:
    assert sent(filled("id=7; Domain=shop.example; Path=/", "lang=en"), url) == cookies


def test_request_keeps_cookies_of_its_own() -> None:
    request = Request(PAGE, headers={"Cookie": "mine=1"})

    filled("id=7").add_cookie_header(request)

    assert request.headers.get("Cookie") == "mine=1"


@pytest.mark.parametrize("forged", ["id=7; Domain=other.example", "id=7; Domain=.example"])
def test_cookie_of_another_domain_is_not_taken(forged: str) -> None:
    assert len(filled(forged)) == 0


def test_cookies_are_made_without_being_taken_and_taken_one_by_one() -> None:
    request, jar = Request(PAGE), CookieJar()
    answer = Response(PAGE, headers={"Set-Cookie": "id=7; Domain=shop.example"})
    (cookie,) = jar.make_cookies(answer, request)

    assert len(jar) == 0
    jar.set_cookie_if_ok(cookie, Request("http://other.example/"))
    assert len(jar) == 0
    jar.set_cookie(cookie)
    assert sent(jar, PAGE) == "id=7"


def test_jar_is_cleared_whole_in_part_and_of_its_session() -> None:
    jar = filled("id=7", "lang=en; Max-Age=1000", "a=1; Max-Age=1000")

    jar.clear("shop.example", "/", "a")
    jar.clear_session_cookies()
    assert [cookie.name for cookie in jar] == ["lang"]
    jar.clear()

    assert len(jar) == 0


def test_policy_says_whose_cookies_are_taken() -> None:
    jar, request = CookieJar(), Request(PAGE)
    jar.set_policy(DefaultCookiePolicy(blocked_domains=["shop.example"]))

    jar.extract_cookies(Response(PAGE, headers={"Set-Cookie": "id=7"}), request)

    assert len(jar) == 0
