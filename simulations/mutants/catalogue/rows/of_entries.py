"""Mistakes in what becomes of a link that comes as an entry of its job later."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_RECORDS = "p2pcrawl.frontier.records."
_COPIES = "p2pcrawl.master.copies."

MUTANTS = (
    Mutant(
        name="known-link-is-no-entry",
        kind=Slip.MERGE,
        where=_RECORDS + "store:Store._known_apart",
        old="if first.pop(key).link.seed]",
        new="if first.pop(key).link.seed and not number]",
        harm="What was met as a link stays one, though it is put into the job: it is not begun anew with the entries.",
    ),
    Mutant(
        name="first-of-a-batch-counts",
        kind=Slip.MERGE,
        where=_RECORDS + "store:Store._known_apart",
        old="if new.link.seed and not met.link.seed:",
        new="if new.link.seed and met.link.seed:",
        harm="Of a link and an entry of one URL in one turn the first is believed.",
    ),
    Mutant(
        name="entries-not-copied",
        kind=Slip.EARLY,
        where=_COPIES + "replication:Replication.replicate",
        old="for each in committed.entered if followers(each.bucket)",
        new="for each in committed.entered if not followers(each.bucket)",
        harm="An entry is said to be safe when its owner alone knows that it is one.",
    ),
    Mutant(
        name="further-copy-is-no-entry",
        kind=Slip.MERGE,
        where="p2pcrawl.frontier.copies.copy_store:CopyStore.put",
        old="row.stamp | entry",
        new="row.stamp",
        harm="The end of a page makes a link of a copy that was an entry.",
    ),
    Mutant(
        name="copies-enter-nothing",
        kind=Slip.MERGE,
        where="p2pcrawl.frontier.copies.copy_store:CopyStore.put",
        old="            self._enter(entered)\n",
        new="",
        harm="A copy that knows a page to be further does not learn that it is an entry.",
    ),
    Mutant(
        name="moved-entry-is-a-link",
        kind=Slip.MERGE,
        where=_RECORDS + "merging:by_key",
        old="        if each.row.link.seed:\n            entries.add(key)\n",
        new="",
        harm="Where one that hands over knows an entry as a link that is further, it is a link from then on.",
    ),
    Mutant(
        name="entry-is-told-as-link",
        kind=Slip.MERGE,
        where=_COPIES + "row_forms:row_of_copy",
        old="if is_entry(copy.stamp) and not row.link.seed:",
        new="if not is_entry(copy.stamp) and row.link.seed:",
        harm="Who takes a bucket over from its copies takes entries for links.",
    ),
    Mutant(
        name="mark-stays-behind-entries",
        kind=Slip.CLEANUP,
        where=_RECORDS + "store:Store._write",
        old="                self._copied.fall_back(min(each.record for each in result.entered) - 1)\n",
        new="                pass\n",
        harm="That a link is an entry does not go ahead of the page that said so, when its master is back.",
    ),
    Mutant(
        name="mark-moved-after-it-fell-back",
        kind=Slip.CLEANUP,
        where=_RECORDS + "store:Store._write",
        old="            self._find_cleared(batch, result)\n",
        new="            self._find_cleared(batch, result)\n            self._copied.note(batch.copied)\n",
        harm="That a link is an entry does not go ahead of the page that said so, for the mark moves on in that turn.",
    ),
    Mutant(
        name="acknowledged-before-entries",
        kind=Slip.EARLY,
        where=_COPIES + "links_first:LinksFirst._acknowledged",
        old=" and not self._entering:",
        new=":",
        harm="The mark passes entries of which nobody else has heard.",
    ),
    Mutant(
        name="start-filtered-as-seen",
        kind=Slip.CHECK,
        where="p2pcrawl.slave.pages.harvest:Harvest.add_links",
        old="if (url in memory and not seed) or url in keys:",
        new="if url in memory or url in keys:",
        harm="A start URL that a page has led to is not told as one.",
    ),
)
