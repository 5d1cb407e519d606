"""Gathering items from several masters: each page's once, none missed, also while buckets move."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import LinkError
from p2pcrawl.peer.answers import results
from p2pcrawl.peer.answers.results import Gathering

A, B, C = Address("a:1"), Address("b:1"), Address("c:1")
STEP = 3
"""Pages that a master tells at once."""


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "AGAIN_S", 0.001)


@dataclass
class Shelf:
    """A master that has pages, by place."""

    pages: list[tuple[int, int]] = field(default_factory=list)
    """(place, page)"""
    mark: str = "v1 0"
    settled: bool = True
    dead: bool = False
    last: int = 0

    def put(self, *pages: int) -> None:
        for page in pages:
            self.last += 1
            self.pages.append((self.last, page))


class Town:
    """Three masters; ``before`` is called ahead of every answer."""

    def __init__(self) -> None:
        self.shelves = {A: Shelf(), B: Shelf(), C: Shelf()}
        self.asked: list[Address] = []
        self.before: Callable[[Address, int], None] = lambda address, count: None

    async def members(self) -> list[Address]:
        return [a for a, shelf in self.shelves.items()]

    async def ask(self, address: Address, arguments: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(address)
        self.before(address, self.asked.count(address))
        shelf = self.shelves.get(address)
        if shelf is None or shelf.dead:
            raise LinkError(f"{address} did not answer")
        found = [(place, page) for place, page in shelf.pages if place > arguments["after"]][:STEP]
        pages = [[page.to_bytes(16, "big").hex(), place, json.dumps(page)] for place, page in found]
        return {"pages": pages, "mark": shelf.mark, "settled": shelf.settled}

    async def gather(self, patience_s: float = 5.0) -> list[int]:
        async with asyncio.timeout(10):
            pieces = [piece async for piece in Gathering(7, self.members, self.ask, patience_s).pieces()]
        assert all(piece.endswith(b"\n") for piece in pieces)
        return [json.loads(line) for line in b"".join(pieces).splitlines()]

    def move(self, source: Address, target: Address, *pages: int) -> None:
        """A bucket changes hands: there first, then no longer here."""
        self.shelves[target].put(*pages)
        self.shelves[source].pages = [(p, page) for p, page in self.shelves[source].pages if page not in pages]
        for shelf in self.shelves.values():
            shelf.mark = f"v2 {len(shelf.pages)}"


@pytest.fixture
def town() -> Town:
    town = Town()
    town.shelves[A].put(1, 2, 3, 4)
    town.shelves[B].put(5, 6)
    town.shelves[C].put(7, 8, 9, 10, 11)
    return town


async def test_all_items_of_all_masters_come_once(town: Town) -> None:
    assert await town.gather() == list(range(1, 12))


async def test_nothing_is_an_empty_answer() -> None:
    assert await Town().gather() == []


async def test_page_that_moves_on_to_a_master_not_read_yet_comes_once(town: Town) -> None:
    def before(address: Address, count: int) -> None:
        if address == B and count == 1:
            town.move(A, C, 1, 2)

    town.before = before

    assert sorted(await town.gather()) == list(range(1, 12))


async def test_page_that_moves_to_a_master_that_was_read_is_not_missed(town: Town) -> None:
    def before(address: Address, count: int) -> None:
        if address == C and count == 1:
            town.move(C, A, 7, 8, 9)

    town.before = before

    assert sorted(await town.gather()) == list(range(1, 12))


async def test_page_that_gets_a_lower_place_when_it_moves_is_not_missed(town: Town) -> None:
    def before(address: Address, count: int) -> None:
        if address == C and count == 1:
            # What was at A went away, and its places are given anew.
            town.shelves[A].pages, town.shelves[A].last = [], 0
            town.move(C, A, 10, 11)

    town.before = before

    assert sorted(await town.gather()) == list(range(1, 12))


async def test_master_that_dies_is_waited_for_until_others_have_its_pages(town: Town) -> None:
    def before(address: Address, count: int) -> None:
        if address == B and B in town.shelves:
            town.shelves[B].dead = True
        if address == A and count == 8:
            del town.shelves[B]
            town.shelves[A].put(5, 6)

    town.before = before

    assert sorted(await town.gather()) == list(range(1, 12))


async def test_master_that_stays_away_is_an_error(town: Town) -> None:
    town.shelves[B].dead = True

    with pytest.raises(LinkError, match="b:1 did not answer"):
        await town.gather(patience_s=0.05)


async def test_bucket_that_nobody_takes_over_does_not_hold_up_the_rest_for_ever(town: Town) -> None:
    town.shelves[B].settled = False

    assert sorted(await town.gather(patience_s=0.05)) == list(range(1, 12))


async def test_nothing_that_moves_means_one_round_and_one_look(town: Town) -> None:
    await town.gather()

    assert len(town.asked) == sum(2 if n <= STEP else 3 for n in (4, 2, 5)) + 3


async def test_nothing_from_nobody_is_not_taken_for_all_that_there_is() -> None:
    """The last master has said good-bye: it counts nobody any more, itself included."""

    async def nobody() -> list[Address]:
        return []

    with pytest.raises(LinkError, match="the last master is leaving"):
        [piece async for piece in Gathering(1, nobody, Town().ask, patience_s=0.01).pieces()]
