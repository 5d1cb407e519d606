"""The work on a spider's ``start()``, which may go on for ever: it is sent in parts, and ends when its job closes."""

from __future__ import annotations

import asyncio
from typing import Final

from p2pcrawl.model.crawl.job import CUT_SHORT
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import CloseSpider
from p2pcrawl.model.outcome import NoPage
from p2pcrawl.overlay.tasks import end
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.middlewares.spider_side import SpiderSide
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.harvesting import Harvesting
from p2pcrawl.wire.messages.slave_messages import Outcome

EARLY_S: Final = 0.5
"""After so long what has been yielded is sent, however little it is."""


class StartWork:
    """Runs the starts of one job."""

    def __init__(self, side: SpiderSide, harvesting: Harvesting) -> None:
        self._side = side
        self._harvesting = harvesting
        self._closing = False
        self._running: set[asyncio.Task[Outcome]] = set()

    async def run(self, harvest: Harvest, outbox: Outbox) -> Outcome:
        """Takes all that the start yields; returns how its record ends."""
        outcome = Outcome(Phase.DONE, NoPage.START)
        if self._closing:
            return _cut_short()
        try:
            result = self._side.start()
        except CloseSpider as close:
            outcome.close = close.reason
            return outcome
        except BaseException as error:
            return self._harvesting.raised(harvest.url, outcome, error)
        early = asyncio.create_task(self._send_early(harvest, outbox))
        collecting = asyncio.create_task(self._harvesting.collect(result, harvest, outbox, outcome, None))
        self._running.add(collecting)
        try:
            await asyncio.wait([collecting])
            return _cut_short() if collecting.cancelled() else collecting.result()
        finally:
            self._running.discard(collecting)
            await end([early, collecting])

    @property
    def closing(self) -> bool:
        """True once nothing more of the job is wanted."""
        return self._closing

    def close(self) -> None:
        """Ends those that are at work, for their job is closing. What they have yielded counts, and they begin anew if
        the job goes on.
        """
        self._closing = True
        for collecting in self._running:
            collecting.cancel()

    def reopen(self) -> None:
        """Lets a start begin again, for its job goes on."""
        self._closing = False

    async def _send_early(self, harvest: Harvest, outbox: Outbox) -> None:
        """Sends what a start has yielded without waiting for what that waits for; for ever."""
        while True:
            await asyncio.sleep(EARLY_S)
            if harvest.gathered:
                await self._harvesting.send_part(harvest, outbox)


def _cut_short() -> Outcome:
    return Outcome(Phase.QUEUED, CUT_SHORT, retry_in_s=0.0)
