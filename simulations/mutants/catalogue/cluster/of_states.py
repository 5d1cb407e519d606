"""Mistakes in the states of buckets: which event comes to which, and what comes of it."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_STATES = "p2pcrawl.core.buckets.bucket_states:BucketStates."
_OWNERSHIP = "p2pcrawl.core.buckets.ownership:Ownership."
_TAKEOVER = "p2pcrawl.master.buckets.takeover:Takeover."

MUTANTS = (
    Mutant(
        name="output-forgotten",
        kind=Slip.CHECK,
        where=_STATES + "take",
        old="before.translate(steps.due)",
        new="before.translate(steps.due) if event is not BucketEvent.DOUBTED else b''",
        harm="What others may serve is not claimed from them: it is served again without a word of theirs.",
    ),
    Mutant(
        name="offered-only-when-served",
        kind=Slip.SIDE,
        where=_STATES + "take",
        old="before.translate(steps.due)",
        new="(s != _SERVED and d for s, d in zip(before, before.translate(steps.due)))"
        " if event is BucketEvent.OFFERED else before.translate(steps.due)",
        harm="What somebody has of a bucket that is served all along is never joined to it.",
    ),
    Mutant(
        name="heard-of-another-epoch",
        kind=Slip.FENCE,
        where=_OWNERSHIP + "_beginning",
        old="if self.counters[bucket] == epochs[bucket]",
        new="if epochs[bucket]",
        harm="A bucket is served under an epoch that nobody has heard of, when an earlier one was begun before.",
    ),
    Mutant(
        name="missed-by-the-first-only",
        kind=Slip.EDGE,
        where=_OWNERSHIP + "ask_again",
        old="for node in nodes:",
        new="for node in list(nodes)[:1]:",
        harm="Of several who did not hear of an epoch only one is told again: the others take themselves for whole.",
    ),
    Mutant(
        name="back-while-given-up",
        kind=Slip.RACE,
        where=_OWNERSHIP + "awaited",
        old="waiting - self.states.those(BucketState.RETURNING) if node == self.me else waiting",
        new="waiting",
        harm="Own copies of a bucket that comes back are taken in while more are made, and these stay behind.",
    ),
    Mutant(
        name="back-and-not-asked-for",
        kind=Slip.RETRY,
        where=_TAKEOVER + "_give_up",
        old="                self._claim_from(self._peers.me)\n",
        new="                pass\n",
        harm="A bucket that came back while it was given up is served by nobody until the view changes.",
    ),
    Mutant(
        name="spared-is-given",
        kind=Slip.CHECK,
        where=_TAKEOVER + "_give_up",
        old="done=done",
        new="done=True",
        harm="What could not be given up passes for taken: its owner's word is not heard when it is said again.",
    ),
    Mutant(
        name="word-for-anybody",
        kind=Slip.SIDE,
        where=_OWNERSHIP + "promised",
        old="if owners[bucket] == claimer",
        new="if claimer",
        harm="Rows are given up at the word of one who does not own them.",
        equivalent="Whoever says so in our view owns them by it, and masters do not lie to each other.",
    ),
    Mutant(
        name="left-over-till-let-go",
        kind=Slip.EARLY,
        where=_OWNERSHIP + "left_over",
        old=", BucketState.LET_GO, BucketState.GIVING",
        new="",
        harm="A job ends, or a master leaves, while somebody has still to take what is here.",
    ),
    Mutant(
        name="later-epoch-vouches",
        kind=Slip.FENCE,
        where="p2pcrawl.core.buckets.ownership:Ownership.vouch",
        old="standing.epoch == begun.get(b)",
        new="standing.epoch >= begun.get(b, 0)",
        harm="One that knows of a later epoch vouches for ours: we go on under an epoch that another has ended.",
        equivalent="A later epoch is joined in the same breath: ours is another from then on than we served under.",
    ),
)
