"""A control of what a slave may end: what it was leased, and nothing else."""

from __future__ import annotations

from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.slaves.inbox import Reports
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.wire.messages.slave_messages import Report

from ..play.options import Options
from .control import LIMIT_S, Control
from .swaps import swap

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


CONTROLS = {
    "leases-unchecked": Control(
        "a slave may end pages that were leased to others",
        "items",
        Options(scenario="slaves-lie", seed=4, masters=2, slaves=2, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Reports.take, _believe),),
    ),
}
