"""Hosts that ask for more patience than others, until somebody has been told of them."""

from __future__ import annotations

from time import monotonic

from p2pcrawl.core.directory_schedule import Hints


class Remarks:
    """Gathers them: the workbench calls it with the key of each such host. Called often: it is quick."""

    def __init__(self) -> None:
        self.hints = Hints()
        """What the directory is to be told,"""
        self.for_copies: set[int] = set()
        """and those of whom the holders of copies are to be told."""

    def __call__(self, key: int) -> None:
        self.hints.hosts.remark(key, monotonic())
        self.for_copies.add(key)
