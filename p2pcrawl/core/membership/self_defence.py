"""A node's answers to claims about itself: rumours to refute, earlier lives to outlive, impostors to report.

The theory. A rumour of one's own death is refuted by announcing a higher incarnation than the rumour's. An
announcement under our id with another boot id is either an earlier life of this node, which cannot answer any
more, or another process that uses a copy of the identity, which can. So its address is pinged: an ack under that
boot id, or any message of it, is proof of a conflict.

Invariants: ``courier.me`` has a higher incarnation than any rumour against it that was heard and that others can have
taken in (:mod:`p2pcrawl.core.membership.leaps`); each foreign boot
id is reported once, and costs at most one incarnation per ``repair_s``, so that two claimants do not storm.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.leaps import LEAP, is_leap
from p2pcrawl.core.membership.output import Event, EventKind, MembershipOutput
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.probing import Prober
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import Ack, Alive, Update
from p2pcrawl.model.cluster.node import INCARNATION_MAX, Address, Member
from p2pcrawl.model.timings import TIMINGS

_BOOTS_MAX = 64


class Claims:
    """The word on ``courier.me``."""

    def __init__(self, config: MembershipConfig, courier: Courier, view: View, news: News, prober: Prober) -> None:
        self._config = config
        self._courier = courier
        self._view = view
        self._news = news
        self._prober = prober
        self.joined = True
        """Whether this identity's last incarnation was asked for, as far as there is anybody to ask."""
        self._outlived_at = self._leapt_at = -math.inf
        self._condemned_at = courier.me.incarnation - 1
        """The last incarnation under which others held this node dead, as far as was heard; before this life, at least.
        """
        self._challenged: dict[bytes, tuple[int, float]] = {}
        self._reported: set[bytes] = set()

    def announce(self, now: float, incarnation: int, **fields: Any) -> None:
        """Says something new of this node, under a higher incarnation."""
        me = replace(self._courier.me, incarnation=min(incarnation, INCARNATION_MAX), **fields)
        me.check()
        self._courier.me = me
        self._view.merge_facts(me, now, own=True)
        self._news.spread(Alive(me))

    def exceed(self, now: float, incarnation: int) -> None:
        """Exceeds the incarnation up to which the cluster knew an earlier life of this node; one that is out of reach
        is neared.
        """
        me = self._courier.me
        if me.living:
            if is_leap(me.incarnation, incarnation + 1):
                self._leapt_at = now
            self.announce(now, min(max(me.incarnation, incarnation + 1), me.incarnation + LEAP))
            self._condemned_at = max(self._condemned_at, self._courier.me.incarnation - 1)

    def join(self, now: float) -> None:
        """Lets this node speak from now on: a first exchange of views took place."""
        self.joined = True
        self.exceed(now, 0)

    def hear(self, update: Update, now: float, out: MembershipOutput) -> bool:
        """Takes in a rumour about this node; returns True if it was refuted and the refutation should hurry."""
        me = self._courier.me
        if isinstance(update, Alive) and update.member.boot != me.boot:
            self._doubt_identity(update.member, now, out)
            if update.incarnation < me.incarnation or now - self._outlived_at < self._config.repair_s:
                return False
            self._outlived_at = now
            self._condemned_at = max(self._condemned_at, min(update.incarnation, me.incarnation + LEAP))
        elif isinstance(update, Alive):
            if update.incarnation <= me.incarnation:
                return False
        elif update.incarnation < me.incarnation:
            return False
        if not me.living or not self._may_follow(update.incarnation, now):
            return False
        self.announce(now, min(update.incarnation + 1, me.incarnation + LEAP))
        if not isinstance(update, Alive):
            self._prober.doubt(1)
            out.events.append(Event(EventKind.REFUTED, self._courier.me, me))
        return True

    def condemned(self, incarnation: int, out: MembershipOutput) -> None:
        """Takes in that somebody has held this node dead or gone, also under an incarnation that it has exceeded by
        now: a suspicion may have been refuted, and the refutation have got lost. Reports it once.
        """
        me = self._courier.me
        if me.living and incarnation > self._condemned_at and not is_leap(me.incarnation, incarnation):
            self._condemned_at = incarnation
            out.events.append(Event(EventKind.CONDEMNED, me))

    def _may_follow(self, incarnation: int, now: float) -> bool:
        """Tells whether this node may exceed the incarnation now, or get near it."""
        if not is_leap(self._courier.me.incarnation, incarnation + 1):
            return True
        if now - self._leapt_at < TIMINGS.leap_every_s:
            return False
        self._leapt_at = now
        return True

    def met(self, boot: bytes, address: Address, out: MembershipOutput) -> None:
        """Reports a conflict, once for each boot id: a message came from a process that says it is this node."""
        me = self._courier.me
        if boot == me.boot or boot in self._reported or len(self._reported) >= _BOOTS_MAX:
            return
        self._reported.add(boot)
        out.events.append(Event(EventKind.CONFLICT, replace(me, boot=boot, address=address), me))

    def acked(self, ack: Ack, sender: Address, out: MembershipOutput) -> None:
        """Reports the impostor that answered the challenge: an ack came under our own id."""
        if any(seq == ack.seq for seq, _ in self._challenged.values()):
            self.met(ack.boot, sender, out)

    def _doubt_identity(self, claimant: Member, now: float, out: MembershipOutput) -> None:
        """Pings the address of an announcement that is not ours; an earlier life will not answer."""
        me = self._courier.me
        if claimant.address == me.address or claimant.boot in self._reported:
            return
        _, challenged_at = self._challenged.get(claimant.boot, (0, -math.inf))
        if now - challenged_at < self._config.repair_s:
            return
        if len(self._challenged) >= _BOOTS_MAX:
            self._challenged.clear()
        seq = self._prober.next_seq()
        self._challenged[claimant.boot] = (seq, now)
        out.datagrams.append((claimant.address, self._courier.challenge(seq)))
