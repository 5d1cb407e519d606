"""What sites say of their parts: lines of robots.txt, and tdmrep.json."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.usage.said import forbidding, ground_of, told
from p2pcrawl.core.usage.site_rules import RULES_MAX, PathPattern, plain_path, site_usage, tdm_lines
from p2pcrawl.model.crawl.purpose import Purpose
from p2pcrawl.model.outcome import Drop

TRAIN = (Purpose.AI_TRAIN,)


def forbidden(body: str, path: str, purposes: tuple[Purpose, ...] = TRAIN, agent: str = "p2pcrawl") -> str:
    usage = site_usage(body, agent)
    signal = forbidding(usage.signals(path), purposes) if usage else None
    return signal.by.value if signal else ""


DRAFT = """
User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""


@pytest.mark.parametrize(
    ("path", "agent", "by"),
    [("/test", "p2pcrawl", "content-usage"), ("/ai-ok/test", "p2pcrawl", ""), ("/test", "examplebot", "")],
)
def test_example_of_the_draft_is_read_as_it_says(path, agent, by):
    assert forbidden(DRAFT, path, agent=agent) == by


def test_signal_of_a_site_speaks_for_its_purposes_only():
    body = "User-Agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"

    assert forbidden(body, "/x") == "content-signal"
    assert forbidden(body, "/x", (Purpose.SEARCH,)) == ""
    assert forbidden(body, "/x", (Purpose.AI_INPUT,)) == ""
    assert forbidden(body, "/x", (Purpose.SEARCH, Purpose.AI_TRAIN)) == "content-signal"


def test_what_stands_before_all_groups_speaks_to_everybody():
    body = "Content-Signal: ai-train=no\nUser-agent: p2pcrawl\nAllow: /\n"

    assert forbidden(body, "/x") == "content-signal"


def test_longest_path_decides_and_the_same_path_twice_is_forbidden():
    body = (
        "User-agent: *\nContent-Usage: /a/ train-ai=n\nContent-Usage: /a/b/ train-ai=y\n"
        "Content-Usage: /c/ train-ai=y\nContent-Usage: /c/ train-ai=n\n"
    )

    assert [forbidden(body, path) for path in ("/a/x", "/a/b/x", "/c/x", "/d")] == [
        "content-usage",
        "",
        "content-usage",
        "",
    ]


def test_whatever_forbids_counts_where_kinds_differ():
    body = "User-agent: *\nContent-Usage: train-ai=y\nContent-Signal: ai-train=no\n"

    assert forbidden(body, "/") == "content-signal"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/", "/anything", True),
        ("/a*c", "/abbbcd", True),
        ("/a*c", "/abbb", False),
        ("/*.pdf$", "/x/y.pdf", True),
        ("/*.pdf$", "/x/y.pdf?x", False),
        ("/x$", "/x", True),
        ("/x$", "/xy", False),
        ("/a*b$", "/ab", True),
        ("/ab*b$", "/ab", False),
        ("/%7Ejoe/", "/~joe/x", True),
        ("/caf%c3%a9", "/café", True),
        ("/p?q=1", "/p?q=12", True),
    ],
)
def test_patterns_are_those_of_robots_txt(pattern, path, fits):
    assert PathPattern(pattern).fits(plain_path(path)) is fits


@given(st.text(alphabet="/ab*$%2", max_size=30), st.text(alphabet="/ab", max_size=30))
def test_no_pattern_is_an_error(pattern, path):
    assert PathPattern(pattern).fits(plain_path(path)) in (True, False)


def test_rules_of_tdmrep_are_asked_in_their_order_with_their_policy():
    rules = [
        {"location": "/images/*.jpg", "tdm-reservation": 0},
        {"location": "/images/", "tdm-reservation": 1, "tdm-policy": "https://a.example/policy #1"},
    ]
    usage = site_usage(tdm_lines(json.dumps(rules).encode()) + "User-agent: *\nDisallow: /x\n", "p2pcrawl")

    assert usage is not None
    assert forbidding(usage.signals("/images/x.jpg"), TRAIN) is None
    signal = forbidding(usage.signals("/images/x.png"), TRAIN)
    assert signal is not None
    assert signal.by is Drop.TDM
    assert ground_of(signal, TRAIN) == (
        "its site forbids ai-train: tdm-reservation 1 for /images/ (/.well-known/tdmrep.json); "
        "its policy: https://a.example/policy%20%231"
    )
    assert forbidding(usage.signals("/images/x.png"), (Purpose.SEARCH,)) is None


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"null", b"[]", b"{", b"[1, [], {}]", b"[" * 100_000, b"\xff"),
        *(b'[{"location": 3, "tdm-reservation": 1}]', b'[{"location": "/", "tdm-reservation": 7}]'),
    ],
)
def test_file_that_is_no_tdmrep_says_nothing(content):
    assert tdm_lines(content) == ""


def test_too_many_rules_reserve_all():
    rules = [{"location": f"/{n}/", "tdm-reservation": n % 2} for n in range(RULES_MAX * 3)]
    lines = [f"Content-Usage: /{n}/ train-ai={'ny'[n % 2]}" for n in range(RULES_MAX * 3)]

    assert forbidden(tdm_lines(json.dumps(rules).encode()), "/elsewhere") == "tdm-reservation"
    assert forbidden("User-agent: *\n" + "\n".join(lines), "/elsewhere") == "content-usage"


@pytest.mark.parametrize("line", ["Content-Usage: /a train-ai=n", "TDM-Rule: 1 /a*", "Content-Signal: ai-train=no"])
def test_rules_without_number_are_few_statements_about_a_page(line: str):
    usage = site_usage("User-agent: *\n" + f"{line}\n" * 5_000, "p2pcrawl")

    assert usage is not None
    assert 0 < len(usage.signals("/a")) <= RULES_MAX + len(Purpose)
    assert forbidding(usage.signals("/elsewhere"), TRAIN)


def test_rule_beyond_those_that_are_kept_forbids_what_no_other_does():
    lines = [f"Content-Usage: /{n}/ search=y" for n in range(RULES_MAX)]
    lines += ["Content-Usage: /b/ train-ai=n", "Content-Usage: /c/ search=n, train-ai=n"]

    body = "User-agent: *\n" + "\n".join(lines)

    assert forbidden(body, "/elsewhere") == "content-usage"
    assert forbidden(body, "/elsewhere", (Purpose.SEARCH,)) == "content-usage"


def test_pattern_out_of_bounds_forbids_what_begins_as_it_does():
    body = f"User-agent: *\nContent-Usage: /a{'*b' * 50} train-ai=n\nContent-Usage: /c{'*b' * 50} train-ai=y\n"

    assert forbidden(body, "/ax") == "content-usage"
    assert forbidden(body, "/cx") == ""


def test_line_cannot_be_smuggled_in_by_a_location():
    lines = tdm_lines(json.dumps([{"location": "/a\nDisallow: /", "tdm-reservation": 1}]).encode())

    assert lines == "TDM-Rule: 1 /a%0ADisallow:%20/\n"


def test_item_is_told_each_purpose_with_the_words():
    usage = site_usage("User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: search=n\n", "p2pcrawl")
    assert usage is not None

    assert told(usage.signals("/")) == {
        "search": False,
        "ai-train": False,
        "said": [
            "Content-Signal: search=yes, ai-train=no (robots.txt)",
            "Content-Usage: search=n (robots.txt)",
        ],
    }
