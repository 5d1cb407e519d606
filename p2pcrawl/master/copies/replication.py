"""The replication of turns: which of a turn's changes go to the holders of copies, as soon as they are durable here."""

from __future__ import annotations

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.frontier.records.batch import Committed, Ending
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.row_forms import copy_of_candidate, copy_of_ending
from p2pcrawl.wire.messages.peer_messages import CopyRow


class Replication:
    """Makes rows of a turn's changes. ``copier`` brings to the holders what is theirs."""

    def __init__(self, copier: Copier, router: Router) -> None:
        self._copier = copier
        self._copying = copier.copying
        self._router = router

    def replicate(self, ended: list[Ending], committed: Committed) -> None:
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

    def _counts(self, ending: Ending, committed: Committed) -> bool:
        candidate = ending.candidate
        return candidate.record not in committed.ended and bool(self._copying.holders(candidate.bucket))

    @staticmethod
    def _copy_of(ending: Ending, committed: Committed) -> CopyRow:
        came = (ending.items.number, ending.items.data) if ending.items is not None else (0, b"")
        return copy_of_ending(ending, *committed.staged.get(ending.candidate.record, came))
