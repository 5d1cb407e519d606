"""Slices of accounts: bounded, exact, and told only while they change; and rows made of them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core import slices as slices_module
from p2pcrawl.core.accounts import joined_accounts
from p2pcrawl.core.slice_rows import StatisticsBy, added_rows, first_rows, slice_rows
from p2pcrawl.core.slices import DAY_S, HOUR_S, HOURS_KEPT, OTHER, Slice, WorkSlices, is_slice, outdated
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId

NOON = 500_000 * HOUR_S


def page(work: WorkSlices, host: str, *, items: int = 1, failure: str = "") -> None:
    work.count_page(1, len(host), host, page=not failure, items=items, bytes_=100, failure=failure)


def rows(work: WorkSlices, by: StatisticsBy) -> dict[str, Counter[str]]:
    found = (work.get(job, name) for job, name in work.names)
    return slice_rows([(each.name, each.figures) for each in found if each is not None], by)


def test_turn_is_counted_in_its_hour_and_its_day() -> None:
    work = WorkSlices()

    work.count_turn({1: {"pages": 3, "items": 5, "queued": -3, "failed:dns": 2, "retries:http-5xx": 1}}, NOON)
    work.count_turn({1: {"pages": 1}}, NOON + HOUR_S)

    assert rows(work, StatisticsBy.HOUR) == {
        str(NOON): {"pages": 3, "items": 5, "failed:dns": 2, "retries:http-5xx": 1},
        str(NOON + HOUR_S): {"pages": 1},
    }
    assert sum(row["pages"] for row in rows(work, StatisticsBy.DAY).values()) == 4
    assert rows(work, StatisticsBy.ERROR) == {"dns": {"failed": 2}, "http-5xx": {"retries": 1}}


def test_hour_that_is_over_is_not_told_again() -> None:
    work = WorkSlices()
    work.count_turn({1: {"pages": 3}}, NOON)
    first = {each.name for each in work.take_news()}

    work.count_turn({1: {"pages": 1}}, NOON + HOUR_S)

    assert f"h{NOON // HOUR_S}" in first
    assert f"h{NOON // HOUR_S}" not in {each.name for each in work.take_news()}
    assert work.take_news() == []


def test_what_could_not_be_stored_is_news_again() -> None:
    work = WorkSlices()
    page(work, "a.example")
    news = work.take_news()

    work.put_back(news)

    assert work.take_news() == news


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3), st.sampled_from(["", "failed", "retries"]))))
def test_hosts_add_up_to_all_pages_whatever_the_bound(ends: list[tuple[str, int, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices_module, "HOSTS_MAX", 3)
        work = WorkSlices()
        for host, items, failure in ends:
            page(work, host, items=items, failure=failure)
        found = rows(work, StatisticsBy.HOST)

    assert len(found) <= 4
    assert sum(row["pages"] for row in found.values()) == len([1 for *_, failure in ends if not failure])
    assert sum(row["items"] for row in found.values()) == sum(items for _, items, _ in ends)
    assert sum(row["failed"] + row["retries"] for row in found.values()) == len([1 for *_, failure in ends if failure])


def test_what_was_counted_before_a_start_is_gone_on_with() -> None:
    work = WorkSlices()
    page(work, "a.example")
    before = work.take_news()
    again = WorkSlices()
    page(again, "a.example")

    again.load(before)
    page(again, "a.example")

    (now,) = again.take_news()
    assert now.version > before[0].version + 1
    assert again.of_host(1, len("a.example"), "a.example")["pages"] == 3


def test_what_is_too_long_ago_or_of_a_job_that_is_gone_is_forgotten() -> None:
    work = WorkSlices()
    work.count_turn({1: {"pages": 3}, 2: {"pages": 1}}, NOON)
    page(work, "a.example")

    later = work.keep({1}, NOON + HOURS_KEPT * HOUR_S)

    assert sorted(later) == sorted([(1, f"h{NOON // HOUR_S}"), (2, f"h{NOON // HOUR_S}"), (2, f"d{NOON // DAY_S}")])
    assert {name[0] for _, name in work.names} == {"d", "s"}
    assert not outdated("s3", 1e18) and not outdated("", 1e18)


@pytest.mark.parametrize(
    ("name", "can_be"), [("", True), ("h500000", True), ("s63", True), ("s64", False), ("h-1", False), ("x1", False)]
)
def test_only_names_of_slices_are_kept_for_others(name: str, can_be: bool) -> None:
    assert is_slice(name) is can_be


SLICES = st.builds(
    Account,
    st.builds(
        AccountKey,
        st.sampled_from([NodeId(letter * 40) for letter in "ab"]),
        st.sampled_from(["first", "second"]),
        st.just(1),
        st.sampled_from(["h1", "h2", "d0", "s7", ""]),
    ),
    st.integers(1, 4),
    st.just({}),
).map(lambda account: account._replace(figures={"pages": 10 * account.version}))


@given(st.lists(SLICES), st.lists(SLICES), st.lists(SLICES))
def test_slices_join_to_the_same_in_any_order_and_each_counts_once(
    one: list[Account], two: list[Account], three: list[Account]
) -> None:
    latest: dict[AccountKey, int] = {}
    for account in (*one, *two, *three):
        latest[account.key] = max(latest.get(account.key, 0), account.version)

    joined = joined_accounts([*joined_accounts([*three, *one]).values(), *two, *one])

    assert {key: account.version for key, account in joined.items()} == latest
    assert joined == joined_accounts([*two, *joined_accounts([*one, *three]).values()])


def test_hosts_beyond_the_limit_are_shown_as_one() -> None:
    found = {"a": Counter(pages=9), "b": Counter(pages=5), "c": Counter(pages=1), OTHER: Counter(pages=2)}

    assert first_rows(found, StatisticsBy.HOST, 2) == {"a": {"pages": 9}, "b": {"pages": 5}, OTHER: {"pages": 3}}


def test_latest_hours_are_shown_in_their_order() -> None:
    found = {str(hour): Counter(pages=1) for hour in (9, 100, 20)}

    assert list(first_rows(found, StatisticsBy.HOUR, 2)) == ["20", "100"]


def test_rows_of_masters_are_added_up() -> None:
    assert added_rows([{"a": {"pages": 1}}, {"a": {"pages": 2}, "b": {"items": 1}}]) == {
        "a": {"pages": 3},
        "b": {"items": 1},
    }


def test_slices_of_several_lives_are_added_up() -> None:
    assert slice_rows([("h1", {"pages": 1}), ("h1", {"pages": 2})], StatisticsBy.HOUR) == {"3600": {"pages": 3}}


def test_slice_says_whose_it_is() -> None:
    work = WorkSlices()
    page(work, "a.example")

    assert work.get(1, "s9") == Slice(1, "s9", 1, {"pages a.example": 1, "items a.example": 1, "bytes a.example": 100})
    assert work.get(2, "s9") is None and work.of_host(1, 9, "b.example") == {}
