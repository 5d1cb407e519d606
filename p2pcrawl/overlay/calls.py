"""Calls between peers: a request on a link, and its answer.

Each peer keeps one outgoing link to every other that it has something to say to, opened when it is first needed;
answers come back on the same link. Incoming links are served side by side, each request in a task of its own,
so that a slow answer holds up nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from p2pcrawl.model.cluster.node import Address, parse_address
from p2pcrawl.model.errors import ConfigurationError, LinkError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.overlay.antechamber import Antechamber
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.overlay.tasks import end
from p2pcrawl.wire.messages.ask import Answered, Answers, PeerReply, PeerRequest, R, due
from p2pcrawl.wire.messages.codec import AnyMessage, encode
from p2pcrawl.wire.messages.peer_messages import Introduce, Query
from p2pcrawl.wire.messages.slave_messages import Hello
from p2pcrawl.wire.sealed.tls import Seal

log = logging.getLogger(__name__)

CONNECT_S = 5.0
CALL_S = 10.0
SILENT_S = 5.0
"""A link on which answers have been due for so long, and none came, is given up when a call times out or its peer shows
that it lives: after a partition TCP repeats too rarely what was lost, while a new link gets through at once."""
OPEN_MAX = 256
"""Requests of one link that are being served at once; the next one ends the link."""

_USAGE: Final = {1: NotThere, 2: NotNow}
"""The errors of whoever asks that are told apart on the way."""

OnSlave = Callable[[PeerLink, Hello], None]


class Caller:
    """Outgoing links, by address."""

    def __init__(self, seal: Callable[[], Seal]) -> None:
        self._seal = seal
        self._lines: dict[Address, _OutgoingLink] = {}
        self._last = 0
        self._due: dict[int, tuple[float, asyncio.Future[PeerReply]]] = {}
        """Until when each answer is waited for."""
        self._alarm: asyncio.TimerHandle | None = None
        """One for all of them, for most come long before their time."""

    async def call(self, address: Address, request: PeerRequest[R], timeout_s: float = CALL_S) -> R:
        """Returns the reply to ``request``, whose ``id`` is set here. Raises LinkError when there is none in time, and
        for one of another type than the request names."""
        self._last += 1
        request.id = self._last
        line = self._lines.get(address)
        if line is None or line.closed:
            line = self._lines[address] = _OutgoingLink(address, self._seal)
        number, until = request.id, asyncio.get_running_loop().time() + timeout_s
        answer = line.ask(request)
        self._due[number] = until, answer
        self._wake_at(until)
        try:
            return due(type(request), await answer, address)
        except TimeoutError:
            if self._lines.get(address) is line:
                self.renew(address)
            raise LinkError(f"{address} did not answer in {timeout_s:g} s") from None
        finally:
            del self._due[number]
            line.forget(number)

    async def query(self, address: Address, what: str, arguments: bytes = b"{}", timeout_s: float = CALL_S) -> bytes:
        """Asks a question, and returns the JSON answer. Raises LinkError, or the other's own error."""
        answer = await self.call(address, Query(0, what, arguments), timeout_s)
        if answer.error:
            raise (
                _USAGE.get(answer.why, ConfigurationError)(answer.error)
                if answer.usage
                else P2PCrawlError(answer.error)
            )
        return answer.body

    def renew(self, address: Address) -> None:
        """Fails calls to a peer that have waited in vain, so that the next ones get through: the peer may live
        again.
        """
        line = self._lines.get(address)
        if line is not None and line.silent_s >= SILENT_S:
            self.hang_up(address)

    def hang_up(self, address: Address) -> None:
        """Fails all calls to a peer that is gone."""
        line = self._lines.pop(address, None)
        if line is not None:
            line.close()

    def counters(self) -> dict[str, int]:
        """Counts the links to others, and the calls that wait for an answer."""
        return {"open": len(self._lines), "calls": sum(line.calls for line in self._lines.values())}

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        for address in list(self._lines):
            self.hang_up(address)

    def _wake_at(self, until: float) -> None:
        if self._alarm is None or until < self._alarm.when():
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = asyncio.get_running_loop().call_at(until, self._look)

    def _look(self) -> None:
        """Fails the calls that have waited for long enough."""
        self._alarm, now = None, asyncio.get_running_loop().time()
        for until, answer in self._due.values():
            if until > now:
                self._wake_at(until)
            elif not answer.done():
                answer.set_exception(TimeoutError())


