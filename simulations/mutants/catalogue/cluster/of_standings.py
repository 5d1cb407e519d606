"""Mistakes in which epochs of a bucket somebody has, and in which of its copies count."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_STANDINGS = "p2pcrawl.core.buckets.standings:"
_LEDGER = "p2pcrawl.core.buckets.copy_ledger:Copying."

MUTANTS = (
    Mutant(
        name="spans-touching-apart",
        kind=Slip.EDGE,
        where=_STANDINGS + "standing_of",
        old="before <= merged[-1][1]",
        new="before < merged[-1][1]",
        harm="Epochs that follow one another are held for a gap, and a whole bucket for an incomplete one.",
    ),
    Mutant(
        name="span-shrinks-when-merged",
        kind=Slip.MERGE,
        where=_STANDINGS + "standing_of",
        old="max(merged[-1][1], last)",
        new="last",
        harm="What one has beyond another's span is forgotten when the two are joined.",
    ),
    Mutant(
        name="epoch-of-joined-is-least",
        kind=Slip.MERGE,
        where=_STANDINGS + "_joined",
        old="max(s.epoch for s in standings)",
        new="min(s.epoch for s in standings)",
        harm="A joined bucket stands at the oldest epoch that anybody knew: a loss in a later one is never told.",
    ),
    Mutant(
        name="left-behind-has-new-epoch",
        kind=Slip.EDGE,
        where=_STANDINGS + "left_behind",
        old="(min(since, epoch - 1), epoch - 1)",
        new="(min(since, epoch), epoch)",
        harm="One that is sent nothing of an epoch claims to have it, and what was lost in it is not told.",
    ),
    Mutant(
        name="dropped-keeps-standing",
        kind=Slip.EARLY,
        where=_STANDINGS + "dropped",
        old="return Standing(epoch, epoch)",
        new="return Standing(epoch)",
        harm="Who has given away all facts of a bucket says that it has them.",
    ),
    Mutant(
        name="newcomer-dropped-is-whole",
        kind=Slip.EDGE,
        where=_STANDINGS + "dropped",
        old="max(had.epoch, 1)",
        new="had.epoch",
        harm="A newcomer that never heard of an epoch of a bucket says, when all holders are lost, that it is whole.",
    ),
    Mutant(
        name="parts-with-the-last-epoch",
        kind=Slip.EDGE,
        where=_STANDINGS + "parted",
        old="min(last, had.epoch - 1)",
        new="min(last, had.epoch)",
        harm="Who has left says that it has what the others acknowledged without it, and what they lose is not told.",
    ),
    Mutant(
        name="who-leaves-is-sent-nothing",
        kind=Slip.EARLY,
        where=_LEDGER + "followers",
        old="return (*nodes, *(node for node in self._parting if node not in nodes))",
        new="return nodes",
        harm="Who leaves fewer than R says that it follows them, and has nothing of what they acknowledge meanwhile.",
    ),
    Mutant(
        name="restarted-copy-counts",
        kind=Slip.FENCE,
        where=_LEDGER + "change",
        old="                self._void(holder)\n",
        new="",
        harm="A copy that came back with an empty or older disk counts as synced: facts settle on too few disks.",
    ),
    Mutant(
        name="only-store-tells-restart",
        kind=Slip.FENCE,
        where=_LEDGER + "change",
        old="(holder.boot, holder.store) != (member.boot, member.store)",
        new="holder.store != member.store",
        harm="A copy that was restarted, and lost what it had not answered, counts as synced.",
    ),
    Mutant(
        name="synced-of-another-generation",
        kind=Slip.FENCE,
        where=_LEDGER + "synced",
        old="if holder is None or holder.generation != generation:",
        new="if holder is None:",
        harm="A copy counts that was begun before its holder was restarted or came into doubt.",
    ),
    Mutant(
        name="synced-what-it-holds-not",
        kind=Slip.CHECK,
        where=_LEDGER + "synced",
        old="frozenset(buckets) & holder.held",
        new="frozenset(buckets)",
        harm="One that is no holder of a bucket any more counts among its copies.",
    ),
    Mutant(
        name="doubt-forgotten",
        kind=Slip.CLEANUP,
        where=_LEDGER + "doubt",
        old="if not holder.synced.isdisjoint(buckets):",
        new="if holder.synced.issuperset(buckets):",
        harm="Copies that lack what came beside them count on, where only some of the buckets were synced.",
    ),
    Mutant(
        name="settled-with-one-fewer",
        kind=Slip.QUORUM,
        where=_LEDGER + "provisional",
        old="counted < min(",
        new="counted + 1 < min(",
        harm="A fact is acknowledged as settled on one store fewer than promised.",
    ),
    Mutant(
        name="settled-by-who-lives",
        kind=Slip.QUORUM,
        where=_LEDGER + "provisional",
        old="max(self.known, known)",
        new="min(self.known, known or self.known)",
        harm="One that misses most members calls a fact settled that has fewer stores than its sender knows masters.",
    ),
    Mutant(
        name="complete-with-unsynced",
        kind=Slip.QUORUM,
        where=_LEDGER + "complete",
        old="all(bucket in self._holders[node].synced for node in nodes)",
        new="any(bucket in self._holders[node].synced for node in nodes)",
        harm="Spare copies are dropped while one of the holders has nothing yet.",
    ),
)
