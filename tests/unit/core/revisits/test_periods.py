"""When a page is due again."""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt
from random import Random

import pytest

from p2pcrawl.core.revisits.periods import Came, Periods
from p2pcrawl.model.crawl.record import VISIT_MAX
from p2pcrawl.model.page_past import ADAPTIVE, PagePast

NOW = 1_800_000_000
DAY_S = 86_400


def periods(index: int = 600, detail: int = 0, rounds: int = 0) -> Periods:
    return Periods(index, detail, least=300, greatest=30 * DAY_S, rounds=rounds)


def test_page_without_a_period_is_never_due_again() -> None:
    _, due = periods().after("detail", PagePast(), Came.CHANGED, 0, NOW)

    assert due == 0


def test_kinds_have_periods_of_their_own_and_a_request_has_the_last_word() -> None:
    rules = periods(index=600, detail=3600)

    dues = [rules.after(kind, past, Came.CHANGED, 0, NOW)[1] for kind, past in KINDS]

    assert dues == [NOW + 600, NOW + 3600, NOW + 60, NOW + 300]


KINDS = [("index", PagePast()), ("detail", PagePast()), ("detail", PagePast(own=60)), ("index", PagePast(own=ADAPTIVE))]


@pytest.mark.parametrize("came", list(Came))
def test_page_with_a_period_is_due_again_whatever_became_of_its_visit(came: Came) -> None:
    _, due = periods().after("index", PagePast(asked=NOW - 600, period=600), came, 1, NOW)

    assert due == NOW + (30 * DAY_S if came is Came.GONE else 600)


def test_page_that_is_back_has_its_period_again() -> None:
    rules = periods()
    gone, _ = rules.after("index", PagePast(asked=NOW - 600, period=600), Came.GONE, 1, NOW)

    back, due = rules.after("index", gone, Came.CHANGED, 2, NOW + DAY_S)

    assert (gone.gone, back.gone) == (1, 0)
    assert due == NOW + DAY_S + 600


def test_last_round_leaves_nothing_due() -> None:
    rules = periods(rounds=3)

    dues = [rules.after("index", PagePast(), Came.CHANGED, visit, NOW)[1] for visit in range(4)]

    assert [due > 0 for due in dues] == [True, True, False, False]


def test_page_that_is_gone_does_not_hold_up_the_end_of_a_crawl_of_rounds() -> None:
    assert periods(rounds=9).after("index", PagePast(asked=NOW - 600), Came.GONE, 1, NOW)[1] == 0


def test_page_that_was_visited_as_often_as_can_be_counted_is_not_visited_again() -> None:
    assert periods().after("index", PagePast(), Came.CHANGED, VISIT_MAX, NOW)[1] == 0


def test_clock_that_was_set_back_teaches_nothing_and_makes_nothing_late() -> None:
    rules = periods(index=ADAPTIVE)

    past, due = rules.after("index", PagePast(asked=NOW + DAY_S, period=600), Came.UNCHANGED, 1, NOW)

    assert NOW < due <= NOW + 30 * DAY_S
    assert past.visits == 0


def lived(every_s: float, days: float, seed: int = 1) -> list[int]:
    """Visits a page that changes by chance, so often on average; returns its periods."""
    rules, past, now, dice, found = periods(index=ADAPTIVE), PagePast(), NOW, Random(seed), []
    changes_at, visit = now + dice.expovariate(1 / every_s), 0
    while now < NOW + days * DAY_S:
        came = Came.CHANGED if now >= changes_at or not visit else Came.UNCHANGED
        if now >= changes_at:
            changes_at = now + dice.expovariate(1 / every_s)
        past, due = rules.after("index", past, came, visit, now)
        found.append(due - now)
        now, visit = due, visit + 1
    return found


@pytest.mark.parametrize("every_s", [3_600, 6 * 3_600, DAY_S, 4 * DAY_S])
def test_adaptive_period_settles_by_the_root_of_the_time_between_changes(every_s: float) -> None:
    settled = sorted(period for seed in range(20) for period in lived(every_s, 120, seed)[12:])

    middle = settled[len(settled) // 2]

    wanted = 2 * sqrt(300 * log(2) * every_s)
    assert wanted / 2 < middle < 2 * wanted


def test_page_that_never_changes_is_asked_less_and_less_and_never_doubly_less_at_a_time() -> None:
    found = lived(1e12, 400)

    assert all(earlier <= later <= 2 * earlier for earlier, later in pairwise(found))
    assert found[-1] > DAY_S


def test_longest_period_bounds_what_a_page_that_never_changes_comes_to() -> None:
    rules = Periods(ADAPTIVE, 0, least=300, greatest=3_600, rounds=0)

    _, due = rules.after(
        "index", PagePast(asked=NOW - 3_600, period=3_600, visits=50.0, seconds=180_000.0), QUIET, 60, NOW
    )

    assert due == NOW + 3_600


def test_few_changes_do_not_let_a_page_be_forgotten() -> None:
    """A page with something new each four days is not asked after days: what is known of it may be chance."""
    longest = max(period for seed in range(20) for period in lived(4 * DAY_S, 60, seed))

    assert longest < 2 * DAY_S


QUIET = Came.UNCHANGED


def test_page_that_always_changes_is_asked_at_the_shortest_period() -> None:
    assert lived(1.0, 1)[-1] == 300


def test_visit_in_vain_changes_nothing_of_what_is_known() -> None:
    before = PagePast("e", "m", b"d", ADAPTIVE, NOW - 900, 900, 3.0, 1.0, 2_000.0)

    after, due = periods().after("index", before, Came.IN_VAIN, 4, NOW)

    assert (after, due) == (before, NOW + 900)


def sooner(rules: Periods, past: PagePast, due: int, *, visit: int = 3, share: float = 0.5) -> int:
    return rules.sooner("index", past, visit, due, NOW - 900, NOW, share)


@pytest.mark.parametrize(
    ("period", "asked", "due", "wanted"),
    [
        (3_600, NOW - 600, NOW + 80_000, NOW + 3_000),
        (600, NOW - 5_000, NOW + 80_000, NOW + 301),
        (3_600, NOW - 600, NOW + 100, 0),
        (3_600, 0, 0, NOW + 2_700),
        (0, NOW - 600, NOW + 80_000, 0),
        (ADAPTIVE, NOW - 100, NOW + 80_000, NOW + 200),
    ],
)
def test_shorter_period_takes_hold_of_what_waits_and_spreads_what_is_late(
    period: int, asked: int, due: int, wanted: int
) -> None:
    assert sooner(periods(index=period), PagePast(asked=asked, period=86_400, own=86_400), due) == wanted


def test_late_pages_are_spread_over_a_period_and_never_at_once() -> None:
    dues = {sooner(periods(), PagePast(asked=1), NOW + 80_000, share=n / 100) for n in range(100)}

    assert len(dues) == 100
    assert NOW < min(dues) < max(dues) <= NOW + 600


def test_page_that_is_gone_or_has_had_its_rounds_is_not_hastened() -> None:
    assert sooner(periods(), PagePast(asked=1, gone=1), NOW + 80_000) == 0
    assert sooner(periods(rounds=4), PagePast(asked=1), 0) == 0


def test_visit_in_vain_is_followed_by_the_period_in_force() -> None:
    _, due = periods().after("index", PagePast(asked=NOW - 99, period=86_400), Came.IN_VAIN, 4, NOW)

    assert due == NOW + 600
