"""Controls of what a slave may end, and of what masters look after: sessions, buckets, copies, loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.copies.account_keeping import AccountKeeping
from p2pcrawl.master.copies.syncing import Syncing
from p2pcrawl.master.slaves.inbox import Reports
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.master.slaves.slaves import Slaves
from p2pcrawl.model.cluster.account import AccountKey
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.slave_messages import Report

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- leases-unchecked: whoever reports the end of a page is believed, whoever it was leased to -

_take = Reports.take


def _believe(self: Reports, session: Session, batch: Batch, now: float, *, all_of_it: bool = False) -> int:
    for message in session.inbox:
        for page in message.pages if isinstance(message, Report) else ():
            for other in self.sessions.values():
                if page.record in other.leases and page.record not in session.leases:
                    lease = session.leases[page.record] = other.leases.pop(page.record)
                    page.lease = lease.number
    return _take(self, session, batch, now, all_of_it=all_of_it)


# -- one-left-over: a bucket is taken over by nobody ---------------------------------------------

_serve = Ownership.serve


def _serve_all_but_one(self: Ownership, epochs: Mapping[int, int]) -> frozenset[int]:
    return _serve(self, {bucket: epoch for bucket, epoch in epochs.items() if bucket})


# -- copies-not-renewed: who came with an empty disk is not brought to what it is to have ---------


def _leave_them(self: Syncing, nodes: Collection[NodeId]) -> None:
    pass


# -- sessions-without-end: the session of a slave that fell silent goes on ------------------------


def _none(self: Slaves, now: float) -> list[Session]:
    return []


# -- telling-raises: an error that nobody expected, caught by the loop that it is in ------------


def _raise(self: AccountKeeping, keys: Iterable[AccountKey], lives: dict[NodeId, str]) -> None:
    raise KeyError("no keeper of that name")


CONTROLS = {
    "leases-unchecked": Control(
        "a slave may end pages that were leased to others",
        "items",
        Options(scenario="slaves-lie", seed=4, masters=2, slaves=2, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Reports.take, _believe),),
    ),
    "one-left-over": Control(
        "one bucket is served by nobody, though all are there",
        "healing",
        Options(masters=2, pages=20, hosts=3, limit_s=LIMIT_S),
        (swap(Ownership.serve, _serve_all_but_one),),
    ),
    "copies-not-renewed": Control(
        "who came with an empty disk is not brought to what it is to have",
        "healing",
        Options(scenario="wiped", masters=3, pages=60, hosts=6, limit_s=LONG_S),
        (swap(Syncing.begin, _leave_them),),
    ),
    "sessions-without-end": Control(
        "the session of a slave that fell silent goes on",
        "healing",
        Options(scenario="slaves-die", masters=2, slaves=2, pages=60, hosts=8, limit_s=LIMIT_S),
        (swap(Slaves.overdue, _none),),
    ),
    "telling-raises": Control(
        "telling what was counted fails each time, and the log alone says so",
        "quiet",
        Options(scenario="steady", masters=2, pages=20, hosts=3, limit_s=LIMIT_S),
        (swap(AccountKeeping._owe, _raise),),
    ),
}
