"""A crawl into the webhook receiver of the examples, both killed in mid-crawl: each item is there once."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.kit.measure import ROOT, Setup, SiteProcess, until
from benchmarks.kit.parent import ends_with_us

pytestmark = pytest.mark.slow

PAGES = 600


class ReceiverProcess:
    """The receiver of the examples, at one port whenever it runs."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port: int = free.getsockname()[1]
        self.begin()

    def begin(self) -> None:
        command = [sys.executable, str(ROOT / "examples" / "webhook_receiver.py"), str(self.port), str(self.kept)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=ends_with_us())
        until(self._answers, 30, "the receiver listens")

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def items(self) -> list[dict[str, str]]:
        with closing(sqlite3.connect(self.kept, timeout=10)) as database:
            return [json.loads(item) for (item,) in database.execute("SELECT item FROM items")]

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def test_receiver_and_crawl_are_killed_and_each_item_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "hush")
    receiver = ReceiverProcess(tmp_path / "items.db")
    with SiteProcess("benchmarks.kit.site", "--pages", PAGES, "--hosts", 20, "--latency", 0.005) as site:
        setup = Setup.of_site(tmp_path, site, settings={"CONCURRENT_REQUESTS": 16})
        hook = f"http://127.0.0.1:{receiver.port}/items?password_env=HOOK&batch=10"
        setup = replace(setup, program=("-m", "p2pcrawl"), outputs=[hook])  # type: ignore[list-item]
        for moment in (PAGES // 4, PAGES // 2):
            with setup.begin() as crawl:
                until(lambda least=moment: not crawl.running or len(receiver.items()) >= least, 60)
                receiver.kill()
                until(lambda least=moment: not crawl.running or site.stats()["distinct"] >= least + 50, 60)
                crawl.kill()
            receiver.begin()
        ended = setup.run(120)
    receiver.kill()

    assert ended.code == 0, ended.said
    urls = [item["url"] for item in receiver.items()]
    assert len(urls) == len(set(urls)) == PAGES
    assert ended.certificate["conserved"]
    assert "hush" not in ended.said
