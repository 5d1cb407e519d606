"""What a record stands for in its job's counters."""

from __future__ import annotations

from collections import Counter

import pytest

from p2pcrawl.frontier.records import tallies
from p2pcrawl.model.crawl.record import Phase


@pytest.mark.parametrize(
    ("phase", "reason", "counted"),
    [
        (Phase.QUEUED, "", {"queued": 1}),
        (Phase.DONE, "", {"done": 1, "pages": 1}),
        (Phase.DONE, "redirect", {"done": 1, "redirects": 1}),
        (Phase.DONE, "start", {"done": 1}),
        (Phase.FAILED, "dns", {"failed": 1, "failed:dns": 1}),
        (Phase.DROPPED, "robots", {"dropped": 1, "dropped:robots": 1}),
    ],
)
def test_record_that_comes_counts_and_one_that_goes_counts_no_more(
    phase: Phase, reason: str, counted: dict[str, int]
) -> None:
    tally: Counter[str] = Counter()

    tallies.count(tally, phase, reason, +1)
    assert dict(tally) == counted

    tallies.count(tally, phase, reason, -1)
    assert set(tally.values()) == {0}
