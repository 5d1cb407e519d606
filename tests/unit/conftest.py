"""What the tests of single modules share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import pytest

TELL_EVERY_S = 30.0

Count = Callable[[int], Iterable[int]]
"""Counts to so many: ``range``, or one that tells how far it is."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masters and their overlay look again soon, for on one machine nothing takes long."""
    for name, seconds in {
        "master.buckets.takeover.CLAIM_RETRY_S": 0.01,
        "master.buckets.offering.OFFER_S": 0.1,
        "master.cluster.HEIRS_LOOK_S": 0.01,
        "master.cluster.ROUND_S": 0.05,
        "master.steering.LOOK_S": 0.05,
        "overlay.node.LOOK_S": 0.05,
    }.items():
        monkeypatch.setattr(f"p2pcrawl.{name}", seconds)


@pytest.fixture
def aloud(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Count:
    """For rounds that take minutes: says every half minute how many are done, and at the end how long they took."""

    def count(rounds: int) -> Iterator[int]:
        began_s = told_s = time.monotonic()
        for number in range(rounds):
            if number % 1000 == 0 and (now := time.monotonic()) - told_s > TELL_EVERY_S:
                told_s = now
                tell(f"{number:,} of {rounds:,} rounds after {now - began_s:.0f} s")
            yield number
        tell(f"{rounds:,} rounds in {time.monotonic() - began_s:.0f} s")

    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {request.node.name}: {text}", flush=True)

    return count
