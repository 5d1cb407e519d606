"""Nothing is left behind: processes end with whoever started them, also if that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kit.measure import alive, descendants, is_slave
from benchmarks.kit.parent import ends_with_us
from tests.cli.conftest import ENDS_S, Start, environment, until
from tests.cli.forks import ROOT

pytestmark = pytest.mark.slow

BLOCKING = """
import pathlib, time
from p2pcrawl import Spider

class Blocking(Spider):
    name = "blocking"

    def parse(self, response):
        pathlib.Path("blocks").touch()
        time.sleep(3600)
"""
RUN = """
import sys, time
from pathlib import Path
from tests.cli.peers import Cluster

with Cluster(Path(sys.argv[1])) as cluster:
    master = cluster.start("--slaves", "1", "--role", "master")
    slave = cluster.start("--slaves", "1", "--role", "slave")
    print(master.process.pid, slave.process.pid, flush=True)
    time.sleep(3600)
"""


def test_slave_whose_master_is_killed_ends_though_a_callback_blocks_it(
    start: Start, site: dict, tmp_path: Path
) -> None:
    (tmp_path / "spider.py").write_text(BLOCKING)
    master = start("crawl", "spider.py", "-a", f"start_urls={site['start']}", "--slaves", 1)
    until(lambda: (tmp_path / "blocks").exists(), "the callback blocks")
    (slave,) = [pid for pid in descendants(master.pid) if is_slave(pid)]

    master.kill()

    until(lambda: not alive(slave), "the slave ends")


def test_peers_and_their_slaves_end_with_the_test_run_that_started_them(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)],
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ends_with_us(),
    ) as run:
        assert run.stdout is not None
        peers = list(map(int, run.stdout.readline().split()))
        until(lambda: all(any(map(is_slave, descendants(peer))) for peer in peers), "slaves run")
        family = [pid for peer in peers for pid in descendants(peer)]

        os.kill(run.pid, signal.SIGKILL)
        run.wait(ENDS_S)

    until(lambda: not any(map(alive, family)), "all have ended")
