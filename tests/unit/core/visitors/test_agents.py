"""User agents by weight, with the headers that belong to them."""

from __future__ import annotations

from collections import Counter

import pytest

from p2pcrawl.core.visitors.agents import AgentDraw, matching_headers

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
EDGE = CHROME + " Edg/140.0.0.0"
PHONE = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36"
)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
SAFARI = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.6 Safari/605.1.15"


def test_agents_are_drawn_by_their_weights_and_a_name_keeps_its_own() -> None:
    draw = AgentDraw({"often": 3.0, "seldom": 1.0})

    counts = Counter(draw.of(f"host h{n}.example") for n in range(4_000))

    assert 2_850 < counts["often"] < 3_150
    assert {draw.of("host a.example") for _ in range(20)} == {
        AgentDraw({"often": 3.0, "seldom": 1.0}).of("host a.example")
    }


@pytest.mark.parametrize(
    ("agent", "brand", "platform", "mobile"),
    [
        (CHROME, '"Google Chrome";v="141"', '"Windows"', "?0"),
        (EDGE, '"Microsoft Edge";v="140"', '"Windows"', "?0"),
        (PHONE, '"Google Chrome";v="139"', '"Android"', "?1"),
    ],
)
def test_chromium_tells_the_same_of_itself_in_all_its_headers(agent, brand, platform, mobile) -> None:
    headers = matching_headers(agent, secure=True)

    assert brand in headers["Sec-CH-UA"]
    assert f'"Chromium";v="{agent.split("Chrome/")[1][:3]}"' in headers["Sec-CH-UA"]
    assert (headers["Sec-CH-UA-Platform"], headers["Sec-CH-UA-Mobile"]) == (platform, mobile)


@pytest.mark.parametrize(("agent", "secure"), [(FIREFOX, True), (SAFARI, True), (CHROME, False)])
def test_who_sends_no_client_hints_sends_none(agent, secure) -> None:
    headers = matching_headers(agent, secure=secure)

    assert set(headers) == {"Accept", "Upgrade-Insecure-Requests"}


def test_honest_bot_gets_no_headers_of_a_browser() -> None:
    assert matching_headers("SomeBot/1.0 (+https://bot.example)", secure=True) == {}
