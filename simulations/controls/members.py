"""Controls of the membership, and of what strangers may do to a master."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.majority.consent import Consent
from p2pcrawl.core.membership import suspicion
from p2pcrawl.core.membership.comparing import Exchanges
from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.probing import Prober
from p2pcrawl.core.membership.self_defence import Claims
from p2pcrawl.core.membership.spreading import Spreader
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.gossip import Ack, Alive, Entry, Gossip, Update
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.errors import LinkError
from p2pcrawl.peer.acquaintances import AcquaintanceKeeping
from p2pcrawl.wire.sealed.datagrams import DatagramSeal, Opened

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- refutation-off: who is suspected says nothing to it --------------------------------------

_hear = Claims.hear


def _hear_no_rumours(self: Claims, update: Update, now: float, out: MembershipOutput) -> bool:
    return isinstance(update, Alive) and _hear(self, update, now, out)


# -- dead-never-declared: who is suspected stays so ------------------------------------------


def _never_over(confirmations: int, wanted: int, min_s: float, max_s: float) -> float:
    return inf


# -- refusals-raise: a datagram that is refused is an error rather than nothing ---------------

_open = DatagramSeal.open


def _open_or_raise(self: DatagramSeal, data: bytes) -> Opened | None:
    opened = _open(self, data)
    if opened is None:
        raise LinkError("a datagram is not as it should be")
    return opened


# -- each-part-counts: more than half of those that answer are taken for most -----------------


def _count_who_answers(self: Consent, now: float) -> None:
    self._notice(now)
    times = sorted(at for _, _, at in self._agreed.values() if now - at < self._timings.grant_s)
    self._until = times[len(times) // 2] + self._timings.grant_s if times else -inf
    self._stood = self._stood or now < self.until


# -- remembered-as-left: whoever was known in an earlier life has left, as far as one that is back knows ------

_remember = Membership.remember


def _remember_as_left(self: Membership, entries: Iterable[Entry], now: float) -> None:
    _remember(self, [replace(entry, status=Status.LEFT) for entry in entries], now)


def _no_charge(self: Courier, id: NodeId) -> list[Update]:
    return []


def _hear_no_answer(self: Prober, ack: Ack, out: MembershipOutput) -> None:
    pass


def _last_charge_kept(self: Courier, member: Member) -> Gossip | None:
    return None


def _join_once(self: Exchanges, now: float, address: Address) -> None:
    pass


def _listen_if_alive(self: Spreader, member: Member, now: float) -> bool:
    return member.living and member.id != self._courier.me.id


async def _remember_later(self: AcquaintanceKeeping) -> None:
    pass


def _claim_nothing(self: Ownership) -> Change:
    return Change()


CONTROLS = {
    "remembered-as-left": Control(
        "one that is back says that all have left whom it knew",
        "rumours",
        Options(scenario="churn", masters=3, pages=60, hosts=8, limit_s=LIMIT_S),
        (swap(Membership.remember, _remember_as_left),),
    ),
    "each-part-counts": Control(
        "more than half of those that answer are taken for most of the masters",
        "parts",
        Options(scenario="partition", partition="majority", pages=120, hosts=10, limit_s=LIMIT_S),
        (swap(Consent.recount, _count_who_answers),),
    ),
    "refutation-off": Control(
        "whoever is suspected does not refute it",
        "membership",
        Options(scenario="lossy", masters=2, pages=40, hosts=4, limit_s=LIMIT_S),
        (swap(Claims.hear, _hear_no_rumours),),
    ),
    "dead-never-declared": Control(
        "whoever is suspected is never declared dead",
        "membership",
        Options(scenario="massacre", masters=4, pages=40, hosts=4, limit_s=LIMIT_S),
        (swap(suspicion.timeout_s, _never_over),),
    ),
    "refusals-raise": Control(
        "a datagram that comes twice raises an error that nobody catches",
        "quiet",
        Options(scenario="lossy", masters=2, pages=20, hosts=3, limit_s=LIMIT_S),
        (swap(DatagramSeal.open, _open_or_raise),),
    ),
    "charges-untold": Control(
        "who asks a suspect does not say what is held against it",
        "rumours",
        Options(scenario="churn", masters=4, pages=60, hosts=8, limit_s=LIMIT_S),
        (swap(Courier.charge, _no_charge),),
        says="which it suspects, and does not say so",
    ),
    "answers-unheard": Control(
        "members are suspected that have answered",
        "rumours",
        Options(masters=3, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(Prober.acked, _hear_no_answer),),
        says="which has answered",
    ),
    "last-charge-untold": Control(
        "one that was held dead, and is back in the same life, is not told so",
        "rumours",
        Options(scenario="pauses", masters=4, pages=120, hosts=8, limit_s=LONG_S),
        (swap(Courier.last_charge, _last_charge_kept),),
        says="does not tell it that it was held dead",
    ),
    "joined-once": Control(
        "newcomers do not compare views again",
        "rumours",
        Options(masters=3, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(Exchanges.joined, _join_once),),
        says="has not compared views again",
    ),
    "dead-left-out": Control(
        "nobody who is declared dead is told that",
        "rumours",
        Options(scenario="churn", masters=3, pages=60, hosts=8, limit_s=LIMIT_S),
        (swap(Spreader._listens, _listen_if_alive),),
        says="and not that one itself",
    ),
    "suspects-for-ever": Control(
        "whoever is suspected is not declared dead in time",
        "rumours",
        Options(scenario="massacre", masters=4, pages=40, hosts=4, limit_s=LIMIT_S),
        (swap(suspicion.timeout_s, _never_over),),
        says="it is to be dead after",
    ),
    "nothing-claimed-anew": Control(
        "who stood still, or was held dead, goes on with all that its view calls its own",
        "handovers",
        Options(scenario="pauses", masters=3, pages=120, hosts=8, limit_s=LONG_S),
        (swap(Ownership.claim_anew, _claim_nothing),),
        says="has not let go of it since",
    ),
    "newcomers-unwritten": Control(
        "buckets change hands before those who are there are on the disk",
        "handovers",
        Options(masters=3, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(AcquaintanceKeeping.remember, _remember_later),),
        says="would know nothing after a crash",
    ),
}
