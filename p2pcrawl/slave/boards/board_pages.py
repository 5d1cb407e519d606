"""The pages of jobs with several boards: whether they are asked for at all, and when they are again."""

from __future__ import annotations

from typing import Final

from p2pcrawl.model.boards.job_board import is_mark
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Drop
from p2pcrawl.spiders.boards.joint_spider import JointSpider
from p2pcrawl.spiders.page_types.verdict import TypedBy, kind_for
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.past_form import past_in
from p2pcrawl.wire.messages.slave_messages import Outcome, Task

UNKNOWN: Final = "board-unknown"
"""The reason of a page that is queued again, since its master had not heard of its board when it granted it."""
AGAIN_S: Final = 2.0


def unasked_end(spider: Spider, task: Task) -> Outcome | None:
    """Returns the end of a page that is not to be asked for, or not yet; None: it is."""
    link = task.link
    if isinstance(spider, JointSpider):
        standing = spider.standing(link.callback, link.url, seed=link.seed)
    else:
        standing = "unknown" if is_mark(link.callback) else ""
    if standing == "gone":
        return Outcome(Phase.DROPPED, Drop.NO_BOARD, unasked=True)
    if standing == "unknown":
        return Outcome(Phase.QUEUED, UNKNOWN, retry_in_s=AGAIN_S, unasked=True)
    return None


def has_own_periods(spider: Spider, settings: Settings) -> bool:
    """Tells whether each board of a job says when its pages are asked again. What was typed goes over it."""
    return isinstance(spider, JointSpider) and not (settings.revisit_index or settings.revisit_detail)


def own_period(spider: Spider, task: Task, taken: TypedBy | None) -> float | str:
    """Returns the period of a page as its board has it now; ``taken``: what the page was taken for, once it is read."""
    assert isinstance(spider, JointSpider)
    kind = kind_for(taken.type) if taken is not None else past_in(task.past).kind if task.past else ""
    return spider.period(task.link.callback, task.link.url, kind or task.link.kind)
