"""p2pcrawl in a network namespace: ``python -m benchmarks.kit.namespaced_peer NAME peer ...``. Its pid stays the
same.
"""

from __future__ import annotations

import ctypes
import os
import sys

CLONE_NEWNET = 0x40000000


def main() -> None:
    """Enters the network alone. ``ip netns exec`` would take copies of all mounts along, which keep file systems alive
    that others unmount.
    """
    name, *arguments = sys.argv[1:]
    namespace = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        sys.exit(f"namespaced_peer: cannot enter {name}: {os.strerror(ctypes.get_errno())}")
    os.close(namespace)
    os.execv(sys.executable, [sys.executable, "-m", "p2pcrawl", *arguments])


if __name__ == "__main__":
    main()
