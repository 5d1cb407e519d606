"""A crawl of real masters into servers that are restarted. At full size: ``python -m benchmarks.sinks restart-sql``."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.masters.trial import Plan
from benchmarks.sinks.sql_restarts import restart_all

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("postgresql_server", "mariadb_server")]


def test_each_page_has_one_row_in_two_databases_that_are_restarted_though_a_master_is_killed(tmp_path: Path) -> None:
    plan = Plan(pages=600, hosts=40, delay_s=0.5, masters=3, copies=2, seed=1)

    assert restart_all(tmp_path, plan).broken == []
