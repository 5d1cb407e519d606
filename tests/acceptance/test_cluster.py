"""A few masters as real processes: they share a crawl, keep one host's delay, come and go, and keep strangers out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.kit.measure import Watched
from benchmarks.kit.peers import LISTEN, READY_S, Peers, user_files
from benchmarks.masters.cluster import cluster, joins, one_site
from benchmarks.masters.long_pages import long_pages
from p2pcrawl.wire.sealed.keys import generate_key

pytestmark = pytest.mark.slow


def test_every_page_is_fetched_once_by_the_owner_of_its_host(tmp_path: Path) -> None:
    assert cluster(tmp_path, 300, 20, 3, 1, size=4_000, beside_one=False).broken == []


def test_pages_of_one_host_are_spread_over_all_masters_and_its_delay_holds(tmp_path: Path) -> None:
    assert one_site(tmp_path, 40, 3, 1, delay_s=0.1).broken == []


def test_nothing_is_lost_when_a_master_joins_and_another_leaves_in_mid_crawl(tmp_path: Path) -> None:
    assert joins(tmp_path, 300, 20, 3, 1, size=4_000, delay_s=0.3).broken == []


@pytest.mark.soak
def test_callbacks_that_block_for_longer_than_a_session_cost_nobody_a_fetch_a_loss_or_an_item(tmp_path: Path) -> None:
    assert long_pages(tmp_path, 30_000, (6.0,)).broken == []


def test_peer_with_another_key_is_refused_and_told_why(tmp_path: Path) -> None:
    with Peers(tmp_path, 1, 0) as peers:
        member = peers.living[0]
        command = [sys.executable, "-m", "p2pcrawl", "peer", *LISTEN, "--slaves", "0", "--join", member.address]
        stranger_key = user_files(tmp_path / "stranger") | {"P2PCRAWL_KEY": generate_key()}

        with Watched(command, tmp_path / "stranger", stranger_key) as stranger:
            ended = stranger.wait(READY_S)

        assert (ended.code, ended.out) == (2, "")
        assert "another cluster key" in ended.said and member.address in ended.said
        assert ended.said.count("\n") == 1, ended.said
        assert [m["id"] for m in member.ask("status")["members"]] == [member.id]