class _OutgoingLink:
    """One outgoing link and the answers that it waits for."""

    def __init__(self, address: Address, seal: Callable[[], Seal]) -> None:
        self._address = address
        self._seal = seal
        self._waiting: dict[int, asyncio.Future[PeerReply]] = {}
        self._unsent: dict[int, bytes] = {}
        """Requests that wait for the link to open, encoded, by their numbers."""
        self._link: PeerLink | None = None
        self._opening: asyncio.Task[PeerLink | None] | None = None
        self._error: LinkError | None = None
        self._asked_at: float | None = None
        """Since when answers are due, counted anew with each that comes; None when there are no requests without."""
        self.closed = False

    @property
    def silent_s(self) -> float:
        """For how long answers have been due, and none has come."""
        return 0.0 if self._asked_at is None else asyncio.get_running_loop().time() - self._asked_at

    @property
    def calls(self) -> int:
        """The number of calls that wait for an answer."""
        return len(self._waiting)

    def ask(self, request: PeerRequest[PeerReply]) -> asyncio.Future[PeerReply]:
        """Sends a request. Returns its answer, or LinkError when the link ends before it. Whoever does not wait any
        longer says ``forget``. Raises LinkError for a request that is too long, and what else cannot be encoded.
        """
        frame = encode(request)
        answer: asyncio.Future[PeerReply] = asyncio.get_running_loop().create_future()
        if self.closed:
            answer.set_exception(self._error or LinkError(f"the link to {self._address} is closed"))
            return answer
        self._waiting[request.id] = answer
        if self._link is not None:
            if self._asked_at is None:
                self._asked_at = asyncio.get_running_loop().time()
            self._link.send_frame(frame)
        else:
            self._unsent[request.id] = frame
            if self._opening is None:
                self._opening = asyncio.create_task(self._open())
        return answer

    def forget(self, number: int) -> None:
        """Drops the answer with this number when it comes: the caller does not wait for it any more."""
        self._waiting.pop(number, None)
        self._unsent.pop(number, None)

    async def _open(self) -> PeerLink | None:
        loop = asyncio.get_running_loop()
        host, port = parse_address(self._address)
        try:
            async with asyncio.timeout(CONNECT_S):
                _, link = await loop.create_connection(
                    lambda: PeerLink(self._received, self._lost, self._seal()), host, port
                )
        except (OSError, TimeoutError) as error:
            self._lost(LinkError(f"cannot reach {self._address}: {error or 'no answer'}"))
            return None
        self._link = link
        link.send(Introduce())
        unsent, self._unsent = self._unsent, {}
        if unsent:
            self._asked_at = loop.time()
        for frame in unsent.values():
            link.send_frame(frame)
        return link

    def close(self) -> None:
        self.closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
        if self._link is not None:
            self._link.abort()
        self._fail(LinkError(f"the link to {self._address} was closed"))

    def _received(self, message: AnyMessage) -> None:
        if not isinstance(message, PeerReply):
            raise LinkError(f"{self._address} said {type(message).__name__} where an answer was due")
        future = self._waiting.get(message.id)
        others = len(self._waiting) - (future is not None)
        self._asked_at = asyncio.get_running_loop().time() if others else None
        if future is not None and not future.done():
            future.set_result(message)

    def _lost(self, error: Exception | None) -> None:
        self.closed = True
        self._error = error if isinstance(error, LinkError) else LinkError(f"the link to {self._address} was lost")
        self._fail(self._error)

    def _fail(self, error: LinkError) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)


