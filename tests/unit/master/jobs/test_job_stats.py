"""What components count, as counters of a job."""

from __future__ import annotations

from collections import Counter

from p2pcrawl.master.jobs.job import certificate_sum
from p2pcrawl.master.jobs.job_stats import NAMES_MAX, count_news, put_together
from p2pcrawl.spiders.hooks.crawl_stats import NEWS_MAX, CrawlStats


def counted(*turns: dict[str, int]) -> Counter[str]:
    """Returns the counters of a job after several turns."""
    counts: Counter[str] = Counter()
    for news in turns:
        tally: Counter[str] = Counter()
        count_news(news, tally, counts)
        counts.update(tally)
    return counts


def test_sums_add_up_and_extremes_are_kept_also_below_zero() -> None:
    counts = counted(
        {"+n": 2, ">m": -5, "<l": 7, "=s": 3},
        {"+n": 3, ">m": -9, "<l": 9, "=s": 1},
        {">m": -1, "<l": -2},
    )

    assert counts == {"stats:n": 5, "stats_max:m": -1, "stats_min:l": -2, "stats_last:s": 1}


def test_two_reports_in_one_turn_count_as_two() -> None:
    tally: Counter[str] = Counter()

    count_news({"+n": 1, ">m": 4}, tally, {})
    count_news({"+n": 1, ">m": 3}, tally, {})

    assert tally == {"stats:n": 2, "stats_max:m": 4}


def test_names_without_end_and_marks_that_nobody_knows_are_left_out() -> None:
    counts = counted({f"+{n}": 1 for n in range(NAMES_MAX + 5)}, {"?n": 1, "+0": 1})

    assert len(counts) == NAMES_MAX
    assert counts["stats:0"] == 2


def test_masters_are_put_together_by_kind() -> None:
    certificate = {"job": 1, "conserved": True, "pages": 1, "stats": {"n": 1}}
    one = {**certificate, "stats_max": {"m": 1}, "stats_min": {"l": 1, "k": 5}, "stats_last": {"s": 1}}
    two = {**certificate, "stats_max": {"m": 2}, "stats_min": {"l": 2}, "stats_last": {"s": 2}}

    whole = certificate_sum([one, two])

    assert whole["stats"] == {"n": 2}
    assert (whole["stats_max"], whole["stats_min"], whole["stats_last"]) == ({"m": 2}, {"l": 1, "k": 5}, {"s": 2})
    assert put_together("stats_max", {}, {"m": 1}) == {"m": 1}


def test_news_is_told_once_and_only_of_whole_numbers() -> None:
    stats = CrawlStats()
    stats.inc_value("n")
    stats.inc_value("n", 2, start=10)
    stats.inc_value("f", 0.5)
    stats.max_value("m", 3)
    stats.max_value("m", 2)
    stats.min_value("l", 3)
    stats.set_value("s", "text")
    stats.set_value("t", True)
    stats.count_here("here")

    assert stats.take_news() == {"+n": 3, ">m": 3, "<l": 3}
    assert stats.take_news() == {}
    assert stats.get_stats() == {"n": 3, "f": 0.5, "m": 3, "l": 3, "s": "text", "t": True, "here": 1}


def test_news_that_is_too_much_for_one_page_waits_for_the_next() -> None:
    stats = CrawlStats()
    for n in range(NEWS_MAX + 1):
        stats.inc_value(f"n{n}")

    first, second = stats.take_news(), stats.take_news()

    assert (len(first), second) == (NEWS_MAX, {f"+n{NEWS_MAX}": 1})
