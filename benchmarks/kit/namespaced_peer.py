"""p2pcrawl in a network namespace: ``python -m benchmarks.kit.namespaced_peer NAME peer ...``. Its pid stays the
same.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    name, *arguments = sys.argv[1:]
    os.execvp("ip", ["ip", "netns", "exec", name, sys.executable, "-m", "p2pcrawl", *arguments])


if __name__ == "__main__":
    main()
