"""The membership of a cluster: SWIM with Lifeguard as a state machine without clock, dice or sockets.

The theory. Each member probes one other per period (:mod:`p2pcrawl.core.membership.probing`). Who does not answer is
suspected, not condemned (:mod:`p2pcrawl.core.membership.suspicion`): the suspicion is gossiped, and the suspect refutes
it by raising its incarnation, which only it may do. Unrefuted in time, it is declared dead. What members know
merges in any order to the same result (:mod:`p2pcrawl.core.membership.view`) and travels on every message
(:mod:`p2pcrawl.core.membership.dissemination`); from time to time two members compare all they know over a stream. The
dead are pinged now and then, and told so: a healed partition thus finds itself, each side refuting its death.

The shell calls :meth:`Membership.tick` when ``next_at`` has come, and hands in what arrives; it performs the
:class:`MembershipOutput` of every call. For each address in ``sync_with`` it opens a stream, sends
:meth:`Membership.push_pull_message`, and hands the reply to :meth:`Membership.receive_push_pull`; the other end
makes its own message *before* it takes in the one that arrived. An exchange that fails needs no report.

Invariants:

* No datagram is sent before the last incarnation of this identity was asked for (``joined``), and what the
  cluster knows is exceeded.
* A death that is merely told in a push/pull accuses; it never condemns a member that lives here.
* A call that comes late means that this process was stopped: it blames nobody for that time.
* Ticking at ``next_at`` again and again makes time pass; memory is bounded by the members known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from p2pcrawl.core.dice import Dice
from p2pcrawl.core.membership.comparing import Exchanges
from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.hearsay import Hearsay
from p2pcrawl.core.membership.listening import Listener
from p2pcrawl.core.membership.output import Event, EventKind, MembershipOutput
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.probing import Prober
from p2pcrawl.core.membership.self_defence import Claims
from p2pcrawl.core.membership.spreading import Spreader
from p2pcrawl.core.membership.suspicion import Suspicions
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import LOAD_BYTES_MAX, Dead, Entry, Left, Message, PushPull
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status

__all__ = ["Event", "EventKind", "Membership", "MembershipConfig", "MembershipOutput"]

_FORGET_EVERY_S = 60.0


class Membership:
    """One member's part in the protocol.

    ``me.incarnation`` is one above the last that this identity is known to have used, 1 if none is; what the
    cluster remembers is exceeded when joining. Raises ConfigurationError when ``config`` cannot work,
    ValueError when ``me`` cannot.
    """

    def __init__(self, me: Member, config: MembershipConfig, dice: Dice) -> None:
        config.validate()
        me.check()
        if me.status is not Status.ALIVE:
            raise ValueError("a member starts alive")
        self.unasked: set[Address] = set()
        """Those that we began to join through, until each was asked once, and has answered, or will not."""
        self._config = config
        self._view = View()
        self._news = News(config.retransmit_factor)
        self._suspicions = Suspicions(
            config.suspicion_min_s,
            config.suspicion_max_factor,
            config.confirmations,
            config.hearings,
            config.probe_timeout_s,
        )
        self._courier = Courier(me, self._view, self._news, config.message_max)
        self._prober = Prober(config, dice, self._view, self._courier)
        self._spreader = Spreader(config, dice, self._view, self._news, self._courier, self._prober)
        self._claims = Claims(config, self._courier, self._view, self._news, self._prober)
        self._exchanges = Exchanges(config, dice, self._view, me.id)
        self._hearsay = Hearsay(
            self._courier, self._view, self._news, self._suspicions, self._exchanges, self._claims, config.dead_forget_s
        )
        self._listener = Listener(
            self._courier,
            self._view,
            self._news,
            self._prober,
            self._exchanges,
            self._claims,
            self._hearsay,
        )
        self.loads: Mapping[NodeId, bytes] = MappingProxyType(self._listener.loads)
        """What each member last said of its load, as far as it was asked by this one."""
        self.views: Mapping[NodeId, int] = MappingProxyType(self._listener.views)
        """Each member's view digest, likewise."""
        self.heard: Mapping[NodeId, float] = MappingProxyType(self._listener.heard)
        """When each of them was last heard, by the clock of this process."""
        self.members: Mapping[NodeId, Member] = self._view.members
        """Everybody known, this member, the dead and the departed included."""
        self._forget_at = math.inf
        self._called_at = -math.inf
        self.stalls = 0
        """How often this process was found to have been stopped."""
        self._view.merge_facts(me, 0.0, own=True)

    @property
    def me(self) -> Member:
        return self._courier.me

    @property
    def joined(self) -> bool:
        """False from :meth:`join` until a first exchange of views: till then nothing is sent but exchanges."""
        return self._claims.joined

    @property
    def load(self) -> bytes:
        """The bytes that acks tell of this member, opaque here; at most 200 of them."""
        return self._courier.load

    @load.setter
    def load(self, load: bytes) -> None:
        if len(load) > LOAD_BYTES_MAX:
            raise ValueError(f"a load of {len(load)} bytes is over the limit of {LOAD_BYTES_MAX}")
        self._courier.load = load

    @property
    def view_digest(self) -> int:
        return self._view.digest

    @property
    def quiet(self) -> bool:
        """True when no news is left to send: after :meth:`leave`, the time to go."""
        return not self._news

    @property
    def next_at(self) -> float:
        """The time at which :meth:`tick` is due; infinite before :meth:`start`."""
        return min(
            self._forget_at, self._prober.next_at(), self._suspicions.next_at(),
            self._exchanges.next_at(), self._spreader.next_at(),
        )  # fmt: skip

    def alive(self) -> Sequence[Member]:
        """Returns the members that count for ownership, this one included: the living and the suspect."""
        return self._view.living()

    @property
    def revision(self) -> int:
        """A number that changes with whatever is known of any member."""
        return self._view.revision

    def remember(self, entries: Iterable[Entry], now: float) -> None:
        """Takes in what an earlier run knew of others. Who lived then, and who was dead, is taken for dead until it is
        heard of; who had left had left.
        """
        for entry in entries:
            member = entry.member
            if member.id != self.me.id and entry.age_s < self._config.dead_forget_s:
                self._view.merge_facts(member, now)
                status = Status.LEFT if entry.status is Status.LEFT else Status.DEAD
                self._view.remember(member.id, entry.incarnation, status, now, entry.age_s)

    def acquaintances(self, now: float) -> Sequence[Entry]:
        """Returns what a next run should know of others, the departed included: or it would miss them."""
        return [entry for entry in self._view.entries(now) if entry.member.id != self.me.id]

    def missing(self) -> list[Member]:
        """Returns the members that are away, are not forgotten yet, and may know what nobody here knows, however they
        went: all but those that handed everything over. Who is here with the disk of one that went is that one,
        whatever its name.
        """
        here = {member.store for member in self.alive()}
        return [m for m in self._view.members.values() if m.status is Status.DEAD and m.store not in here]

    def away_s(self, id: NodeId, now: float) -> float:
        """Returns for how long a member that is not here has been away, as far as is known."""
        return max(0.0, now - self._view.since(id))

    def start(self, now: float) -> None:
        """Begins to probe whoever is known."""
        self._called_at = now
        if self.joined:
            self._prober.start(now)
        self._exchanges.start(now)
        self._spreader.start(now)
        self._forget_at = now + _FORGET_EVERY_S

    def join(self, now: float, addresses: Sequence[Address]) -> MembershipOutput:
        """Joins the cluster through any of ``addresses``; they are tried again for as long as it takes."""
        out = self._begin(now)
        seeds = [address for address in addresses if address != self.me.address]
        if seeds and len(self.alive()) <= 1:
            self._claims.joined = False
            self._prober.stop()
        self._exchanges.join(now, seeds)
        self._exchanges.tick(now, self.joined, out)
        return self._end(now, out)

    def leave(self, now: float, *, handed_over: bool) -> MembershipOutput:
        """Says good-bye. The shell goes on ticking till ``quiet``, or as long as it likes.

        ``handed_over``: the others have all that this member had, for certain. Else it goes as one that died, which
        is told at once, and is missing until it is back.
        """
        out = self._begin(now)
        me = self.me
        if me.living:
            status = Status.LEFT if handed_over else Status.DEAD
            self._view.merge_verdict(me.id, me.incarnation, status, now)
            self._courier.me = self._view.members[me.id]
            self._prober.stop()
            self._exchanges.stop()
            self._spreader.stop_retrying()
            self._news.spread(Left(me.id, me.incarnation) if handed_over else Dead(me.id, me.incarnation, me.id))
            self._spreader.gossip(now, out)
        return self._end(now, out)

    def dismiss(self, now: float, id: NodeId) -> MembershipOutput:
        """Says of a member that is dead that it has left: a person knows that it will not come back, and nobody is to
        miss it. Should it live after all it refutes that, as it would its death. Raises ValueError for one that is not
        dead here.
        """
        out = self._begin(now)
        member = self._view.members.get(id)
        if member is None or member.status is not Status.DEAD:
            raise ValueError(f"{id} is not dead here")
        self._hearsay.take(Left(id, member.incarnation), now, out)
        self._spreader.gossip(now, out)
        return self._end(now, out)

    def update_me(self, now: float, **fields: Any) -> MembershipOutput:
        """Changes what this member says of itself (address, weight, leaving, api, store).

        Raises ValueError when a value cannot travel. Without a change nothing is sent.
        """
        out = self._begin(now)
        if {"id", "incarnation", "status", "boot"} & fields.keys():
            raise ValueError("a member's id, boot, incarnation and status are not its shell's to change")
        me = self.me
        if me.status is Status.ALIVE and any(getattr(me, name) != value for name, value in fields.items()):
            self._claims.announce(now, me.incarnation + 1, **fields)
        return self._end(now, out)

    def tick(self, now: float) -> MembershipOutput:
        """Does what is due."""
        out = self._begin(now)
        silent = self._prober.tick(now, out)
        if silent is not None:
            self._hearsay.silent(silent, now, out)
        self._hearsay.condemn(now, out)
        for id, through_others in self._suspicions.to_hear(now):
            self._prober.hear(id, through_others, out)
        self._exchanges.tick(now, self.joined, out)
        if now >= self._forget_at:
            self._forget_at = now + _FORGET_EVERY_S
            self._forget(now, out)
        self._spreader.tick(now, out)
        return self._end(now, out)

    def receive(self, now: float, sender: Address, message: Message) -> MembershipOutput:
        """Takes in a datagram that ``sender`` sent."""
        out = self._begin(now)
        self._listener.receive(now, sender, message, out)
        return self._end(now, out)

    def push_pull_message(self, now: float) -> PushPull:
        """Makes a message of all that this member knows, to send on a stream."""
        return PushPull(self.me.id, self.me.boot, not self.joined, self._view.entries(now))

    def receive_push_pull(self, now: float, sender: Address, message: PushPull) -> MembershipOutput:
        """Takes in another's view, whichever end began the exchange."""
        out = self._begin(now)
        self._listener.receive_push_pull(now, sender, message, out)
        return self._end(now, out)

    def _begin(self, now: float) -> MembershipOutput:
        """Begins every call: notices that this process was stopped since the last one."""
        stalled_s = now - max(self.next_at, self._called_at)
        self._called_at = now
        if stalled_s > self._config.probe_timeout_s:
            self.stalls += 1
            self._suspicions.put_off(now, stalled_s)
            self._prober.void(now)
        return MembershipOutput()

    def _end(self, now: float, out: MembershipOutput) -> MembershipOutput:
        if self._hearsay.hurry:
            self._hearsay.hurry = False
            self._spreader.gossip(now, out)
        elif self.joined:
            self._spreader.wake(now)
        return out

    def _forget(self, now: float, out: MembershipOutput) -> None:
        for member in self._view.forget(now, self._config.dead_forget_s):
            self._listener.forget(member.id)
            if member.id != self.me.id:
                out.events.append(Event(EventKind.FORGOTTEN, member))
