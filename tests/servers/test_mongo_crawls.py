"""Crawls of real masters into a real MongoDB that is killed or away. At full size: ``python -m benchmarks.sinks``."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.masters.trial import Plan
from benchmarks.sinks.mongo_kills import kill_all, stay_away

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("can_start_mongod")]


def test_each_page_has_one_document_though_the_server_and_a_master_are_killed_twice(tmp_path: Path) -> None:
    plan = Plan(pages=800, hosts=40, delay_s=0.4, masters=3, copies=2, seed=1)

    assert kill_all(tmp_path, plan, "alone").broken == []


@pytest.mark.soak
def test_server_that_is_away_for_the_whole_crawl_gets_all_when_it_is_back(tmp_path: Path) -> None:
    plan = Plan(pages=600, hosts=40, delay_s=0.1, masters=2, copies=2, seed=1)

    assert stay_away(tmp_path, plan).broken == []
