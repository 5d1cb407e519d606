"""Mistakes in how pages that say the same are told."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_TABLE = "p2pcrawl.frontier.texts.imprint_table:ImprintTable."
_WORK = "p2pcrawl.slave.work.imprint_work:ImprintWork."

MUTANTS = (
    Mutant(
        name="moved-imprints-not-noted",
        kind=Slip.MERGE,
        where="p2pcrawl.frontier.records.store:Store._adopt",
        old="            self._imprints.learn({record: moved[key].new.link for key, record in numbers.items()})\n",
        new="            assert numbers\n",
        harm="Whoever takes a bucket over lets each text come out once more.",
    ),
    Mutant(
        name="inherited-imprints-judged-anew",
        kind=Slip.CHECK,
        where="p2pcrawl.frontier.texts.imprint_table:_may_have_gone_on",
        old="return imprint is not None and",
        new="return imprint is None and",
        harm="What had gone on to its next band is met at the heir by a later one: its items come out twice.",
    ),
    Mutant(
        name="imprints-go-on-uncopied",
        kind=Slip.EARLY,
        where="p2pcrawl.master.slaves.outcomes:Intake.page",
        old="self._company.when_safe(lambda: self._go_on(_Onward(job, lease, page)))",
        new="self._go_on(_Onward(job, lease, page))",
        harm="An heir that knows nothing of an imprint judges it anew, while it has gone on.",
    ),
    Mutant(
        name="items-go-ahead",
        kind=Slip.EARLY,
        where="p2pcrawl.slave.pages.harvest:Harvest.take_part",
        old="if held := self._holds_items and travels(self._items):",
        new="if held := False:",
        harm="Items of a page with many links go out before anybody asks whether its text was met.",
    ),
    Mutant(
        name="firsts-not-noted",
        kind=Slip.SIDE,
        where=_TABLE + "judge",
        old="if not verdict.first:",
        new="if not verdict.first and candidate.attempts > 1:",
        harm="The first is held against nobody, and all duplicates come out.",
    ),
    Mutant(
        name="verdict-not-told",
        kind=Slip.SIDE,
        where=_TABLE + "judge",
        old="        return link",
        new="        return candidate.link",
        harm="The verdict is written down and told to nobody: duplicates come out.",
    ),
    Mutant(
        name="orphans-of-verdicts-believed",
        kind=Slip.FENCE,
        where="p2pcrawl.master.company.orphans:Adoption.take",
        old=" and not is_imprint(p.task.link.url)]",
        new="]",
        harm="What a dead master had called a first comes out beside the first of its heir.",
    ),
    Mutant(
        name="items-stay-and-leave",
        kind=Slip.CLEANUP,
        where="p2pcrawl.slave.pages.harvest:Harvest.take_items",
        old="        items, self._items = self._items, []\n",
        new="        items = self._items\n",
        harm="Items come out with their page, and once more by the verdict.",
    ),
    Mutant(
        name="originals-dropped",
        kind=Slip.CHECK,
        where=_WORK + "follow",
        old="if imprint.first and self._choice is DuplicatePages.DROP:",
        new="if self._choice is DuplicatePages.DROP:",
        harm="Nothing comes out at all of a text that several pages have.",
    ),
    Mutant(
        name="met-items-come-out-where-they-were-met",
        kind=Slip.CHECK,
        where=_WORK + "follow",
        old="if not imprint.is_last and not (imprint.first and self._choice is DuplicatePages.DROP):",
        new="if not imprint.is_last and not imprint.first:",
        harm="An item comes out marked, and once more where its page had been asked on after a death.",
    ),
    Mutant(
        name="band-forgets-its-items",
        kind=Slip.CLEANUP,
        where=_WORK + "follow",
        old="msgspec.structs.replace(imprint, band=band)",
        new="msgspec.structs.replace(imprint, band=band, items=[])",
        harm="Items are lost on their way from one band to the next.",
    ),
    Mutant(
        name="imprints-go-by-host",
        kind=Slip.SIDE,
        where="p2pcrawl.master.links.shard_keys:Keys.place",
        old="if url.startswith(IMPRINT_URL):",
        new="if url.startswith(IMPRINT_URL) and shard_key is ShardKey.URL:",
        harm="All imprints of a job have one owner, whose death stops it.",
        equivalent="Slower, and as true: equal texts still meet.",
    ),
    Mutant(
        name="imprints-of-the-page",
        kind=Slip.SIDE,
        where="p2pcrawl.wire.messages.imprints:Imprint.fingerprint",
        old="band_key(self.signature, self.near, self.band) + page.digest()",
        new="page.digest() + band_key(self.signature, self.near, self.band)",
        harm="Imprints go to an owner by their page, where no other page with the text comes.",
    ),
)
