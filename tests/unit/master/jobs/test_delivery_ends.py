"""A delivery whose loop is no more, as when a process ends in the middle of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from p2pcrawl.core.journal import Journal
from p2pcrawl.master.jobs.delivery import Cursor, Delivery, Reading
from p2pcrawl.master.jobs.job import job_of
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.stores.sink import BatchLimits, RefusedItem
from tests.unit.stores.fake_sink import Destination


def test_delivery_that_outlives_its_loop_comes_to_its_end() -> None:
    loop = asyncio.new_event_loop()
    asked = asyncio.Event()

    async def read(last: int, limits: BatchLimits) -> Reading:
        asked.set()
        await asyncio.Event().wait()
        return [], [0], False

    async def refuse(refused: Sequence[RefusedItem]) -> None:
        """Is never asked."""

    delivery = Delivery(
        "fake://place",
        Destination().sink(None, None),  # type: ignore[arg-type]
        job_of(JobSpec(JobId(1), "shop", SpiderRef())),
        Cursor(),
        read=read,
        refuse=refuse,
        told=lambda delivery, moved: None,
        fail=lambda error: None,
        journal=Journal(float),
    )
    run = delivery.run()
    task = loop.create_task(run)
    loop.run_until_complete(asked.wait())
    loop.close()

    run.close()

    task._log_destroy_pending = False  # type: ignore[attr-defined]
