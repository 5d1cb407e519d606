"""Mistakes about epochs that two masters begin beside each other."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_OWNERSHIP = "p2pcrawl.core.buckets.ownership:Ownership."

MUTANTS = (
    Mutant(
        name="own-epoch-taken-for-anothers",
        kind=Slip.FENCE,
        where=_OWNERSHIP + "_is_rival",
        old="and not is_by(epoch, self.me)",
        new="",
        harm="An epoch that was told, and never served, is said to have something: who missed it lacks what never was.",
    ),
    Mutant(
        name="anothers-epoch-taken-for-own",
        kind=Slip.FENCE,
        where=_OWNERSHIP + "join_standing",
        old="if self._is_rival(bucket, theirs.epoch):",
        new="if self._is_rival(bucket, theirs.epoch) and not bucket:",
        harm="What another served beyond a cut, beside an epoch that was begun here, is said to be nothing.",
    ),
    Mutant(
        name="rivals-heard-of-once",
        kind=Slip.CHECK,
        where=_OWNERSHIP + "_is_rival",
        old="or fork.sure < epoch < ours)",
        new=")",
        harm="Who began twice in vain takes what another served beside the first for his own.",
    ),
    Mutant(
        name="rival-joined-under-old-epoch",
        kind=Slip.FENCE,
        where=_OWNERSHIP + "_join_rival",
        old="epoch = self._next(last)",
        new="epoch = last",
        harm="Who has all of two rivals cannot be told from one that followed the later one.",
    ),
    Mutant(
        name="served-rival-is-empty",
        kind=Slip.MERGE,
        where=_OWNERSHIP + "_join_rival",
        old="is_empty = bucket in self._since and is_by(ours.epoch, self.me)",
        new="is_empty = True",
        harm="Who missed what we served beside another beyond a cut is not told so.",
    ),
    Mutant(
        name="followers-have-rivals",
        kind=Slip.MERGE,
        where="p2pcrawl.core.buckets.standings:_joined",
        old="[each for each in last if are_rivals(each, s.epoch)]",
        new="[]",
        harm="Who followed an epoch that was begun in vain is held to have what another served beside it.",
    ),
    Mutant(
        name="told-in-vain-has-rivals",
        kind=Slip.CHECK,
        where="p2pcrawl.core.buckets.ownership:_without_rivals",
        old="if unknown else had",
        new="if unknown and not unknown else had",
        harm="Who heard of the later epoch of two beside each other is told of the next, and says that he has both.",
    ),
    Mutant(
        name="told-of-rivals-twice",
        kind=Slip.CHECK,
        where=_OWNERSHIP + "_without_rivals",
        old="set(named) - of_them if known == had.epoch else named",
        new="named",
        harm="Who has one of two rivals, and is told of them twice, lacks it by his own word, and nobody else has it.",
    ),
    Mutant(
        name="rival-had-alone",
        kind=Slip.MERGE,
        where=_OWNERSHIP + "_remember",
        old="            if rival:\n",
        new="            if rival < 0:\n",
        harm="What another goes on with beside an epoch of ours is not withdrawn when its bucket goes elsewhere.",
    ),
    Mutant(
        name="joined-on-disk-before-it-is-ours",
        kind=Slip.EARLY,
        where="p2pcrawl.master.buckets.takeover:Takeover._join_standings",
        old="self._holdings.note(self._ownership.standings(served_on))",
        new="self._holdings.note(self._ownership.standings(changed))",
        harm="Who dies as it loses again what it was taking over is back with what it had to take back.",
    ),
    Mutant(
        name="raised-stays-untold",
        kind=Slip.RETRY,
        where=_OWNERSHIP + "change",
        old="elif untold := self.states.among(self.untold, BucketState.SERVED):",
        new="elif untold := self.states.among([], BucketState.SERVED):",
        harm="An epoch that the word of another has raised is told no further when that one is gone: nothing is "
        "settled under it any more.",
    ),
)
