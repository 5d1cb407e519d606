"""Who is told to drop copies, and in which view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.copies.excess import Excess
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import DropCopies, Dropped
from tests.peers import FakePeers, member

ME, *OTHERS = [NodeId(f"{n}" * 40) for n in range(4)]


def another_view(ownership: Ownership) -> None:
    ownership.change([member(node) for node in (ME, *OTHERS[:2])], 8)


def all_claimed_anew(ownership: Ownership) -> None:
    ownership.claim_anew()


@pytest.mark.parametrize("happens", [another_view, all_claimed_anew])
async def test_nobody_else_is_told_to_drop_copies_by_what_was_known_before(
    happens: Callable[[Ownership], None],
) -> None:
    """Others may have gone on without us, in a view between two that are the same, and have the last copies."""
    told: list[int] = []

    async def answer(node: NodeId, request: Any) -> Dropped:
        assert isinstance(request, DropCopies)
        told.append(request.view)
        happens(ownership)
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

    assert told == [7]
