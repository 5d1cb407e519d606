"""Controls of URLs that are put into a job while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from p2pcrawl.master.injection import Injection
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.steering import Steering

from ..play.options import Options
from .control import LIMIT_S, Control
from .swaps import swap

# -- injected-unsettled: the call is answered before its URLs are safe with anybody ------------

_bring = Injection._bring
LATER_S = 0.5


async def _bring_later(self: Injection, job: Job, urls: Sequence[str]) -> None:
    async def bring() -> None:
        await asyncio.sleep(LATER_S)
        await _bring(self, job, urls)

    self.left = asyncio.create_task(bring())  # type: ignore[attr-defined]


# -- injected-closed: nobody opens a finished job again for what was put into it ---------------


async def _leave_closed(self: Injection, job: Job) -> None:
    pass


def _no_news(self: Steering, job: Job) -> bool:
    return False


_SMALL = Options(scenario="inject", masters=3, pages=60, hosts=10, private=0.5, seed=1, limit_s=LIMIT_S)

CONTROLS = {
    "injected-unsettled": Control(
        "a call that puts URLs into a job is answered before they are safe",
        "coverage",
        _SMALL,
        (swap(Injection._bring, _bring_later),),
    ),
    "injected-closed": Control(
        "a finished job into which URLs are put stays finished",
        "coverage",
        _SMALL,
        (swap(Injection._open_again, _leave_closed), swap(Steering._has_news, _no_news)),
    ),
}
