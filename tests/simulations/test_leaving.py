"""Masters leave in order, however many at once, as long as others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulations.observe.incidents import LEAVE
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

MOST_LEAVE = """
seed = 1
[cluster]
masters = 5
replicas = 2
[web]
pages = 30
hosts = 10
[[fault]]
at = "3 s"
do = "leave"
who = ["m2", "m3", "m4"]
for = "60 s"
"""


@pytest.mark.slow
def test_most_of_the_masters_leave_at_once_and_wait_for_nothing_but_their_copies(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(MOST_LEAVE)

    report = Simulation(read_plan(plan)).run()

    assert report.violations == []
    leaves = [incident for incident in report.incidents if incident.what == LEAVE]
    assert len(leaves) == 3
    assert max(leave.ended_s - leave.began_s for leave in leaves) < 10.0