class Reception:
    """Incoming links: told apart by their first message, and served."""

    def __init__(self, seal: Callable[[], Seal], answers: Answers, on_slave: OnSlave) -> None:
        self._seal = seal
        self._answers = answers
        self._on_slave = on_slave
        self._visitors: dict[_IncomingLink, None] = {}
        self._unproven: Antechamber[_IncomingLink] = Antechamber()
        """Those that have not introduced themselves yet."""

    def make_link(self) -> PeerLink:
        """Makes the link of a new connection, for the server."""
        visitor = _IncomingLink(self._seal(), self._answers, self._on_slave, self._forget)
        visitor.link.on_open = lambda: self._came(visitor)
        visitor.link.on_proven = lambda: self._unproven.leave(visitor)
        self._visitors[visitor] = None
        return visitor.link

    def _came(self, visitor: _IncomingLink) -> None:
        """Counts a new connection, which costs a descriptor before anybody knows who it is, and turns out another for
        it if there are too many.
        """
        victim = self._unproven.enter(visitor, visitor.link.remote_host)
        if victim is not None:
            victim.link.abort(LinkError("too many connections that do not introduce themselves"))

    def _forget(self, visitor: _IncomingLink) -> None:
        self._unproven.leave(visitor)
        self._visitors.pop(visitor, None)

    def counters(self) -> dict[str, int]:
        """Counts the links that others opened: all, those that have not introduced themselves, those that had to go."""
        return {
            "open": len(self._visitors),
            "unproven": len(self._unproven),
            "turned_out": self._unproven.turned_out,
        }

    async def close(self) -> None:
        for visitor in list(self._visitors):
            await visitor.close()


class _IncomingLink:
    """One incoming link."""

    def __init__(
        self, seal: Seal, answers: Answers, on_slave: OnSlave, on_end: Callable[[_IncomingLink], None]
    ) -> None:
        self.link = PeerLink(self._first, self._lost, seal)
        self._answers = answers
        self._on_slave = on_slave
        self._on_end = on_end
        self._requests = 0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """Those that are being served, by their numbers."""

    def _first(self, message: AnyMessage) -> None:
        match message:
            case Introduce():
                self.link.on_message = self._request
            case Hello():
                self._on_end(self)
                self._on_slave(self.link, message)
            case _:
                raise LinkError(f"a link begins with an introduction, not with {type(message).__name__}")

    def _request(self, message: AnyMessage) -> None:
        if not isinstance(message, PeerRequest):
            raise LinkError(f"{type(message).__name__} is not a request")
        if len(self._tasks) >= OPEN_MAX:
            raise LinkError(f"more than {OPEN_MAX} requests at once")
        self._requests += 1
        self._tasks[self._requests] = asyncio.create_task(self._answer(self._requests, message))

    async def _answer(self, number: int, request: PeerRequest[PeerReply]) -> None:
        peer = self.link.peer
        assert peer is not None
        try:
            answer = self._answers.get(type(request))
            if answer is None:
                raise P2PCrawlError(f"this master does not know {type(request).__name__}")
            reply = await answer(request, peer.node_id)
        except P2PCrawlError as error:
            why = next((number for number, kind in _USAGE.items() if isinstance(error, kind)), 0)
            reply = Answered(request.id, b"", str(error), isinstance(error, ConfigurationError), why)
        except Exception:
            log.exception("a request of %s failed", peer.node_id[:8])
            reply = Answered(request.id, b"", "the request failed; see the log of the peer that was asked")
        reply.id = request.id
        del self._tasks[number]
        with suppress(LinkError):
            self.link.send(reply)

    def _lost(self, error: Exception | None) -> None:
        if error is not None:
            log.debug("an incoming link from %s ended: %s", self.link.remote_host, error)
        for task in self._tasks.values():
            task.cancel()
        self._on_end(self)

    async def close(self) -> None:
        self.link.abort()
        await end(self._tasks.values())
