"""The search for a raw page among the machines of all masters: the last answer to a request counts, wherever it is.

Every machine is asked when it has stored an answer, for many requests at a time: while a question is on its way to a
master, those that come wait for the next one. Then the page is read where the last answer is.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.json import Decoder

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError, StorageError
from p2pcrawl.overlay.peers import ASK_S, Peers
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.peer.stored.shelf import Shelf, keys_told
from p2pcrawl.wire.messages.slave_messages import PageTold, SeekPage

log = logging.getLogger(__name__)

KEYS_MAX: Final = 500
"""Asked for at once."""
PIECE_MAX: Final = 8 * 1024 * 1024
"""Bytes of a body that travel at once."""
BUSY_S: Final = 0.3
"""After so long a master is asked again that still goes through its files."""


AskDates = Callable[[Sequence[bytes]], Awaitable[dict[bytes, str]]]


class _Dates(Struct):
    busy: bool
    dates: dict[str, str] = {}


class _PagePiece(Struct):
    known: bool
    url: str = ""
    status: int = 0
    head: str = ""
    body: str = ""
    size: int = 0
    truncated: str = ""
    trouble: str = ""


_DATES = Decoder(_Dates)
_PIECE = Decoder(_PagePiece)


class PageSearch:
    """``shelf``: what this machine has."""

    def __init__(self, peers: Peers, shelf: Shelf) -> None:
        self._peers = peers
        self._shelf = shelf
        self._lanes: dict[tuple[NodeId, int, bool], _DateLane] = {}
        self._tasks = Tasks()

    async def page(self, question: SeekPage) -> PageTold:
        """Answers a slave."""
        try:
            at = NodeId(question.at) or await self._last(question.job, question.key)
            if not at:
                return self._nowhere(question.number)
            piece = await self._piece(at, question)
            head, body = b64decode(piece.head), b64decode(piece.body)
        except P2PCrawlError as error:
            return PageTold(question.number, trouble=str(error), away=True)
        except ValueError as error:
            return PageTold(question.number, trouble=f"it was told in a way that makes no sense ({error})", away=True)
        if not piece.known or (_has_failed(piece.status) and self._peers.missing()):
            # A page that had to be asked for again may have its last answer on a machine that is away.
            return self._nowhere(question.number)
        if piece.trouble:
            return PageTold(question.number, trouble=piece.trouble)
        return PageTold(question.number, at, piece.url, piece.status, head, body, piece.size, piece.truncated)

    async def here(self, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answers the searches of other masters. Raises ConfigurationError, ValueError for what none asks."""
        if what == "raw-dates":
            keys, again = keys_told(arguments["keys"][:KEYS_MAX]), arguments.get("again") is True
            found = await self._shelf.dates(int(arguments["job"]), keys, again=again)
            if found is None:
                return {"busy": True}
            return {"busy": False, "dates": {key.hex(): date for key, date in found.items()}}
        key, limit, offset = bytes.fromhex(arguments["key"]), int(arguments["limit"]), int(arguments["offset"])
        return await self._piece_here(key, limit, offset)

    WORDS: Final = frozenset({"raw-dates", "raw-page"})

    async def close(self) -> None:
        await self._tasks.close()
        await self._shelf.close()

    # -- inside -------------------------------------------------------------------------------

    def _nowhere(self, number: int) -> PageTold:
        missing = [member.id[:8] for member in self._peers.missing()]
        if missing:
            told = f"no answer to it is on a machine that is here; {', '.join(missing)} is away"
            return PageTold(number, trouble=told, away=True)
        return PageTold(number)

    async def _last(self, job: int, key: bytes) -> NodeId:
        """Returns the master with the last answer; "" where no machine has one. Raises P2PCrawlError where one does not
        answer that is there, for it may have a later one than the others, and where nobody has one, and somebody has
        come who was not asked."""
        # Where several are as late, it is read here if it can be: this master comes first.
        nodes = [self._peers.me, *(member.id for member in self._peers.others())]
        for again in (False, True):
            dates = await asyncio.gather(*(self._lane(node, job, again).date(key) for node in nodes))
            if last := max(dates):
                return nodes[dates.index(last)]
        if come := [member.id[:8] for member in self._peers.others() if member.id not in nodes]:
            # It was missing when the others were asked, and is not any more.
            raise P2PCrawlError(f"it is stored on no machine that was asked; {', '.join(come)} has come meanwhile")
        return NodeId("")

    def _lane(self, node: NodeId, job: int, again: bool) -> _DateLane:
        lane = self._lanes.get((node, job, again))
        if lane is None:
            ask = partial(self._dates, node, job, again)
            lane = self._lanes[node, job, again] = _DateLane(ask, self._tasks)
        return lane

    async def _dates(self, node: NodeId, job: int, again: bool, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Asks a master when it has stored answers. Raises P2PCrawlError."""
        while True:
            if node == self._peers.me:
                found = await self._shelf.dates(job, keys, again=again)
            else:
                asked = {"job": job, "keys": [key.hex() for key in keys], "again": again}
                told = await self._peers.query(node, "ask:raw-dates", asked, _DATES)
                found = None if told.busy else {bytes.fromhex(key): date for key, date in told.dates.items()}
            if found is not None:
                return found
            await asyncio.sleep(BUSY_S)

    async def _piece(self, node: NodeId, question: SeekPage) -> _PagePiece:
        if node == self._peers.me:
            return _PagePiece(**await self._piece_here(question.key, question.limit, question.offset))
        asked = {"key": question.key.hex(), "limit": question.limit, "offset": question.offset}
        return await self._peers.query(node, "ask:raw-page", asked, _PIECE, ASK_S)

    async def _piece_here(self, key: bytes, limit: int, offset: int) -> dict[str, Any]:
        try:
            page = await self._shelf.page(key, limit)
        except StorageError as error:
            return {"known": True, "trouble": str(error)}
        if page is None:
            return {"known": False}
        return {
            "known": True,
            "url": page.url,
            "status": page.status,
            "head": b64encode(page.head).decode() if not offset else "",
            "body": b64encode(page.body[offset : offset + PIECE_MAX]).decode(),
            "size": len(page.body),
            "truncated": page.truncated,
        }


def _has_failed(status: int) -> bool:
    """Tells whether an answer is one after which a page is asked for again."""
    return status == 429 or status >= 500


class _DateLane:
    """The requests that wait to be asked for at one master, for one job."""

    def __init__(self, ask: AskDates, tasks: Tasks) -> None:
        self._dates = ask
        self._tasks = tasks
        self._waiting: dict[bytes, list[asyncio.Future[str]]] = {}
        self._asking = False

    def date(self, key: bytes) -> asyncio.Future[str]:
        """Answers when that master stored its last answer; "" where it has none. Raises P2PCrawlError.

        Not a coroutine: each page that is sought asks all masters, and would have a task for each.
        """
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(told)
        if not self._asking:
            self._asking = True
            self._tasks.start(self._ask())
        return told

    async def _ask(self) -> None:
        try:
            while self._waiting:
                keys = list(self._waiting)[:KEYS_MAX]
                waiting = {key: self._waiting.pop(key) for key in keys}
                try:
                    dates = await self._dates(keys)
                except P2PCrawlError as error:
                    _tell(waiting, error)
                except Exception as error:
                    # Whoever waits is not to wait for ever.
                    log.exception("it cannot be found out when pages were stored")
                    _tell(waiting, P2PCrawlError(f"it cannot be found out when it was stored ({error})"))
                else:
                    _tell(waiting, dates)
        finally:
            self._asking = False


def _tell(waiting: dict[bytes, list[asyncio.Future[str]]], told: dict[bytes, str] | P2PCrawlError) -> None:
    for key, each in waiting.items():
        for future in each:
            if future.done():
                continue
            if isinstance(told, P2PCrawlError):
                future.set_exception(told)
            else:
                future.set_result(told.get(key, ""))
