"""Newcomers compare views again in just the time in which nobody is asked twice."""

from __future__ import annotations

from random import Random

import pytest

from p2pcrawl.core.membership.comparing import Exchanges
from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.node import Address
from tests.unit.core.membership.membership_world import member

SEED = Address("10.0.0.3:7117")


@pytest.mark.parametrize("joined_at", [0.25, 1.7732167588576027])
def test_newcomer_that_hears_news_asks_again_each_second(joined_at: float) -> None:
    dice = Random(1)
    view, me = View(), member(1, dice)
    view.merge_facts(me, 0.0, own=True)
    exchanges = Exchanges(MembershipConfig(), dice, view, me.id)
    exchanges.joined(joined_at, SEED)

    asked = []
    for number in (2, 3, 4):
        out = MembershipOutput()
        exchanges.tick(exchanges.next_at(), True, out)
        asked.append(out.sync_with)
        view.merge_facts(member(number, dice), 0.0)

    assert asked == [[SEED]] * 3
