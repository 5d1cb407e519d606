"""The inequalities that the safety arguments rest on: each is broken alone, and refused by name."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from p2pcrawl.core.membership.leaps import FIRST_MAX, LEAP
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.timings import LEAPS_TO_FIRST_MAX, TIMINGS, Law, Timings
from p2pcrawl.wire.sealed.signed import EXPIRES_MAX_S

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")

BROKEN = {
    ("void_s / (1 + drift)", "fence_s / (1 - drift)"): {"fence_s": 4.92},
    ("fence_s", "3 * beat_s"): {"beat_s": 1.7, "silence_min_s": 3.0},
    ("silence_min_s", "beat_s + watch_s"): {"silence_min_s": 1.9},
    ("suspicion_min_s", "void_s"): {"void_s": 6.1},
    ("fence_s", "stood_still_s"): {"stood_still_s": 5.0},
    ("suspicion_min_s / (1 + drift)", "(stood_still_s + clock_look_s) / (1 - drift)"): {"clock_look_s": 1.5},
    ("patience_s", "looking_s"): {"looking_s": 30.0},
    ("drain_on_s", "death_s"): {"drain_on_s": 6.5},
    ("results_patience_s", "death_s"): {"results_patience_s": 6.0},
    ("loan_dead_s", "suspicion_min_s"): {"loan_dead_s": 5.9},
    ("loan_term_s", "loan_spaced_s"): {"loan_spaced_s": 5.0},
    ("grant_s", "3 * ask_s"): {"grant_s": 2.0},
    ("halt_s", "grant_s + consent_look_s"): {"halt_s": 4.2},
    ("promise_s / (1 + drift)", "halt_s / (1 - drift) + heed_s"): {"heed_s": 1.0},
    ("promise_s / (1 + drift)", "(ask_s + fence_s) / (1 - drift)"): {"promise_s": 6.1},
    ("death_s", "promise_s / (1 - drift)"): {"promise_s": 6.5},
    ("1024 * leap_every_s", "an hour"): {"leap_every_s": 1.0},
    ("part_s", "promise_s + ballot_margin_s"): {"part_s": 6.4},
    ("record_ttl_s", "record_renew_s + record_spread_s"): {"record_renew_s": 5_401.0},
    ("record_ttl_s", "2 * peer_renew_s"): {"peer_renew_s": 3_600.0},
    ("a day", "record_ttl_s"): {"record_ttl_s": 90_000.0},
    ("a day", "robots_ttl_s"): {"robots_ttl_s": 90_000.0},
    ("robots_ttl_s", "robots_unreachable_ttl_s"): {"robots_unreachable_ttl_s": 86_401.0},
}


LAWS = list(TIMINGS.laws())
NAMES = [f"{law.greater} > {law.lesser}" for law in LAWS]


def sides(law: Law) -> tuple[str, str]:
    return law.greater, law.lesser


def broken_in(timings: Timings) -> list[tuple[str, str]]:
    return [sides(law) for law in timings.laws() if not law.holds]


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_each_inequality_holds_as_it_is_and_is_refused_by_name_when_it_alone_is_broken(law: Law) -> None:
    broken = replace(TIMINGS, **BROKEN[sides(law)])

    assert law.holds
    assert broken_in(broken) == [sides(law)]
    with pytest.raises(ConfigurationError, match=re.escape(law.greater) + r" \(.*\) must be .* " + re.escape(law.why)):
        broken.validate()


def test_times_as_they_are_fit_together() -> None:
    TIMINGS.validate()

    assert broken_in(TIMINGS) == []


def test_suspicion_below_the_fence_is_refused_with_the_reason() -> None:
    with pytest.raises(ConfigurationError) as refused:
        replace(TIMINGS, suspicion_min_s=3.0).validate()

    assert str(refused.value) == (
        "suspicion_min_s (3) must be longer than void_s (5.1): a master would take over from one whose slaves still "
        "fetch; see docs/copies.md"
    )
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("name", [field.name for field in fields(Timings)])
def test_time_that_is_none_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        replace(TIMINGS, **{name: 0.0}).validate()


def test_clock_that_tells_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="drift"):
        replace(TIMINGS, drift=0.5).validate()


def test_every_time_takes_part_in_a_law() -> None:
    told = " ".join(side for law in TIMINGS.laws() for side in sides(law))
    told += " probe_timeout_s suspicion_min_s" if "death_s" in told else ""

    assert [field.name for field in fields(Timings) if not re.search(rf"\b{field.name}\b", told)] == []


def test_laws_speak_of_leaps_and_records_as_they_are() -> None:
    assert FIRST_MAX == LEAPS_TO_FIRST_MAX * LEAP
    assert EXPIRES_MAX_S == 24 * 3600


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_page_lists_each_inequality_with_its_argument(law: Law) -> None:
    row = f"| {told(law.greater, law.greater_s)} | {law.relation} | {told(law.lesser, law.lesser_s)} | {law.why} |"

    assert row in PAGE
    assert (ROOT / "docs" / law.page).is_file()


def told(side: str, seconds: float) -> str:
    if side.startswith(("a ", "an ")):
        return side
    return f"`{side}` ({seconds:.4g} s)" if seconds < 600 else f"`{side}` ({seconds / 3600:.3g} h)"
