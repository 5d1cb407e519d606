"""A start page on this machine that leads to very many pages: slaves of other peers drop none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.masters.start_page import start_page

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("links", "more"),
    [
        pytest.param(3_000, {}, id="many-links"),
        pytest.param(200, {"start_s": 7.0}, id="callback-of-the-start-page-blocks", marks=pytest.mark.soak),
        pytest.param(3, {"each_s": 6.0}, id="every-callback-blocks", marks=pytest.mark.soak),
        pytest.param(2_000, {"kill": True}, id="master-of-the-start-page-is-killed"),
    ],
)
def test_no_page_that_a_start_page_leads_to_is_dropped(tmp_path: Path, links: int, more: dict[str, float]) -> None:
    assert start_page(tmp_path, links, helpers=2, **more).broken == []
