"""Which of a turn's changes go to the holders of copies, as soon as they are durable here."""

from __future__ import annotations

from typing import NamedTuple

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.frontier.records.batch import Committed, Ending
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.row_forms import copy_of_candidate, copy_of_ending
from p2pcrawl.wire.messages.peer_messages import CopyRow


class EndedPage(NamedTuple):
    """A page whose turn ended in this cycle, with its items if they came whole."""

    ending: Ending
    items: int = 0
    data: bytes = b""


class Replication:
    """See the module. ``copier`` brings to the holders what is theirs."""

    def __init__(self, copier: Copier, router: Router) -> None:
        self._copier = copier
        self._copying = copier.copying
        self._router = router

    def replicate(self, ended: list[EndedPage], committed: Committed) -> None:
        """Makes a transfer of links that are new and pages that ended in a turn. Call it once a turn."""
        self._copying.doubt(committed.touched)
        self._copier.transfer(
            [copy_of_candidate(c) for c in committed.fresh if self._is_news(c, committed)],
            [self._copy_of(e, committed) for e in ended if self._counts(e, committed)],
        )

    def _is_news(self, candidate: Candidate, committed: Committed) -> bool:
        """Tells whether holders hear of it at once. What comes with a bucket that is not served yet is brought to them
        with everything else of that, and held up by nobody: it is many rows, of which others have copies."""
        if candidate.record in committed.came and not self._router.serves(candidate.bucket):
            return False
        return bool(self._copying.holders(candidate.bucket))

    def _counts(self, ended: EndedPage, committed: Committed) -> bool:
        return ended.ending.candidate.record not in committed.ended and bool(
            self._copying.holders(ended.ending.candidate.bucket)
        )

    @staticmethod
    def _copy_of(ended: EndedPage, committed: Committed) -> CopyRow:
        items, data = committed.staged.get(ended.ending.candidate.record, (ended.items, ended.data))
        return copy_of_ending(ended.ending, items, data)
