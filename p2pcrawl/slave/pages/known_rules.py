"""The robots.txt of the origins that one job in one slave has to do with."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from p2pcrawl.fetch.components.chain import Detour
from p2pcrawl.fetch.components.robots import RobotsRules, RobotsText

RULES_MAX: Final = 20_000


class MissingRules(Detour):
    """The origin's robots.txt is not (or no longer) known here: the master must send it again."""


class KnownRules:
    """The rules of the last ``RULES_MAX`` origins that were learnt, for one agent. ``usage``: with what they say about
    the use of pages.
    """

    def __init__(self, agent: str, *, usage: bool) -> None:
        self._agent = agent
        self._usage = usage
        self._rules: OrderedDict[str, RobotsRules] = OrderedDict()

    def learn(self, origin: str, verdict: Any, body: str, reason: str) -> RobotsRules:
        """Reads an origin's robots.txt, and returns its rules."""
        rules = self._rules[origin] = RobotsRules(RobotsText(verdict, body, reason), self._agent, usage=self._usage)
        self._rules.move_to_end(origin)
        if len(self._rules) > RULES_MAX:
            self._rules.popitem(last=False)
        return rules

    def of(self, origin: str) -> RobotsRules | None:
        """Returns the rules of an origin. Raises MissingRules where they are not known."""
        rules = self._rules.get(origin)
        if rules is None:
            raise MissingRules(origin)
        return rules

    def why_unreachable(self, origin: str) -> str:
        """Returns why an origin's robots.txt could not be had; "" if it could."""
        rules = self._rules.get(origin)
        return rules.why_unreachable if rules is not None else ""
