"""Of pages that say the same one comes out, whatever is killed and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.texts.one_of_each import cluster, one_machine

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("how", "near"), [("drop", 3), ("mark", 0)])
def test_kill_of_the_tree_leaves_one_item_of_each_text(tmp_path: Path, how: str, near: int) -> None:
    assert one_machine(tmp_path, 400, 20, 3, 1, how, near).broken == []


@pytest.mark.parametrize(("how", "near"), [pytest.param("drop", 0, marks=pytest.mark.soak), ("mark", 2)])
def test_death_of_a_master_leaves_one_item_of_each_text(tmp_path: Path, how: str, near: int) -> None:
    assert cluster(tmp_path, 400, 20, 2, how, near).broken == []
