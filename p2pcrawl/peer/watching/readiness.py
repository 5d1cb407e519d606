"""The readiness of a peer: whether it does its part of the work now, or in words why not.

Who is not ready still lives, and answers: what sends work its way may look elsewhere meanwhile.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypedDict

from p2pcrawl.master.cluster import Cluster

DISK_MIN_BYTES: Final = 64 << 20
"""With less room than this a peer is not ready: what it is told now it may not be able to keep."""

Reasons = Callable[[], Iterable[str]]


class ReadinessAnswer(TypedDict):
    """The readiness of a peer; ``reasons`` say, each in one line, why it is not ready."""

    ready: bool
    reasons: list[str]


class Readiness:
    """Collects reasons of all who may have some."""

    def __init__(self, *sources: Reasons) -> None:
        self._sources = list(sources)

    def add(self, source: Reasons) -> None:
        """Asks this source, too, from now on."""
        self._sources.append(source)

    def answer(self) -> ReadinessAnswer:
        """Asks all sources."""
        reasons = [reason for source in self._sources for reason in source()]
        return {"ready": not reasons, "reasons": reasons}


def reasons_of_disk(folder: Path) -> Iterator[str]:
    """Yields why nothing can be kept in a folder."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        yield f"the data folder cannot be reached: {error.strerror}"
        return
    if free < DISK_MIN_BYTES:
        yield f"the disk of the data folder is full: {free >> 20} MiB are left"


def reasons_of_master(cluster: Cluster, unmet: Callable[[], Sequence[str]]) -> Iterator[str]:
    """Yields why a master does not serve all that is its own. ``unmet``: the peers that it was told to join, while it
    has met nobody.
    """
    if names := ", ".join(unmet()):
        yield f"not joined yet: nobody answers at {names}"
    ownership = cluster.ownership
    if ownership.syncing:
        yield f"taking over: {ownership.syncing} of {ownership.owned} buckets are not served yet"
    standing = cluster.mandate.figures()
    if standing and standing["reason"]:
        yield f"no majority: {standing['reason']}"
