"""The boards of a job, as its messages hold them, and back."""

from __future__ import annotations

from p2pcrawl.model.boards.job_board import JobBoard
from p2pcrawl.wire.messages.slave_messages import WireJob


def boards_of_wire(wire: WireJob) -> dict[str, JobBoard]:
    """Reads the boards of a job that travels."""
    return {name: JobBoard(b.version, b.text, tuple(b.gone), b.closed) for name, b in wire.boards.items()}
