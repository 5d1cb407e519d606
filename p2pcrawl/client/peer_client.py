"""A cluster for scripts that are no part of it, through the API of any of its peers.

    async with Client("10.0.0.5:7180") as cluster:
        job = await cluster.submit("news.py:News")
        async for item in job.items():
            ...

Calls are signed as those of the command line are: the token itself never leaves the script.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self, cast
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from p2pcrawl.client.peer_access import NONCE_PATH, NeedsToken, PeerAccess, api_address
from p2pcrawl.client.remote import ANSWER_MAX, CALL_S, PEER_VARIABLE, PIECE, Remote
from p2pcrawl.client.remote_job import RemoteJob
from p2pcrawl.client.remote_schedule import RemoteSchedule
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.peer.answers.cluster_parts import BucketsAnswer, GroupsAnswer
from p2pcrawl.peer.answers.submission import submission_asked_for
from p2pcrawl.peer.api.table.answer_shapes import JobAnswer, KnownMember, OwnerAnswer, StatusAnswer, WhyAnswer
from p2pcrawl.peer.figures.host_changes import HostChanged
from p2pcrawl.peer.figures.hosts_told import HostAnswer, HostsAnswer
from p2pcrawl.peer.figures.reasons_told import ReasonsAnswer
from p2pcrawl.peer.figures.statistics_told import StatisticsAnswer
from p2pcrawl.peer.news.events import EventLine
from p2pcrawl.peer.schedules.schedule_calls import ScheduleAnswer
from p2pcrawl.peer.watching.overview import OverviewAnswer
from p2pcrawl.peer.watching.past import HistoryAnswer
from p2pcrawl.peer.watching.warning_lines import WarningsAnswer
from p2pcrawl.spiders.spider import Spider

log = logging.getLogger(__name__)

EVENT_QUIET_S: Final = 45.0
"""A stream of events says something every 15 s; one that is silent for so long is dead."""
AGAIN_S: Final = 1.0
_KEEP: Final[Any] = object()


class Client:
    """A cluster as seen from outside, from ``__aenter__`` to ``__aexit__``.

    All methods raise ConfigurationError where the call itself cannot be (``NotThere`` for a job that there is not,
    ``NotNow`` for what cannot be done as it stands), and P2PCrawlError where no answer was to be had.
    """

    def __init__(
        self,
        address: str = "",
        *,
        token: str = "",
        token_file: str | Path | None = None,
        patience_s: float = CALL_S,
    ) -> None:
        """``address``: of the API of any peer; else that in P2PCRAWL_PEER, or of a peer of yours on this machine.
        ``token``, or the file that it is in: else that in P2PCRAWL_TOKEN, or of that peer of yours. One for reading
        will do for whoever changes nothing.
        """
        self._typed = address
        self._token = token
        self._token_file = Path(token_file) if token_file is not None else None
        self._patience_s = patience_s
        self._signs = False
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        address = await asyncio.to_thread(self._find)
        self._access = PeerAccess(address, self._token_file, self._token)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._patience_s, sock_read=self._patience_s)
        self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @property
    def address(self) -> Address:
        """The API that is asked."""
        return self._access.address

    # -- the cluster --------------------------------------------------------------------------

    async def status(self) -> StatusAnswer:
        """Describes the cluster as the asked peer sees it."""
        return cast(StatusAnswer, await self.ask("/v1/status"))

    async def overview(self, *, jobs: int = 50, hosts: int = 20) -> OverviewAnswer:
        """Shows the whole cluster in one small answer, which may be asked for every second."""
        return cast(OverviewAnswer, await self.ask("/v1/overview", jobs=jobs, hosts=hosts))

    async def members(self) -> list[KnownMember]:
        """Lists the masters that count."""
        return cast(list[KnownMember], (await self.ask("/v1/members"))["members"])

    async def groups(self) -> GroupsAnswer:
        """Lists the masters with the slaves that each leads."""
        return cast(GroupsAnswer, await self.ask("/v1/groups"))

    async def buckets(self) -> BucketsAnswer:
        """Tells which masters have which buckets, and what is moving."""
        return cast(BucketsAnswer, await self.ask("/v1/buckets"))

    async def hosts(self, *, limit: int = 20, sort: str = "depth", find: str = "") -> HostsAnswer:
        """Lists the first hosts of all jobs: what is queued, who owns each, and why it is slow."""
        return cast(HostsAnswer, await self.ask("/v1/hosts", limit=limit, sort=sort, find=find))

    async def host(self, host: str) -> HostAnswer:
        """Describes one host in detail."""
        return cast(HostAnswer, await self.ask(f"/v1/hosts/{quote(host, safe='')}"))

    async def change_host(self, host: str, *, delay_s: float | None = _KEEP, paused: bool = _KEEP) -> HostChanged:
        """Changes how far apart requests to a host are (None: as its jobs have it), or pauses it, in all jobs."""
        given = {"delay_s": delay_s, "paused": paused}
        body = {name: value for name, value in given.items() if value is not _KEEP}
        return cast(HostChanged, await self.change("PATCH", f"/v1/hosts/{quote(host, safe='')}", body))

    async def statistics(self, *, by: str = "hour") -> StatisticsAnswer:
        """Adds up the work on all jobs, by hour, day, host or error."""
        return cast(StatisticsAnswer, await self.ask("/v1/statistics", by=by))

    async def reasons(self, *, limit: int = 3) -> ReasonsAnswer:
        """Tells why pages and links of all jobs are not among the results, with so many examples of each reason."""
        return cast(ReasonsAnswer, await self.ask("/v1/reasons", limit=limit))

    async def history(self, *, minutes: int = 180) -> HistoryAnswer:
        """Tells the figures of the last minutes over time, added up over all masters."""
        return cast(HistoryAnswer, await self.ask("/v1/history", minutes=minutes))

    async def warnings(self, *, limit: int = 100) -> WarningsAnswer:
        """Lists the last lines of all masters' logs that warn of something."""
        return cast(WarningsAnswer, await self.ask("/v1/warnings", limit=limit))

    async def owner(self, url: str, *, key: str = "host") -> OwnerAnswer:
        """Tells who owns a URL, and why."""
        return cast(OwnerAnswer, await self.ask("/v1/urls/owner", url=url, key=key))

    async def why(self, url: str) -> WhyAnswer:
        """Tells what became of a URL, and why."""
        return cast(WhyAnswer, await self.ask("/v1/urls/why", url=url))

    async def events(self, *, after: str = "") -> AsyncIterator[EventLine]:
        """Yields what happens in the cluster, for ever: each event with its ``id``, ``kind``, time and details. It goes
        on after the event of the id ``after``, or from now on. A connection that is lost is made again, and goes on
        where it was; only the first one has to succeed.
        """
        place, heard = after, False
        while True:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": place} if place else {})}
            try:
                async with self._streamed("/v1/events", headers, EVENT_QUIET_S) as lines:
                    heard = True
                    async for event in _server_sent(lines):
                        place = event.get("id", place)
                        if len(event) > 1:
                            yield cast(EventLine, event)
            except ConfigurationError:
                raise
            except P2PCrawlError as error:
                if not heard:
                    raise
                log.info("the events of %s stopped (%s): asking again", self.address, error)
            await asyncio.sleep(AGAIN_S)

    # -- jobs ---------------------------------------------------------------------------------

    async def submit(
        self,
        target: type[Spider] | str,
        *,
        settings: Mapping[str, Any] | None = None,
        arguments: Mapping[str, str] | None = None,
        output: str | Sequence[str] = (),
        name: str = "",
    ) -> RemoteJob:
        """Hands a crawl to the cluster; it is durable there when this returns. ``target``: a URL, a spider's class, or
        where that is (``file.py``, ``file.py:Class``, ``package.module:Class``). ``name``: what to call the job.
        ``output``: the addresses of databases, object stores and the like, into which masters bring its items.
        """
        submission = submission_asked_for(target, settings, arguments, output, name)
        answer = await self.change("POST", "/v1/jobs", submission.plain())
        return self.job(int(answer["job"]))

    async def jobs(self) -> list[JobAnswer]:
        """Lists all jobs, each counted over all masters."""
        return cast(list[JobAnswer], (await self.ask("/v1/jobs"))["jobs"])

    def job(self, called: int | str) -> RemoteJob:
        """Returns a job by its number or how it begins, its name, or ``last``; nobody is asked yet whether there is
        one.
        """
        return RemoteJob(self, called)

    # -- schedules ----------------------------------------------------------------------------

    async def add_schedule(
        self,
        name: str,
        cron: str,
        target: type[Spider] | str,
        *,
        zone: str = "UTC",
        overlap: str = "skip",
        missed: str = "once",
        keep: int = 0,
        replace: bool = False,
        settings: Mapping[str, Any] | None = None,
        arguments: Mapping[str, str] | None = None,
        output: str | Sequence[str] = (),
    ) -> RemoteSchedule:
        """Lets the cluster submit a crawl again and again, at the moments of a cron expression in a time zone; what it
        is is told as to :meth:`submit`. ``overlap`` (skip, queue, allow): what becomes of a run while an earlier one is
        not over; ``missed`` (once, skip): of those for which nobody was there; ``keep``: the jobs of so many last runs
        stay, 0: all.
        """
        crawl = submission_asked_for(target, settings, arguments, output, "").plain()
        more = {"replace": replace, "overlap": overlap, "keep": keep}
        return await self._schedule({"crawl": crawl}, name, cron, zone, missed, **more)

    async def add_injection(
        self,
        name: str,
        cron: str,
        job: str,
        urls: Iterable[str],
        *,
        zone: str = "UTC",
        missed: str = "once",
        replace: bool = False,
    ) -> RemoteSchedule:
        """Lets the cluster put URLs into a job again and again: into the one that is called so at each time."""
        fed = {"job": job, "urls": list(urls)}
        return await self._schedule({"inject": fed}, name, cron, zone, missed, replace=replace)

    async def _schedule(
        self, task: dict[str, Any], name: str, cron: str, zone: str, missed: str, **more: object
    ) -> RemoteSchedule:
        body = {"name": name, "cron": cron, "zone": zone, "missed": missed, **more, **task}
        await self.change("POST", "/v1/schedules", body)
        return self.schedule(name)

    async def schedules(self) -> list[ScheduleAnswer]:
        """Lists all schedules, with their last runs."""
        return cast(list[ScheduleAnswer], (await self.ask("/v1/schedules"))["schedules"])

    def schedule(self, name: str) -> RemoteSchedule:
        """Returns a schedule by its name; nobody is asked yet whether there is one."""
        return RemoteSchedule(self, name)

    # -- calls, also those that have no method here -------------------------------------------

    async def ask(self, path: str, **query: object) -> Any:
        """Asks a question of the API, and returns its JSON answer."""
        target = path + ("?" + urlencode(query) if query else "")
        if not self._signs:
            try:
                return await self._call("GET", target)
            except NeedsToken:
                self._signs = True
        return await self._call("GET", target, None, await self._signed("GET", target))

    async def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Makes a call that changes something, and returns its JSON answer."""
        data = json.dumps(body).encode() if body is not None else b""
        headers = {**await self._signed(method, path, data), "Content-Type": "application/json"}
        return await self._call(method, path, data, headers)

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Yields the lines of an answer that is streamed. Raises P2PCrawlError when it is cut short."""
        async with self._streamed(path, {}, self._patience_s) as lines:
            async for line in lines:
                if line:
                    yield line

    # -- inside -------------------------------------------------------------------------------

    def _find(self) -> Address:
        if self._typed:
            return api_address(self._typed)
        return Remote.find(os.environ.get(PEER_VARIABLE), self._token_file).address

    async def _signed(self, method: str, target: str, body: bytes = b"") -> dict[str, str]:
        told = await self._call("GET", NONCE_PATH)
        return await asyncio.to_thread(self._access.signed, told, method, target, body)

    async def _call(
        self, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Any:
        async with self._sent(method, target, body, headers, self._patience_s) as response:
            said = bytearray()
            async for piece in response.content.iter_chunked(PIECE):
                said += piece
                if len(said) > ANSWER_MAX:
                    raise self._access.stranger()
        return self._access.answer(bytes(said))

    @asynccontextmanager
    async def _streamed(
        self, target: str, headers: dict[str, str], quiet_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        signed = await self._signed("GET", target) if self._signs else {}
        try:
            async with self._sent("GET", target, None, {**headers, **signed}, quiet_s, bool(signed)) as response:
                yield self._split(response)
        except NeedsToken:
            self._signs = True
            async with self._streamed(target, headers, quiet_s) as lines:
                yield lines

    async def _split(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in response.content.iter_chunked(PIECE):
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > ANSWER_MAX:
                raise self._access.stranger()
            for line in lines:
                yield line
        if rest:
            raise self._access.cut_short()

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str] | None,
        quiet_s: float,
        signed: bool | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Makes a call, and gives the answer if it is one; all errors of the connection become those of the crawler."""
        if self._session is None:
            raise ConfigurationError("use the client as `async with Client(...) as cluster:`")
        url = URL(f"http://{self.address}{target}", encoded=True)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._patience_s, sock_read=quiet_s)
        begun = False
        try:
            async with self._session.request(
                method, url, data=body, headers=headers, allow_redirects=False, timeout=timeout
            ) as response:
                if response.status != 200:
                    said = await response.content.read(PIECE)
                    raise self._access.refusal(
                        response.status, said, signed=bool(headers) if signed is None else signed
                    )
                begun = True
                yield response
        except TimeoutError as error:
            raise self._access.silent(quiet_s) from error
        except aiohttp.ClientOSError as error:
            raise self._access.cut_short() if begun else self._access.unreachable(error) from error
        except aiohttp.ClientError as error:
            raise self._access.cut_short() if begun else self._access.no_http() from error


async def _server_sent(lines: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Reads server-sent events: each as its data, with its ``id``."""
    event: dict[str, Any] = {}
    async for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r")
        name, _, value = line.partition(":")
        match name:
            case "" if not line:
                if event:
                    yield event
                event = {}
            case "id":
                event["id"] = value.removeprefix(" ")
            case "data":
                told = json.loads(value)
                event |= told if isinstance(told, dict) else {"data": told}
