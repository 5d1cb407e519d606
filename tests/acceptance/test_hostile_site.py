"""A site that means harm hurts nobody but itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hostile import hostile
from tests.sites.server import loopback_addresses

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(len(loopback_addresses("127.0.2", 2)) < 2, reason="needs many loopback addresses"),
]

IMPATIENT = {"DOWNLOAD_TIMEOUT": 8, "FIRST_BYTE_TIMEOUT": 4, "RETRY_TIMES": 0, "DOWNLOAD_MAXSIZE": 4_000_000}


@pytest.mark.parametrize("slaves", [pytest.param(0, marks=pytest.mark.soak), 2])
def test_every_trap_ends_as_it_may_and_ordinary_hosts_are_complete(tmp_path: Path, slaves: int) -> None:
    assert hostile(tmp_path, slaves, 300, IMPATIENT).broken == []
