"""The whole table."""

from __future__ import annotations

from typing import Final

from p2pcrawl.peer.api.table import (
    cluster_operations,
    figure_operations,
    job_operations,
    schedule_operations,
    watching_operations,
)
from p2pcrawl.peer.api.table.operation import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *cluster_operations.OPERATIONS,
    *job_operations.OPERATIONS,
    *schedule_operations.OPERATIONS,
    *figure_operations.OPERATIONS,
    *watching_operations.OPERATIONS,
)
