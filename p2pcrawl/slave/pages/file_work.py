"""The work on a file that an item waits for: it is had, or is not, and the item goes on."""

from __future__ import annotations

from typing import Final

from p2pcrawl.model.crawl.record import GIVEN_UP, Phase
from p2pcrawl.model.crawl.referrer import ReferrerPolicy
from p2pcrawl.model.errors import CloseSpider, ConfigurationError
from p2pcrawl.model.outcome import Failure, NoPage
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.pages.errands import Errand, Errands
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.item_passage import ItemPassage
from p2pcrawl.slave.pages.page_ends import kept_nowhere, with_failed_items
from p2pcrawl.slave.pages.page_work import PageWork
from p2pcrawl.slave.pages.travel import request_of
from p2pcrawl.stores.sink import SinkAway
from p2pcrawl.wire.messages.slave_messages import Outcome

STORE_TRIES: Final = 12
"""Attempts at a file whose place cannot be reached, over half an hour."""


class FileWork:
    """Works on the files of one job."""

    def __init__(self, pages: PageWork, errands: Errands, items: ItemPassage, policy: ReferrerPolicy) -> None:
        self._pages = pages
        self._errands = errands
        self._items = items
        self._policy = policy

    async def file(self, harvest: Harvest, outbox: Outbox, fence: Fence) -> Outcome:
        """Works on a file that an item waits for, and sends the item on. Raises as :meth:`PageWork.page`."""
        task = harvest.task
        try:
            errand = harvest.errand = self._errands.arrived(request_of(task, self._policy))
        except ConfigurationError as error:
            return Outcome(Phase.FAILED, Failure.ITEM, str(error))
        async with self._errands.turn(errand):
            outcome = await self._had(errand, harvest, outbox, fence)
        if outcome.phase == Phase.QUEUED or harvest.gathered:
            return outcome
        if errand.away is not None and task.attempt < STORE_TRIES:
            return kept_nowhere(task, errand.away, outcome)
        if not errand.known:
            errand.give_up(f"{outcome.reason}: {outcome.detail or errand.away or ''}")
        try:
            await self._items.forward(errand.parked, harvest, bounded=outbox.copied)
        except CloseSpider as close:
            outcome.close = close.reason
        return with_failed_items(harvest, outcome)

    async def _had(self, errand: Errand, harvest: Harvest, outbox: Outbox, fence: Fence) -> Outcome:
        """Asks for a file that is not kept already, unless masters have given it up."""
        try:
            there = await errand.is_there()
        except SinkAway as error:
            errand.away = error
            return Outcome(Phase.FAILED, Failure.STORE, str(error))
        if there:
            return Outcome(Phase.DONE, NoPage.STORED)
        if harvest.task.attempt > GIVEN_UP:
            return Outcome(Phase.FAILED, Failure.GIVEN_UP, "its host is down, or slaves died of it")
        return await self._pages.page(harvest, outbox, fence)
