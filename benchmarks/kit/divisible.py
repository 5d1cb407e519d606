"""Machines in network namespaces of their own, which can be cut in two and healed. Needs root and iproute2's ``ip``.

Each has two links: one to the others, which hangs on a bridge and is moved to a second one to be cut off, and one to
this side, which is never cut: there are the sites, and there this side reaches the machines.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from typing import Self

AMONG, OUT = "10.213.8", "10.213.9"
"""Private networks that exist only between the namespaces, and between them and this side."""
SITES = "10.213.10"
"""Addresses of this side, for sites; they end in 1 and so on."""
BRIDGE, ISLAND, OUTSIDE = "p2ps-br", "p2ps-is", "p2ps-out"
FIRST = 10


def why_not() -> str:
    """Returns why this machine cannot do it; "" when it can."""
    return "needs root and the command ip (Debian's iproute2)" if os.geteuid() or not shutil.which("ip") else ""


class DivisibleNetwork:
    """``machines`` namespaces, numbered from 0, until the end of the block."""

    def __init__(self, machines: int, sites: int) -> None:
        self.machines = machines
        self._sites = sites

    def __enter__(self) -> Self:
        try:
            for bridge in (BRIDGE, ISLAND, OUTSIDE):
                _ip("link", "add", bridge, "type", "bridge")
                _ip("link", "set", bridge, "up")
            _ip("addr", "add", f"{OUT}.1/24", "dev", OUTSIDE)
            for number in range(1, self._sites + 1):
                _ip("addr", "add", f"{SITES}.{number}/32", "dev", OUTSIDE)
            for number in range(self.machines):
                self._add(number)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for number in range(self.machines):
            _ip("netns", "del", self.name(number), check=False)
            _ip("link", "del", _among(number), check=False)
            _ip("link", "del", _out(number), check=False)
        for bridge in (BRIDGE, ISLAND, OUTSIDE):
            _ip("link", "del", bridge, check=False)

    def name(self, number: int) -> str:
        return f"p2ps{number}"

    def among(self, number: int) -> str:
        """Returns the address where the other machines reach this one."""
        return f"{AMONG}.{FIRST + number}"

    def out(self, number: int) -> str:
        """Returns the address where this side reaches a machine, and what a site sees as its address."""
        return f"{OUT}.{FIRST + number}"

    def cut(self, numbers: Iterable[int]) -> None:
        """Cuts these off: they reach each other, but not the rest."""
        for number in numbers:
            _ip("link", "set", _among(number), "master", ISLAND)

    def heal(self) -> None:
        for number in range(self.machines):
            _ip("link", "set", _among(number), "master", BRIDGE)

    def _add(self, number: int) -> None:
        name = self.name(number)
        _ip("netns", "add", name)
        _ip("-n", name, "link", "set", "lo", "up")
        links = (
            ("eth0", _among(number), BRIDGE, self.among(number)),
            ("eth1", _out(number), OUTSIDE, self.out(number)),
        )
        for inner, outer, bridge, address in links:
            _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
            _ip("link", "set", outer, "master", bridge, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", inner)
            _ip("-n", name, "link", "set", inner, "up")
        _ip("-n", name, "route", "add", f"{SITES}.0/24", "via", f"{OUT}.1")


def _among(number: int) -> str:
    return f"p2psa{number}"


def _out(number: int) -> str:
    return f"p2pso{number}"


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)
