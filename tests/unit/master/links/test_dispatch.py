"""Links on their way to their owners: sent, refused, lost, routed anew; and the pages that wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from p2pcrawl.master.links import dispatch as module
from p2pcrawl.master.links.dispatch import BATCH_MAX, Dispatch, Hold, Parcel
from p2pcrawl.master.neighbours.lane import IN_FLIGHT_MAX
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Settled

A, B = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_FIRST_S", 0.001)
    monkeypatch.setattr(module, "RETRY_MAX_S", 0.004)


def parcel(number: int, bucket: int = 0, hold: Hold | None = None) -> Parcel:
    url = f"http://h.example/{number}"
    return Parcel(Link(url, fingerprint(url), depth=1), bucket, hold or Hold())


class Others:
    """Owners that do as they are told."""

    def __init__(self) -> None:
        self.routes: dict[int, str | None] = {}
        self.got: dict[str, list[str]] = {A: [], B: []}
        self.ours: list[str] = []
        self.answer: Any = lambda owner, links: Settled(0)
        self.open = 0
        self.most = 0
        self.on_settled: Callable[[], object] = lambda: None
        self.dispatch = Dispatch(
            lambda bucket: self.routes.get(bucket, A),
            self.deliver,
            self.take_back,
            keep=self.keep,
            on_settled=lambda: self.on_settled(),
        )

    async def deliver(self, owner: str, job: int, links: list[Link]) -> Settled:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            answer = self.answer(owner, links)
            settled = await answer if asyncio.iscoroutine(answer) else answer
        finally:
            self.open -= 1
        if not settled.unknown_job:
            self.got[owner] += [f.url for n, f in enumerate(links) if n not in set(settled.refused)]
        return settled

    async def keep(self, job: int, parcels: list[Parcel]) -> None:
        raise AssertionError("nothing is provisional here")

    def take_back(self, job: int, parcels: list[Parcel]) -> None:
        for each in parcels:
            self.ours.append(each.link.url)
            each.hold.count_off()


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_page_ends_when_its_last_link_is_settled_and_not_before() -> None:
    others, ended = Others(), []
    gate = asyncio.Event()

    async def slowly(owner: str, links: list[Link]) -> Settled:
        await gate.wait()
        return Settled(0)

    others.answer = slowly
    hold = Hold()
    for n in range(3):
        others.dispatch.add(1, A, parcel(n, hold=hold))
    hold.then = lambda: ended.append(1)
    others.dispatch.flush()
    await asyncio.sleep(0.01)
    assert not ended
    gate.set()
    await until(lambda: ended)
    assert others.dispatch.under_way == 0
    assert others.dispatch.sent[1] == 3


async def test_master_is_woken_when_a_page_may_go_on_and_not_for_each_of_its_links() -> None:
    others, woken = Others(), []
    others.routes = {0: A, 1: B}
    others.on_settled = lambda: woken.append(others.dispatch.under_way)
    hold = Hold(then=lambda: None)
    others.dispatch.add(1, A, parcel(0, 0, hold))
    others.dispatch.add(1, B, parcel(1, 1, hold))

    others.dispatch.flush()
    await until(lambda: not others.dispatch.under_way)
    await until(lambda: bool(woken))

    assert woken == [0]


async def test_refused_links_go_to_whom_the_view_names_now() -> None:
    others, hold = Others(), Hold()
    others.routes = {0: A, 1: A}

    def refuse(owner: str, links: list[Link]) -> Settled:
        if owner == A:
            others.routes[1] = B
            return Settled(0, [n for n, f in enumerate(links) if int(f.url[-1]) % 2])
        return Settled(0)

    others.answer = refuse
    for n in range(6):
        others.dispatch.add(1, A, parcel(n, n % 2, hold))
    others.dispatch.flush()
    await until(lambda: hold.waiting == 0)

    assert sorted(u[-1] for u in others.got[A]) == ["0", "2", "4"]
    assert sorted(u[-1] for u in others.got[B]) == ["1", "3", "5"]


async def test_links_that_became_ours_come_back() -> None:
    others, hold = Others(), Hold()
    others.dispatch.add(1, A, parcel(1, 5, hold))
    others.routes[5] = None
    others.dispatch.reroute()

    assert others.ours == ["http://h.example/1"]
    assert hold.waiting == 0
    assert others.dispatch.under_way == 0


async def test_unknown_job_is_tried_again() -> None:
    others, hold, tries = Others(), Hold(), []

    def unknown(owner: str, links: list[Link]) -> Settled:
        tries.append(1)
        return Settled(0, unknown_job=len(tries) < 4)

    others.answer = unknown
    others.dispatch.add(1, A, parcel(1, hold=hold))
    others.dispatch.flush()
    await until(lambda: hold.waiting == 0)
    assert len(tries) == 4


async def test_no_more_than_so_many_batches_are_open_and_none_is_too_large() -> None:
    others, sizes = Others(), []

    async def slowly(owner: str, links: list[Link]) -> Settled:
        sizes.append(len(links))
        await asyncio.sleep(0.002)
        return Settled(0)

    others.answer = slowly
    for n in range(12 * BATCH_MAX):
        others.dispatch.add(n % 3, A, parcel(n))
    others.dispatch.flush()
    await until(lambda: others.dispatch.under_way == 0)

    assert others.most <= IN_FLIGHT_MAX
    assert max(sizes) <= BATCH_MAX
    assert len(others.got[A]) == 12 * BATCH_MAX


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_happens_every_link_is_settled_once_and_every_page_ends_once(seed: int) -> None:
    dice = Random(seed)
    others, ended = Others(), []

    async def storm(owner: str, links: list[Link]) -> Settled:
        await asyncio.sleep(dice.random() * 0.003)
        match dice.randrange(5):
            case 0:
                raise LinkError("lost")
            case 1:
                return Settled(0, [n for n in range(len(links)) if dice.random() < 0.5])
            case 2:
                return Settled(0, unknown_job=True)
        return Settled(0)

    others.answer = storm
    pages = 40
    for page in range(pages):
        hold = Hold()
        for n in range(5):
            bucket = dice.randrange(8)
            others.dispatch.add(1, others.routes.get(bucket, A) or A, parcel(page * 5 + n, bucket, hold))
        hold.then = lambda page=page: ended.append(page)
        others.dispatch.flush()
        if dice.random() < 0.3:
            others.routes[dice.randrange(8)] = dice.choice([A, B, None])
            others.dispatch.reroute()
        await asyncio.sleep(0)
    await until(lambda: len(ended) == pages)

    settled = others.got[A] + others.got[B] + others.ours
    assert sorted(settled) == sorted(f"http://h.example/{n}" for n in range(5 * pages))
    assert others.dispatch.under_way == 0
    assert sorted(ended) == list(range(pages))


async def test_close_leaves_no_task() -> None:
    others = Others()

    async def never(owner: str, links: list[Link]) -> Settled:
        await asyncio.Event().wait()
        raise AssertionError

    others.answer = never
    others.dispatch.add(1, A, parcel(1))
    others.dispatch.flush()
    await asyncio.sleep(0)
    await others.dispatch.close()
    assert not others.dispatch._tasks


async def test_links_that_post_much_do_not_all_go_into_one_message() -> None:
    others = Others()
    sizes: list[int] = []

    def answer(_owner: str, links: list[Link]) -> Settled:
        sizes.append(sum(len(found.extra) for found in links))
        return Settled(0)

    others.answer = answer
    body = b"x" * (module.BATCH_BYTES_MAX // 3)
    for number in range(8):
        link = parcel(number).link._replace(extra=body)
        others.dispatch.add(7, A, Parcel(link, 0, Hold()))
    others.dispatch.flush()

    async with asyncio.timeout(5):
        while others.dispatch.under_way:  # noqa: ASYNC110
            await asyncio.sleep(0)

    assert sum(sizes) == 8 * len(body)
    assert max(sizes) <= module.BATCH_BYTES_MAX
    await others.dispatch.close()
