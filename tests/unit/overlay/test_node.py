"""Whole overlay nodes on loopback."""

from __future__ import annotations

import pytest

from p2pcrawl.core.membership.output import EventKind
from tests.unit.overlay.nodes import credentials, node, until

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.mark.slow
async def test_two_nodes_meet_and_part() -> None:
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        await until(lambda: one.directory.digest() == two.directory.digest())
        assert one.membership.view_digest == two.membership.view_digest

        await two.leave(handed_over=True)

        await until(lambda: len(one.members()) == 1)
        assert [e.kind for e in one.seen.events][-1] is EventKind.LEFT


async def test_duplicate_identity_is_told_to_both() -> None:
    who = credentials()
    async with node() as middle, node(who, join=(middle.address,)) as first:
        await until(lambda: len(middle.members()) == 2)
        async with node(credentials(identity=who.identity), join=(middle.address,)) as second:
            await until(
                lambda: any(
                    e.kind is EventKind.CONFLICT for e in [*first.seen.events, *second.seen.events, *middle.seen.events]
                )
            )
            assert first.me == second.me
