"""The scenarios of this folder at full size; ``make soak`` runs them, ``make bench`` prints their figures."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.coverage import coverage
from benchmarks.frontier_memory import frontier_memory
from benchmarks.hostile import hostile
from benchmarks.kill_slaves import kill_slaves
from benchmarks.kill_tree import kill_tree
from benchmarks.masters.hostile_bytes import hostile_bytes
from benchmarks.politeness import FULL, Manners, politeness

pytestmark = pytest.mark.soak

PAGES, HOSTS = 20_000, 200


@pytest.fixture
def seed() -> int:
    """Draws a seed, another one each time; it is part of what a failing scenario tells."""
    return random.randrange(1_000_000)


@pytest.mark.parametrize("slaves", [0, 1, 2])
def test_coverage(tmp_path: Path, slaves: int) -> None:
    assert coverage(tmp_path, PAGES, HOSTS, slaves).broken == []


@pytest.mark.parametrize("slaves", [0, 2])
def test_ten_kills_of_the_tree(tmp_path: Path, seed: int, slaves: int) -> None:
    claims = kill_tree(tmp_path, PAGES, HOSTS, 10, seed, slaves=slaves)

    assert claims.broken == [], claims.title


def test_twenty_kills_of_slaves(tmp_path: Path, seed: int) -> None:
    claims = kill_slaves(tmp_path, PAGES, HOSTS, 20, seed)

    assert claims.broken == [], claims.title


def test_hostile_site_with_default_limits(tmp_path: Path) -> None:
    assert hostile(tmp_path, 2, 600, {}).broken == []


def test_hostile_bytes_at_a_peer_that_crawls(tmp_path: Path, seed: int) -> None:
    claims = hostile_bytes(tmp_path, 60.0, seed)

    assert claims.broken == [], claims.title


@pytest.mark.parametrize("manners", FULL, ids=lambda manners: manners.name)
def test_politeness(tmp_path: Path, seed: int, manners: Manners) -> None:
    claims = politeness(tmp_path, manners, seed)

    assert claims.broken == [], claims.title


def test_frontier_of_five_million(tmp_path: Path) -> None:
    assert frontier_memory(tmp_path, 5_000_000, 50_000, 400).broken == []
