"""More mistakes against what docs/copies.md says, thought of after the laws about what is stored and counted on."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_COPIES = "p2pcrawl.master.copies."

MUTANTS = (
    Mutant(
        name="spool-is-off",
        kind=Slip.EARLY,
        where=_COPIES + "spool:Spool.keep",
        old="        await self._holdings.spool(rows)\n",
        new="",
        harm="Who found a link that is provisional keeps it nowhere: it has one store.",
        blind=True,
    ),
    Mutant(
        name="links-to-the-first-holder",
        kind=Slip.QUORUM,
        where=_COPIES + "copier:Copier._line_up",
        old="nodes, size = self.copying.followers(row.bucket), row.size",
        new="nodes, size = self.copying.followers(row.bucket)[:1], row.size",
        harm="With three copies a fact is acknowledged when one holder of two has it.",
        blind=True,
    ),
    Mutant(
        name="provisional-is-settled",
        kind=Slip.EARLY,
        where="p2pcrawl.core.buckets.copy_ledger:Copying.provisional",
        old="return counted < min(self.copies, max(self.known, known))",
        new="return counted < min(self.copies, len(self._holders) + 1)",
        harm="What could have another store when a master is back is called settled without.",
        blind=True,
    ),
    Mutant(
        name="senders-count-not-heard",
        kind=Slip.MERGE,
        where="p2pcrawl.core.buckets.copy_ledger:Copying.provisional",
        old="return counted < min(self.copies, max(self.known, known))",
        new="return counted < min(self.copies, self.known)",
        harm="A newcomer that knows of nobody yet settles what is on its disk alone.",
        blind=True,
    ),
    Mutant(
        name="restarted-holders-count",
        kind=Slip.FENCE,
        where="p2pcrawl.core.buckets.copy_ledger:Copying._look_who_lives",
        old="elif (holder.boot, holder.store) != (member.boot, member.store):",
        new="elif holder.store != member.store:",
        harm="A holder that was restarted counts, and may have lost what it had not answered.",
        blind=True,
    ),
    Mutant(
        name="new-disks-count",
        kind=Slip.FENCE,
        where="p2pcrawl.core.buckets.copy_ledger:Copying._look_who_lives",
        old="                self._void(holder)\n",
        new="                pass\n",
        harm="A holder that came back with an empty disk counts as it did.",
        blind=True,
    ),
    Mutant(
        name="own-copies-left-out",
        kind=Slip.CLEANUP,
        where="p2pcrawl.master.buckets.taking:Taking._promote",
        old="            await self._take_in(rows, generation)\n",
        new="",
        harm="An heir drops its own copies without having taken them in.",
        blind=True,
    ),
    Mutant(
        name="few-dropped-too",
        kind=Slip.CHECK,
        where=_COPIES + "upkeep:Upkeep.drop",
        old="        if not request.few:\n",
        new="        if request.buckets:\n",
        harm="One that is leaving drops copies of what too few others have.",
        blind=True,
    ),
    Mutant(
        name="ends-are-links",
        kind=Slip.EARLY,
        where=_COPIES + "copier:Copier.transfer",
        old="        transfer = _Transfer(0, ends, sum(row.size for row in ends))\n",
        new="        links, ends = [*ends, *links], ()\n        transfer = _Transfer(0, ends, 0)\n",
        harm="Ends of pages go to copies with the links that the pages led to.",
        blind=True,
    ),
)
