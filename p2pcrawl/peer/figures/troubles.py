"""The failed pages of a job by kind, over all masters: counts, hosts and examples.

It is counted from records, which are on as many masters as there are copies: a death takes nothing away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from msgspec.json import Decoder

from p2pcrawl.frontier.reading.job_errors import errors_of
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import Phase, ShardKey
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.peer.answers.asking import ask_others, whole_number

EXAMPLES = 3
EXAMPLES_MAX = 100
DETAIL_MAX = 500


class FailedPage(TypedDict):
    """A page that failed. ``of_host``: how many pages of its host failed in the same way."""

    url: str
    host: str
    at: int
    status: int
    detail: str
    of_host: int


class FailedKind(TypedDict):
    """The pages that failed for one reason."""

    kind: str
    count: int
    hosts: int
    examples: list[FailedPage]


class ErrorsAnswer(TypedDict):
    """The failures of a job, and the masters that did not answer."""

    job: int
    name: str
    errors: list[FailedKind]
    missing: list[NodeId]


_HERE = Decoder(list[FailedKind])


class Troubles:
    """Answers ``errors``."""

    def __init__(self, peers: Peers, folder: Path) -> None:
        self._peers = peers
        self._folder = folder

    async def of(self, job: Job, arguments: Mapping[str, Any]) -> ErrorsAnswer:
        """Counts the failures of a job at all masters. Raises ConfigurationError for arguments that cannot be."""
        examples = whole_number(arguments, "limit", EXAMPLES, EXAMPLES_MAX)
        asked = {"job": job.id, "kind": str(arguments.get("kind", ""))[:100], "limit": examples}
        told, missing = await ask_others(self._peers, "errors-here", asked, _HERE)
        parts = [await self.here(job.id, asked), *told.values()]
        # Where a host is one master's, hosts can be added up. Elsewhere they may be at several: at least so many.
        apart = job.settings.shard_key is not ShardKey.URL
        errors = merged_kinds(parts, examples, hosts_apart=apart)
        return ErrorsAnswer(job=job.id, name=job.spec.name, errors=errors, missing=missing)

    async def here(self, job: int, arguments: Mapping[str, Any]) -> list[FailedKind]:
        """Counts those of this master, in a thread: there may be a million."""
        examples = whole_number(arguments, "limit", EXAMPLES, EXAMPLES_MAX)
        return await asyncio.to_thread(kinds_of, self._folder, job, examples, str(arguments.get("kind", "")))


def kinds_of(folder: Path, job: int, examples: int, only: str = "", phase: Phase = Phase.FAILED) -> list[FailedKind]:
    """Counts the pages of a job that ended in a phase, in one data folder, by their reason. Raises as every reading of
    one does.
    """
    return [
        FailedKind(
            kind=kind.kind,
            count=kind.pages,
            hosts=kind.hosts,
            examples=[
                FailedPage(
                    url=page.url,
                    host=host_of(page.url),
                    at=page.at,
                    status=page.status,
                    detail=page.detail[:DETAIL_MAX],
                    of_host=page.of_host,
                )
                for page in kind.examples
            ],
        )
        for kind in errors_of(folder, job, examples, only, phase)
    ]


def merged_kinds(parts: Iterable[Sequence[FailedKind]], examples: int, *, hosts_apart: bool = True) -> list[FailedKind]:
    """Adds up what masters tell, most first. ``hosts_apart``: no host is at two of them."""
    kinds: dict[str, FailedKind] = {}
    for told in (kind for part in parts for kind in part):
        known = kinds.setdefault(told["kind"], FailedKind(kind=told["kind"], count=0, hosts=0, examples=[]))
        known["count"] += told["count"]
        known["hosts"] = known["hosts"] + told["hosts"] if hosts_apart else max(known["hosts"], told["hosts"])
        known["examples"] += told["examples"]
    for kind in kinds.values():
        kind["examples"] = _of_most_hosts(kind["examples"])[:examples]
        if kind["hosts"]:
            kind["hosts"] = max(kind["hosts"], len(kind["examples"]))
    return sorted(kinds.values(), key=lambda kind: (-kind["count"], kind["kind"]))


def _of_most_hosts(pages: Iterable[FailedPage]) -> list[FailedPage]:
    """Returns one page of each host, with what all masters have of it; those of hosts that have most first."""
    by_host: dict[str, FailedPage] = {}
    for page in pages:
        known = by_host.get(page["host"])
        by_host[page["host"]] = {**page, "of_host": page["of_host"] + known["of_host"]} if known is not None else page
    return sorted(by_host.values(), key=lambda page: (-page["of_host"], page["url"]))
