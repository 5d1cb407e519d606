"""What waits for the next turn of the cycle, and what is answered after its commit."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.records.batch import Batch, Committed
from p2pcrawl.master.jobs.job import job_of
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.master.links.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.links.exchange import Exchange
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Row, Settled
from tests.unit.master.fake_slaves import spec_of


def found(url: str = "http://a.example/") -> Link:
    return Link(url, fingerprint(url), depth=1)


def exchange(owner: Any = None) -> tuple[Exchange, dict]:
    jobs = {1: job_of(spec_of())}
    made = Exchange(jobs, Keys(), Openings(jobs))
    made.router = SimpleNamespace(owner=lambda bucket: owner, serves=lambda bucket: True)
    return made, jobs


async def test_links_are_answered_after_the_commit_and_not_before() -> None:
    ex, _ = exchange()
    answer = ex.arrive(1, [found()])
    batch = Batch()
    ex.gather(batch)
    assert len(batch.links) == 1
    assert not answer.done()
    assert ex.busy(1) == 1

    ex.settle(Committed())

    assert answer.result() == Settled(0, [], False)
    assert ex.busy(1) == 0
    assert ex.received[1] == 1


async def test_links_of_buckets_that_are_anothers_are_refused_by_position() -> None:
    ex, _ = exchange()
    ex.router.owner = lambda bucket: None if bucket % 2 else "b" * 40
    urls = [f"http://h{n}.example/" for n in range(20)]
    answer, batch = ex.arrive(1, [found(u) for u in urls]), Batch()
    ex.gather(batch)
    ex.settle(Committed())

    refused = set(answer.result().refused)
    assert {u for n, u in enumerate(urls) if n not in refused} == {new.link.url for new in batch.links}
    assert 0 < len(refused) < 20
    assert ex.received[1] == 20 - len(refused)


async def test_job_that_becomes_known_during_the_commit_was_unknown_for_its_links() -> None:
    ex, jobs = exchange()
    answer, batch = ex.arrive(5, [found()]), Batch()
    ex.gather(batch)
    assert not batch.links
    jobs[5] = jobs[1]
    ex.settle(Committed())

    assert answer.result().unknown_job
    assert ex.received[5] == 0


async def test_link_that_came_back_and_is_anothers_by_now_is_sent_on() -> None:
    ex, _ = exchange(owner="b" * 40)
    sent: list[Any] = []

    async def deliver(owner: str, job: int, links: list[Link]) -> Settled:
        sent.append(links)
        return Settled(0)

    ex.dispatch = Dispatch(ex.router.owner, deliver, ex.take_back)
    hold = Hold(1)
    ex.take_back(1, [Parcel(found(), 7, hold)])
    batch = Batch()
    ex.gather(batch)
    assert not batch.links
    assert hold.waiting == 1
    assert ex.busy(1)

    ex.settle(Committed())
    ex.dispatch.flush()
    await asyncio.sleep(0.01)

    assert hold.waiting == 0
    assert len(sent) == 1
    assert not ex.busy(1)


async def test_link_that_came_back_keeps_its_page_until_it_is_durable() -> None:
    ex, _ = exchange()
    hold = Hold(1)
    ex.take_back(1, [Parcel(found(), 7, hold)])
    batch = Batch()
    ex.gather(batch)
    assert hold.waiting == 1
    assert ex.busy(1)

    ex.settle(Committed())

    assert hold.waiting == 0
    assert not ex.busy(1)


async def test_answer_that_nobody_waits_for_any_more_harms_nothing() -> None:
    ex, _ = exchange()
    ex.arrive(1, [found()]).cancel()
    ex.adopt([]).cancel()
    batch = Batch()
    ex.gather(batch)
    ex.settle(Committed())
    assert len(batch.links) == 1


async def test_rows_are_adopted_with_what_was_done_to_them() -> None:
    ex, _ = exchange()
    url = "http://a.example/x"
    row = Row(1, Link(url, fingerprint(url), 3, 2, "index", "cb", True, "http://r/", b"e"), 3, 2, 1, 200, "", 55)
    done, batch = ex.adopt([row]), Batch()
    ex.gather(batch)
    assert not done.done()
    moved = batch.moved[0]
    assert moved.row is row and moved.new.link is row.link
    assert moved.new.bucket == Keys().host_key(url) % BUCKETS
    ex.settle(Committed())
    assert done.done()


async def test_rows_of_buckets_that_went_away_meanwhile_are_not_taken_in() -> None:
    """They waited for a turn in which their bucket became another master's, who has been given all that was there."""
    ex, _ = exchange()
    url = "http://a.example/x"
    row = Row(1, Link(url, fingerprint(url), 3, 2, "index", "cb", True, "http://r/", b"e"), 3, 2, 1, 200, "", 55)
    done, batch = ex.adopt([row]), Batch()

    ex.router.owner = lambda bucket: "b" * 40
    ex.gather(batch)

    assert not batch.moved
    with pytest.raises(LinkError, match="another master's"):
        await done
