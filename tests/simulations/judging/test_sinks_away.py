"""The model of sinks that are away tells of one that is left alone for too long."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from simulations.model.work.sinks_away import SinksAway


@dataclass
class Seen:
    """What somebody saw of a machine."""

    stood_still: bool = False
    now_s: float = 100.0

    def in_trouble(self, node: str, from_s: float, until_s: float) -> bool:
        return self.stood_still


@pytest.mark.parametrize(("waited_s", "stood_still", "is_amiss"), [
    (30.5, False, False), (32.0, False, True), (32.0, True, False),
])  # fmt: skip
def test_a_sink_that_is_away_is_tried_again_after_half_a_minute(
    waited_s: float, *, stood_still: bool, is_amiss: bool
) -> None:
    told: list[str] = []
    rules = SinksAway(Seen(stood_still), told.append)

    rules.tried("m0", "database0", waited_s)

    said = f"at 100.000 s m0 found database0 away, and tries to open it again {waited_s:.1f} s later only"
    assert told == ([said] if is_amiss else [])
