"""Links over a real socket pair."""

from __future__ import annotations

import asyncio
import socket

from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.link import PeerLink, open_link
from p2pcrawl.wire.messages.slave_messages import Bye, Message, ReportsDurable


class End:
    """One end with what it heard."""

    def __init__(self) -> None:
        self.heard: list[Message] = []
        self.closed: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    async def open(self, stream: socket.socket) -> PeerLink:
        return await open_link(stream, self.heard.append, self.closed.set_result)


async def closed(end: End) -> Exception | None:
    async with asyncio.timeout(5):
        return await end.closed


async def test_messages_arrive_in_order_and_a_close_sends_what_is_queued() -> None:
    one, other = socket.socketpair()
    sender, receiver = End(), End()
    link = await sender.open(one)
    await receiver.open(other)

    for number in range(1000):
        link.send(ReportsDurable(number))
    link.close()

    assert await closed(receiver) is None
    assert receiver.heard == [ReportsDurable(n) for n in range(1000)]


async def test_nonsense_closes_the_link_with_its_reason() -> None:
    one, other = socket.socketpair()
    receiver = End()
    link = await receiver.open(other)

    one.sendall(b"\0\0\0\2hi")

    assert isinstance(await closed(receiver), LinkError)
    assert link.closed
    one.close()


async def test_message_that_the_receiver_refuses_closes_the_link() -> None:
    one, other = socket.socketpair()
    ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def refuse(message: Message) -> None:
        raise LinkError("not now")

    await open_link(other, refuse, ended.set_result)
    sender = End()
    link = await sender.open(one)
    link.send(Bye())

    async with asyncio.timeout(5):
        assert str(await ended) == "not now"
    assert await closed(sender) is None


async def test_link_that_is_closed_swallows_what_is_sent() -> None:
    one, other = socket.socketpair()
    end = End()
    link = await end.open(one)
    other.close()
    await closed(end)

    assert link.send(Bye()) > 0


async def test_aborted_link_tells_why() -> None:
    one, other = socket.socketpair()
    end = End()
    link = await end.open(one)

    link.abort(LinkError("enough"))

    assert str(await closed(end)) == "enough"
    other.close()
