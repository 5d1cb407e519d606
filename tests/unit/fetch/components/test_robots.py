"""robots.txt as RFC 9309 has it, from hosts of all kinds."""

from __future__ import annotations

import resource
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.components.robots import SIZE_MAX, RobotsRules, RobotsText, fetch_robots
from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX

A = "http://a.example"


async def never(host: str) -> None:
    raise AssertionError(f"paused for {host}")


def rules(body: str, agent: str = "p2pcrawl") -> RobotsRules:
    return RobotsRules(RobotsText("rules", body), agent)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ("200 OK", "rules"),
        ("204 No Content", "rules"),
        ("304 Not Modified", "allow"),
        ("401 Unauthorized", "allow"),
        ("404 Not Found", "allow"),
        ("410 Gone", "allow"),
        ("429 Too Many", "disallow"),
        ("500 Oops", "disallow"),
        ("503 Busy", "disallow"),
    ],
)
async def test_the_status_decides(serve, new_client, page, status, verdict):
    server = await serve(page(b"", status=status))
    client = await new_client()

    text = await fetch_robots(client, server.url, client.settings, never)

    assert text.verdict == verdict
    assert server.path_of(0) == "/robots.txt"


async def test_the_body_is_read_without_its_mark_and_with_bad_bytes_replaced(serve, new_client, page):
    server = await serve(page(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\xff"))
    client = await new_client()

    text = await fetch_robots(client, server.url, client.settings, never)

    assert text.body == "User-agent: *\nDisallow: /\ufffd"


async def test_an_unreachable_host_keeps_out(new_client, unused_tcp_port):
    client = await new_client()

    text = await fetch_robots(client, f"http://127.0.0.1:{unused_tcp_port}", client.settings, never)

    assert text.verdict == "disallow"
    assert text.reason.startswith("connect:")


async def test_ten_megabytes_are_cut_without_being_an_error(serve, new_client, page):
    line = b"Disallow: /some/path/that/is/not/very/short\n"
    server = await serve(page(b"User-agent: *\n" + line * (10_000_000 // len(line))))
    client = await new_client()

    text = await fetch_robots(client, server.url, client.settings, never)

    assert text.verdict == "rules"
    assert SIZE_MAX - len(line) <= len(text.body) <= SIZE_MAX
    assert text.body.endswith("short")


async def test_a_compressed_bomb_is_cut_too(serve, new_client, page):
    import zlib

    packer = zlib.compressobj(1, wbits=-15)
    block = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    server = await serve(page(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * 70, "Content-Encoding: gzip"))
    client = await new_client()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    text = await fetch_robots(client, server.url, client.settings, never)

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert len(text.body) <= SIZE_MAX
    assert grown < (100 << 20 if sys.platform == "darwin" else 100 << 10)


async def test_five_redirects_are_followed_with_a_pause_before_each(serve, new_client, page):
    hops = [page(b"", f"Location: /hop{i}", status="302 Found") for i in range(5)]
    server = await serve(*hops, page(b"User-agent: *\nDisallow: /"))
    client = await new_client()
    paused: list[str] = []

    async def pause(host: str) -> None:
        paused.append(host)

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert text.verdict == "rules"
    assert paused == ["127.0.0.1"] * 5


async def test_a_sixth_redirect_counts_as_no_robots_txt(serve, new_client, page):
    server = await serve(page(b"", "Location: /again", status="301 Moved"))
    client = await new_client()

    async def pause(host: str) -> None:
        pass

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert text.verdict == "allow"
    assert len(server.heads) == 6


@pytest.mark.parametrize("location", ["", "ftp://a.example/robots.txt", "http://[", "mailto:me"])
async def test_a_redirect_that_leads_nowhere_counts_as_no_robots_txt(serve, new_client, page, location):
    server = await serve(page(b"", f"Location: {location}", status="302 Found"), page(b"User-agent: *"))
    client = await new_client()

    text = await fetch_robots(client, server.url, client.settings, never)

    assert text.verdict == "allow"


async def test_a_redirect_out_of_bounds_keeps_out(serve, new_client, page):
    server = await serve(page(b"", "Location: http://169.254.169.254/robots.txt", status="302 Found"))
    client = await new_client()

    async def pause(host: str) -> None:
        pass

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert text.verdict == "disallow"
    assert "169.254.169.254" in text.reason


async def test_a_start_urls_right_of_entry_does_not_pass_to_where_robots_is_redirected(serve, new_client, page):
    other = await serve(page())
    away = f"Location: http://localhost:{other.port}/robots.txt"
    server = await serve(page(b"", away, status="302 Found"))
    client = await new_client(networks=Networks(["127.0.0.1"]))

    async def pause(host: str) -> None:
        pass

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert text.verdict == "disallow"
    assert other.connections == 0


async def test_an_origin_out_of_bounds_is_blocked(new_client):
    client = await new_client(networks=Networks())

    with pytest.raises(Blocked):
        await fetch_robots(client, "http://127.0.0.1:1", client.settings, never)


def test_the_longest_match_wins_and_allow_wins_a_tie():
    asked = rules("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nDisallow: /t\nAllow: /t")

    verdicts = [asked.allowed(A + path) for path in ("/", "/a", "/a/b", "/a/b/c", "/t", "/robots.txt")]

    assert verdicts == [True, False, True, False, True, True]


def test_wildcards_and_anchors_are_understood():
    asked = rules("User-agent: *\nDisallow: /*.gif$\nDisallow: /*?sort=")

    verdicts = [asked.allowed(A + path) for path in ("/a/b.gif", "/a/b.gif?x", "/x?sort=up", "/x")]

    assert verdicts == [False, True, False, True]


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        ("User-agent: p2pcrawl\nDisallow: /\n\nUser-agent: *\nAllow: /", False),
        ("User-agent: P2PCrawl/1.0\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\nUser-agent: p2pcrawl\nDisallow:", True),
        ("User-agent: crawl\nDisallow: /", True),
        ("User-agent: p2pcrawl-images\nDisallow: /", True),
        ("User-agent: other\nUser-agent: p2pcrawl\nDisallow: /", False),
        ("User-agent: p2pcrawl\nCrawl-delay: 1\n\nUser-agent: x\nAllow: /\nUser-agent: p2pcrawl\nDisallow: /", False),
        ("Disallow: /", True),
        ("User-agent: *\nSitemap: http://x/\nDisallow: /", False),
        ("user-agent:*\r\ndisallow:/", False),
        ("User-agent: * # all\n# nobody\nDisallow: / # nothing", False),
        ("<html><body>User-agent: nothing of the kind", True),
        ("", True),
    ],
)
def test_the_group_that_names_us_best_speaks_for_us(body, allowed):
    assert rules(body).allowed(A + "/x") is allowed


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        ("", None),
        ("Crawl-delay: 2.5", 2.5),
        ("crawl-delay: nan", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: inf", None),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 2/1m\nCrawl-delay: 3", 30.0),
        ("Request-rate: 0/0", None),
        ("Crawl-delay: 999999999999", SECONDS_MAX),
        ("Request-rate: 1/999999999h", SECONDS_MAX),
    ],
)
def test_the_delay_is_the_slower_of_both(lines, delay):
    assert rules(f"User-agent: *\n{lines}").crawl_delay == delay


def test_an_unreachable_robots_txt_forbids_and_a_missing_one_allows():
    assert not RobotsRules(RobotsText("disallow"), "p2pcrawl").allowed(A + "/x")
    assert RobotsRules(RobotsText("allow"), "p2pcrawl").allowed(A + "/x")


def test_groups_for_several_versions_of_an_agent_are_one():
    asked = rules("User-agent: p2pcrawl/1\nDisallow: /a\n\nUser-agent: p2pcrawl/2\nDisallow: /b")

    assert [asked.allowed(A + path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_a_robots_txt_itself_may_be_fetched_whatever_it_says():
    assert rules("User-agent: *\nDisallow: /").allowed(A + "/robots.txt")
    assert not rules("User-agent: *\nDisallow: /").allowed(A + "/x/robots.txt")


HOSTILE = {
    "wildcards in one rule": "User-agent: *\nDisallow: /" + "*a" * 250_000,
    "rules of wildcards": "User-agent: *\n" + "Disallow: /*a*b*c*d\n" * 25_000,
    "distinct rules of wildcards": "User-agent: *\n" + "".join(f"Disallow: /x*{i}*y\n" for i in range(23_000)),
    "plain rules": "User-agent: *\n" + "".join(f"Disallow: /{i:x}\n" for i in range(28_000)),
    "agents": "".join(f"User-agent: a{i}\n" for i in range(14_000)) + "Disallow: /x\n" * 18_000,
    "agents that fit": "User-agent: p2pcrawl\n" * 12_000 + "Disallow: /x\n" * 18_000,
    "versions that fit": "".join(f"User-agent: p2pcrawl/{i}\n" for i in range(13_000)) + "Disallow: /x\n" * 18_000,
    "groups": "User-agent: p2pcrawl\nDisallow: /x\n" * 14_000,
    "one line": "User-agent: *\nDisallow: /" + "a" * 500_000,
    "spaces": "User-agent: *\nDisallow" + " " * 500_000 + ":",
    "agent of spaces": "user" + " " * 500_000,
    "dollars": "User-agent: *\n" + "Disallow: /" + "$" * 500_000,
    "dollar rules": "User-agent: *\n" + "".join(f"Disallow: /{i}$\n" for i in range(30_000)),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_rules_are_bounded(body):
    asked = rules(body[:SIZE_MAX])

    for i in range(50):
        asked.allowed(f"{A}/x{'a' * 2000}{i}")


def test_rules_that_are_too_many_forbid_more_and_never_less():
    asked = rules("User-agent: *\n" + "".join(f"Disallow: /x*{i}\n" for i in range(10_000)))

    assert not asked.allowed(A + "/x9999")
    assert asked.allowed(A + "/y9999")


@given(st.text(max_size=300), st.text(max_size=50))
def test_no_text_breaks_the_rules(body, path):
    rules("User-agent: *\nDisallow: " + body).allowed(A + "/" + path)
    rules(body).allowed(A + "/" + path)


async def test_robots_of_a_private_start_url_may_move_within_its_host(serve, new_client, page):
    moved = "Location: /robots-moved.txt"
    server = await serve(page(b"", moved, status="302 Found"), page(b"User-agent: *\nDisallow: /x\n"))
    client = await new_client(networks=Networks(["127.0.0.1"]))

    async def pause(host: str) -> None:
        pass

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert (text.verdict, text.body) == ("rules", "User-agent: *\nDisallow: /x\n")
