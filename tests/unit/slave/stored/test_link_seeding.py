"""The start of a job that reads stored pages: all links, or it begins anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.outcome import NoPage
from p2pcrawl.slave.stored.link_seeding import UNTOLD, LinkSeeding

LINKS = [Link(f"http://a.example/{number}", number.to_bytes(16, "big")) for number in range(5)]


class Sent:
    """A harvest, and who sends its parts."""

    def __init__(self) -> None:
        self.gathered: list[Link] = []
        self.parts: list[list[Link]] = []

    def add_link(self, link: Link) -> None:
        self.gathered.append(link)

    async def send_part(self, harvest: Any, outbox: Any) -> None:
        self.parts.append(self.gathered)
        self.gathered = []


async def parts(trouble: str = "") -> AsyncIterator[list[Link]]:
    yield LINKS[:2]
    if trouble:
        raise P2PCrawlError(trouble)
    yield LINKS[2:]


async def run(links: AsyncIterator[list[Link]], *, closing: bool = False) -> tuple[Sent, Any]:
    sent: Any = Sent()
    outbox: Any = None
    return sent, await LinkSeeding(sent, lambda: closing).run(links, sent, outbox)


async def test_start_is_done_when_all_links_are_sent_as_they_were() -> None:
    sent, outcome = await run(parts())

    assert sent.parts == [LINKS[:2], LINKS[2:]]
    assert (outcome.phase, outcome.reason) == (Phase.DONE, NoPage.START)


async def test_start_begins_anew_where_not_all_links_could_be_told() -> None:
    sent, outcome = await run(parts("a master does not answer"))

    assert sent.parts == [LINKS[:2]]
    assert (outcome.phase, outcome.reason, outcome.detail) == (Phase.QUEUED, UNTOLD, "a master does not answer")
    assert outcome.retry_in_s > 0


async def test_start_of_a_job_that_closes_ends_where_it_is() -> None:
    sent, outcome = await run(parts(), closing=True)

    assert not sent.parts and outcome.phase is Phase.QUEUED
