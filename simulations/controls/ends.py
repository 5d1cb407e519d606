"""Controls of when a page is done, and when a job is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.core.slices import Slice
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.copies.account_keeping import AccountKeeping
from p2pcrawl.master.jobs import certificate, job_stats
from p2pcrawl.master.jobs.completion import Completion
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Hold
from p2pcrawl.master.slaves.outcomes import Intake
from p2pcrawl.model.cluster.account import AccountKey
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.slave_messages import LinkColumns

from ..play.options import Options
from .making.control import LIMIT_S, Control
from .making.swaps import swap

# -- done-before-links: a page's end does not wait for its links at other masters -------------

_links = Intake._links


def _links_without_hold(self: Intake, job: Job, parent: int, links: LinkColumns, batch: Batch, hold: Hold) -> None:
    _links(self, job, parent, links, batch, Hold())


# -- idle-timer: who decides that a job is finished looks at itself only ----------------------

_certificate = Job.certificate


async def _idle_here(self: Completion, job: Job) -> int | None:
    own = self._job_here(job.id)
    return None if own.busy else own.view


def _nothing_left(self: Job) -> dict[str, Any]:
    """Claims that nothing is left. The certificate would tell: what is left at any master keeps it from being
    signed.
    """
    return {**_certificate(self), "queued": 0, "leased": 0}


# -- counts-of-one: the certificate is signed by all, and tells what one has ------------------

_come_to = certificate._come_to


def _come_to_one(bodies: Sequence[dict[str, Any]], members: list[NodeId]) -> dict[str, Any]:
    return {**_come_to(bodies, members), "counts": bodies[0]["counts"]}


# -- left-unconfirmed: whoever stops says that it has handed everything over ------------------

_leave = Membership.leave


def _leave_as_if_all_were_well(self: Membership, now: float, *, handed_over: bool) -> MembershipOutput:
    return _leave(self, now, handed_over=True)


# -- news-counted-twice: what a slave's components count is counted when it comes, and again ---


_count_news = job_stats.count_news


def _count_twice(news: Mapping[str, int], tally: MutableMapping[str, int], counts: Mapping[str, int]) -> None:
    _count_news(news, tally, counts)
    _count_news(news, tally, counts)


# -- account-of-a-start: a master that comes back with its disk begins an account beside its own


def _life_of_this_start(self: AccountKeeping) -> str:
    here = self._peers.living(self._peers.me)
    return here.boot.hex() * 2 if here is not None else ""


# -- account-kept-to-itself: nobody is told what a master has counted ---------------------------


async def _tell_nobody(self: AccountKeeping) -> None:
    pass


# -- slices-kept-to-itself: nobody is told what a master has done in which hour and at which host


_owe = AccountKeeping._owe


def _owe_no_slices(self: AccountKeeping, keys: Iterable[AccountKey], lives: dict[NodeId, str]) -> None:
    _owe(self, [key for key in keys if not key.slice], lives)


# -- slices-of-a-start: a master that comes back does not know what it had told of its work ------


def _recall_nothing(self: AccountKeeping, slices: Sequence[Slice]) -> None:
    pass


CONTROLS = {
    "slices-kept-to-itself": Control(
        "the slices of what a master has done are told to nobody",
        "statements",
        Options(scenario="wiped", masters=3, pages=200, hosts=30, limit_s=LIMIT_S),
        (swap(AccountKeeping._owe, _owe_no_slices),),
    ),
    "slices-of-a-start": Control(
        "a master that comes back with its disk counts its work from nothing, under the same life",
        "statements",
        Options(scenario="rolling", masters=3, pages=200, hosts=30, limit_s=LIMIT_S),
        (swap(AccountKeeping.recall, _recall_nothing),),
    ),
    "account-of-a-start": Control(
        "what a master counted is of its start, and not of its disk: it comes back, and counts twice",
        "statements",
        Options(scenario="rolling", masters=3, pages=60, hosts=30, limit_s=LIMIT_S),
        (swap(AccountKeeping.life, _life_of_this_start),),
    ),
    "counted-alone": Control(
        "what a master counted is with nobody else, though nothing is lost",
        "counted",
        Options(masters=3, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(AccountKeeping.tell, _tell_nobody),),
        says="is kept by",
    ),
    "account-kept-to-itself": Control(
        "what a master counted is told to nobody",
        "statements",
        Options(scenario="wiped", masters=3, pages=200, hosts=30, limit_s=LIMIT_S),
        (swap(AccountKeeping.tell, _tell_nobody),),
    ),
    "news-counted-twice": Control(
        "what components count is counted twice",
        "statements",
        Options(masters=2, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(job_stats.count_news, _count_twice),),
    ),
    "done-before-links": Control(
        "a page is done before its links are at their owners",
        "children",
        Options(scenario="slow-owner", seed=5, masters=3, pages=60, hosts=30, limit_s=LIMIT_S),
        (swap(Intake._links, _links_without_hold),),
    ),
    "idle-timer": Control(
        "a job is finished when the one that decides has nothing left to do itself",
        "finish",
        Options(masters=3, pages=60, hosts=6, limit_s=LIMIT_S),
        (swap(Completion.finished_in, _idle_here), swap(Job.certificate, _nothing_left)),
    ),
    "left-unconfirmed": Control(
        "a master that goes says that it has handed everything over, whether it has or not",
        "finish",
        Options(scenario="full-disk", seed=3, masters=3, pages=60, hosts=30, limit_s=LIMIT_S),
        (swap(Membership.leave, _leave_as_if_all_were_well),),
    ),
    "counts-of-one": Control(
        "a certificate has the counts of one master in place of the sum",
        "statements",
        Options(masters=2, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(certificate._come_to, _come_to_one),),
    ),
}
