"""The work on duplicates: the items of a page leave it with the imprint of its text, and come out by the verdict on it.

A page's report takes, in place of its items, a link to the imprint, in which they travel. Its owner stores it with the
verdict, and has a slave do what follows: items of a text that was not met go on to the next band of its signature, and
out behind the last one; others are left out at once, or go on to the last band and come out there, marked. So items of
a page come out in one place, whatever became of it on the way. See docs/duplicates.md.
"""

from __future__ import annotations

from typing import Final

import msgspec

from p2pcrawl.model.choosing.duplicate_pages import DuplicatePages
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import TooSlow
from p2pcrawl.model.outcome import Drop, Failure, NoPage
from p2pcrawl.model.texts.imprint_url import without_imprint
from p2pcrawl.model.texts.text_signatures import exact_signature, near_signature
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.spiders.articles.readers import reading_by
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats
from p2pcrawl.spiders.items.item_json import with_field
from p2pcrawl.spiders.page.aside import aside
from p2pcrawl.spiders.page.response import ASIDE_SIZE, Response
from p2pcrawl.wire.messages.imprints import SOONER, Imprint, imprint_link, imprint_of, travels
from p2pcrawl.wire.messages.slave_messages import Outcome

UNASKED: Final = "duplicates/not_asked"
"""The stat that counts pages whose items went out without a verdict."""
MARKED: Final = "duplicates/marked"
LEFT_OUT: Final = "duplicates/dropped"


class ImprintWork:
    """The work of one job. Raises ConfigurationError without the extra ``articles`` when duplicates are asked for."""

    def __init__(self, settings: Settings, stats: CrawlStats) -> None:
        self._choice = settings.duplicates
        self._near = settings.duplicates_near
        self._field = settings.duplicates_field
        self._limit_s = settings.answer_cpu_max
        self._stats = stats
        if self._choice:
            reading_by(settings.article_reader)

    @property
    def wanted(self) -> bool:
        """True if the job asks for duplicates."""
        return self._choice is not DuplicatePages.KEPT

    async def leave(self, harvest: Harvest, outcome: Outcome) -> None:
        """Lets the items of a page that has ended well go to the owner of its text, if it has both."""
        response = harvest.response
        if outcome.phase != Phase.DONE or not harvest.has_items:
            return
        if response is None or harvest.errand is not None or harvest.items_left or not travels(harvest.items):
            # Items of one page go out together.
            self._stats.inc_value(UNASKED)
            return
        try:
            signature, near = await self._signature(response)
        except TooSlow:
            self._stats.inc_value(UNASKED)
            return
        task = harvest.task
        imprint = Imprint(signature, near, 0, task.link.fingerprint, task.visit, harvest.take_items())
        harvest.add_link(imprint_link(imprint, task.link.url, task.link.depth, task.link.priority + SOONER))

    def follow(self, harvest: Harvest) -> Outcome:
        """Does what follows from the verdict on an imprint."""
        link = harvest.task.link
        imprint = imprint_of(link)
        if imprint is None:
            return Outcome(Phase.FAILED, Failure.ITEM, "not an imprint with the items of a page")
        if not imprint.is_last and not (imprint.first and self._choice is DuplicatePages.DROP):
            band = imprint.near if imprint.first else imprint.band + 1
            onward = msgspec.structs.replace(imprint, band=band)
            harvest.add_link(imprint_link(onward, without_imprint(link.url), link.depth, link.priority))
            return Outcome(Phase.DONE, NoPage.MET if imprint.first else NoPage.ASKED_ON)
        if imprint.first and self._choice is DuplicatePages.DROP:
            self._stats.inc_value(LEFT_OUT, len(imprint.items))
            bits = f", but for {imprint.distance} of 64 bits" if imprint.distance else ""
            return Outcome(Phase.DROPPED, Drop.DUPLICATE, f"says the same as {imprint.first}{bits}")
        for item in imprint.items:
            harvest.add_item(self._told(item, imprint))
        if not imprint.first:
            return Outcome(Phase.DONE, NoPage.ORIGINAL)
        self._stats.inc_value(MARKED, len(imprint.items))
        return Outcome(Phase.DONE, NoPage.MARKED)

    def _told(self, item: bytes, imprint: Imprint) -> bytes:
        """Returns an item that says what it is a duplicate of, so that all have the same fields."""
        if self._choice is not DuplicatePages.MARK:
            return item
        first = {"url": imprint.first, "distance": imprint.distance} if imprint.first else None
        return with_field(item, self._field, first)

    async def _signature(self, response: Response) -> tuple[bytes, int]:
        """Returns the signature of a page's text, and how many bits of it may differ. Raises TooSlow."""
        article = await response.read_article() if response.is_html else None
        content: str | bytes = article.text if article is not None else response.body
        if len(content) > ASIDE_SIZE:
            return await aside(lambda: _signature_of(content, self._near), self._limit_s)
        return _signature_of(content, self._near)


def _signature_of(content: str | bytes, near: int) -> tuple[bytes, int]:
    signature = near_signature(content) if near and isinstance(content, str) else None
    return (signature, near) if signature is not None else (exact_signature(content), 0)
