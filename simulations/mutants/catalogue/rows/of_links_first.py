"""Mistakes in what goes to others before anything else does: links that may be nowhere else."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_FIRST = "p2pcrawl.master.copies.links_first:LinksFirst."

MUTANTS = (
    Mutant(
        name="nothing-ahead",
        kind=Slip.EARLY,
        where=_FIRST + "_make_good",
        old="if until - after > LINKS_MAX:",
        new="if True:",
        harm="Others hear that a page is done while its links are on the disk alone of one that just came back.",
    ),
    Mutant(
        name="found-alone-and-with-others",
        kind=Slip.QUORUM,
        where=_FIRST + "_acknowledged",
        old="if self._copying.alone:",
        new="if False:",
        harm="What a master found while it was alone counts as with others.",
    ),
    Mutant(
        name="ends-ahead-of-what-is-behind",
        kind=Slip.EARLY,
        where=_FIRST + "_acknowledged",
        old="            self._copier.withhold()\n",
        new="",
        harm="A page that ends is told though it leads to a link that was found alone, and that is not new.",
    ),
    Mutant(
        name="sent-ahead-by-an-old-view",
        kind=Slip.RACE,
        where=_FIRST + "_send_all",
        old="if changes == self._copying.changes:",
        new="if True:",
        harm="Links that were sent while the view changed are with masters that do not hold them any more.",
    ),
    Mutant(
        name="safe-before-what-is-behind",
        kind=Slip.EARLY,
        where=_FIRST + "safe",
        old="        await self._in_order.wait()\n",
        new="",
        harm="Copies are brought up to date, and buckets let go of, before the links that nobody else has.",
    ),
    Mutant(
        name="mark-behind-the-last",
        kind=Slip.CLEANUP,
        where="p2pcrawl.frontier.database.copied_mark:CopiedMark.__init__",
        old="WHERE value > ?1",
        new="WHERE value < 0",
        harm="Numbers of records that are given again lie before the mark, and their links are not sent ahead.",
    ),
    Mutant(
        name="passed-on-to-nobody",
        kind=Slip.EARLY,
        where="p2pcrawl.master.copies.copier:Copier._pass_on",
        old="            transfer.waiting += self._line_up(row, transfer)\n",
        new="            pass\n",
        harm="Links that a dead holder never got are nowhere else when the end of their page is copied.",
    ),
    Mutant(
        name="stranded-ends-go-out",
        kind=Slip.EARLY,
        where="p2pcrawl.master.copies.copier:Copier._pass_on",
        old="                self.withhold()\n",
        new="",
        harm="Ends go to copies while links that a dead holder never got wait for the next owner of their bucket.",
    ),
    Mutant(
        name="stranded-not-sent-ahead",
        kind=Slip.EARLY,
        where=_FIRST + "_gaps",
        old="return self._alone + self._copier.stranded",
        new="return self._alone",
        harm="Ends that wait for links which a dead holder never got are withheld until others come or go.",
    ),
    Mutant(
        name="anothers-ends-count-as-copied",
        kind=Slip.EARLY,
        where="p2pcrawl.master.copies.copier:Copier._line_up",
        old="        transfer.elsewhere |= not self.copying.is_ours(row.bucket)\n",
        new="",
        harm="Items go into sinks of pages that nobody else knows to be done: who takes them over brings them again.",
    ),
    Mutant(
        name="empty-copies-whole-before-links",
        kind=Slip.EARLY,
        where="p2pcrawl.master.copies.syncing:Syncing._round",
        old="                await self._links_first.safe()\n",
        new="",
        harm="Copies are called whole before links that nobody else has, where the bucket has nothing to be brought.",
    ),
)
