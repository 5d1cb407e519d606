"""The end of a command that was interrupted."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import threading
from p2pcrawl import cli

def run(typed):
    threading.Thread(target=threading.Event().wait).start()
    print("all is kept")
    return 130

cli.run = run
cli.main(["crawl"])
"""


def test_interrupted_command_waits_for_no_thread_of_a_driver() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stdout) == (130, "all is kept\n")
