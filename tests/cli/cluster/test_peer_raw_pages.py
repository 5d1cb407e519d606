"""``peer --warc``: each peer keeps what its own slaves fetch, and together they have every page."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ALLOWED, until, urls_in
from tests.cli.peers import Cluster, asked
from tests.cli.raw_files import answers_in

pytestmark = pytest.mark.slow


def test_each_page_of_a_job_is_kept_by_the_peer_that_fetched_it(tmp_path: Path, site: dict[str, Any]) -> None:
    with Cluster(tmp_path) as cluster:
        for role, slaves in (("master", 0), ("slave", 1)):
            cluster.start("--role", role, "--slaves", slaves, "--warc", f"raw-{role}", "--warc-size", "30kB")
        master = cluster.peers[0].api
        # Else the master's own slave may be through before the other one has come.
        until(lambda: len(asked(master, "status")["here"]["slaves"]) == 2, "both slaves are there")
        domains = ["-a", f"allowed_domains={','.join(site['hosts'])}", *ALLOWED, "-s", "RETRY_BACKOFF=0.01"]
        domains += ["-s", "DOWNLOAD_DELAY=0.01"]

        done = cluster.run("submit", site["start"], *domains, "--wait", "-o", "pages.jsonl", "--peer", master)
        ends = [peer.end(signal.SIGTERM) for peer in reversed(cluster.peers)]

    assert done.returncode == 0, done.stderr
    assert ends == [(0, "")] * 2, [peer.log for peer in cluster.peers]
    kept = [{url for url, _ in answers_in(tmp_path / f"raw-{role}")} for role in ("master", "slave")]
    assert all(kept), "both have fetched"
    assert set(urls_in(tmp_path / "pages.jsonl")) <= kept[0] | kept[1]
    assert not list(tmp_path.glob("raw-*/*.open"))
