"""A peer of a cluster, for scripts and for the command line.

    async with Peer(join=["10.0.0.5:7117"]) as peer:
        job = await peer.submit(MySpider)
        await job.wait()

As a master it owns buckets and leads slaves; as a slave it lends its processes to the least loaded master. With
``role="auto"`` it becomes what the cluster needs, and changes when that changes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any, Self

from msgspec.json import Decoder

from p2pcrawl.core.control import CANCEL, ENDS, PAUSE, RESUME, RETRY
from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.key_directory import KeyDirectory
from p2pcrawl.frontier.database.schema import OURS, FolderLock
from p2pcrawl.model.cluster.node import BOOT_BYTES, Address, NodeId, parse_address
from p2pcrawl.model.errors import (
    ConfigurationError,
    CopiedIdentity,
    LinkError,
    Mismatch,
    OtherCluster,
    P2PCrawlError,
)
from p2pcrawl.model.reason_choice import pages_named
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.door import decoded
from p2pcrawl.overlay.identity_file import load_or_create
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.answers.results import Gathering
from p2pcrawl.peer.answers.submission import Submission, submission_asked_for
from p2pcrawl.peer.api.last_port import keep_port, last_port
from p2pcrawl.peer.api.routes import Api
from p2pcrawl.peer.api.tokens import TOKEN_FILE, load_or_make_tokens
from p2pcrawl.peer.config import (
    ANY_HOST,
    CHOICES,
    PeerConfig,
    Role,
    chosen,
    is_loopback,
    key_ring,
    read_keys,
)
from p2pcrawl.peer.helper import Helper, members_at
from p2pcrawl.peer.lead import Lead
from p2pcrawl.peer.news.event_stream import Listeners
from p2pcrawl.peer.watching.readiness import Readiness, ReadinessAnswer, reasons_of_disk
from p2pcrawl.private.folders import make_folder
from p2pcrawl.private.presence import Presence, addresses_here
from p2pcrawl.slave.slave import Slave
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.stores.warc.mending import mend
from p2pcrawl.stores.warc.place import WarcPlace

log = logging.getLogger(__name__)

_PAGE = Decoder(dict[str, Any])
"""Of a gathering; see :mod:`p2pcrawl.peer.answers.results`."""

IDENTITY_FILE = "identity"
ROLE_EVERY_S = 2.0
LOOK_AROUND_S = 3.0
"""How long a new ``auto`` peer looks for the cluster before it begins one of its own."""
JOIN_EVERY_S = 2.0
JOIN_TELL_S_MAX = 300.0
"""A peer that reaches nobody says so, more and more rarely."""
SAME_CLUSTER = "--cluster, --ring and --partition must be the same for all peers of a cluster"


class Peer:
    """A peer of a cluster, from ``__aenter__`` to ``__aexit__``. What cannot work is a ConfigurationError from the
    former.
    """

    def __init__(self, config: PeerConfig | None = None, **fields: Any) -> None:
        if "bot_keys" in fields:
            fields["bot_keys"] = tuple(map(Path, fields["bot_keys"]))
        if "join" in fields:
            fields["join"] = tuple(fields["join"])
        for name in ("data", "key_file", "tls_cert", "tls_key", "tls_ca"):
            if fields.get(name) is not None:
                fields[name] = Path(fields[name])
        if isinstance(fields.get("warc"), str | os.PathLike):
            fields["warc"] = WarcPlace(Path(fields["warc"]))
        fields |= {name: chosen(name, fields[name]) for name in CHOICES if name in fields}
        self.config = replace(config or PeerConfig(), **fields)
        self.config.validate()
        self.errors_to: int | None = None
        """The file descriptor that slave processes get as standard error, if not this process's."""
        self._temporary: str | None = None
        self._lead: Lead | None = None
        self._helper: Helper | None = None
        self._lock: FolderLock | None = None
        self._presence = Presence()
        self._opened = AsyncExitStack()
        """What was opened is closed in the opposite order, however far the opening came."""
        self._listeners = Listeners(self.ask)
        self._watches: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()
        self._failure: BaseException | None = None

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        config = self.config
        host, port = config.listen_on()
        far = not is_loopback(host) or host in ANY_HOST
        if host in ANY_HOST and not config.advertise:
            raise ConfigurationError(
                f"with --bind {config.bind} others must be told where to reach this peer: add --advertise host:port"
            )
        if far and not config.data:
            log.info("no --data folder: what this peer holds is gone when it stops")
        self._contacts = config.contacts()
        far = far or any(not is_loopback(parse_address(a)[0]) for a in self._contacts)
        tls = config.tls_contexts()
        ring = key_ring(config, off_loopback=far)
        if config.warc is not None:
            config.warc.make()
        self.folder = config.data or Path(self._make_temporary())
        try:
            try:
                make_folder(self.folder, OURS)
            except (FileExistsError, NotADirectoryError) as error:
                text = f"cannot use the data folder {self.folder}: it, or what it is in, is a file"
                raise ConfigurationError(text) from error
            identity = load_or_create(self.folder / IDENTITY_FILE)
            self._credentials = Credentials(identity, ring, config.realm, os.urandom(BOOT_BYTES), tls)
            self._caller = Caller(self._credentials.client)
            self._opened.callback(self._caller.close)
            self._opened.push_async_callback(self._close_role)
            self.token, read_token = load_or_make_tokens(self.folder)
            self._listen = (host, port)
            keys = [BotKey.read(path.expanduser()) for path in config.bot_keys]
            self._api = Api(
                self,
                self.token,
                (self.folder / TOKEN_FILE).absolute(),
                KeyDirectory(keys, config.bot_agent) if keys else None,
                read_token=read_token,
            )
            self._opened.push_async_callback(self._api.close)
            await self._api.open(*config.api_on(last_port(self.folder)))
            if not config.api:
                keep_port(self.folder, self._api.address)
            if await self._should_lead():
                await self._become_master()
            else:
                await self._become_slave()
        except OSError as error:
            await self.__aexit__()
            raise ConfigurationError(f"cannot use the data folder {self.folder}: {error.strerror}") from error
        except BaseException:
            await self.__aexit__()
            raise
        self._watches = [asyncio.create_task(self._watch_roles()), asyncio.create_task(self._keep_joining())]
        self._list_presence()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._presence.close()
        await end(self._watches)
        await self._opened.aclose()
        if self.config.warc is not None:
            # Whatever slaves had no time to end.
            await asyncio.to_thread(mend, self.config.warc.folder)
        self._unlock()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    async def wait(self) -> None:
        """Waits for ``stop``. Raises what made going on impossible."""
        await self._stopped.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._stopped.set()

    def abort(self) -> None:
        """Does what must be done before the process ends at once, without leaving the cluster."""
        self._presence.close()
        if self._helper is not None:
            self._helper.abort()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def reload_keys(self) -> tuple[str, ...]:
        """Reads the cluster's keys again; their ids, the one in use first. ConfigurationError: nothing changed."""
        text = read_keys(self.config)
        if text is None:
            raise ConfigurationError("there is no key file to read again")
        self._credentials.keys.reload(text)
        if self._lead is not None:
            self._lead.secrets.renew()
        ids = self._credentials.keys.ids
        log.info("cluster keys: %s, the first one in use", ", ".join(ids))
        return ids

    @property
    def id(self) -> NodeId:
        return self._credentials.identity.node_id

    @property
    def address(self) -> Address:
        """The address where other peers reach this one; for a slave, the master that it helps."""
        if self._lead is not None:
            return self._lead.address
        return self._helper.master if self._helper is not None else Address("")

    @property
    def api(self) -> Address:
        return self._api.address

    @property
    def role(self) -> str:
        return "master" if self._lead is not None else "slave"

    # -- what users do with it ----------------------------------------------------------------

    async def submit(
        self,
        target: type[Spider] | str,
        *,
        settings: Mapping[str, Any] | None = None,
        arguments: Mapping[str, str] | None = None,
        output: str | Sequence[str] = (),
        name: str = "",
    ) -> PeerJob:
        """Hands a crawl to the cluster; it is durable there when this returns. ``name``: what to call it.
        ``output``: the addresses of databases, object stores and the like, into which the masters bring its items.
        Raises ConfigurationError where one of these cannot be used.
        """
        submission = submission_asked_for(target, settings, arguments, output, name)
        answer = await self.tell("submit", submission.plain())
        return PeerJob(self, int(answer["job"]))

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Answers a question of a face; a slave passes it on to its master."""
        if what == "ready":
            return self._ready()
        if self._lead is not None:
            answer = await self._lead.ask(what, arguments)
        else:
            answer = json.loads(await self._pass_on(f"ask:{what}", arguments))
        if what == "status":
            api = self._api.counters()
            answer["peer"] = {"role": self.role, "api": self.api, "address": self.address, "connections": api}
        if what == "overview":
            answer["asked"] = {"id": self.id, "role": self.role, "api": self.api}
        return answer

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        """Does something; a slave passes it on to its master."""
        if what == "drain":
            self._stopped.set()
            return {"drain": True}
        if what == "keys":
            return {"keys": list(self.reload_keys())}
        if what == "submit":
            arguments = Submission.read(arguments).plain()
        if self._lead is not None:
            return await self._lead.tell(what, arguments)
        return json.loads(await self._pass_on(f"tell:{what}", arguments))

    async def results(self, job: int | str) -> AsyncIterator[bytes]:
        """Yields the items of a job, from all masters, as JSON Lines."""
        if self._lead is not None:
            async for piece in self._lead.results(job):
                yield piece
            return
        number = int((await self.ask("known", {"job": job}))["job"])
        async for piece in Gathering(number, self._masters, self._pages_of).pieces():
            yield piece

    async def pages(self, job: int | str) -> AsyncIterator[bytes]:
        """Yields the pages of a job that have items, from all masters, each as a line of JSON."""
        if self._lead is not None:
            gathered = self._lead.pages(job)
        else:
            number = int((await self.ask("known", {"job": job}))["job"])
            gathered = Gathering(number, self._masters, self._pages_of).pages()
        async for pages in gathered:
            yield b"".join(page.json() for page in pages)

    async def outside(self, job: int | str, reason: str = "") -> AsyncIterator[bytes]:
        """Yields the pages of a job that failed or were dropped, for a reason or for any, as lines of JSON."""
        if self._lead is not None:
            pieces = self._lead.outside(job, reason)
        else:
            pages_named(reason)
            number = int((await self.ask("known", {"job": job}))["job"])
            pieces = Gathering(number, self._masters, partial(self._gathered_from, "outside-here", reason)).pieces()
        async for piece in pieces:
            yield piece

    async def read(self, job: int | str) -> AsyncIterator[bytes]:
        """Yields the pages of a job that its callbacks got, as lines of JSON."""
        if self._lead is not None:
            pieces = self._lead.read(job)
        else:
            number = int((await self.ask("known", {"job": job}))["job"])
            pieces = Gathering(number, self._masters, partial(self._gathered_from, "crawled", "")).pieces()
        async for piece in pieces:
            yield piece

    async def stream(self, what: str, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
        """Answers a question of a face in pieces, as they come."""
        match what:
            case "items":
                pieces = self.results(arguments["job"])
            case "pages":
                pieces = self.pages(arguments["job"])
            case "read":
                pieces = self.read(arguments["job"])
            case "outside":
                pieces = self.outside(arguments["job"], str(arguments.get("reason", "")))
            case "metrics":
                pieces = self._metrics()
            case "events":
                pieces = self._listeners.stream(str(arguments.get("after", "")))
            case _:
                raise ConfigurationError(f"there is no question {what!r}")
        async for piece in pieces:
            yield piece

    async def _metrics(self) -> AsyncIterator[bytes]:
        """Yields the metrics of this peer, in one piece."""
        version = package_version("p2pcrawl")
        if self._lead is not None:
            yield await self._lead.metrics(version)
        else:
            # Loaded when somebody asks for them.
            from p2pcrawl.peer.watching.metrics import rendered

            yield rendered("slave", version, None)

    async def _masters(self) -> list[Address]:
        """Returns the addresses of all masters, for a slave, which asks every one itself."""
        members = await self._members()
        if members is None:
            raise LinkError("no master answers")
        return [Address(member["address"]) for member in members]

    async def _pages_of(self, address: Address, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._gathered_from("pages", "", address, arguments)

    async def _gathered_from(
        self, question: str, reason: str, address: Address, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        what, arguments = f"ask:{question}", {**arguments, **({"reason": reason} if reason else {})}
        return decoded(address, what, await self._caller.query(address, what, json.dumps(arguments).encode()), _PAGE)

    def _ready(self) -> ReadinessAnswer:
        """Tells whether this peer does its part of the work."""
        if self._stopped.is_set():
            return {"ready": False, "reasons": ["this peer leaves the cluster"]}
        if self._lead is not None:
            return self._lead.readiness.answer()
        if self._helper is None:
            return {"ready": False, "reasons": ["this peer is starting"]}
        return Readiness(self._helper.reasons, partial(reasons_of_disk, self.folder)).answer()

    # -- roles --------------------------------------------------------------------------------

    async def _should_lead(self) -> bool:
        """Raises ConfigurationError when the cluster will never let this peer in."""
        role = self.config.role
        members = await self._look_around(LOOK_AROUND_S if role is Role.AUTO else 0.0) if self.config.join else []
        if members is not None:
            await self._check_identity(members)
        elif role is not Role.SLAVE:
            begins = "this peer begins alone" if role is Role.MASTER else "this peer begins as a master"
            log.warning("nobody answers at %s yet; %s and keeps trying", ", ".join(self.config.join), begins)
        if role is not Role.AUTO:
            return role is Role.MASTER
        return members is None or len(members) < self.config.masters

    async def _look_around(self, patience_s: float) -> list[dict[str, Any]] | None:
        """Asks who is there. Returns the living masters; None when nobody answers for that long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + patience_s
        while True:
            members = await self._members()
            if members is not None or loop.time() >= until:
                return members
            await asyncio.sleep(0.3)

    async def _check_identity(self, members: list[dict[str, Any]]) -> None:
        """Raises ConfigurationError when another process has a copy of this data folder. A member with our own id may
        also be a memory of this peer.
        """
        for address in [member["address"] for member in members if member["id"] == self.id]:
            try:
                await self._caller.query(address, "ask:members", timeout_s=3.0)
            except CopiedIdentity as error:
                raise ConfigurationError(f"{address}: {error}") from error
            except LinkError as error:
                log.debug("%s: %s", address, error)

    async def _keep_joining(self) -> None:
        """Looks up the names to join again, and says how it stands; gossip tries to join by itself."""
        tell_s = JOIN_EVERY_S
        quiet_until = asyncio.get_running_loop().time() + tell_s
        while self.config.join and self._lead is not None and len(self._lead.node.members()) < 2:
            await asyncio.sleep(JOIN_EVERY_S)
            contacts = [c for c in await asyncio.to_thread(self.config.contacts) if c != self.address]
            if self._lead is not None and (fresh := [c for c in contacts if c not in self._contacts]):
                self._contacts += fresh
                self._lead.node.gossip.join(fresh)
            if asyncio.get_running_loop().time() < quiet_until:
                continue
            reason = "nobody answers"
            try:
                if contacts and await self._members() is not None:
                    continue
            except ConfigurationError as error:
                reason = str(error)
            log.warning("not joined yet through %s: %s; trying again", ", ".join(self.config.join), reason)
            tell_s = min(JOIN_TELL_S_MAX, 2 * tell_s)
            quiet_until = asyncio.get_running_loop().time() + tell_s

    async def _members(self) -> list[dict[str, Any]] | None:
        """Returns the living masters, as any contact tells; None when nobody answers. Raises for a wrong key or
        name.
        """
        known = list(self._contacts)
        if self._helper is not None:
            known = [*self._helper.known, *known]
        refusal = None
        for address in dict.fromkeys(known):
            if self._lead is not None and address == self._lead.address:
                continue
            try:
                return await members_at(self._caller, address)
            except Mismatch as error:
                hint = f"; {SAME_CLUSTER}" if isinstance(error, OtherCluster) else ""
                refusal = ConfigurationError(f"{address}: {error}{hint}")
                continue
            except P2PCrawlError as error:
                log.debug("%s: %s", address, error)
        if refusal is not None:
            raise refusal
        return None

    async def _become_master(self) -> None:
        contacts = list(self._contacts)
        if self._helper is not None:
            contacts = [*self._helper.known, *contacts]
            await self._helper.close()
            self._helper = None
        self._unlock()
        lead = Lead(self.config, self._credentials, self.folder, self._api.address, self.errors_to)
        await lead.open(*self._listen)
        self._lead = lead
        lead.join(contacts)
        lead.failed.add_done_callback(self._lead_failed)
        self._list_presence()

    async def _become_slave(self) -> None:
        # A master's frontier locks the folder itself.
        self._lock = FolderLock(self.folder)
        make_slave = partial(Slave, None, peers_here=addresses_here)
        self._helper = Helper(
            self.config, self._credentials, self._caller, list(self._contacts), self.errors_to, make_slave
        )
        await self._helper.open()

    async def _watch_roles(self) -> None:
        """Makes an ``auto`` slave a master when there are too few."""
        if self.config.role is not Role.AUTO:
            return
        while self._helper is not None:
            await asyncio.sleep(ROLE_EVERY_S)
            with suppress(P2PCrawlError):
                members = await self._members()
                if await self._helper.is_needed_as_master(members, self.config.masters):
                    log.info("only %d masters are left: this peer becomes one", len(members or []))
                    await self._become_master()

    def _list_presence(self) -> None:
        """Lists this peer for faces and crawls of this machine."""
        self._presence.close()
        here = [self.api] if self._lead is None else [self.api, self._lead.bound]
        self._presence.open(self.api, (self.folder / TOKEN_FILE).absolute(), here)

    def _lead_failed(self, failed: asyncio.Future[None]) -> None:
        if not failed.cancelled() and (error := failed.exception()) is not None:
            self._failure = error
            self._stopped.set()

    async def _pass_on(self, what: str, arguments: dict[str, Any]) -> bytes:
        if self._helper is None:
            raise P2PCrawlError("this peer is starting; ask again in a moment")
        return await self._caller.query(self._helper.master, what, json.dumps(arguments).encode(), timeout_s=30.0)

    # -- inside -------------------------------------------------------------------------------

    async def _close_role(self) -> None:
        if self._helper is not None:
            await self._helper.close()
        if self._lead is not None:
            await self._lead.close()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _make_temporary(self) -> str:
        self._temporary = tempfile.mkdtemp(prefix="p2pcrawl-peer-")
        return self._temporary


