"""The replication of turns: which of a turn's changes go to the holders of copies, as soon as they are durable here."""

from __future__ import annotations

from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.frontier.records.batch import Committed, Ending
from p2pcrawl.master.copies import row_forms
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.links_first import LinksFirst


class Replication:
    """Makes rows of a turn's changes. ``copier`` brings to the holders what is theirs; ``links_first`` notes how far
    that came in order.
    """

    def __init__(self, copier: Copier, router: Router, links_first: LinksFirst) -> None:
        self._copier = copier
        self._links_first = links_first
        self._copying = copier.copying
        self._router = router

    def replicate(self, ended: list[Ending], committed: Committed) -> None:
        """Makes a transfer of links that are new, or entries from now on, and pages that ended in a turn. Call it once
        a turn.

        What comes with a bucket that is not served yet is brought to its holders with everything else of that, and held
        up by nobody: it is many rows, of which others have copies.
        """
        followers, serves, came, kept = self._copying.followers, self._router.serves, committed.came, committed.kept
        self._copying.doubt(committed.touched)
        self._copier.transfer(
            [
                row_forms.copy_of_candidate(c, kept.get(c.record))
                for c in committed.fresh
                if followers(c.bucket) and (c.record not in came or serves(c.bucket))
            ]
            + [row_forms.copy_of_row(each.row, each.bucket) for each in committed.entered if followers(each.bucket)],
            [
                row_forms.copy_of_ending(e, committed.staged.get(e.candidate.record), kept.get(e.candidate.record))
                for e in ended
                if followers(e.candidate.bucket) and e.candidate.record not in committed.ended
            ],
        )
        self._links_first.committed(committed.last_record, [each.record for each in committed.entered])
