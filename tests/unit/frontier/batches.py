"""Batches as a master makes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from p2pcrawl.core.bench.candidate import LOWEST, Candidate, Want, host_key
from p2pcrawl.frontier.records.batch import Batch, Ending, ItemRow, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import fingerprint, halves, pack_halves
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Order, Phase
from p2pcrawl.wire.messages.peer_messages import CopyRow

ORDERS = {1: Order.PRIORITY, 2: Order.PRIORITY}


def link(url: str, job: int = 1, parent: int = 0, priority: int = 0, referer: str = "") -> NewLink:
    found = Link(url, fingerprint(url), depth=1, priority=priority, referer=referer)
    return NewLink(found, job, host_key(url), 0, parent)


def copy_row(bucket: int, hi: int, lo: int, job: int, stamp: int, row: bytes = b"", data: bytes = b"") -> CopyRow:
    return CopyRow(bucket, pack_halves(hi, lo), job, stamp, row, len(data), data)


def place_of(row: CopyRow) -> tuple[int, int, int, int]:
    return (row.bucket, *halves(row.fingerprint), row.job)


def batch_of(links: Iterable[NewLink] = ()) -> Batch:
    return Batch(links=list(links), orders=ORDERS)


def store_with_job(folder: Path, **options) -> Store:
    store = Store(folder, **options)
    if not store.jobs():
        store.add_job(1, "test", b"spec", link("http://start.example/"), batch_of())
    return store


def grant(batch: Batch, candidate: Candidate, lease: int = 1) -> None:
    candidate.attempts += 1
    batch.leases.append((candidate.record, candidate.job, lease, candidate.attempts))


def end(
    batch: Batch,
    candidate: Candidate,
    phase: Phase = Phase.DONE,
    *,
    items: list[bytes] = (),
    staged: bool = False,
    reason: str = "",
) -> None:
    batch.endings.append(
        Ending(candidate, phase, candidate.attempts, candidate.losses, reason, status=200, size=1, staged=staged)
    )
    if items:
        batch.items.append(ItemRow(candidate.record, candidate.job, len(items), b"\n".join(items)))
        batch.tallies[candidate.job]["items"] += len(items)
    if phase is not Phase.QUEUED:
        batch.tallies[candidate.job]["queued"] -= 1
        batch.tallies[candidate.job][phase.name.lower()] += 1


def load(store: Store, url: str, limit: int = 1000, job: int = 1) -> list[Candidate]:
    batch = batch_of()
    batch.wants = [Want(job, host_key(url), "index", LOWEST, limit)]
    return store.commit(batch).loaded[0][1]


def assert_counters_equal_census(store: Store, job: int = 1) -> None:
    tallies, census = store.tallies(job), store.census(job)
    for phase in ("queued", "done", "failed", "dropped"):
        assert tallies.get(phase, 0) == census.get(phase, 0), phase
    assert tallies["discovered"] == sum(tallies.get(p, 0) for p in ("queued", "done", "failed", "dropped"))
