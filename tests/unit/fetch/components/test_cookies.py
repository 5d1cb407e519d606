"""Where a cookie goes, how long it lives, and how much of them is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.components.cookies import ALL_MAX, PER_HOST_MAX, TOTAL_MAX, CookieJar, Cookies
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request

URL = "http://www.a.example/dir/page"


def sent(jar: CookieJar, url: str = URL) -> str:
    return jar.header(url)


def jar_with(*lines: str, url: str = URL) -> CookieJar:
    jar = CookieJar(lambda: 1_000_000_000.0)
    jar.store(url, lines)
    return jar


@pytest.mark.parametrize(
    ("line", "url", "goes"),
    [
        ("a=1", "http://www.a.example/dir/other", True),
        ("a=1", "http://www.a.example/dir/", True),
        ("a=1", "http://www.a.example/dir", True),
        ("a=1", "http://www.a.example/directory", False),
        ("a=1", "http://www.a.example/", False),
        ("a=1; Path=/", "http://www.a.example/", True),
        ("a=1; Path=/", "http://www.a.example", True),
        ("a=1; Path=/", "http://www.a.example:8080/", True),
        ("a=1; Path=/", "https://www.a.example/", True),
        ("a=1; Path=/", "http://a.example/", False),
        ("a=1; Path=/", "http://x.www.a.example/", False),
        ("a=1; Path=/; Domain=a.example", "http://a.example/", True),
        ("a=1; Path=/; Domain=.A.Example", "http://x.y.a.example/", True),
        ("a=1; Path=/; Domain=a.example", "http://nota.example/", False),
        ("a=1; Path=/; Domain=www.a.example", "http://x.www.a.example/", True),
        ("a=1; Path=/; Domain=b.example", "http://b.example/", False),
        ("a=1; Path=/; Domain=example", "http://b.example/", False),
        ("a=1; Path=/; Domain=x.www.a.example", "http://x.www.a.example/", False),
        ("a=1; Path=/; Max-Age=10", "http://www.a.example/", True),
        ("a=1; Path=/; Max-Age=0", "http://www.a.example/", False),
        ("a=1; Path=/; Max-Age=-1", "http://www.a.example/", False),
        ("a=1; Path=/; Max-Age=nonsense", "http://www.a.example/", True),
        ("a=1; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT", "http://www.a.example/", True),
        ("a=1; Path=/; Expires=Wed, 21-Oct-1999 07:28:00 GMT", "http://www.a.example/", False),
        ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9", "http://www.a.example/", True),
        ("a=1; Path=/; Expires=rubbish", "http://www.a.example/", True),
        ("a=1; Path=/; Secure", "https://www.a.example/", False),
        ("a=1; Path=/; Max-Age=--5", "http://www.a.example/", True),
        ("a=1; Path=/; Max-Age=-", "http://www.a.example/", True),
        ("a=1; Path=/; Max-Age=5-", "http://www.a.example/", True),
        ("a=1; Path=/; Max-Age=+0", "http://www.a.example/", True),
        ("a=1; Path=/; Max-Age=" + "9" * 5000, "http://www.a.example/", True),
        ("a=1; Path=/; Max-Age=-" + "9" * 5000, "http://www.a.example/", False),
        ("a=1; Path=/; Max-Age=\u0665", "http://www.a.example/", True),
        ("a=1; Path=/dir" + "/" * 2000, "http://www.a.example/dir/x", True),
        ("a=1; Path=/; Domain=", "http://www.a.example/", True),
        ("a=1; Path=/; Domain=.", "http://www.a.example/", True),
        ("a=1; Path=/; Domain=..a.example", "http://www.a.example/", False),
        ("a=\udce9; Path=/", "http://www.a.example/", False),
        ("__Host-a=1; Path=/", "http://www.a.example/", False),
        ("__SECURE-a=1; Path=/", "http://www.a.example/", False),
    ],
)
def test_a_cookie_goes_where_its_attributes_say(line, url, goes):
    assert sent(jar_with(line), url) == ("a=1" if goes else "")


def test_a_secure_cookie_goes_over_https_only():
    jar = jar_with("a=1; Path=/; Secure", url="https://www.a.example/")

    assert sent(jar, "https://www.a.example/") == "a=1"
    assert sent(jar, "http://www.a.example/") == ""


def test_an_address_shares_its_cookies_with_no_other():
    jar = jar_with("a=1; Path=/; Domain=0.0.1", "b=2; Path=/", url="http://127.0.0.1/")

    assert sent(jar, "http://127.0.0.1/") == "b=2"
    assert sent(jar, "http://126.0.0.1/") == ""


def test_longer_paths_come_first_and_a_new_value_replaces_the_old_one():
    jar = jar_with("a=1; Path=/", "b=2; Path=/dir", "a=3; Path=/")

    assert sent(jar) == "b=2; a=3"


def test_a_cookie_dies_when_its_time_has_come():
    now = [0.0]
    jar = CookieJar(lambda: now[0])
    jar.store(URL, ("a=1; Max-Age=10",))
    assert sent(jar) == "a=1"

    now[0] = 10.0

    assert sent(jar) == ""
    assert len(jar) == 0


def test_a_host_that_expires_a_cookie_removes_it():
    jar = jar_with("a=1; Path=/", "a=; Path=/; Max-Age=0")

    assert len(jar) == 0


@pytest.mark.parametrize(
    "line", ["", "novalue", "=x", "a=b\r\nX-Evil: 1", "a=\0", "n" * 5000 + "=1", "a=" + "v" * 5000]
)
def test_what_could_harm_is_not_kept(line):
    assert len(jar_with(line)) == 0


def test_one_host_cannot_keep_more_than_its_share():
    jar = CookieJar()
    for i in range(PER_HOST_MAX * 4):
        jar.store(URL, (f"n{i}=1",))

    assert len(jar) == PER_HOST_MAX
    assert f"n{PER_HOST_MAX * 4 - 1}=1" in sent(jar)


def test_the_host_that_was_used_longest_ago_goes_first():
    jar = CookieJar()
    jar.store("http://first.example/", ("a=1",))
    jar.store("http://second.example/", ("a=1",))
    for host in range(TOTAL_MAX - 2):
        jar.store(f"http://h{host}.example/", ("a=1",))
    assert sent(jar, "http://first.example/") == "a=1"

    jar.store("http://last.example/", ("a=1",))

    assert len(jar) == TOTAL_MAX
    assert sent(jar, "http://second.example/") == ""
    assert sent(jar, "http://first.example/") == "a=1"


@given(st.lists(st.text(max_size=60), max_size=5), st.sampled_from([URL, "http://[::1]/", "https://1.2.3.4/x"]))
def test_no_line_breaks_the_jar_or_the_header(lines, url):
    jar = CookieJar()

    jar.store(url, tuple(lines))

    header = jar.header(url)
    assert "\r" not in header
    assert "\n" not in header


def answer(*cookies: str) -> Answer:
    return Answer(URL, 200, {}, b"", set_cookies=cookies)


def header_of(component: Cookies, **request: object) -> str | None:
    asked = Request(URL, **request)  # type: ignore[arg-type]
    component.process_request(asked)
    return asked.headers.get("Cookie")


def test_a_jar_serves_all_requests_of_its_job():
    cookies = Cookies()
    cookies.process_answer(Request(URL), answer("a=1"))

    assert header_of(cookies) == "a=1"


def test_a_requests_own_cookies_join_the_jar():
    cookies = Cookies()

    assert header_of(cookies, cookies={"mine": "2"}, headers={"cookie": "raw=3"}) == "raw=3; mine=2"
    assert header_of(cookies) == "raw=3; mine=2"


def test_jars_of_their_own_are_kept_apart():
    cookies = Cookies()
    cookies.process_answer(Request(URL, meta={"cookiejar": 1}), answer("a=1"))

    assert header_of(cookies) is None
    assert header_of(cookies, meta={"cookiejar": 1}) == "a=1"
    assert header_of(cookies, meta={"cookiejar": 2}) is None


def test_a_request_may_stay_out_of_the_jar():
    cookies = Cookies()
    cookies.process_answer(Request(URL), answer("a=1"))
    cookies.process_answer(Request(URL, meta={"dont_merge_cookies": True}), answer("b=2"))

    assert header_of(cookies, meta={"dont_merge_cookies": True}, cookies={"c": "3"}) == "c=3"
    assert header_of(cookies) == "a=1"


@pytest.mark.parametrize(
    ("url", "domain", "goes_to", "goes"),
    [
        ("http://shop.co.uk/", "co.uk", "http://other.co.uk/", False),
        ("http://shop.co.uk/", "shop.co.uk", "http://www.shop.co.uk/", True),
        ("http://me.github.io/", "github.io", "http://you.github.io/", False),
        ("http://me.github.io/", "me.github.io", "http://x.me.github.io/", True),
        ("http://github.io/", "github.io", "http://you.github.io/", False),
        ("http://github.io/", "github.io", "http://github.io/", True),
        ("http://a.com/", "com", "http://b.com/", False),
        ("http://x.xn--p1ai/", "xn--p1ai", "http://y.xn--p1ai/", False),
        ("http://a.kobe.jp/", "a.kobe.jp", "http://b.a.kobe.jp/", False),
        ("http://10.0.0.1/", "0.0.1", "http://9.0.0.1/", False),
        ("http://10.0.0.1/", "10.0.0.1", "http://10.0.0.1/", True),
        ("http://[::1]/", "::1", "http://[::1]/", False),
        ("http://localhost/", "localhost", "http://localhost/", True),
        ("http://localhost/", "localhost", "http://x.localhost/", False),
    ],
)
def test_nobody_sets_cookies_for_a_public_suffix(url: str, domain: str, goes_to: str, goes: bool) -> None:
    """Where the host is the suffix itself, the cookie is for it alone."""
    assert bool(sent(jar_with(f"a=1; Path=/; Domain={domain}", url=url), goes_to)) is goes


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("__Secure-a=1; Secure", True),
        ("__secure-a=1", False),
        ("__Host-a=1; Secure; Path=/", True),
        ("__Host-a=1; Secure; Path=/dir", False),
        ("__Host-a=1; Secure", False),
        ("__Host-a=1; Path=/", False),
        ("__host-a=1; Secure; Path=/; Domain=www.a.example", False),
    ],
)
def test_a_name_that_promises_something_keeps_it(line: str, kept: bool) -> None:
    assert len(jar_with(line, url="https://www.a.example/dir/page")) == kept


def test_what_came_in_the_clear_does_not_stand_before_what_came_encrypted() -> None:
    jar = CookieJar(lambda: 1_000_000_000.0)
    jar.store("https://www.a.example/", ["s=good; Secure; Path=/; Domain=a.example"])

    jar.store(
        "http://www.a.example/", ["s=bad; Path=/", "s=bad; Path=/x", "s=bad; Path=/; Domain=a.example", "t=1; Path=/"]
    )

    assert jar.header("https://www.a.example/x") == "t=1; s=good"


def test_a_cookie_given_for_https_does_not_go_over_http() -> None:
    cookies = Cookies()
    cookies.process_request(Request("https://a.example/", cookies={"s": "1"}))
    after = [Request("http://a.example/"), Request("https://a.example/")]

    for request in after:
        cookies.process_request(request)

    assert [request.headers for request in after] == [{}, {"Cookie": "s=1"}]


texts = st.text(max_size=20) | st.sampled_from(
    ["--5", "-", "9" * 5000, "Wed, 99 Foo 99999 99:99:99 +9999", "\udcff", "\x1b"]
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["Max-Age", "Expires", "Domain", "Path", "Secure", ""]) | texts, texts), max_size=5
    ),
    texts,
)
def test_no_line_of_a_host_raises_and_what_is_kept_can_be_sent(fields: list[tuple[str, str]], value: str) -> None:
    line = f"a={value}" + "".join(f"; {name}={text}" for name, text in fields)

    header = jar_with(line).header(URL)

    assert b"\r" not in header.encode("utf-8")
    assert not any(ord(c) < 0x20 or ord(c) == 0x7F for c in header)


def sent_to(cookies: Cookies, request: Request) -> int:
    """How many cookies go with a request."""
    cookies.process_request(request)
    return request.headers.get("Cookie", "").count("=")


def test_cookies_of_many_jars_are_bounded_together() -> None:
    cookies = Cookies(lambda: 1_000_000_000.0)
    hosts = [f"http://h{number}.example/" for number in range(50)]
    lines = tuple(f"c{number}=1" for number in range(50))

    for jar in range(20):
        for url in hosts:
            cookies.process_answer(Request(url, meta={"cookiejar": jar}), Answer(url, 200, {}, b"", set_cookies=lines))

    kept = [sum(sent_to(cookies, Request(url, meta={"cookiejar": jar})) for url in hosts) for jar in range(20)]
    assert sum(kept) <= ALL_MAX
    assert kept[-1] == 2_500
    assert kept[0] == 0


@pytest.mark.parametrize(
    ("cookie", "url", "goes"),
    [
        ({}, "http://www.a.example/", True),
        ({}, "http://a.example/", False),
        ({"domain": "a.example"}, "http://a.example/", True),
        ({"domain": ".a.example"}, "http://x.a.example/", True),
        ({"domain": "www.a.example"}, "http://x.www.a.example/", True),
        ({"domain": "b.example"}, "http://b.example/", False),
        ({"domain": "b.example"}, "http://www.a.example/", False),
        ({"domain": "example"}, "http://a.example/", False),
        ({"path": "/dir"}, "http://www.a.example/dir/x", True),
        ({"path": "/dir"}, "http://www.a.example/", False),
        ({"secure": True}, "http://www.a.example/", False),
        ({"secure": True}, "https://www.a.example/", True),
    ],
)
def test_a_cookie_of_a_list_goes_where_it_says(cookie, url, goes):
    cookies = Cookies()
    cookies.process_request(Request(URL, cookies=[{"name": "a", "value": "1", **cookie}]))
    request = Request(url)

    cookies.process_request(request)

    assert request.headers.get("Cookie", "") == ("a=1" if goes else "")


def test_a_cookie_that_is_not_kept_is_told_once(caplog):
    cookies = Cookies()

    for number in range(2):
        cookies.process_request(Request(URL, cookies=[{"name": f"a{number}", "value": "1", "domain": "b.example"}]))

    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "cookie 'a0' for b.example of a request to www.a.example is left out: browsers would not keep it"
    ]


def test_a_request_that_leaves_the_jar_alone_has_its_own_cookies_where_they_belong():
    request = Request(
        URL,
        cookies=[{"name": "a", "value": "1"}, {"name": "b", "value": "2", "path": "/other"}],
        meta={"dont_merge_cookies": True},
    )

    Cookies().process_request(request)

    assert request.headers["Cookie"] == "a=1"


def test_cookies_of_a_request_take_the_place_of_those_in_its_header():
    request = Request(URL, headers={"Cookie": "a=b; c=d"}, cookies={"a": "new", "e": "f"})

    Cookies().process_request(request)

    assert sorted(request.headers["Cookie"].split("; ")) == ["a=new", "c=d", "e=f"]
