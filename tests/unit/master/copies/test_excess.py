"""Who is told to drop copies, and in which view."""

from __future__ import annotations

from typing import Any, cast

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.copies.excess import Excess
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import DropCopies, Dropped
from tests.peers import FakePeers, member

ME, *OTHERS = [NodeId(f"{n}" * 40) for n in range(4)]


async def test_the_word_to_drop_holds_in_the_view_in_which_others_had_enough() -> None:
    """Whoever acts in the next one may have the last copy of what its holders do not have yet."""
    told: list[int] = []

    async def answer(node: NodeId, request: Any) -> Dropped:
        assert isinstance(request, DropCopies)
        told.append(request.view)
        ownership.view = 8
        return Dropped(0, True)

    everybody = [member(node) for node in (ME, *OTHERS)]
    ownership, copying = Ownership(ME), Copying(ME)
    ready = ownership.change(everybody, 7).gained
    for node in OTHERS:
        ownership.released(node, ready)
    ownership.serve(ownership.succeed(ready))
    owned = {b: ownership.holders(b)[1:] for b in range(BUCKETS) if ownership.owner(b) is None}
    copying.change(everybody, owned, len(everybody))
    for node in OTHERS:
        copying.synced(node, owned, cast("int", copying.generation(node)))

    await Excess(
        FakePeers(ME, everybody, answer), ownership, copying, cast("Any", {}), cast("Any", None)
    ).drop_surplus()

    assert told == [7, 7, 7]
