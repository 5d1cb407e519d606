"""The spreading of news: when and to whom it goes out on its own, and how the dead are remembered.

The theory. While there is news, it goes every ``gossip_s`` to a few members drawn at random, the newly dead
among them, so that who is wrongly held dead hears of it. Later one dead member, drawn at random, is pinged now
and then, which is all it takes for the halves of a healed partition to find each other again.
"""

from __future__ import annotations

import math

from p2pcrawl.core.dice import Dice
from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.probing import Prober
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.node import Member, Status


class Spreader:
    """The timers of gossip and of the pings to the dead."""

    def __init__(
        self, config: MembershipConfig, dice: Dice, view: View, news: News, courier: Courier, prober: Prober
    ) -> None:
        self._config = config
        self._dice = dice
        self._view = view
        self._news = news
        self._courier = courier
        self._prober = prober
        self._gossip_at = self._retry_at = math.inf
        self._gossiped_at = -math.inf

    def start(self, now: float) -> None:
        self._retry_at = now + self._dice.random() * self._config.dead_retry_s

    def stop_retrying(self) -> None:
        self._retry_at = math.inf

    def next_at(self) -> float:
        return min(self._gossip_at, self._retry_at)

    def wake(self, now: float) -> None:
        """Makes gossip due at once, unless some was sent just now: there may be news."""
        if self._news and self._gossip_at == math.inf:
            self._gossip_at = max(now, self._gossiped_at + self._config.gossip_s)

    def tick(self, now: float, out: MembershipOutput) -> None:
        if now >= self._retry_at:
            self._retry_at = now + self._config.dead_retry_s * (0.9 + 0.2 * self._dice.random())
            self._ping_a_dead_one(out)
        if now >= self._gossip_at:
            self.gossip(now, out)

    def gossip(self, now: float, out: MembershipOutput) -> None:
        """Sends news now, whatever was sent before."""
        others = [member for member in self._view.members.values() if self._listens(member, now)]
        if not others:
            self._news.clear()
        for member in self._dice.sample(others, min(self._config.gossip_fanout, len(others))):
            gossip = self._courier.gossip(member.id)
            if gossip is not None:
                out.datagrams.append((member.address, gossip))
        self._gossiped_at = now
        self._gossip_at = now + self._config.gossip_s if self._news else math.inf

    def _listens(self, member: Member, now: float) -> bool:
        if member.id == self._courier.me.id:
            return False
        lately = now - self._config.dead_gossip_s
        return member.living or (member.status is Status.DEAD and self._view.since(member.id) > lately)

    def _ping_a_dead_one(self, out: MembershipOutput) -> None:
        dead = [member for member in self._view.members.values() if member.status is Status.DEAD]
        for member in self._dice.sample(dead, min(1, len(dead))):
            out.datagrams.append((member.address, self._courier.ping(self._prober.next_seq(), member.id)))
