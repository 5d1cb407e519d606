"""Links to a target by way of somebody who counts them."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.jumps import COMMON, Jumps

IN_BASE64 = "a1" + urlsafe_b64encode(b"https://t.example/x").decode().rstrip("=")


@pytest.mark.parametrize(
    ("pattern", "url", "target"),
    [
        ("out.example/go?u", "https://out.example/go?id=7&u=https%3A%2F%2Ft.example%2Fx", "https://t.example/x"),
        ("out.example/go?v,u", "https://out.example/go?u=https://t.example/x", "https://t.example/x"),
        ("out.example/go?u", "https://out.example/go?u=https%253A%252F%252Ft.example%252Fx", "https://t.example/x"),
        ("out.example/go?u", f"https://out.example/go?u={IN_BASE64}", "https://t.example/x"),
        ("*.example/go?u", "https://a.b.example/go?u=https://t.org/", "https://t.org/"),
        ("google.*/url?q", "https://google.co.uk/url?q=https://t.org/", "https://t.org/"),
        ("out.example/web/*", "https://out.example/web/2020/https://t.example/x?y=1", "https://t.example/x?y=1"),
        ("common", "https://www.google.com/url?sa=t&url=https%3A%2F%2Ft.example%2Fx", "https://t.example/x"),
        ("common", "https://duckduckgo.com/l/?uddg=https%3A%2F%2Ft.example%2Fx", "https://t.example/x"),
        ("common", "https://r.search.yahoo.com/_ylt=A/RV=2/RU=https%3a%2f%2ft.example%2fx/RK=2", "https://t.example/x/RK=2"),
    ],
)  # fmt: skip
def test_target_is_read_from_the_url(pattern: str, url: str, target: str) -> None:
    assert Jumps([pattern]).target(url) == target


@pytest.mark.parametrize(
    "url",
    [
        "https://out.example/other?u=https://t.example/",
        "https://other.example/go?u=https://t.example/",
        "https://out.example/go?u=javascript:alert(1)",
        "https://out.example/go?u=/local",
        "https://out.example/go",
        "https://[bad/go?u=https://t.example/",
    ],
)
def test_link_without_a_target_stays_as_it_is(url: str) -> None:
    assert Jumps(["out.example/go?u"]).target(url) == url


def test_target_that_is_a_jump_link_is_looked_through() -> None:
    inner = "https%3A%2F%2Fout.example%2Fgo%3Fu%3Dhttps%253A%252F%252Ft.example%252F"

    assert Jumps(["out.example/go?u"]).target(f"https://out.example/go?u={inner}") == "https://t.example/"


def test_link_that_does_not_tell_its_target_has_to_be_followed() -> None:
    jumps = Jumps(["t.co", "out.example/go?u"])

    assert jumps.hides("https://t.co/x1") and jumps.hides("https://out.example/go?id=7")
    assert not jumps.hides("https://t.example/")


@pytest.mark.parametrize("pattern", ["", "a b", "https://out.example/go?u", "out.example/go?u=1"])
def test_pattern_that_is_none_is_told_with_the_form_that_it_has(pattern: str) -> None:
    with pytest.raises(ConfigurationError, match="write host/path\\?parameter"):
        Jumps([pattern])


def test_common_jump_links_can_all_be_read() -> None:
    assert bool(Jumps(COMMON)) and not Jumps([])
