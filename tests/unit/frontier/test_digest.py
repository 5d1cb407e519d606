"""Sums over ranges of rows: two stores with the same rows agree, two with different ones do not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.frontier.database import digest
from p2pcrawl.frontier.database.digest import DEPTH_MAX, Range, bounds, split
from p2pcrawl.model.crawl.record import (
    COUNT_MAX,
    LOSSES_MAX,
    VISIT_MAX,
    Phase,
    is_entry,
    is_further,
    phase_of,
    stamp_of,
    visit_of,
)
from p2pcrawl.model.errors import LinkError
from tests.unit.frontier.batches import copy_row

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
halves = st.one_of(st.integers(LEAST, GREATEST), st.sampled_from([LEAST, GREATEST, -1, 0]))
numbers = st.integers(0, 1 << 62)
facts = st.tuples(st.integers(0, 2), halves, halves, st.integers(0, 2), st.integers(0, 3))


@st.composite
def ranges(draw: st.DrawFn, deepest: int = DEPTH_MAX) -> Range:
    depth = draw(st.integers(0, deepest))
    return Range(draw(st.integers(0, 2)), depth, draw(st.integers(0, (1 << 4 * depth) - 1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("copies")


def store_of(folder: Path, rows: set[tuple[int, int, int, int, int]]) -> CopyStore:
    """A store that holds only these."""
    folder.mkdir(exist_ok=True)
    store = CopyStore(folder)
    store.drop(range(3))
    store.put([copy_row(*row, b"row") for row in sorted(rows)])
    return store


def one_stamp_each(rows: list[tuple[int, int, int, int, int]]) -> set[tuple[int, int, int, int, int]]:
    return {(*key, stamp) for key, stamp in {row[:4]: row[4] for row in rows}.items()}


@given(ranges(DEPTH_MAX - 1))
def test_parts_of_a_range_cover_it_without_a_gap_or_an_overlap(whole: Range) -> None:
    parts = sorted(bounds(part) for part in split(whole))

    low, high = bounds(whole)
    assert parts[0][0] == low
    assert parts[-1][1] == high
    assert all(before[1] + 1 == after[0] for before, after in pairwise(parts))
    assert len(parts) == 16


@given(ranges(), halves)
def test_range_holds_the_fingerprints_that_begin_with_its_digits(where: Range, hi: int) -> None:
    low, high = bounds(where)

    digits = f"{hi % (1 << 64):016x}"[: where.depth]

    assert (low <= hi <= high) == (digits == (f"{where.prefix:0{where.depth}x}" if where.depth else ""))


@pytest.mark.parametrize("where", [Range(0, 17, 0), Range(0, 1, 16), Range(0, 0, 1), Range(0, 2, -1), Range(0, -1, 0)])
def test_range_that_there_is_not_is_refused(where: Range) -> None:
    with pytest.raises(LinkError):
        bounds(where)


def test_range_of_one_half_has_no_parts() -> None:
    with pytest.raises(ValueError, match="no parts"):
        split(Range(0, DEPTH_MAX, 1))


@settings(max_examples=60, deadline=None)
@given(left=st.lists(facts, max_size=12), right=st.lists(facts, max_size=12), nonce=st.binary(min_size=16, max_size=16))
def test_sums_are_the_same_where_the_rows_are_and_only_there(
    folder: Path, left: list, right: list, nonce: bytes
) -> None:
    one, other = one_stamp_each(left), one_stamp_each(right)
    asked = [Range(bucket, 0, 0) for bucket in range(3)] + split(Range(0, 0, 0))
    stores = [store_of(folder / name, rows) for name, rows in (("one", one), ("other", other))]
    try:
        sums = [store.digests(nonce, asked) for store in stores]
        keys = [[set(store.keys([where])) for where in asked] for store in stores]
    finally:
        for store in stores:
            store.close()

    for n, where in enumerate(asked):
        assert (sums[0][n] == sums[1][n]) == (keys[0][n] == keys[1][n]), where
        assert sums[0][n][0] == len(keys[0][n])
        assert 0 <= sums[0][n][1] < 1 << 63
    assert keys[0][0] == {row[1:] for row in one if row[0] == 0}


def test_sum_of_a_range_is_that_of_its_parts_however_it_is_read(tmp_path: Path, monkeypatch) -> None:
    store = CopyStore(tmp_path)
    rows = [copy_row(5, *_print(n), n % 2, n) for n in range(700)]
    twins = [replace(row, job=9) for row in rows[:50]]
    store.put(rows + twins)
    nonce = os.urandom(16)
    [(count, total)] = store.digests(nonce, [Range(5, 0, 0)])

    parts = store.digests(nonce, split(Range(5, 0, 0)))
    monkeypatch.setattr(digest, "CHUNK_ROWS", 7)
    pieces = store.digests(nonce, [Range(5, 0, 0)])

    store.close()
    assert pieces == [(count, total)] == [(750, total)]
    assert (sum(n for n, _ in parts), sum(s for _, s in parts) % (1 << 63)) == (count, total)


def test_another_key_gives_other_sums(tmp_path: Path) -> None:
    """What collides under one key does not under the next."""
    store = CopyStore(tmp_path)
    store.put([copy_row(0, 1, 2, 3, 4)])

    sums = {store.digests(os.urandom(16), [Range(0, 0, 0)])[0][1] for _ in range(20)}

    store.close()
    assert len(sums) == 20


@given(*[st.tuples(numbers, st.sampled_from(Phase), st.integers(0, 99_999), st.integers(0, 99_999))] * 2)
def test_stamps_are_ordered_as_what_they_say(one: tuple, other: tuple) -> None:
    def clamped(visit: int, phase: Phase, attempts: int, losses: int) -> tuple[int, ...]:
        return min(visit, VISIT_MAX), phase, min(attempts, COUNT_MAX), min(losses, LOSSES_MAX)

    assert (stamp_of(*one) < stamp_of(*other)) == (clamped(*one) < clamped(*other))
    for entry in (False, True):
        assert is_further(stamp_of(*other), stamp_of(*one, entry=entry)) == (clamped(*one) < clamped(*other))
        assert is_entry(stamp_of(*one, entry=entry)) == entry
    assert 0 <= stamp_of(*one) < 1 << 62
    assert (visit_of(stamp_of(*one)), phase_of(stamp_of(*one))) == clamped(*one)[:2]


def _print(n: int) -> tuple[int, int]:
    return (n * 0x9E3779B97F4A7C15) % (1 << 64) - (1 << 63), n
