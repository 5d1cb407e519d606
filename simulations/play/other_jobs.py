"""Other jobs of a run: over the same hosts and pages as its own, with another key, and maybe with a few pages only.

A job is known by its label, which is in the user agent of its requests, too: so the web can tell whose they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from p2pcrawl.core.control import DELETED, ENDS
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.peer.answers.submission import Submission, submission_of
from p2pcrawl.spiders.spider import Spider

from ..world.machines import Machine
from ..world.web import Crawl, Web
from .spiders import CLOSES_AFTER, ENOUGH, Closer, Fruitless, Insister, Picker, Walker

UNKNOWN: Final = 0
AGENT: Final = "p2pcrawl/0.1"


class Close(NamedTuple):
    """The end of a job before its queue is empty, and what brings it about."""

    reason: str
    """As masters tell it; "" where the job goes on to its end all the same."""
    settings: dict[str, Any]
    spider: type[Spider] = Walker
    counts: str = ""
    """What there are so many of when it is closed: pages or items."""
    most: float = 0


CLOSES: Final[dict[str, Close]] = {
    "pages": Close("closespider_pagecount", {"closespider_pagecount": 6}, counts="pages", most=6),
    "items": Close("closespider_itemcount", {"closespider_itemcount": 6}, counts="items", most=6),
    "time": Close("closespider_timeout", {"closespider_timeout": 12.0}, most=12.0),
    "fruitless pages": Close(
        "closespider_pagecount_no_item", {"closespider_pagecount_no_item": 3}, Fruitless, "pages", 3
    ),
    "fruitless time": Close("closespider_timeout_no_item", {"closespider_timeout_no_item": 12.0}, Fruitless, most=12.0),
    "spider": Close(ENOUGH, {CLOSES_AFTER: 4}, Closer, "pages", 4),
    "nothing": Close("", {}, Insister),
}
"""By what a plan calls it. Nothing closes the last one; but its spider wants to go on once, when all is done."""


@dataclass(slots=True)
class OtherJob:
    """A job beside that of the run."""

    label: str
    key: str
    crawl: Crawl
    closed_by: str = ""
    """One of CLOSES, if anything closes it."""
    number: int = UNKNOWN
    """What a master answered, or what it is found to be; UNKNOWN before that."""
    acknowledged: bool = False
    """Somebody has said that it is taken: from now on it must not get lost."""
    cancelled: bool = False
    """Somebody was asked to cancel or to delete it: it need not come to its end."""

    def submission(self) -> Submission:
        """Makes what is submitted."""
        spider: type[Spider] = Walker if self.crawl.deep else Picker
        settings: dict[str, Any] = {"shard_key": self.key, "user_agent": f"{AGENT} ({self.label})"}
        if self.closed_by:
            close = CLOSES[self.closed_by]
            spider, settings = close.spider, settings | close.settings
        return submission_of(
            spider, Settings(), settings, {"start_urls": " ".join(self.crawl.starts)}, label=self.label
        )

    def state(self, machine: Machine) -> str:
        """Returns how it stands at one master; "" where that does not know it."""
        jobs = machine.lead.master.jobs if machine.lead is not None else {}
        if not self.number:
            self.number = next((number for number, job in jobs.items() if job.spec.label == self.label), UNKNOWN)
        return jobs[self.number].state if self.number in jobs else ""

    def reason(self, machine: Machine) -> str:
        """Returns why it has ended at one master."""
        jobs = machine.lead.master.jobs if machine.lead is not None else {}
        return jobs[self.number].reason if self.number in jobs else ""

    @property
    def is_to_be_judged(self) -> bool:
        """True if it must have come to its own end."""
        return self.acknowledged and not self.cancelled

    def is_over(self, machines: list[Machine]) -> bool:
        """Tells whether all of these say that nothing of it is left to do; also if nobody has ever taken it."""
        states = {self.state(machine) for machine in machines}
        if not self.acknowledged and states == {""}:
            return True
        return states <= {*ENDS, DELETED}


def crawl_of(web: Web, pages: int) -> Crawl:
    """Makes what another job crawls: the whole web, or so many pages, spread over its public hosts."""
    if not pages:
        return Crawl(tuple(web.starts), deep=True)
    public = [page.url for host in web.hosts.values() if not host.private for page in host.pages]
    step = max(1, len(public) // pages)
    return Crawl(tuple(public[::step][:pages]), deep=False)
