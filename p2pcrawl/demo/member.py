"""One peer of the demo's cluster: ``p2pcrawl peer`` in a process that ends with the one that started it.

Run as ``python -m p2pcrawl.demo.member`` with the options of ``peer``. When its standard input is closed it stops at
once, so that it does not outlive a demo that was killed with -9.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress

from p2pcrawl.cli import run

AGAIN_S = 0.2
"""The second SIGTERM ends a peer at once; two at the same moment might count as one."""


def main() -> int:
    """Runs the peer, and returns its exit code."""
    threading.Thread(target=_stop_at_eof, daemon=True).start()
    return run(["peer", *sys.argv[1:]])


def _stop_at_eof() -> None:
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    while True:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(AGAIN_S)


if __name__ == "__main__":
    sys.exit(main())
