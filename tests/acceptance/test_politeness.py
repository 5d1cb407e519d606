"""Manners as the server sees them, also while things are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.politeness import UNDER_WAY_S, Manners, politeness

pytestmark = pytest.mark.slow

MANNERS = [
    Manners("delay", hosts=20, pages=12),
    Manners("delay, in one process", hosts=20, pages=8, slaves=0),
    Manners("delay, slaves killed", hosts=20, pages=12, slave_kills=3),
    Manners("delay, tree killed", hosts=20, pages=12, tree_kills=2),
    Manners("crawl-delay", hosts=10, pages=6, crawl_delay_s=0.5, crawl_delay_hosts=5),
    Manners("crawl-delay, tree killed", hosts=10, pages=3, crawl_delay_s=2.0, crawl_delay_hosts=10, tree_kills=1),
    Manners("retry-after", hosts=10, pages=10, busy_hosts=5),
    Manners("retry-after, tree killed", hosts=10, pages=10, busy_hosts=5, retry_after_s=4, tree_kills=1),
    Manners("no delay", hosts=10, pages=30, delay_s=None),
    Manners("no delay, retry-after", hosts=10, pages=30, delay_s=None, busy_hosts=5, tolerance_s=UNDER_WAY_S),
]


SLOWEST = {"crawl-delay, tree killed", "retry-after, tree killed", "delay"}
"""Left to ``make soak``: what others here show as well, or nearly, and sooner."""


@pytest.mark.parametrize(
    "manners",
    [pytest.param(each, marks=pytest.mark.soak if each.name in SLOWEST else ()) for each in MANNERS],
    ids=lambda manners: manners.name,
)
def test_no_host_is_asked_too_early_or_too_much_at_once(tmp_path: Path, manners: Manners) -> None:
    assert politeness(tmp_path, manners).broken == []


def test_haste_is_noticed(tmp_path: Path) -> None:
    """The site would tell: a crawl without a delay is measured by the rule of one with a delay."""
    hasty = Manners("hasty", hosts=2, pages=10, delay_s=0.01, slaves=0)

    claims = politeness(tmp_path, hasty, measured_by_s=0.2)

    assert [each.partition(":")[0] for each in claims.broken] == ["violations"]
