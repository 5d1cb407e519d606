"""Links that are too narrow, or lose packets, by what every kernel's traffic control has. Needs root and ip and tc.

netem, which is made for that, is in few kernels of containers and small machines. So packets are lost here by a class
that has no room for any: a filter of five words sends there what its die says.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

Spoiling = Sequence[str]
"""What ``tc`` is told, a line each; @ is the link."""

LOST: Final = 0.08
_DIE: Final = f"4,32 0 0 4294963256,37 1 0 {int(LOST * 2**32)},6 0 0 4294967295,6 0 0 0"
"""Load a random number; where it is not above the bound, match; else do not."""
LOSSY: Final[Spoiling] = (
    "qdisc add dev @ root handle 1: htb default 1",
    "class add dev @ parent 1: classid 1:1 htb rate 1gbit quantum 60000",
    "class add dev @ parent 1: classid 1:2 htb rate 1gbit quantum 60000",
    "qdisc add dev @ parent 1:2 handle 2: bfifo limit 1",
    "filter add dev @ parent 1: bpf bytecode % flowid 1:2",
)
NARROW: Final[Spoiling] = ("qdisc add dev @ root tbf rate 400kbit burst 3000 latency 80ms",)
"""What it takes is late, and what is too much for it is lost."""


def spoil_link(namespace: str, link: str, how: Spoiling) -> str:
    """Spoils what leaves by a link. Returns why it could not; "" when it did."""
    if not shutil.which("tc"):
        return "needs the command tc (Debian's iproute2)"
    for line in how:
        words = [link if word == "@" else _DIE if word == "%" else word for word in line.split()]
        told = subprocess.run(["tc", "-n", namespace, *words], capture_output=True, text=True)
        if told.returncode:
            if line != how[0]:
                mend_link(namespace, link)
            return f"tc {words[0]}: {' '.join(told.stderr.split())[:80]}"
    return ""


def mend_link(namespace: str, link: str) -> None:
    subprocess.run(["tc", "-n", namespace, "qdisc", "del", "dev", link, "root"], capture_output=True)


def why_no_loss() -> str:
    """Tries whether this machine can lose packets on purpose, and returns why not; "" when it can."""
    namespace = "p2pcrawl-tried"
    made = subprocess.run(["ip", "netns", "add", namespace], capture_output=True, text=True)
    if made.returncode:
        return " ".join(made.stderr.split())[:120]
    try:
        return spoil_link(namespace, "lo", LOSSY)
    finally:
        subprocess.run(["ip", "netns", "del", namespace], check=True)
