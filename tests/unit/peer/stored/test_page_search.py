"""The search for a raw page among all machines: the last answer counts, and nothing is said of those that are away."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.errors import LinkError
from p2pcrawl.peer.stored.page_search import PageSearch
from p2pcrawl.peer.stored.shelf import Shelf
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_folder import WarcFolder
from p2pcrawl.wire.messages.ask import Answered, PeerReply
from p2pcrawl.wire.messages.slave_messages import PageTold, SeekPage
from tests.peers import FakePeers, member
from tests.unit.stores.warc.conftest import raw_page_of

ME, ONE, TWO = (NodeId(letter * 40) for letter in "abc")
LIMIT = 1_000_000


def key_of(number: int) -> bytes:
    return fingerprint(f"http://site.example/p/{number}")


class Others:
    """The other masters: what each has stored, by its answers' dates, and who is silent."""

    def __init__(self, **dates: dict[int, str]) -> None:
        self.dates = {ONE: dates.get("one", {}), TWO: dates.get("two", {})}
        self.silent: set[NodeId] = set()
        self.busy = 0
        self.status = 200
        self.asked: list[tuple[NodeId, str, int]] = []

    async def answer(self, node: NodeId, request: Any) -> PeerReply:
        if node in self.silent:
            raise LinkError(f"{node[:8]} did not answer")
        asked = json.loads(request.arguments)
        self.asked.append((node, request.what, len(asked.get("keys", [""]))))
        if request.what == "ask:raw-dates":
            if self.busy:
                self.busy -= 1
                return Answered(0, json.dumps({"busy": True}).encode())
            keys = {key_of(number).hex(): date for number, date in self.dates[node].items()}
            found = {key: keys[key] for key in asked["keys"] if key in keys}
            return Answered(0, json.dumps({"busy": False, "dates": found}).encode())
        body = b64encode(f"of {node[0]}".encode()).decode()
        told = {"known": True, "url": "u", "status": self.status, "head": "", "body": body, "size": 4}
        return Answered(0, json.dumps(told).encode())


async def search_of(folder: Path, others: Others, numbers: tuple[int, ...] = ()) -> PageSearch:
    """Makes a search at a master whose own machine has these pages, of the year 2023."""
    place = WarcPlace(folder / "raw")
    place.make()
    warcs = WarcFolder(place)
    for number in numbers:
        await warcs.keep(raw_page_of(number))
    await warcs.close()
    peers = FakePeers(ME, [member(ME), member(ONE), member(TWO)], others.answer)
    return PageSearch(peers, Shelf(folder / "raw", folder))


async def told_of(search: PageSearch, *numbers: int) -> list[PageTold]:
    asked = [search.page(SeekPage(number, 1, key_of(number), LIMIT)) for number in numbers]
    return list(await asyncio.gather(*asked))


async def test_last_answer_counts_wherever_it_is_stored(tmp_path: Path) -> None:
    others = Others(one={1: "2022-01-01", 2: "2024-01-01", 3: "2022-01-01"}, two={2: "2025-01-01"})
    search = await search_of(tmp_path, others, (1, 2))

    told = await told_of(search, 1, 2, 3, 4)
    await search.close()

    assert [each.at for each in told] == [ME, TWO, ONE, ""]
    assert [each.body for each in told] == [b"<p>page 1", b"of c", b"of b", b""]
    assert not any(each.trouble or each.away for each in told), "what is nowhere is told as such, without a reason"


async def test_many_requests_are_asked_for_at_once(tmp_path: Path) -> None:
    others = Others()
    search = await search_of(tmp_path, others)

    await told_of(search, *range(1, 300))
    await search.close()

    sizes = [keys for node, what, keys in others.asked if node == ONE]
    assert sum(sizes) == 2 * 299, "and once more, for what nobody has"
    assert len(sizes) <= 6


async def test_a_page_that_is_sought_takes_no_task_for_each_master(tmp_path: Path) -> None:
    class Counting(Others):
        most = 0

        async def answer(self, node: NodeId, request: Any) -> PeerReply:
            self.most = max(self.most, len(asyncio.all_tasks()))
            return await super().answer(node, request)

    others = Counting()
    search = await search_of(tmp_path, others)

    await told_of(search, *range(1, 300))
    await search.close()

    assert others.most < 2 * 299


async def test_master_that_goes_through_its_files_is_waited_for(tmp_path: Path) -> None:
    others = Others(one={1: "2024-01-01"})
    others.busy = 2
    search = await search_of(tmp_path, others)

    (told,) = await told_of(search, 1)
    await search.close()

    assert told.at == ONE


async def test_nothing_is_taken_for_the_last_answer_while_a_master_is_silent(tmp_path: Path) -> None:
    others = Others(two={1: "2022-01-01"})
    others.silent = {ONE}
    search = await search_of(tmp_path, others, (1,))

    (told,) = await told_of(search, 1)
    await search.close()

    assert not told.at and told.away and told.trouble


async def test_page_that_is_nowhere_may_be_where_somebody_is_missing(tmp_path: Path) -> None:
    others = Others()
    peers = FakePeers(ME, [member(ME), member(ONE)], others.answer)
    peers.away = [member(TWO)]
    search = PageSearch(peers, Shelf(None, tmp_path))

    (told,) = await told_of(search, 1)
    await search.close()

    assert told.away and TWO[:8] in told.trouble


@pytest.mark.parametrize("status", [500, 429, 404])
async def test_last_answer_that_failed_may_not_be_the_last_where_somebody_is_missing(
    tmp_path: Path, status: int
) -> None:
    others = Others(one={1: "2024-01-01"})
    others.status = status
    peers = FakePeers(ME, [member(ME), member(ONE)], others.answer)
    search = PageSearch(peers, Shelf(None, tmp_path))

    (all_there,) = await told_of(search, 1)
    peers.away = [member(TWO)]
    (one_missing,) = await told_of(search, 1)
    await search.close()

    assert (all_there.at, all_there.status) == (ONE, status)
    assert one_missing.away == (status != 404)


async def test_long_page_comes_in_pieces(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("p2pcrawl.peer.stored.page_search.PIECE_MAX", 4)
    search = await search_of(tmp_path, Others(), (1,))

    first = await search.page(SeekPage(1, 1, key_of(1), LIMIT))
    second = await search.page(SeekPage(2, 1, key_of(1), LIMIT, first.at, 4))
    third = await search.page(SeekPage(3, 1, key_of(1), LIMIT, first.at, 8))
    await search.close()

    assert (first.body, second.body, third.body) == (b"<p>p", b"age ", b"1")
    assert {first.size, second.size, third.size} == {9}
    assert first.head and not second.head


async def test_page_is_not_taken_for_stored_nowhere_while_somebody_has_come_who_was_not_asked(tmp_path: Path) -> None:
    others = Others(two={1: "2024-01-01"})
    peers = FakePeers(ME, [member(ME), member(ONE)])
    search = PageSearch(peers, Shelf(None, tmp_path))

    async def comes_meanwhile(node: NodeId, request: Any) -> PeerReply:
        if peers.living(TWO) is None:
            peers.everybody.append(member(TWO))
        return await others.answer(node, request)

    peers.answer = comes_meanwhile
    (first,) = await told_of(search, 1)
    (again,) = await told_of(search, 1)
    await search.close()

    assert (first.at, first.away, TWO[:8] in first.trouble) == ("", True, True)
    assert again.at == TWO
