"""A whole crawl through a pool of proxies of all kinds, by the measurement in small."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.proxies import Kinds, crawl_through

pytestmark = pytest.mark.slow


def test_every_page_comes_once_and_no_lie_through_a_pool_of_all_kinds(tmp_path: Path) -> None:
    kinds = Kinds(good=4, slow=2, dead=3, lying=3, blocking=3)

    run = crawl_through(tmp_path / "crawl", kinds, latency_s=0.02, hosts=3, pages=10)

    assert run["code"] == 0, run["said"]
    titles = Counter(item["title"] for item in run["items"])
    assert titles == {f"127.0.0.{host + 10} {page}": 1 for host in range(3) for page in range(10)}
    assert run["certificate"]["failed"] == 0
