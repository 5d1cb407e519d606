"""A peer as a master: its frontier, its slaves and its place in the overlay, made one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from p2pcrawl.core.ring import BUCKETS
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.job import Job, certificate_sum
from p2pcrawl.master.master import Master
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.job import JobId, JobSpec
from p2pcrawl.model.node import Address, Member
from p2pcrawl.model.record import ShardKey
from p2pcrawl.model.settings import Settings
from p2pcrawl.model.url import canonical, host_of
from p2pcrawl.overlay.link import Link
from p2pcrawl.overlay.node import Credentials, OverlayNode
from p2pcrawl.peer.config import PeerConfig
from p2pcrawl.peer.submission import Submission, module_digest
from p2pcrawl.slave.slave import Slave
from p2pcrawl.spiders.addresses import checked_url
from p2pcrawl.wire.messages import Hello

log = logging.getLogger(__name__)

RESULT_ROWS = 200
SUBMIT_S = 15.0
LOAD_S = 1.0
OWNER_S = 5.0
DRAIN_S = 10.0
"""How long a master that leaves waits for the others to take its buckets; pages in hand must end first."""
INCARNATION_FILE = "incarnation"


class Lead:
    """One master. ``failed`` gets the error that made going on impossible."""

    def __init__(
        self, config: PeerConfig, credentials: Credentials, folder: Path, api: Address, errors_to: int | None = None
    ) -> None:
        self._config = config
        self._api = api
        self._folder = folder
        slaves = config.slaves if config.slaves is not None else (os.cpu_count() or 1)
        self.master = Master(
            folder,
            Settings(),
            slaves=slaves,
            run_here=_run_here,
            errors_to=errors_to,
            forever=True,
            check_spec=_refusal,
        )
        self._credentials = credentials
        self._tasks: list[asyncio.Task[None]] = []
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self, host: str, port: int) -> None:
        """Opens the data folder and the port. Raises ConfigurationError."""
        await self.master.__aenter__()
        try:
            self.node = OverlayNode(
                self._credentials,
                bytes.fromhex(self.master.store_id),
                self._serve,
                self._slave_came,
                self._happened,
                weight=self._config.weight,
                dice=random.Random(os.urandom(16)),
            )
            self._incarnation = read_incarnation(self._folder)
            await self.node.open(
                host, port, self._config.reached_at(), str(self._api), incarnation=self._incarnation + 1
            )
        except BaseException:
            await self.master.__aexit__()
            raise
        self.cluster = Cluster(self.master, self.node, self._config.copies, self._answer)

    @property
    def address(self) -> Address:
        return self.node.address

    def join(self, contacts: Sequence[Address]) -> None:
        self.node.join([c for c in contacts if c != self.node.address])
        self.cluster.start()
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._tell_load())]

    async def close(self) -> None:
        """Hands the buckets over, as far as others are there to take them, and leaves."""
        if self._tasks and not self.failed.done() and not await self.cluster.drain(DRAIN_S):
            log.debug("left without handing everything over")
        await self.node.leave()
        await self.cluster.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.node.close()
        await self.master.__aexit__()
        if not self.failed.done():
            self.failed.cancel()

    async def _run(self) -> None:
        try:
            await self.master.run()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            log.exception("the master failed")
            if not self.failed.done():
                self.failed.set_exception(error)

    async def _tell_load(self) -> None:
        while True:
            sessions = sum(1 for s in self.master.sessions.values() if s.ready)
            pages = sum(j.counts["pages"] for j in self.master.jobs.values())
            leased = sum(j.leased for j in self.master.jobs.values())
            self.node.membership.load = json.dumps({"slaves": sessions, "pages": pages, "leased": leased}).encode()
            self._note_incarnation()
            await asyncio.sleep(LOAD_S)

    def _note_incarnation(self) -> None:
        """The next start must exceed it, also when nobody who remembers it is there to tell."""
        now = self.node.membership.me.incarnation
        if now != self._incarnation:
            self._incarnation = now
            write_incarnation(self._folder, now)

    # -- what reaches it ----------------------------------------------------------------------

    async def _serve(self, request: Any, sender: Any) -> Any:
        return await self.cluster.serve(request, sender)

    def _slave_came(self, link: Link, hello: Hello) -> None:
        self.master.slaves.take(link, hello)

    def _happened(self, event: Any) -> None:
        self.cluster.happened(event)

    async def _answer(self, what: str, arguments: bytes) -> bytes:
        """What other peers ask for their faces."""
        verb, _, name = what.partition(":")
        try:
            decoded = json.loads(arguments)
        except ValueError as error:
            raise P2PCrawlError(f"the arguments of {what} are not JSON") from error
        if verb == "ask":
            answer = await self.ask(name, decoded)
        elif verb == "tell":
            answer = await self.tell(name, decoded)
        else:
            raise P2PCrawlError(f"this master does not know the question {what!r}")
        return json.dumps(answer).encode()

    # -- questions ----------------------------------------------------------------------------

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        match what:
            case "members":
                return {"members": [self._member(m) for m in self.node.members()]}
            case "status":
                return await self._status()
            case "local":
                return self._local()
            case "jobs":
                return {"jobs": [await self._job(j) for j in self.master.jobs.values()]}
            case "job":
                return await self._job(self._job_of(arguments))
            case "certificate":
                job = self.master.jobs.get(int(arguments["job"]))
                return self._part(job) if job is not None else None
            case "owner":
                return await self._owner(arguments)
            case "results":
                return await self._results_page(self._job_of(arguments), arguments.get("after"))
            case "rows":
                return await self._rows(int(arguments["job"]), int(arguments["after"]))
        raise ConfigurationError(f"there is no question {what!r}")

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        if what == "submit":
            return {"job": await self._submit(Submission.read(arguments))}
        raise ConfigurationError(f"there is no call {what!r}")

    async def _submit(self, submission: Submission) -> int:
        """Durable here and on as many others as the copies ask for, then begun at the owner of its start."""
        spec = replace(submission.spec(), id=JobId(random.SystemRandom().randrange(1, 1 << 52)))
        if refusal := _refusal(spec):
            raise ConfigurationError(refusal)
        self.cluster.starting.add(spec.id)
        try:
            job = await self.master.add_job(spec)
            try:
                async with asyncio.timeout(SUBMIT_S):
                    refusals = await self.cluster.spread(job)
            except TimeoutError:
                text = f"the other masters did not answer in {SUBMIT_S:g} s; the job was not begun"
                self.cluster.withdraw(job, text)
                raise P2PCrawlError(text) from None
            if refusals:
                self.cluster.withdraw(job, refusals[0])
                raise ConfigurationError(refusals[0])
            try:
                async with asyncio.timeout(SUBMIT_S):
                    await self.cluster.begin(job)
            except TimeoutError:
                raise P2PCrawlError(
                    f"job {job.id} is known to all, but nobody has taken its start yet; see `p2pcrawl jobs`"
                ) from None
        finally:
            self.cluster.starting.discard(spec.id)
        return job.id

    def _job_of(self, arguments: dict[str, Any]) -> Job:
        try:
            number = int(arguments.get("job", ""))
        except ValueError as error:
            raise ConfigurationError(f"{arguments.get('job')!r} is not the number of a job") from error
        job = self.master.jobs.get(number)
        if job is None:
            raise ConfigurationError(f"there is no job {number}; `p2pcrawl jobs` lists them")
        return job

    def _member(self, member: Member) -> dict[str, Any]:
        own = member.id == self.node.id
        raw = self.node.membership.load if own else self.node.membership.loads.get(member.id, b"")
        load = json.loads(raw) if raw else {}
        owned = sum(1 for b in range(BUCKETS) if self.cluster.ownership.owner_id(b) == member.id)
        view = self.node.membership.view_digest if own else self.node.membership.views.get(member.id)
        return {
            "id": member.id,
            "address": member.address,
            "api": member.api,
            "state": member.status.name.lower(),
            "incarnation": member.incarnation,
            "weight": member.weight,
            "drained": member.drained,
            "slaves": load.get("slaves", 0),
            "load": load,
            "share": round(owned / BUCKETS, 4),
            "view": f"{view:016x}" if view is not None else "",
        }

    async def _status(self) -> dict[str, Any]:
        known = self.node.membership.members.values()
        members = [self._member(m) for m in sorted(known, key=lambda m: m.id)]
        living = [m for m in members if m["state"] in ("alive", "suspect")]
        warnings = []
        if len(living) < self._config.copies:
            warnings.append(f"only {len(living)} masters live: {self._config.copies} copies cannot be kept")
        return {
            "cluster": self._credentials.cluster,
            "view": f"{self.node.membership.view_digest:016x}",
            "directory": self.node.directory.digest(),
            "members": members,
            "warnings": warnings,
            "here": self._local(),
        }

    def _local(self) -> dict[str, Any]:
        ownership = self.cluster.ownership
        return {
            "id": self.node.id,
            "owned": ownership.owned,
            "syncing": ownership.syncing,
            "handed_over": self.cluster.handovers,
            "links_under_way": self.cluster.dispatch.under_way,
            "slaves": [
                {
                    "session": s.id,
                    "pid": s.pid,
                    "leases": len(s.leases),
                    "rss_mb": s.rss_bytes >> 20,
                    "at": s.link.remote_host or "here",
                }
                for s in self.master.sessions.values()
            ],
            "counters": self.node.counters(),
        }

    async def _job(self, job: Job) -> dict[str, Any]:
        """A job over all masters."""
        parts = [self._part(job)]
        missing = []
        others = [m for m in self.node.members() if m.id != self.node.id]
        asked = json.dumps({"job": job.id}).encode()
        answers = await asyncio.gather(
            *(self.node.caller.query(m.address, "ask:certificate", asked) for m in others), return_exceptions=True
        )
        for member, answer in zip(others, answers, strict=True):
            if isinstance(answer, bytes):
                if (part := json.loads(answer)) is not None:
                    parts.append(part)
            else:
                missing.append(member.id)
        return {
            **certificate_sum([part["certificate"] for part in parts]),
            "masters": {part["master"]: part["certificate"]["pages"] for part in parts},
            "missing": missing,
        }

    def _part(self, job: Job) -> dict[str, Any]:
        return {"master": self.node.id, "certificate": job.certificate()}

    async def _owner(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the owner itself says, so that it is the same from everybody; what is known here if it is silent."""
        answer = self._owner_seen(str(arguments.get("url", "")), str(arguments.get("key", "host")))
        if answer["owner"] == self.node.id or arguments.get("forwarded"):
            return answer
        try:
            asked = json.dumps({**arguments, "forwarded": True}).encode()
            told: dict[str, Any] = json.loads(
                await self.node.caller.query(Address(answer["address"]), "ask:owner", asked, timeout_s=OWNER_S)
            )
        except P2PCrawlError as error:
            return {**answer, "note": f"the owner did not answer ({error}); this is how {self.node.id[:8]} sees it"}
        if told["owner"] != answer["owner"]:
            told["note"] = "the masters do not agree at the moment; ask again in some seconds"
        return told

    def _owner_seen(self, url: str, key: str) -> dict[str, Any]:
        text = canonical(checked_url(url))
        if key not in {k.value for k in ShardKey}:
            raise ConfigurationError(f"a job spreads its URLs by host, domain or url, not by {key!r}")
        bucket = self.master.bucket_of_url(text, key)
        ownership = self.cluster.ownership
        owner = ownership.owner_id(bucket)
        member = self.node.membership.members.get(owner)
        holders = ownership.holders(bucket)
        answer = {
            "url": text,
            "host": host_of(text),
            "key": key,
            "bucket": bucket,
            "owner": owner,
            "address": member.address if member is not None else "",
            "copies": list(holders),
            "view": f"{ownership.view:016x}",
            "why": f"bucket {bucket} of {BUCKETS}: weighted rendezvous over {len(self.node.members())} masters puts "
            f"{owner[:8]} first",
        }
        if owner == self.node.id:
            answer["epoch"] = [ownership.counters[bucket], owner]
            answer["serving"] = ownership.serves(bucket)
            answer["slave"] = self.master.granting.slave_for(host_of(text))
        return answer

    # -- results ------------------------------------------------------------------------------

    async def results(self, job: int) -> AsyncIterator[bytes]:
        """All items of the job, master by master."""
        after: Any = None
        while True:
            page = await self._results_page(self._job_of({"job": job}), after)
            if not page["lines"]:
                return
            yield ("\n".join(page["lines"]) + "\n").encode()
            after = page["after"]

    async def _results_page(self, job: Job, after: Any) -> dict[str, Any]:
        """The next items; ``after`` is [member, row]. Goes through the members in the order of their ids."""
        start, row = after or ["", 0]
        for member in self.node.members():
            if member.id < start:
                continue
            begin = row if member.id == start else 0
            if member.id == self.node.id:
                page = await self._rows(job.id, begin)
            else:
                asked = json.dumps({"job": job.id, "after": begin}).encode()
                page = json.loads(await self.node.caller.query(member.address, "ask:rows", asked))
            if page["lines"]:
                return {"lines": page["lines"], "after": [member.id, page["last"]]}
        return {"lines": [], "after": after}

    async def _rows(self, job: int, after: int) -> dict[str, Any]:
        rows = await self.master.items_from(job, after, RESULT_ROWS)
        lines = [line for _, data in rows for line in data.decode().split("\n")]
        return {"lines": lines, "last": rows[-1][0] if rows else after}


def read_incarnation(folder: Path) -> int:
    """The last one that is known of here; 0 at first."""
    try:
        return int((folder / INCARNATION_FILE).read_text())
    except (FileNotFoundError, ValueError):
        # Without it the cluster still tells what it knows, and that is exceeded.
        return 0


def write_incarnation(folder: Path, incarnation: int) -> None:
    draft = folder / f".{INCARNATION_FILE}.new"
    draft.write_text(str(incarnation))
    draft.replace(folder / INCARNATION_FILE)


async def _run_here(stream: Any) -> None:
    await Slave().run(stream)


def _refusal(spec: JobSpec) -> str:
    """Why this peer cannot run the job; "" when it can."""
    ref = spec.spider
    if ref.module and spec.module_digest and module_digest(ref.module) != spec.module_digest:
        found = module_digest(ref.module)
        return (
            f"module {ref.module} is another one on a peer of the cluster"
            if found
            else f"module {ref.module} is missing on a peer of the cluster"
        ) + "; install the same on all, or submit the spider as a file"
    return ""
