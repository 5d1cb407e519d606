"""Pages of which little is known are taken for what the others of their host have been."""

from __future__ import annotations

from random import Random

from p2pcrawl.core.revisits.likes import GROUPS, PAGES, Likes
from p2pcrawl.core.revisits.periods import Came, Periods
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.page_past import ADAPTIVE, PagePast

NOW, DAY_S = 1_800_000_000, 86_400
RULES = Periods(ADAPTIVE, 0, 300, 30 * DAY_S, 0)
QUIET, LIVELY = (0.0, 10.0 * DAY_S), (2_400.0, 10.0 * DAY_S)
"""Changes in seconds."""


def known(*hosts: tuple[int, str, int, tuple[float, float]]) -> Likes:
    """Makes likes of so many pages of each host and pattern."""
    likes = Likes()
    for host, pattern, pages, seen in hosts:
        for number in range(pages):
            likes.learn(host, pattern, fingerprint(f"http://a.example{pattern}/{number}"), *seen)
    return likes


def first_period(likes: Likes, host: int, pattern: str = "/*") -> int:
    likely = likes.rate(host, pattern, RULES.busiest)
    return RULES.after("index", PagePast(), Came.CHANGED, 0, NOW, likely)[1] - NOW


def test_page_of_a_host_that_nobody_knows_is_asked_at_the_shortest_period() -> None:
    assert first_period(Likes(), 1) == 300


def test_new_page_of_a_quiet_host_is_asked_later_than_one_of_a_lively_host() -> None:
    likes = known((1, "/*", 40, QUIET), (2, "/*", 40, LIVELY))

    assert first_period(likes, 1) > 4 * first_period(likes, 2)


def test_few_quiet_pages_say_less_of_the_next_one_than_many() -> None:
    found = [first_period(known((1, "/*", pages, QUIET)), 1) for pages in (0, 1, 4, PAGES)]

    assert found == sorted(found)
    assert found[1] <= 2 * 300


def test_page_is_taken_for_those_of_its_pattern_before_those_of_its_host() -> None:
    likes = known((1, "/archive/*", 20, QUIET), (1, "/live/*", 20, LIVELY))

    assert first_period(likes, 1, "/live/*") < first_period(likes, 1, "/new/*") < first_period(likes, 1, "/archive/*")


def test_page_that_changes_is_soon_asked_by_its_own_history_alone() -> None:
    """What others have been counts for half a change: a lively page of a quiet host is not held back by it."""
    likely = known((1, "/*", PAGES, QUIET)).rate(1, "/*", RULES.busiest)
    past = PagePast(asked=NOW - 600, period=600, visits=4.0, changes=3.0, seconds=2_400.0)

    periods = [RULES.after("index", past, Came.CHANGED, 5, NOW, each)[1] - NOW for each in (likely, RULES.busiest)]

    assert periods[0] <= 1.15 * periods[1]


def test_page_that_is_told_twice_counts_once_with_its_latest_history() -> None:
    twice, once = known((1, "/*", 5, QUIET), (1, "/*", 5, LIVELY)), known((1, "/*", 5, LIVELY))

    assert twice.rate(1, "/*", RULES.busiest) == once.rate(1, "/*", RULES.busiest)


def test_same_pages_count_in_whichever_order_they_are_visited_so_an_heir_comes_to_the_same() -> None:
    dice = Random(1)
    told = [(number.to_bytes(2), float(number % 7), 1_000.0 * (1 + number % 3)) for number in range(4 * PAGES)]
    rates = set()
    for _ in range(3):
        likes = Likes()
        for page in dice.sample(told, len(told)):
            likes.learn(1, "/*", *page)
        rates.add(round(likes.rate(1, "/*", RULES.busiest), 12))

    assert len(rates) == 1


def test_hosts_that_were_longest_out_of_use_are_forgotten() -> None:
    likes = known(*((host, "/*", 1, QUIET) for host in range(GROUPS)))

    assert likes.rate(0, "/*", RULES.busiest) == RULES.busiest
    assert likes.rate(GROUPS - 1, "/*", RULES.busiest) < RULES.busiest
