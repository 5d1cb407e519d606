"""The model of one frontier tells what its tables say otherwise of a record."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulations.model.stores import Store, Stores
from simulations.model.tables import Marks, Tables
from tests.simulations.judging.test_acknowledged import DONE, JOB, PAGE, QUEUED, Seen

NUMBER = 4


def told_of(change: Callable[[Store], object]) -> list[str]:
    """Returns what is told of a sound frontier with one queued record, after a change of it."""
    told: list[str] = []
    stores = Stores()
    store = stores.store("m0")
    store.records[PAGE], store.numbers[NUMBER], store.queued[NUMBER] = QUEUED, PAGE, 1
    store.found[PAGE], store.staged[NUMBER], store.leases[NUMBER] = (NUMBER,), 1, 9
    change(store)
    Tables(stores, Seen(), told.append).stored("m0", [NUMBER], [PAGE])
    return told


def vanish(store: Store) -> None:
    del store.records[PAGE], store.numbers[NUMBER]
    store.queued[NUMBER] = 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda store: store.queued.clear(), "page 1 queued, and 0 times in its queue"),
        (lambda store: store.queued.update({NUMBER: 1}), "page 1 queued, and 2 times in its queue"),
        (lambda store: store.records.update({PAGE: DONE}), "page 1 through, and 1 times in its queue"),
        (lambda store: store.leases.clear(), "parts of page 1, which is in nobody's hands"),
        (lambda store: store.found.clear(), "page 1 no more as a record, and finds () by its fingerprint"),
        (lambda store: store.found.update({PAGE: (4, 5)}), "page 1 1 times as a record, and finds (4, 5) by its "),
        (vanish, "page 1 no more as a record, and finds (4,) by its fingerprint"),
    ],
)
def test_what_one_table_says_of_a_record_the_others_say(change: Callable[[Store], object], said: str) -> None:
    assert [each.removeprefix("at 100.000 s m0 has ")[: len(said)] for each in told_of(change)] == [said]


@pytest.mark.parametrize("change", [lambda _: None, lambda store: (vanish(store), store.found.clear())])
def test_a_record_that_is_queued_once_or_gone_from_all_tables_is_as_it_should_be(
    change: Callable[[Store], object],
) -> None:
    assert told_of(change) == []


def test_what_was_said_last_is_not_replaced_by_what_was_said_before() -> None:
    told: list[str] = []
    rules = Tables(Stores(), Seen(), told.append)

    rules.items_anew("m0", PAGE)
    rules.shortened("m0", 130.0, 110.0)
    rules.older_account("m0", "m1", 15, 2)

    assert [each.removeprefix("at 100.000 s m0 ") for each in told] == [
        "has items of page 1 written anew, which is no further than it was",
        "has a host left alone until 110, which was to be left alone until 130",
        "has version 2 of what m1 has counted, after 15",
    ]


@pytest.mark.parametrize(("marks", "is_amiss"), [(0b01, False), (0b10, True), (0b11, True), (0b100, False)])
def test_sink_is_said_to_have_what_it_was_brought(marks: int, is_amiss: bool) -> None:
    told: list[str] = []
    rules = Marks(Seen(), told.append, {JOB: [lambda _: True, lambda _: False, None]})

    rules.marked("m0", PAGE, "", marks)

    assert bool(told) is is_amiss