class PeerJob:
    """A job in the cluster."""

    def __init__(self, peer: Peer, number: int) -> None:
        self._peer = peer
        self.id = number

    async def status(self) -> dict[str, Any]:
        """Asks how the job stands, over all masters."""
        answer: dict[str, Any] = await self._peer.ask("job", {"job": self.id})
        return answer

    async def wait(self) -> dict[str, Any]:
        """Waits until the job is finished, cancelled, or incomplete. Returns how it stands then."""
        while True:
            status = await self.status()
            if status["state"] in ENDS:
                return status
            await asyncio.sleep(0.25)

    async def pause(self) -> dict[str, Any]:
        """Begins nothing new, in the whole cluster, until :meth:`resume`. This, as the three below, is a
        ConfigurationError when the job is in no state for it."""
        return await self._steer(PAUSE)

    async def resume(self) -> dict[str, Any]:
        """Goes on."""
        return await self._steer(RESUME)

    async def cancel(self) -> dict[str, Any]:
        """Ends it for good."""
        return await self._steer(CANCEL)

    async def retry(self, *, reason: str = "") -> dict[str, Any]:
        """Visits all failed pages once more; ``retried`` in the answer says how many."""
        return await self._steer(RETRY, **({"reason": reason} if reason else {}))

    async def inject(self, urls: Iterable[str]) -> dict[str, Any]:
        """Puts URLs into the job, as start URLs; they are safe in the cluster when this returns. Those that are known
        change nothing; a job that is finished runs again. Raises ConfigurationError where the job takes none any more.
        """
        answer: dict[str, Any] = await self._peer.tell("inject", {"job": self.id, "urls": list(urls)})
        return answer

    async def set(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Changes settings of the job while it runs, in the whole cluster: its pace, and when it is closed. Raises
        ConfigurationError for those that cannot be changed.
        """
        answer: dict[str, Any] = await self._peer.tell("set", {"job": self.id, "settings": dict(settings)})
        return answer

    async def delete(self, *, force: bool = False) -> dict[str, Any]:
        """Removes the job, which has to be over, from all masters, also from those that are away, when they are back.
        Raises ConfigurationError while it runs, or items of it wait for a sink and this is not to be ``force``d.
        """
        answer: dict[str, Any] = await self._peer.tell("delete", {"job": self.id, "force": force})
        return answer

    async def _steer(self, verb: str, **more: str) -> dict[str, Any]:
        answer: dict[str, Any] = await self._peer.tell(verb, {"job": self.id, **more})
        return answer

    async def items(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the items that the job has brought so far, each once."""
        rest = b""
        async for piece in self._peer.results(self.id):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line:
                    yield json.loads(line)
