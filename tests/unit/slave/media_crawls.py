"""A crawl of one slave without a master: what its pages lead to is granted to it in order."""

from __future__ import annotations

import json
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import GIVEN_UP
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.work.job_run import JobRun
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.slave_messages import Outcome, Task
from tests.unit.slave.tasks import FakeLink, task_of

Answers = dict[str, "Answer | bytes | int | Exception"]


class Site:
    """Gives an answer for each URL, and notes who was asked: bytes are a body, a number is a status."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        self.asked.append(request.url)
        found = self.answers.get(request.url, 404)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, Answer):
            return found
        status, body = (found, b"") if isinstance(found, int) else (200, found)
        return Answer(request.url, status, {"Content-Type": "text/html"}, body, 0.1, "93.184.216.34")


@dataclass
class Crawled:
    items: list[Any] = field(default_factory=list)
    ends: dict[str, Outcome] = field(default_factory=dict)
    """By URL, the last of each."""
    asked: list[str] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)
    priorities: dict[str, int] = field(default_factory=dict)


async def crawl(
    spider: type[Spider], site: Site, *, new_slaves: bool = False, given_up: str = "", **settings: Any
) -> Crawled:
    """Crawls from ``http://a.example/``. ``new_slaves``: each page is worked on by another slave. ``given_up``: a URL
    that masters have given up.
    """
    its = Settings().updated({"robotstxt_obey": False, **settings})
    crawled, ahead = Crawled(), deque([task_of("http://a.example/")])
    run: JobRun | None = None
    while ahead:
        task = ahead.popleft()
        crawled.granted.append(task.link.url)
        crawled.priorities[task.link.url] = task.link.priority
        if run is None or new_slaves:
            if run is not None:
                await run.close()
            run = JobRun(spider, {}, its, Networks(), lambda *_: nullcontext(site))  # type: ignore[arg-type]
            await run.open()
        link = FakeLink()
        outbox = Outbox(link)
        await run.work(task, outbox, Fence(0.0, 0.0, lambda: None))
        outbox.flush()
        for page in (page for report in link.reports for page in report.pages):
            crawled.items += [json.loads(item) for item in page.items]
            ahead += [
                Task(1, 1, 1, each, GIVEN_UP + 1 if each.url == given_up else 1)
                for columns in page.links
                for each in columns.each()
            ]
            if page.outcome is not None:
                crawled.ends[task.link.url] = page.outcome
                if page.outcome.retry_in_s:
                    ahead.append(Task(task.lease, task.record, task.job, task.link, task.attempt + 1))
    if run is not None:
        await run.close()
    crawled.asked = site.asked
    return crawled


def no_connection() -> FetchError:
    return FetchError(Failure.CONNECT, "refused")
