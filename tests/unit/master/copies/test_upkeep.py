"""The upkeep of copies drops those that enough others have, and nothing of what an owner has not taken yet."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.upkeep import Upkeep
from p2pcrawl.model.cluster.node import Address, Member, Status
from p2pcrawl.wire.messages.peer_messages import Copy, CopyRow, DropCopies

ME, OTHERS = "0" * 40, ("1" * 40, "2" * 40)
VIEW = 7


def member(node: str) -> Member:
    return Member(node, Address("127.0.0.1:7117"), 1, Status.ALIVE, 1, b"boot----", bytes(16))


async def test_copies_of_a_bucket_stay_whose_owner_has_not_taken_what_was_here(tmp_path: Path) -> None:
    holdings, ownership = Holdings(tmp_path, pytest.fail), Ownership(ME)
    ownership.change([member(node) for node in (ME, *OTHERS)], VIEW)
    dropped, left_over = [b for b in range(BUCKETS) if ME not in ownership.holders(b)][:2]
    here: Any = SimpleNamespace(me=ME, copying=None)
    upkeep = Upkeep(here, ownership, holdings, here, *cast("list[Any]", [here] * 4))
    await holdings.open()
    for bucket in (dropped, left_over):
        await holdings.copy(Copy(0, [CopyRow(bucket, b"a" * 16, 1, 9, b"row", 0, b"")]))
        ownership.synced(bucket, 2)

    answer = await upkeep.drop(DropCopies(0, VIEW, bitmap_of([dropped, left_over])), frozenset([left_over]))

    assert answer.agreed
    assert dict(await holdings.sizes([dropped, left_over])) == {left_over: 1}
    assert [ownership.standing(bucket) for bucket in (dropped, left_over)] == [Standing(2, 2), Standing(2)]
    await holdings.close()
