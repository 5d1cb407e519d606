"""What ends a slave process that nobody is left to end."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SLAVE = """
import asyncio
from dataclasses import replace
from p2pcrawl.slave.link import post
from p2pcrawl.wire.messages.desk import Desk

post.TIMINGS, post.ORPHANED_S = replace(post.TIMINGS, beat_s=0.05), 0.3

async def serve():
    desk = Desk.make()
    thread = post.PostThread(asyncio.new_event_loop, desk)
    thread.expect(0.2)
    while desk.signs()[0] < 3:
        await asyncio.sleep(0.01)
    print("signed", flush=True)
    {callback}
    print("done", flush=True)

asyncio.run(serve())
"""


def ended(callback: str) -> tuple[int, str]:
    slave = subprocess.run(
        [sys.executable, "-c", SLAVE.format(callback=callback)], capture_output=True, text=True, timeout=60, check=False
    )
    return slave.returncode, slave.stdout


def test_code_in_c_that_never_comes_back_is_ended_by_the_system_though_nobody_else_is_left() -> None:
    assert ended("sum(range(10**13))") == (-signal.SIGVTALRM, "signed\n")


@pytest.mark.slow
def test_callback_that_computes_for_longer_in_python_is_not_ended_by_it() -> None:
    code, said = ended("import time; over = time.process_time() + 1.5\n    while time.process_time() < over: pass")

    assert (code, said) == (0, "signed\ndone\n")
