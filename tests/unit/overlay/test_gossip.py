"""Gossip between real nodes."""

from __future__ import annotations

import asyncio

import pytest

from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.wire.messages.gossip import encode_push_pull
from p2pcrawl.wire.messages.peer_messages import Sync
from tests.unit.overlay.nodes import credentials, node, until


async def test_view_sent_in_the_name_of_another_is_refused() -> None:
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        liar = Caller(credentials().client)
        view = encode_push_pull(two.membership.push_pull_message(asyncio.get_running_loop().time()))

        with pytest.raises(LinkError, match="refused Sync"):
            await liar.call(one.address, Sync(0, view))

        liar.close()
