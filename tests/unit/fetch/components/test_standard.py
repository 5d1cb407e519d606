"""The components of every crawl, alone and together."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from p2pcrawl.fetch.components.chain import Chain, Redirected
from p2pcrawl.fetch.components.own_headers import Home, OwnHeaders
from p2pcrawl.fetch.components.robots import RobotsRules, RobotsText
from p2pcrawl.fetch.components.standard import (
    DefaultHeaders,
    Disallowed,
    HttpAuth,
    RobotsCheck,
    UserAgent,
    default_components,
)
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Drop, Failure

URL = "http://a.example/x"


def test_default_headers_do_not_replace_what_a_request_brings():
    request = Request(URL, headers={"accept": "mine", "user-AGENT": "me"})

    DefaultHeaders({"Accept": "theirs", "Accept-Language": "en"}, OwnHeaders(), Home()).process_request(request)
    UserAgent("p2pcrawl").process_request(request)

    assert request.headers == {"accept": "mine", "user-AGENT": "me", "Accept-Language": "en"}


def test_requests_do_not_share_their_headers():
    component = DefaultHeaders({"Accept": "x"}, OwnHeaders(), Home())
    first, second = Request(URL), Request(URL)

    for request in (first, second):
        component.process_request(request)
    first.headers["X-A"] = "1"

    assert second.headers == {"Accept": "x"}


@pytest.mark.parametrize(
    ("url", "goes"),
    [
        ("http://a.example/", True),
        ("http://sub.a.example/", True),
        ("http://A.EXAMPLE./", True),
        ("http://nota.example/", False),
        ("http://a.example.evil.example/", False),
        ("http://a.example@evil.example/", False),
    ],
)
def test_credentials_go_to_their_domain_only(url, goes):
    request = Request(url)

    HttpAuth("user", "pass", "a.example").process_request(request)

    assert request.headers == ({"Authorization": "Basic dXNlcjpwYXNz"} if goes else {})


def test_robots_rules_are_looked_up_by_origin():
    asked: list[str] = []

    def rules_for(origin: str) -> RobotsRules:
        asked.append(origin)
        return RobotsRules(RobotsText("rules", "User-agent: *\nDisallow: /x"), "p2pcrawl")

    check = RobotsCheck(rules_for)

    with pytest.raises(Disallowed) as caught:
        check.process_request(Request("http://u:p@a.example:81/x"))
    check.process_request(Request("http://a.example:81/y"))
    check.process_request(Request("http://a.example:81/x", meta={"dont_obey_robotstxt": True}))

    assert caught.value.drop is Drop.ROBOTS
    assert asked == ["http://a.example:81", "http://a.example:81"]


def test_an_unreachable_robots_txt_keeps_out_under_its_own_name():
    check = RobotsCheck(lambda origin: RobotsRules(RobotsText("disallow"), "p2pcrawl"))

    with pytest.raises(Disallowed) as caught:
        check.process_request(Request(URL))

    assert caught.value.drop is Drop.ROBOTS_UNREACHABLE


@pytest.mark.parametrize(("most_s", "is_left_out"), [(599.0, True), (600.0, False), (0.0, False)])
def test_pages_of_a_host_that_wants_longer_pauses_than_there_may_be_are_left_out_with_the_reason(most_s, is_left_out):
    text = RobotsText("rules", "User-agent: *\nCrawl-delay: 600")
    check = RobotsCheck(lambda origin: RobotsRules(text, "p2pcrawl"), most_s)

    with pytest.raises(Disallowed) if is_left_out else nullcontext() as caught:
        check.process_request(Request(URL))

    if caught is not None:
        assert caught.value.drop is Drop.CRAWL_DELAY
        assert caught.value.why == "its host wants pauses of 600 s between requests, more than CRAWL_DELAY_MAX (599 s)"


def test_without_rules_everything_may_be_asked():
    RobotsCheck(lambda origin: None).process_request(Request(URL))


async def test_a_login_survives_its_redirect(serve, new_client, page):
    seen_other = page(b"", "Set-Cookie: session=42; Path=/", "Location: /home", status="303 See Other")

    async def take(reader, writer, head):
        await reader.readexactly(7)
        writer.write(seen_other)

    server = await serve(take, page(b"welcome"))
    client = await new_client()
    chain = Chain(default_components(client.settings, lambda origin: None), client.fetch)

    with pytest.raises(Redirected) as caught:
        await chain.run(Request(server.url + "/login", method="POST", body=b"user=me"))
    answer = await chain.run(caught.value.request)

    assert answer.body == b"welcome"
    second = server.heads[1]
    assert second.startswith(b"GET /home ")
    assert b"\r\nCookie: session=42\r\n" in second
    assert b"\r\nUser-Agent: p2pcrawl/0.1\r\n" in second
    assert b"\r\nAccept-Language: en\r\n" in second
    assert b"\r\nContent-Type" not in second


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest", "http://[::1]/", "http://0x0a000001/", "//localhost/"]
)
async def test_a_redirect_out_of_bounds_becomes_a_request_that_is_refused(serve, new_client, page, location):
    server = await serve(page(b"", f"Location: {location}", status="302 Found"))
    client = await new_client(networks=Networks(["127.0.0.1"]))
    chain = Chain(default_components(client.settings, lambda origin: None), client.fetch)

    with pytest.raises(Redirected) as caught:
        await chain.run(Request(server.url))
    with pytest.raises(Blocked):
        await chain.run(caught.value.request)


async def test_a_busy_host_says_when_to_come_back(serve, new_client, page):
    server = await serve(page(b"later", "Retry-After: 7", status="503 Busy"))
    client = await new_client()
    chain = Chain(default_components(client.settings, lambda origin: None), client.fetch)

    with pytest.raises(StatusError) as caught:
        await chain.run(Request(server.url))

    assert caught.value.kind is Failure.HTTP_5XX
    assert (caught.value.retry_after_s, caught.value.answer.body) == (7.0, b"later")


def test_what_is_switched_off_is_not_in_the_chain():
    names = {
        type(component).__name__
        for component in default_components(
            Settings(robotstxt_obey=False, cookies_enabled=False, redirect_enabled=False, retry_enabled=False),
            lambda origin: None,
        )
    }

    assert names == {"DefaultHeaders", "UserAgent", "HttpStatus"}
