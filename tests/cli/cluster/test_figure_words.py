"""What the verbs that show figures say."""

from __future__ import annotations

from typing import Any

from p2pcrawl.cli.cluster.figures_told import change_words, errors_words, host_words, hosts_words, stats_words

HOST: dict[str, Any] = {
    "host": "slow.example", "known": True, "queued": 600, "leased": 1, "owner": "a" * 40, "delay_s": 2.0,
    "delay_from": "robots.txt", "next_at": None, "through_s": 1200.0, "unanswered": 0, "silent_s": 0.0,
    "ordered_s": None, "paused": False, "why_slow": "one page every 2 s (robots.txt)",
}  # fmt: skip


def test_kinds_of_failures_are_told_with_hosts_and_examples() -> None:
    page = {
        "url": "http://a/1",
        "host": "a",
        "at": 0,
        "status": 500,
        "detail": "Traceback\nValueError: x",
        "of_host": 9,
    }
    kind = {"kind": "callback", "count": 1200, "hosts": 3, "examples": [page]}

    said = list(errors_words({"job": 7, "name": "small", "errors": [kind]}))

    assert said == [
        "callback: 1,200 pages of 3 hosts",
        "  http://a/1 (9 of a), 1970-01-01 00:00:00 UTC, status 500",
        "    ValueError: x",
    ]


def test_job_without_failures_is_said_to_have_none() -> None:
    said = list(errors_words({"job": 7, "name": "small", "errors": []}))

    assert said == ["nothing of job 7 (small) has failed"]


def test_hosts_are_a_table_with_what_makes_each_slow() -> None:
    said = list(hosts_words({"hosts": [HOST], "total": 41}))

    assert said[0].split() == ["HOST", "QUEUED", "LEASED", "DELAY", "NEXT", "OWNER", "WHY"]
    assert said[1].split(maxsplit=7)[-1] == "one page every 2 s (robots.txt)"
    assert said[2] == "and 40 hosts more; -n and --find show others"
    assert list(hosts_words({"hosts": [], "total": 0})) == ["no host has anything queued"]


def test_one_host_is_told_in_detail() -> None:
    robots = [{"origin": "http://slow.example", "agent": "p2pcrawl", "verdict": "rules", "crawl_delay_s": 2.0}]
    changed = {"ordered_s": 0.5, "paused": True, "unanswered": 12, "silent_s": 90.0}

    said = "\n".join(host_words(HOST | changed | {"queued_by_job": {"7": 600}, "robots": robots}))

    assert "600, 1 leased (600 of job 7)" in said and "in 20 min, if it stays so" in said
    assert "a person has set its delay to 0.5 s" in said and "until --resume" in said
    assert "for 90 s: 12 requests without an answer" in said
    assert "http://slow.example for p2pcrawl: rules, wants 2 s between requests" in said
    assert "nothing is known" in "".join(host_words({"host": "a", "owner": "b", "known": False}))


def test_change_of_a_host_says_what_it_was() -> None:
    answer = {"host": "a", "set": {"delay_s": 5.0, "paused": True}, "was": {"delay_s": None, "paused": False}}

    assert list(change_words(answer)) == ["a: a delay of 5 s, paused; it was the delay of its jobs"]


def row(name: str, pages: int, at: int | None = None, **figures: Any) -> dict[str, Any]:
    return {
        "name": name, "at": at, "pages": pages, "items": 7, "bytes": 12_345, "fetches": pages + 1, "failed": 1,
        "retries": 2, "errors": {"dns": 3}, **figures,
    }  # fmt: skip


def test_statistics_are_a_table_with_a_total() -> None:
    said = list(stats_words({"by": "hour", "rows": [row("0", 5, 0)], "total": row("total", 1_005)}))

    assert said[0].split() == ["HOUR", "PAGES", "ITEMS", "BYTES", "FAILED", "TRIED", "AGAIN", "MOST"]
    assert said[1].split() == ["1970-01-01", "00:00", "5", "7", "12,345", "1", "2", "dns"]
    assert said[2].split() == ["total", "1,005", "7", "12,345", "1", "2", "dns"]


def test_statistics_by_error_say_how_often_it_was_tried_again() -> None:
    said = list(stats_words({"by": "error", "rows": [row("dns", 0)], "total": row("total", 5)}))

    assert [line.split() for line in said] == [["ERROR", "FAILED", "TRIED", "AGAIN"], ["dns", "1", "2"]]
    assert list(stats_words({"by": "day", "rows": [], "total": row("total", 0, fetches=0)})) == [
        "nothing has been fetched"
    ]
