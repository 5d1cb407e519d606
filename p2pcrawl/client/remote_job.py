"""A job of a cluster, as a script outside of it has it in hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Protocol, cast
from urllib.parse import urlencode

from p2pcrawl.client.remote import job_path
from p2pcrawl.core.control import CANCEL, ENDS, PAUSE, RESUME, RETRY
from p2pcrawl.peer.answers.board_calls import BoardChanged, BoardsAnswer
from p2pcrawl.peer.api.table.answer_shapes import (
    CertificateAnswer,
    ChangedJob,
    ClearedJob,
    FedJob,
    IdentifiedJob,
    JobAnswer,
    RetriedJob,
    SteeredJob,
)
from p2pcrawl.peer.figures.hosts_told import HostsAnswer
from p2pcrawl.peer.figures.newest import LatestAnswer
from p2pcrawl.peer.figures.reasons_told import ReasonsAnswer
from p2pcrawl.peer.figures.statistics_told import StatisticsAnswer
from p2pcrawl.peer.figures.troubles import ErrorsAnswer

LOOK_S = 0.1
LOOK_MAX_S = 1.0


class ClusterCalls(Protocol):
    """The interface of whoever carries calls to the cluster."""

    async def ask(self, path: str, **query: object) -> Any:
        """Asks a question."""

    async def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Makes a call that changes something."""

    def lines(self, path: str) -> AsyncIterator[bytes]:
        """Yields the lines of an answer."""


