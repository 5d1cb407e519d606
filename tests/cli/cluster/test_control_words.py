"""What the verbs say of things that are hard to bring about: lost buckets, silent masters, unsound certificates."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.cli.cluster.control import buckets_told, certificate_words
from p2pcrawl.cli.cluster.results_verb import gaps
from p2pcrawl.cli.cluster.views import jobs_words, status_words
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.peer.answers.cluster_status import warnings_of

NODES = [NodeId(f"{n}{n}" * 20) for n in range(1, 8)]
GONE_AT = 1_795_000_000.0
WHOLE: dict[str, Any] = {"not_whole": [], "missing": [], "away": {}, "moving": 0}


def certificate(**changes: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("discovered", "done", "failed", "dropped", "queued", "pages", "items"), 0)
    return {
        "job": 7, "counts": counts | {"name": "small"}, "view": "00aa", "parts": [{}], "missing": [], "incomplete": [],
        "copies": {"asked": 2, "kept": 2}, "final": True,
    } | changes  # fmt: skip


def test_results_that_are_whole_have_no_warning() -> None:
    assert list(gaps(WHOLE)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"not_whole": [3, 9]}, "2 buckets are not whole (3, 9)"),
        ({"missing": [NODES[0]]}, "without what 11111111 has"),
        ({"moving": 1}, "1 bucket is being taken over"),
        ({"away": {NODES[0]: GONE_AT}}, "1 master is missing (11111111 since 2026-11-18 11:06:40 UTC)"),
    ],
)
def test_results_say_why_items_may_be_missing(change: dict[str, Any], said: str) -> None:
    assert [said in gap for gap in gaps(WHOLE | change)] == [True]


def test_many_buckets_are_told_by_their_number_and_the_first_ones() -> None:
    assert buckets_told(list(range(4096))) == "4,096 buckets are not whole (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)"


def test_certificate_says_what_makes_it_worth_less() -> None:
    since = {NODES[1]: int(GONE_AT)}
    made = certificate(incomplete=[5], missing=[NODES[1]], since=since, final=False, copies={"asked": 3, "kept": 1})

    said = "\n".join(certificate_words(made, ["its parts do not come to what it says of counts"]))

    assert "INCOMPLETE: 1 bucket is not whole (5)" in said and "not final: who is missing may know of more" in said
    assert "missing: 22222222 since 2026-11-18 11:06:40 UTC" in said
    assert "1 copy of each record, 3 were asked for" in said
    assert "NOT SOUND: its parts do not come to" in said and "every signature holds" not in said


@pytest.mark.parametrize(
    ("missing", "said", "unsaid"),
    [
        (NODES[:1], "1 master is missing (11111111 since 2026-11-18 11:06:40 UTC)", "out of reach"),
        (NODES[:2], "UTC), as many as there are copies (2) or more", "..."),
        (NODES[:7], "7 masters are missing (11111111 since 2026-11-18 11:06:40 UTC, 22222222 since", "66666666"),
    ],
)
def test_missing_masters_are_named_and_compared_with_the_copies(missing: list[NodeId], said: str, unsaid: str) -> None:
    (warning,) = warnings_of(2, NODES, dict.fromkeys(missing, GONE_AT), 0, {})

    assert said in warning and unsaid not in warning


def test_cluster_warns_of_too_few_masters_of_broken_buckets_and_of_living_members_that_refuse() -> None:
    refusals = {NODES[0]: "module small is missing", NODES[5]: "long gone"}

    said = list(warnings_of(3, NODES[:2], {}, 12, refusals))

    assert said == [
        "only 2 masters live: 3 copies cannot be kept",
        "12 buckets are not whole: who had the rest of it is not here",
        "11111111 cannot run a job: module small is missing",
    ]


def test_nothing_to_warn_of_is_no_line() -> None:
    assert list(warnings_of(2, NODES, {}, 0, {})) == []


def test_status_shows_how_copies_stand_only_while_something_is_open() -> None:
    copies = {"asked": 2, "moving": 0, "unsynced": 1, "uncopied": 2000, "spooled": 0}
    status = {
        "cluster": "c", "view": "00", "directory": "00", "members": [], "warnings": ["look"], "copies": copies,
        "jobs": {"paused": 1, "running": 2}, "peer": {"role": "master", "address": "a:1", "api": "a:2"},
    }  # fmt: skip

    said = list(status_words(status))
    quiet = list(status_words(status | {"copies": dict.fromkeys(copies, 0), "jobs": {}}))

    assert "jobs: 1 paused, 2 running" in said
    line = "copies: 2 of each record; 1 copy of a bucket not synced yet, 2,000 rows on the way to their copies"
    assert line in said and said[-1] == "warning: look"
    assert not any(text.startswith(("copies:", "jobs:")) for text in quiet)


def test_status_says_who_has_a_vote_where_a_majority_is_asked_for() -> None:
    status = {
        "cluster": "c", "view": "00", "directory": "00", "members": [], "warnings": [],
        "copies": dict.fromkeys(("asked", "moving", "unsynced", "uncopied", "spooled"), 0), "jobs": {},
        "peer": {"role": "master", "address": "a:1", "api": "a:2"},
        "majority": {"voters": ["a", "b", "c"], "version": 3, "agreeing": 1, "needed": 2, "granting": False},
    }  # fmt: skip

    assert "majority: 3 voters (version 3), 1 agree, 2 needed: it grants nothing" in list(status_words(status))


def job_row(**changes: Any) -> dict[str, Any]:
    figures = dict.fromkeys(("pages", "queued", "leased", "items", "failed", "dropped"), 0)
    facts = {
        "job": 7,
        "name": "small",
        "label": "",
        "state": "finished",
        "reason": "",
        "settled": True,
        "certificate": None,
    }
    return figures | facts | WHOLE | changes


def test_jobs_warn_of_buckets_that_are_not_whole() -> None:
    said = "\n".join(jobs_words({"jobs": [job_row(state="incomplete", not_whole=[4])]}))

    assert "incomplete" in said and "1 bucket is not whole (4)" in said


def test_jobs_say_that_an_end_is_not_final_and_who_is_missing_since_when() -> None:
    job = job_row(certificate=certificate(final=False), away={NODES[0]: GONE_AT})

    said = list(jobs_words({"jobs": [job]}))

    assert "finished, not final" in said[1]
    assert said[2].startswith("warning: 1 master is missing (11111111 since 2026-11-18 11:06:40 UTC): what only")


def test_jobs_whose_figures_may_be_counted_twice_say_so() -> None:
    said = "\n".join(jobs_words({"jobs": [job_row(state="settling", settled=False)]}))

    assert "settling" in said and "warning: buckets are changing hands" in said
