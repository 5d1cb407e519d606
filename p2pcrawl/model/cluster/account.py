"""The account of a master: what it has counted of its work on a job, and the bounds of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from p2pcrawl.model.cluster.node import NodeId

FIGURES_MAX: Final = 4_096
NAME_CHARS_MAX: Final = 300
SLICE_CHARS_MAX: Final = 16
VALUE_MAX: Final = 1 << 62


class AccountKey(NamedTuple):
    """The master of an account, its life, which is the name of its store, the job, and the slice of the account; the
    account itself has none.
    """

    master: NodeId
    life: str
    job: int
    slice: str = ""


class Account(NamedTuple):
    """The counters of one master in one life that no record has; see :mod:`p2pcrawl.core.accounts`."""

    key: AccountKey
    version: int
    figures: Mapping[str, int]
