"""Accounts of masters: they join to the same in any order, are counted once, and have keepers beside the master."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.accounts import account_of, account_version, bereft, joined_accounts, keepers, told_figures
from p2pcrawl.model.cluster.account import FIGURES_MAX, NAME_CHARS_MAX, VALUE_MAX, Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId

MASTERS = [NodeId(letter * 40) for letter in "0369cf"]
KEYS = st.builds(AccountKey, st.sampled_from(MASTERS), st.sampled_from(["first", "second"]), st.just(1))
KNOWN = st.lists(
    st.builds(Account, KEYS, st.integers(1, 3), st.dictionaries(st.just("fetches"), st.integers(0, 9))), max_size=9
)


def account(master: str, life: str, version: int, fetches: int = 0) -> Account:
    return Account(AccountKey(NodeId(master), life, 1), version, {"fetches": fetches})


@given(KNOWN, KNOWN, KNOWN)
def test_joining_is_commutative_associative_and_idempotent(
    one: list[Account], two: list[Account], three: list[Account]
) -> None:
    first, last = joined_accounts([*one, *two]), joined_accounts([*two, *three])

    assert first == joined_accounts([*two, *one])
    assert joined_accounts([*first.values(), *three]) == joined_accounts([*one, *last.values()])
    assert joined_accounts([*one, *one]) == joined_accounts(one)


@given(st.lists(st.tuples(KEYS, st.integers(1, 9)), max_size=20))
def test_account_counts_once_with_all_that_it_had_last_however_often_and_late_it_is_told(
    told: list[tuple[AccountKey, int]],
) -> None:
    """What is told of a master are its counters at some moments: they only ever grew."""
    accounts = [Account(key, version, {"fetches": 10 * version}) for key, version in told]
    last: dict[AccountKey, int] = {}
    for key, version in told:
        last[key] = max(last.get(key, 0), version)

    gone = bereft([*accounts, *reversed(accounts)], {})

    assert sum(each.figures["fetches"] for each in gone) == 10 * sum(last.values())


def test_master_that_speaks_for_itself_is_not_counted_from_what_others_keep_of_it() -> None:
    kept = [account("a", "1", 5, fetches=50), account("b", "1", 7, fetches=70)]

    assert bereft(kept, {NodeId("a"): "1"}) == kept[1:]


def test_master_that_came_back_without_its_disk_counts_beside_what_it_had_counted_before() -> None:
    before = account("a", "1", 5, fetches=50)

    assert bereft([before], {NodeId("a"): "2"}) == [before]


def test_master_of_which_no_life_is_known_speaks_for_itself() -> None:
    assert bereft([account("a", "1", 5)], {NodeId("a"): ""}) == []


@given(st.sampled_from(MASTERS), st.lists(st.sampled_from(MASTERS), min_size=1, unique=True), st.integers(1, 5))
def test_as_many_masters_have_an_account_as_there_are_to_be_copies_if_there_are_so_many(
    master: NodeId, members: list[NodeId], copies: int
) -> None:
    beside = keepers(master, sorted({*members, master}), copies, speaks=True)
    instead = keepers(master, sorted(members), copies, speaks=False)

    assert len({*beside, master}) == 1 + len(beside) == min(copies, len({*members, master}))
    assert len({*instead}) == len(instead) == min(copies, len(members))
    assert {*beside} | {*instead} <= {*members}


def test_account_has_what_no_record_has_and_nothing_else() -> None:
    counts = {"fetches": 3, "bytes": 9, "pages": 2, "items": 4, "queued": 5, "failed:dns": 1, "statuses:200": 3,
              "stats:seen": 2, "stats_last:depth": -1, "robots": 1, "ends": 3, "retries": 0}  # fmt: skip

    figures = account_of(AccountKey(MASTERS[0], "1", 1), counts).figures

    assert figures == {"fetches": 3, "bytes": 9, "statuses:200": 3, "stats:seen": 2, "stats_last:depth": -1}


def test_account_keeps_within_what_others_take() -> None:
    counts: Mapping[str, int] = {
        **{f"stats:{number}": 1 for number in range(2 * FIGURES_MAX)},
        "filtered:" + "x" * NAME_CHARS_MAX: 1,
        "bytes": VALUE_MAX + 1,
    }

    figures = account_of(AccountKey(MASTERS[0], "1", 1), counts).figures

    assert len(figures) == FIGURES_MAX
    assert all(name.startswith("stats:") for name in figures)


def test_each_thing_that_is_counted_makes_another_version() -> None:
    versions = [account_version(counts) for counts in ({}, {"ends": 1}, {"ends": 1, "losses": 1}, {"interrupted": 3})]

    assert versions == [0, 1, 2, 3]


def test_figures_have_the_names_that_people_see() -> None:
    told = told_figures({"fetches": 3, "losses": 2, "retries:dns": 4, "filtered:offsite": 5, "failed:dns": 6})

    assert {name: value for name, value in told.items() if value} == {
        "fetches": 3, "slave_losses": 2, "retries_by_reason": {"dns": 4}, "filtered_links": {"offsite": 5}
    }  # fmt: skip
