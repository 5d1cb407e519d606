"""Pages that ask a job's components, when nothing is left of it, whether it is to end.

People's handlers of ``spider_idle`` run in slaves, and only masters know when a job is idle. So whoever would end the
job puts one more page into it, which asks no host: the slave that gets it sends the signal. What the handlers queue is
reported as the page's links, and the page waits and is tried again as long as one of them raises DontCloseSpider. It is
a record like any other, leased, copied and handed over: nobody ends the job over it, whoever dies.

Its number is that of the URLs that were discovered. When the job is idle again and nothing but that page has come, it
has answered, and the job ends. A decider that does not know of it (it is new, or was started again) asks once more.
"""

from __future__ import annotations

from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.job_stats import LISTENS
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import idle_url
from p2pcrawl.model.crawl.page_link import Link


class IdlePages:
    """Knows of each job when it was last asked; one per decider."""

    def __init__(self) -> None:
        self._asked: dict[int, int] = {}

    def due(self, job: Job, discovered: int, *, wanted: bool) -> Link | None:
        """Returns the page to put into a job of which nothing is left; None when it is to end. ``discovered``: its URLs
        on all masters; ``wanted``: some component listens.
        """
        if not wanted or job.closing or discovered - self._asked.get(job.id, -2) in (0, 1):
            self._asked.pop(job.id, None)
            return None
        self._asked[job.id] = discovered
        url = idle_url(job.id, discovered)
        return Link(url, fingerprint(url, salt=f"job {job.id}"), seed=True)


def wants_idle(job: Job) -> bool:
    """Tells whether a slave here has said that a component listens for the job to be idle."""
    return job.counts[LISTENS] > 0
