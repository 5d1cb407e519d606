"""Asking one member at a time whether it lives, and asking others when it does not answer.

The theory (SWIM with Lifeguard). Members are probed in a shuffled round, so that each is asked within one
round of n - 1 periods, and by another member every period on average. A probe is a ping; after
``probe_timeout_s`` without an ack some other members are asked to ping in our stead, and a late direct ack
still counts. Only if the period ends without any ack is the target reported silent.

Whoever misses acks must doubt itself first. *Awareness* counts the reasons for doubt: a relay that sent
neither ack nor nack, a stall, a rumour about oneself that had to be refuted. It stretches period and time-out;
answered probes lower it again.

Invariants: at most one probe is open; an ack counts only under its sequence number and from its target; a probe
that a stall of this process overlapped is void.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from p2pcrawl.core.dice import Dice
from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import Ack, Nack, PingRequest
from p2pcrawl.model.cluster.node import Address, NodeId

RELAYS_MAX = 256
"""More pings than that are not relayed at a time."""
_NACK_SHARE = 0.8
"""A relay gives up this much of a time-out after it was asked, so that its nack is in time."""


@dataclass(slots=True)
class _Probe:
    seq: int
    target: NodeId
    ask_at: float
    asked: int = 0
    nacks: int = 0
    answered: bool = False


@dataclass(slots=True)
class _RelayedPing:
    asker: Address
    seq: int
    target: NodeId
    nack_at: float
    expires_at: float


class Prober:
    """The open probe, the round, the relays, and how far this member trusts itself."""

    def __init__(self, config: MembershipConfig, dice: Dice, view: View, courier: Courier) -> None:
        self._config = config
        self._dice = dice
        self._view = view
        self._courier = courier
        self._round: list[NodeId] = []
        self._placed: set[NodeId] = set()
        self._probe: _Probe | None = None
        self._relays: dict[int, _RelayedPing] = {}
        self._seq = int(dice.random() * (1 << 31))
        self._next_at = math.inf
        self.awareness = 0

    def start(self, now: float) -> None:
        if not self._courier.me.living:
            return
        # Members that start together shall not probe in step.
        self._next_at = now + self._dice.random() * self._config.probe_s

    def stop(self) -> None:
        self._next_at = math.inf
        self._probe = None

    def next_seq(self) -> int:
        self._seq = (self._seq + 1) & 0xFFFF_FFFF
        return self._seq

    def next_at(self) -> float:
        probe = self._probe
        at = self._next_at
        if probe is not None and not probe.answered and not probe.asked:
            at = min(at, probe.ask_at)
        for relay in self._relays.values():
            at = min(at, relay.nack_at, relay.expires_at)
        return at

    def doubt(self, by: int) -> None:
        """Adds reasons (or, negative, takes some away) to doubt oneself."""
        self.awareness = max(0, min(self._config.awareness_max - 1, self.awareness + by))

    def void(self, now: float) -> None:
        """Gives up the running probe, because this process was stopped: what it did not hear meanwhile says nothing."""
        if self._next_at < math.inf:
            self._probe = None
            self._next_at = now + self._config.probe_timeout_s
        self.doubt(1)

    def tick(self, now: float, out: MembershipOutput) -> NodeId | None:
        """Does what is due; returns the member that proved silent, if one did."""
        self._tend_relays(now, out)
        probe = self._probe
        if probe is not None and not probe.answered and not probe.asked and now >= probe.ask_at:
            probe.asked = self._ask_others(probe.seq, probe.target, out) or -1
        if now < self._next_at:
            return None
        silent = None
        if probe is not None and not probe.answered:
            self.doubt(probe.asked - probe.nacks if probe.asked > 0 else 1)
            silent = probe.target
        self._begin(now, out)
        return silent

    def hear(self, id: NodeId, through_others: bool, out: MembershipOutput) -> None:
        """Asks out of turn, a suspect for its last word. The answer needs no matching: its incarnation says it all."""
        seq = self.next_seq()
        out.datagrams.append((self._view.members[id].address, self._courier.ping(seq, id)))
        if through_others:
            self._ask_others(seq, id, out)

    def acked(self, ack: Ack, out: MembershipOutput) -> None:
        """Takes in an ack, for us or for the one we relay for."""
        relay = self._relays.get(ack.seq)
        if relay is not None:
            if relay.target == ack.source:
                del self._relays[ack.seq]
                out.datagrams.append((relay.asker, self._courier.pass_on(ack, relay.seq)))
            return
        probe = self._probe
        if probe is not None and probe.seq == ack.seq and probe.target == ack.source and not probe.answered:
            probe.answered = True
            self.doubt(-1)

    def nacked(self, nack: Nack) -> None:
        probe = self._probe
        if probe is not None and probe.seq == nack.seq:
            probe.nacks = min(probe.nacks + 1, max(probe.asked, 0))

    def relay(self, now: float, asker: Address, request: PingRequest, out: MembershipOutput) -> None:
        """Pings in another's stead."""
        if len(self._relays) >= RELAYS_MAX:
            return
        seq = self.next_seq()
        timeout = self._config.probe_timeout_s
        self._relays[seq] = _RelayedPing(
            asker, request.seq, request.target, now + _NACK_SHARE * timeout, now + 4 * timeout
        )
        out.datagrams.append((request.address, self._courier.ping(seq, request.target)))

    def _begin(self, now: float, out: MembershipOutput) -> None:
        stretch = self.awareness + 1
        self._next_at = now + self._config.probe_s * stretch
        self._probe = None
        target = self._draw()
        if target is None:
            return
        seq = self.next_seq()
        self._probe = _Probe(seq, target, now + self._config.probe_timeout_s * stretch)
        out.datagrams.append((self._view.members[target].address, self._courier.ping(seq, target)))

    def _draw(self) -> NodeId | None:
        """Draws the next of the round, which is shuffled anew when it is over. Newcomers get a place drawn at
        random.
        """
        if len(self._view.members) != len(self._placed):
            self._place_newcomers()
        for _ in range(2):
            while self._round:
                id = self._round.pop()
                member = self._view.members.get(id)
                if member is not None and member.living:
                    return id
            self._placed.clear()
            self._place_newcomers()
        return None

    def _place_newcomers(self) -> None:
        """Gives a place in this round to all that have none yet. The dead have one too, and are passed over."""
        for id in self._view.members:
            if id not in self._placed and id != self._courier.me.id:
                self._round.insert(int(self._dice.random() * (len(self._round) + 1)), id)
        self._placed.update(self._view.members)

    def _ask_others(self, seq: int, id: NodeId, out: MembershipOutput) -> int:
        target = self._view.members.get(id)
        others = [member for member in self._view.living() if member.id not in (self._courier.me.id, id)]
        relays = self._dice.sample(others, min(self._config.indirect, len(others)))
        if target is not None:
            for relay in relays:
                out.datagrams.append((relay.address, self._courier.ping_request(seq, target)))
        return len(relays)

    def _tend_relays(self, now: float, out: MembershipOutput) -> None:
        for seq, relay in list(self._relays.items()):
            if now >= relay.nack_at:
                relay.nack_at = math.inf
                out.datagrams.append((relay.asker, self._courier.nack(relay.seq)))
            if now >= relay.expires_at:
                del self._relays[seq]
