"""Words in which sites allow and forbid uses, as people write them and as nobody should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.usage.vocabulary import content_signal, content_usage, robots_tag
from p2pcrawl.model.crawl.purpose import Purpose

SEARCH, INPUT, TRAIN = Purpose.SEARCH, Purpose.AI_INPUT, Purpose.AI_TRAIN


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("search=yes, ai-input=yes, ai-train=no", {SEARCH: True, INPUT: True, TRAIN: False}),
        ("ai-train = NO", {TRAIN: False}),
        ("search=yes,ai-train=no", {SEARCH: True, TRAIN: False}),
        ("ai-train=yes, ai-train=no", {TRAIN: False}),
        ("ai-train=maybe", {}),
        ("not-ai-train=no, ai-training=no", {}),
        ("", {}),
    ],
)
def test_content_signal_is_read_as_its_authors_write_it(text, verdicts):
    assert content_signal(text) == verdicts


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("train-ai=n", {TRAIN: False}),
        ("train-ai=y, search=n", {TRAIN: True, SEARCH: False}),
        ('train-ai=n;exceptions="a, b";x, search=y', {TRAIN: False, SEARCH: True}),
        ("train-ai;allow=n, train-ai=y", {TRAIN: True}),
        # The last of several counts, and what is no token says nothing.
        ('train-ai=y, train-ai, search=n, search="n"', {}),
        ("train-ai=(n y), search=n", {SEARCH: False}),
        ("Train-AI=n", {}),
        ("train-ai=n,", {}),
        ("train-ai=n search=n", {}),
        # Earlier drafts.
        ("bots=n", {SEARCH: False, INPUT: False, TRAIN: False}),
        ("bots=n, search=y", {SEARCH: True, INPUT: False, TRAIN: False}),
        ("train-genai=n", {TRAIN: False}),
        ("unknown=n", {}),
    ],
)
def test_content_usage_is_a_dictionary_of_structured_fields(text, verdicts):
    assert content_usage(text) == verdicts


@pytest.mark.parametrize(
    ("values", "verdicts"),
    [
        (["noindex, nofollow"], {SEARCH: False}),
        (["none"], {SEARCH: False}),
        (["noai, noimageai"], {INPUT: False, TRAIN: False}),
        (["noimageai"], {}),
        (["nosnippet"], {INPUT: False}),
        (["max-snippet: 0"], {INPUT: False}),
        (["max-snippet: 50, max-image-preview: large"], {}),
        (["nofollow, noarchive, index, all"], {}),
        (["googlebot: noindex"], {}),
        (["googlebot: noindex, p2pcrawl: noai"], {INPUT: False, TRAIN: False}),
        (["P2PCrawl: noindex"], {SEARCH: False}),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, noindex"], {SEARCH: False}),
        (["googlebot: nofollow", "noindex"], {SEARCH: False}),
    ],
)
def test_robots_tag_speaks_to_all_or_to_whom_it_names(values, verdicts):
    assert robots_tag(values, "p2pcrawl") == verdicts


def test_image_may_be_kept_from_models_by_itself():
    assert robots_tag(["noimageai"], "p2pcrawl", image=True) == {INPUT: False, TRAIN: False}


@given(st.text())
def test_no_text_is_an_error(text):
    for read in (content_signal, content_usage, lambda t: robots_tag([t], "p2pcrawl")):
        assert set(read(text)) <= set(Purpose)


@pytest.mark.parametrize("part", ["a;", "a=(", 'a="\\', "ai-train=", "a=;b=", "*", "a,", "noai:", " "])
def test_long_nonsense_is_read_up_to_a_bound(part):
    text = part * 1_000_000

    assert content_usage(text) == {}
    assert content_signal(text) == {}
    assert robots_tag([text] * 50, "p2pcrawl") == {}
