"""The times at which two members compare all they know: periodically, to join and soon after, and when they seem to
differ.

Invariant: one address is asked at most once per second, whatever the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from p2pcrawl.core.dice import Dice
from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.node import Address, NodeId

_AGAIN_S = 1.0
_ROUNDING_S = 1e-6
"""Who is due again in just that time is asked."""
_ASKED_MAX = 1024


class Exchanges:
    """Chooses with whom to exchange views, and when."""

    def __init__(self, config: MembershipConfig, dice: Dice, view: View, me: NodeId) -> None:
        self._config = config
        self._dice = dice
        self._view = view
        self._me = me
        self._seeds: list[Address] = []
        self._asked: dict[Address, float] = {}
        self._periodic_at = math.inf
        self._seeds_at = math.inf
        self._pause_s = config.join_retry_s
        self._repaired_at = -math.inf
        self._again_at = math.inf
        self._again_with = Address("")
        self._again_since: int | None = None
        """Our view when this address was last asked again."""

    def start(self, now: float) -> None:
        self._periodic_at = now + self._dice.random() * self._config.push_pull_s

    def stop(self) -> None:
        self._periodic_at = self._seeds_at = self._again_at = math.inf

    def join(self, now: float, addresses: Sequence[Address]) -> None:
        """Tries these addresses from now on, whenever this member is alone."""
        self._seeds = list(dict.fromkeys([*self._seeds, *addresses]))
        self._pause_s = self._config.join_retry_s
        self._seeds_at = now if self._seeds else math.inf

    def joined(self, now: float, address: Address) -> None:
        """Plans another exchange with the address that this member joined through: others that come at the same time
        most likely join there, too.
        """
        self._again_with, self._again_since = address, None
        self._again_at = now + self._config.join_again_s

    def next_at(self) -> float:
        return min(self._periodic_at, self._seeds_at, self._again_at)

    def tick(self, now: float, joined: bool, out: MembershipOutput) -> None:
        """Asks whoever is due."""
        if now >= self._seeds_at:
            self._seeds_at = now + self._pause_s
            if not joined or not self._others():
                self._pause_s = min(2 * self._pause_s, self._config.push_pull_s)
                for address in self._seeds:
                    self.want(now, address, out)
            else:
                self._pause_s = self._config.join_retry_s
                self._seeds_at = now + self._config.push_pull_s
        if now >= self._again_at:
            self._again_at = math.inf
            if self._again_since != self._view.digest:
                self._again_since = self._view.digest
                self._again_at = now + self._config.join_again_s
                self.want(now, self._again_with, out)
        if now >= self._periodic_at:
            self._periodic_at = now + self._config.push_pull_s * (0.9 + 0.2 * self._dice.random())
            others = self._others()
            for address in self._dice.sample(others, min(1, len(others))):
                self.want(now, address, out)

    def differs(self, now: float, address: Address, out: MembershipOutput) -> None:
        """Wants an exchange with a member whose digest is not ours though no news is under way."""
        if now - self._repaired_at >= self._config.repair_s:
            self._repaired_at = now
            self.want(now, address, out)

    def want(self, now: float, address: Address, out: MembershipOutput) -> None:
        """Asks this address, unless it was asked just now."""
        if now - self._asked.get(address, -math.inf) < _AGAIN_S - _ROUNDING_S:
            return
        if len(self._asked) >= _ASKED_MAX:
            self._asked.clear()
        self._asked[address] = now
        out.sync_with.append(address)

    def _others(self) -> list[Address]:
        return [member.address for member in self._view.living() if member.id != self._me]
