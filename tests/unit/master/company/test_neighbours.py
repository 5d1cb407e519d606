"""What a master promises of copies, among others that hold them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.wire.messages.peer_messages import Copied, CopyRow
from tests.peers import FakePeers, member
from tests.unit.master.masters import eventually

ME, OTHER = NodeId("1" * 40), NodeId("2" * 40)


async def test_all_that_is_here_has_copies_when_the_end_that_is_on_its_way_to_a_synced_holder_has_come_there(
    tmp_path: Path,
) -> None:
    """Else a sink is given items of a page that ended beside pages of others: it is no lack of the holder's copies."""
    members, may_answer = [member(ME), member(OTHER)], asyncio.Event()

    async def answer(node: NodeId, request: Any) -> Copied:
        await may_answer.wait()
        return Copied(0)

    neighbours = Neighbours(tmp_path, Settings(), FakePeers(ME, members, answer), 2, RingName.RENDEZVOUS)
    ownership, copying = neighbours.ownership, neighbours.copying
    mine = ownership.change(members, 1).gained
    for node in (ME, OTHER):
        ownership.released(node, mine)
    ownership.serve(ownership.succeed(mine))
    copying.change(members, {bucket: (OTHER,) for bucket in mine}, 2)
    generation = copying.generation(OTHER)
    assert generation is not None
    copying.synced(OTHER, mine, generation)
    called: list[str] = []

    neighbours.copier.withhold_no_longer()
    neighbours.copier.transfer([], [CopyRow(min(mine), bytes(16), 7, 1, b"row", 0, b"")])
    neighbours.when_abreast(lambda: called.append("here"))
    await asyncio.sleep(0.02)
    neighbours.abreast.tend()

    assert (copying.lacking(), called) == (0, [])

    may_answer.set()
    await eventually(lambda: not neighbours.copier.under_way)
    neighbours.abreast.tend()

    assert called == ["here"]
    await neighbours.close()
