"""Controls of single laws of checkers that have many: each breaks one, and names what is to be said of that."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.core.membership import suspicion
from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.listening import Listener
from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.probing import Prober
from p2pcrawl.frontier.records.batch import LeaseRow
from p2pcrawl.master.buckets.generation import Generation
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.buckets.takeover import Takeover
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.loans.lending import Lending
from p2pcrawl.master.slaves.granting import Granting
from p2pcrawl.model.cluster.gossip import Ping, Update
from p2pcrawl.model.cluster.node import Address, Member, NodeId
from p2pcrawl.wire.messages.peer_messages import Copied, Copy, CopyRow

from ..play.options import Options
from . import ends, members, owners
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- what is said of buckets ------------------------------------------------------------------


async def _nothing_here(self: Takeover, buckets: frozenset[int]) -> Counter[int]:
    return Counter()


def _done() -> asyncio.Future[bool]:
    """Says of a change that it is on the disk."""
    done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    done.set_result(True)
    return done


def _forget_later(self: Handover, buckets: Collection[int], generation: Generation) -> asyncio.Future[bool]:
    return _done()


def _grant_from_all(self: Ownership, bucket: int) -> bool:
    return True


def _keep_on_bench(self: Workbench, buckets: Collection[int]) -> None:
    pass


_share_out = Ownership._share_out


def _without_the_first(self: Ownership, members: Sequence[Member]) -> None:
    others = sorted(member.id for member in members if member.id != self.me)
    _share_out(self, [member for member in members if member.id not in others[:1]])


# -- what is acknowledged ---------------------------------------------------------------------


async def _store_nothing(self: Holdings, message: Copy) -> Copied:
    return Copied(0)


_grant = Granting.grant


def _grant_unwritten(self: Granting, leases: list[LeaseRow], now: float) -> None:
    _grant(self, [], now)


_transfer = Copier.transfer


def _all_at_once(self: Copier, links: Sequence[CopyRow], ends: Sequence[CopyRow]) -> None:
    _transfer(self, [*ends, *links], ())


def _copied_at_once(self: Copier, then: Callable[[], None]) -> None:
    then()


# -- what is said of jobs and hosts -----------------------------------------------------------


def _stored_at_once(self: Handover) -> asyncio.Future[bool]:
    return _done()


def _shared(self: Lending, host: Host) -> bool:
    return False


# -- what members say -------------------------------------------------------------------------


def _over_at_once(confirmations: int, wanted: int, min_s: float, max_s: float) -> float:
    return min_s / 4


def _ask_for_no_last_word(self: Prober, id: NodeId, through_others: bool, out: MembershipOutput) -> None:
    pass


def _leave_unanswered(self: Listener, now: float, sender: Address, ping: Ping, out: MembershipOutput) -> None:
    pass


_fill = News.fill


def _fill_for_ever(
    self: News, budget: int, members: int, first: Sequence[Update] = (), *, farewells: bool = True
) -> tuple[Update, ...]:
    for item in self._items.values():
        item.sent = 0
    return _fill(self, budget, members, first, farewells=farewells)


_ROLLING = Options(scenario="rolling", masters=3, pages=60, hosts=12, limit_s=LIMIT_S)
_SMALL = Options(masters=3, pages=60, hosts=8, limit_s=LIMIT_S)
_DEATHS = Options(scenario="churn", masters=4, pages=60, hosts=8, limit_s=LIMIT_S)

CONTROLS = {
    "told-empty": Control(
        "who lets go of buckets says that it has nothing of them",
        "handovers",
        _ROLLING,
        (swap(Takeover._sizes_of, _nothing_here),),
        says="that it has nothing of bucket",
    ),
    "given-up-unforgotten": Control(
        "buckets are said to be given up, and their rows stay",
        "handovers",
        _ROLLING,
        (swap(Handover.forget, _forget_later),),
        says="has it still as its own",
    ),
    "left-with-all": Control(
        "who goes says that it has handed over what is with nobody else",
        "handovers",
        ends.CONTROLS["left-unconfirmed"].options,
        ends.CONTROLS["left-unconfirmed"].swaps,
        says="says that it has left",
    ),
    "shared-out-among-others": Control(
        "each master leaves another one out when it shares out the buckets",
        "ownership",
        _SMALL,
        (swap(Ownership._share_out, _without_the_first),),
        says="share out by several",
    ),
    "copies-unwritten": Control(
        "a holder says that it has copies, and keeps none",
        "acknowledged",
        _SMALL,
        (swap(Holdings.copy, _store_nothing),),
        says="answered that it has a copy",
    ),
    "leases-unwritten": Control(
        "slaves are told of leases that are on no disk",
        "acknowledged",
        _SMALL,
        (swap(Granting.grant, _grant_unwritten),),
        says="has no such lease on its disk",
    ),
    "ends-before-links": Control(
        "ends of pages go to copies before the links that the pages led to",
        "acknowledged",
        Options(scenario="slow-owner", masters=3, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Copier.transfer, _all_at_once),),
        says="has a copy that says",
    ),
    "brought-uncopied": Control(
        "items go into sinks before anybody else knows the ends of their pages",
        "acknowledged",
        Options(masters=3, pages=60, hosts=8, sinks=1, limit_s=LIMIT_S),
        (swap(Copier.when_copied, _copied_at_once),),
        says="a sink is given",
    ),
    "mirrored-unwritten": Control(
        "a master says that it has a job as it was told, before that is on its disk",
        "endings",
        _SMALL,
        (swap(Handover.stored, _stored_at_once),),
        says="and its disk says",
    ),
    "finished-while-queued": Control(
        "a job is finished when the one that decides has nothing left to do itself, as all disks say",
        "endings",
        ends.CONTROLS["idle-timer"].options,
        ends.CONTROLS["idle-timer"].swaps,
        says="is queued on the disk of",
    ),
    "sessions-go-on": Control(
        "slaves go on when their sessions are over",
        "permissions",
        owners.CONTROLS["fencing-off"].options,
        owners.CONTROLS["fencing-off"].swaps,
        says="goes on under a session that is over",
    ),
    "asked-after-letting-go": Control(
        "a master has hosts asked whose buckets it has let go of",
        "permissions",
        Options(scenario="rolling", masters=3, pages=160, hosts=20, limit_s=LIMIT_S),
        (swap(Ownership.serves, _grant_from_all), swap(Workbench.remove, _keep_on_bench)),
        says="had let go of bucket",
    ),
    "lent-to-all": Control(
        "a host that one asks at a time is lent to several",
        "permissions",
        Options(masters=4, pages=120, hosts=5, key="url", limit_s=LONG_S),
        (swap(Lending._spaced, _shared),),
        says="which has not paid back",
    ),
    "dead-at-once": Control(
        "members are declared dead long before their time is over",
        "rumours",
        _DEATHS,
        (swap(suspicion.timeout_s, _over_at_once),),
        says="dead after a suspicion of",
    ),
    "last-word-unasked": Control(
        "nobody asks a suspect for its last word",
        "rumours",
        _DEATHS,
        (swap(Prober.hear, _ask_for_no_last_word),),
        says="times for a last word",
    ),
    "unanswered": Control(
        "nobody answers who is asked whether it is there",
        "rumours",
        _SMALL,
        (swap(Listener._answer, _leave_unanswered),),
        says="and did not answer",
    ),
    "unrefuted": Control(
        "who is suspected goes on speaking as before",
        "rumours",
        members.CONTROLS["refutation-off"].options,
        members.CONTROLS["refutation-off"].swaps,
        says="and speaks on under",
    ),
    "passed-on-for-ever": Control(
        "rumours are passed on without end",
        "rumours",
        _DEATHS,
        (swap(News.fill, _fill_for_ever),),
        says="has passed on more than",
    ),
}
