"""What waits for the next turn of the cycle, and what is answered after its commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.company.company import Alone
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.jobs.job import job_of
from p2pcrawl.master.links.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.links.mailbox import Mailbox
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Row, Settled
from tests.unit.master.fake_slaves import spec_of


def found(url: str = "http://a.example/") -> Link:
    return Link(url, fingerprint(url), depth=1)


class Shared(Alone):
    """A company in which ``owner`` says whose each bucket is; what is sent goes by ``dispatch``."""

    dispatch: Dispatch

    def __init__(self, owner: Callable[[int], str | None]) -> None:
        super().__init__(Path("nowhere"), Settings())
        self.owner = owner
        self.router = SimpleNamespace(owner=lambda bucket: self.owner(bucket), serves=lambda bucket: True)

    def send(self, job: int, owner: NodeId, parcel: Parcel) -> None:
        self.dispatch.add(job, owner, parcel)

    def pending(self, job: int) -> int:
        return self.dispatch.pending(job) if hasattr(self, "dispatch") else 0


def exchange(owner: str | None = None) -> tuple[Exchange, Mailbox, Shared]:
    company = Shared(lambda bucket: owner)
    company.ground.jobs[1] = job_of(spec_of())
    return Exchange(company), company.ground.mailbox, company


async def test_links_are_answered_after_the_commit_and_not_before() -> None:
    ex, mailbox, _ = exchange()
    answer = mailbox.arrive(1, [found()])
    batch = Batch()
    ex.gather(batch)
    assert len(batch.links) == 1
    assert not answer.done()
    assert ex.under_way(1) == 1

    ex.answer()

    assert answer.result() == Settled(0, [], False)
    assert ex.under_way(1) == 0
    assert ex.received[1] == 1


async def test_links_of_buckets_that_are_anothers_are_refused_by_position() -> None:
    ex, mailbox, company = exchange()
    company.owner = lambda bucket: None if bucket % 2 else "b" * 40
    urls = [f"http://h{n}.example/" for n in range(20)]
    answer, batch = mailbox.arrive(1, [found(u) for u in urls]), Batch()
    ex.gather(batch)
    ex.answer()

    refused = set(answer.result().refused)
    assert {u for n, u in enumerate(urls) if n not in refused} == {new.link.url for new in batch.links}
    assert 0 < len(refused) < 20
    assert ex.received[1] == 20 - len(refused)


async def test_job_that_becomes_known_during_the_commit_was_unknown_for_its_links() -> None:
    ex, mailbox, company = exchange()
    answer, batch = mailbox.arrive(5, [found()]), Batch()
    ex.gather(batch)
    assert not batch.links
    company.ground.jobs[5] = company.ground.jobs[1]
    ex.answer()

    assert answer.result().unknown_job
    assert ex.received[5] == 0


async def test_link_that_came_back_and_is_anothers_by_now_is_sent_on() -> None:
    ex, mailbox, company = exchange(owner="b" * 40)
    sent: list[Any] = []

    async def deliver(owner: str, job: int, links: list[Link]) -> Settled:
        sent.append(links)
        return Settled(0)

    async def keep(job: int, parcels: list[Parcel]) -> None:
        raise AssertionError("nothing is provisional here")

    company.dispatch = Dispatch(company.owner, deliver, mailbox.take_back, keep=keep, on_settled=lambda: None)
    hold = Hold(1)
    mailbox.take_back(1, [Parcel(found(), 7, hold)])
    batch = Batch()
    ex.gather(batch)
    assert not batch.links
    assert hold.waiting == 1
    assert ex.under_way(1)

    ex.answer()
    company.dispatch.flush()
    await asyncio.sleep(0.01)

    assert hold.waiting == 0
    assert len(sent) == 1
    assert not ex.under_way(1)


async def test_link_that_came_back_keeps_its_page_until_it_is_durable() -> None:
    ex, mailbox, _ = exchange()
    hold = Hold(1)
    mailbox.take_back(1, [Parcel(found(), 7, hold)])
    batch = Batch()
    ex.gather(batch)
    assert hold.waiting == 1
    assert ex.under_way(1)

    ex.answer()

    assert hold.waiting == 0
    assert not ex.under_way(1)


async def test_answer_that_nobody_waits_for_any_more_harms_nothing() -> None:
    ex, mailbox, _ = exchange()
    mailbox.arrive(1, [found()]).cancel()
    mailbox.adopt([]).cancel()
    batch = Batch()
    ex.gather(batch)
    ex.answer()
    assert len(batch.links) == 1


async def test_rows_are_adopted_with_what_was_done_to_them() -> None:
    ex, mailbox, _ = exchange()
    url = "http://a.example/x"
    row = Row(1, Link(url, fingerprint(url), 3, 2, "index", "cb", True, "http://r/", b"e"), 3, 2, 1, 200, "", 55)
    done, batch = mailbox.adopt([row]), Batch()
    ex.gather(batch)
    assert not done.done()
    moved = batch.moved[0]
    assert moved.row is row and moved.new.link is row.link
    assert moved.new.bucket == host_key(url) % BUCKETS
    ex.answer()
    assert done.done()


async def test_rows_of_buckets_that_went_away_meanwhile_are_not_taken_in() -> None:
    """They waited for a turn in which their bucket became another master's, who has been given all that was there."""
    ex, mailbox, company = exchange()
    url = "http://a.example/x"
    row = Row(1, Link(url, fingerprint(url), 3, 2, "index", "cb", True, "http://r/", b"e"), 3, 2, 1, 200, "", 55)
    done, batch = mailbox.adopt([row]), Batch()

    company.owner = lambda bucket: "b" * 40
    ex.gather(batch)

    assert not batch.moved
    with pytest.raises(LinkError, match="another master's"):
        await done
