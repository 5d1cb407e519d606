"""The ledger of one host that is lent: who has it, and who waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from p2pcrawl.master.loans.written_off import MadeLoan
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import Borrow, Lent


@dataclass(frozen=True, slots=True)
class Asker:
    """One that waits for a loan."""

    node: NodeId
    request: Borrow
    since: float
    answer: asyncio.Future[Lent]


@dataclass(slots=True)
class HostLedger:
    """The loans that this master, the owner, has made of one host, and those that wait for one."""

    lent: dict[NodeId, MadeLoan] = field(default_factory=dict)
    """By borrower; on a host with a delay one slot is all."""
    line: deque[Asker] = field(default_factory=deque)
    own_next: bool = False
    """After a loan it is our own turn first, so that we do not starve on our own host."""

    @property
    def jobs(self) -> set[int]:
        """The jobs for which others have the host, or want it."""
        return {lent.job for lent in self.lent.values()} | {asker.request.job for asker in self.line}

    def refuse(self, whom: Callable[[Asker], bool] = lambda asker: True) -> None:
        """Answers those of the waiting borrowers with "not granted"."""
        for asker in self.line:
            if whom(asker):
                answer_in_vain(asker.answer)
        self.line = deque(asker for asker in self.line if not asker.answer.done())


def answer_in_vain(answer: asyncio.Future[Lent]) -> None:
    """Answers a borrower with "not granted", if it was not answered."""
    if not answer.done():
        answer.set_result(Lent(0, False))