class RemoteJob:
    """A job. ``id``: what it was called by, which after a submission is its number."""

    def __init__(self, cluster: ClusterCalls, called: int | str) -> None:
        self._cluster = cluster
        self.id = called

    async def number(self) -> int:
        """Asks for its number."""
        return int(cast(IdentifiedJob, await self._cluster.ask(job_path(self.id, "number")))["job"])

    async def status(self) -> JobAnswer:
        """Counts it over all masters."""
        return cast(JobAnswer, await self._cluster.ask(job_path(self.id)))

    async def wait(self) -> JobAnswer:
        """Waits until it is finished, cancelled or incomplete, and returns how it stands then."""
        pause_s = LOOK_S
        while True:
            status = await self.status()
            if status["state"] in ENDS:
                return status
            await asyncio.sleep(pause_s)
            pause_s = min(LOOK_MAX_S, pause_s * 1.2)

    async def items(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the items that it has brought so far, from all masters, each once."""
        async for line in self._cluster.lines(job_path(self.id, "items")):
            yield json.loads(line)

    async def pages(self) -> AsyncIterator[dict[str, Any]]:
        """Yields its pages that have items, with the items of each."""
        async for line in self._cluster.lines(job_path(self.id, "pages")):
            yield json.loads(line)

    async def latest(self, *, limit: int = 20) -> LatestAnswer:
        """Lists its latest items, the newest first."""
        return cast(LatestAnswer, await self._cluster.ask(job_path(self.id, "latest"), limit=limit))

    async def errors(self, *, limit: int = 3) -> ErrorsAnswer:
        """Tells what failed, by kind, with so many examples of each."""
        return cast(ErrorsAnswer, await self._cluster.ask(job_path(self.id, "errors"), limit=limit))

    async def reasons(self, *, limit: int = 3, reason: str = "") -> ReasonsAnswer:
        """Tells why pages and links are not among its results, with so many examples of each reason; of one, if that is
        named.
        """
        asked = {"limit": limit, **({"reason": reason} if reason else {})}
        return cast(ReasonsAnswer, await self._cluster.ask(job_path(self.id, "reasons"), **asked))

    async def urls(self, reason: str = "") -> AsyncIterator[dict[str, Any]]:
        """Yields its pages that failed or were dropped, for a reason or for any, from all masters, each once."""
        asked = f"?{urlencode({'reason': reason})}" if reason else ""
        async for line in self._cluster.lines(job_path(self.id, "urls") + asked):
            yield json.loads(line)

    async def hosts(self, *, limit: int = 20, sort: str = "depth", find: str = "") -> HostsAnswer:
        """Lists its first hosts."""
        return cast(HostsAnswer, await self._cluster.ask(job_path(self.id, "hosts"), limit=limit, sort=sort, find=find))

    async def statistics(self, *, by: str = "hour") -> StatisticsAnswer:
        """Adds up the work on it, by hour, day, host or error."""
        return cast(StatisticsAnswer, await self._cluster.ask(job_path(self.id, "statistics"), by=by))

    async def certificate(self) -> CertificateAnswer:
        """Shows how it ended, as its masters have signed it. Raises NotNow while it has no certificate."""
        return cast(CertificateAnswer, await self._cluster.ask(job_path(self.id, "certificate")))

    async def pause(self) -> SteeredJob:
        """Begins nothing new of it, in the whole cluster, until :meth:`resume`. This, as those below, raises NotNow
        when the job is in no state for it.
        """
        return await self._steer(PAUSE)

    async def resume(self) -> SteeredJob:
        """Goes on with it."""
        return await self._steer(RESUME)

    async def cancel(self) -> SteeredJob:
        """Ends it for good."""
        return await self._steer(CANCEL)

    async def retry(self, *, reason: str = "", dead_letters: bool = False) -> RetriedJob:
        """Visits its failed pages once more, or those that ended for one reason; or sends the items again that its
        sinks have refused.
        """
        body = {"dead_letters": True} if dead_letters else {"reason": reason} if reason else {}
        return cast(RetriedJob, await self._cluster.change("POST", job_path(self.id, RETRY), body))

    async def inject(self, urls: Iterable[str]) -> FedJob:
        """Puts URLs into it, as start URLs; they are safe in the cluster when this returns."""
        return cast(FedJob, await self._cluster.change("POST", job_path(self.id, "urls"), {"urls": list(urls)}))

    async def clear(self, queue: str, *, restart: bool = False) -> ClearedJob:
        """Drops what is queued of it, as ``index``, as ``detail`` or ``all``; with ``restart`` its entries are visited
        again.
        """
        body = {"queue": queue, "restart": restart}
        return cast(ClearedJob, await self._cluster.change("POST", job_path(self.id, "clear"), body))

    async def set(self, settings: Mapping[str, Any]) -> ChangedJob:
        """Changes settings of it while it runs, in the whole cluster."""
        body = {"settings": dict(settings)}
        return cast(ChangedJob, await self._cluster.change("PATCH", job_path(self.id, "settings"), body))

    async def boards(self) -> BoardsAnswer:
        """Lists its boards, with what each has brought."""
        return cast(BoardsAnswer, await self._cluster.ask(job_path(self.id, "boards")))

    async def add_board(self, name: str, text: str) -> BoardChanged:
        """Adds a board to it while it runs: the text of a ``.toml``. ``name``: the board's, unless its text has one."""
        body = {"file": name, "text": text}
        return cast(BoardChanged, await self._cluster.change("POST", job_path(self.id, "boards"), body))

    async def change_board(self, name: str, text: str) -> BoardChanged:
        """Puts another text in the place of a board's."""
        body = {"file": name, "text": text}
        return cast(BoardChanged, await self._cluster.change("PUT", job_path(self.id, "boards"), body))

    async def remove_board(self, name: str) -> BoardChanged:
        """Takes a board away from it; its items stay."""
        return cast(BoardChanged, await self._cluster.change("DELETE", job_path(self.id, "boards", name)))

    async def delete(self, *, force: bool = False) -> SteeredJob:
        """Removes it, when it is over, from all masters; with ``force`` also while items of it wait for a sink."""
        path = job_path(self.id) + ("?force=true" if force else "")
        return cast(SteeredJob, await self._cluster.change("DELETE", path))

    async def _steer(self, verb: str) -> SteeredJob:
        return cast(SteeredJob, await self._cluster.change("POST", job_path(self.id, verb), {}))
