"""Ctrl-C: once drains, twice stops at once; both leave what can be resumed. And the live display."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.crawler import interruptible, interruption
from tests.cli.conftest import Run, Start, lines_in, until, urls_in


class Unending:
    """A crawl with a page in hand that never ends."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.aborted = asyncio.Event()

    @property
    def draining(self) -> bool:
        return self.stopped.is_set()

    def stop(self) -> None:
        self.stopped.set()

    def abort(self) -> None:
        self.aborted.set()


SLEEPER = """
import asyncio, pathlib
from p2pcrawl import Spider
class Sleeper(Spider):
    start_urls = ["{start}"]
    async def parse(self, response):
        yield {{"url": response.url}}
        if not pathlib.Path("awake").exists():
            pathlib.Path("asleep").touch()
            await asyncio.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_first_signal_drains_and_the_same_command_goes_on(
    start: Start, run: Run, tmp_path: Path, site: Any, whole: list[str], signal_number: int, code: int
) -> None:
    output = tmp_path / "out.jsonl"
    process = start(*whole, "--slaves", 1, "--data", "run1", "-o", output, "-s", "DOWNLOAD_DELAY=0.1")
    until(lambda: lines_in(output) >= 5, "five items")

    process.send_signal(signal_number)
    _, said = process.communicate()

    assert process.returncode == code
    assert "to go on later, run the same command again" in said
    assert "leased 0: holds" in said
    assert run(*whole, "--data", "run1", "-o", output).returncode == 0
    found = urls_in(output)
    assert len(found) == len(set(found)) == site["pages"]


@pytest.mark.slow
@pytest.mark.parametrize("slaves", [0, 1])
def test_second_interrupt_stops_at_once_and_is_resumable(
    start: Start, run: Run, tmp_path: Path, site: Any, slaves: int
) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER.format(start=site["start"]))
    arguments = ["crawl", "sleeper.py", "--data", "run1", "-o", "out.jsonl", "--slaves", slaves]
    process = start(*arguments)
    assert process.stderr is not None
    until((tmp_path / "asleep").exists, "the callback sleeps")

    process.send_signal(signal.SIGINT)
    assert "1 open request may end" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()

    assert process.returncode == 130
    assert "stopping at once" in said and "leased 1: holds" in said
    (tmp_path / "awake").touch()
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert "1 fetch had been interrupted" in result.stderr
    assert urls_in(tmp_path / "out.jsonl") == [site["start"]]


async def test_crawl_that_a_callback_keeps_from_ending_stops_at_once_a_while_after_the_first_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interruption, "PATIENCE_S", 0.1)
    crawl, told = Unending(), list[int]()

    with interruptible(crawl, told.append) as stopped:
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(20):
            await crawl.aborted.wait()

    assert told == [1, 2]
    assert stopped.by == signal.SIGTERM


async def test_crawl_that_ends_in_time_is_not_stopped_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "PATIENCE_S", 0.1)
    crawl, told = Unending(), list[int]()

    with interruptible(crawl, told.append):
        os.kill(os.getpid(), signal.SIGTERM)
        await crawl.stopped.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(crawl.aborted.wait(), 0.3)

    assert told == [1]


@pytest.mark.slow
def test_terminal_shows_live_figures_and_then_the_summary(start: Start, whole: list[str]) -> None:
    ours, theirs = pty.openpty()
    process = start(*whole, "--slaves", 1, "-s", "DOWNLOAD_DELAY=0.02", stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)

    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # Linux says so when the other end is closed.
            break
        if not data:
            break
        shown += data
    os.close(ours)

    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert process.wait() == 0
    for word in ("crawling links", "pages/s", "queued", "leased", "busiest hosts", "slaves"):
        assert word in text
    assert "holds, counted record by record" in text
