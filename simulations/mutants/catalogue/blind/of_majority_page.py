"""Mistakes against what docs/majority.md says."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

MUTANTS = (
    Mutant(
        name="granted-from-the-answer",
        kind=Slip.EDGE,
        where="p2pcrawl.core.majority.consent:Consent.recount",
        old="times[needed - 1] + self._timings.grant_s if",
        new="times[0] + self._timings.grant_s if",
        harm="Consent lasts as long as the last voter's, though most have promised less.",
        blind=True,
    ),
    Mutant(
        name="half-of-the-voters",
        kind=Slip.QUORUM,
        where="p2pcrawl.core.majority.consent:Consent.recount",
        old="needed = len(voters) // 2 + 1",
        new="needed = max(1, len(voters) // 2)",
        harm="Half of the voters are taken for most.",
        blind=True,
    ),
    Mutant(
        name="seats-not-compared",
        kind=Slip.FENCE,
        where="p2pcrawl.core.majority.consent:Consent.recount",
        old="if voters.get(node) == seat)",
        new="if node in voters)",
        harm="The word of one that lost its disk, and its vote, counts.",
        blind=True,
    ),
    Mutant(
        name="promise-of-one-only",
        kind=Slip.CHECK,
        where="p2pcrawl.core.majority.consent:Consent.answer",
        old="all(view == self._view for view in self._promised(now).values())",
        new="self._promised(now).get(asker) == self._view",
        harm="A voter agrees to a new view while another holds it to the old one.",
        blind=True,
    ),
    Mutant(
        name="old-answers-count",
        kind=Slip.FENCE,
        where="p2pcrawl.core.majority.consent:Consent.heard",
        old="if not answer.agrees or not view or view != self._view:",
        new="if not answer.agrees or not view:",
        harm="An answer to a question of an earlier view counts for the new one.",
        blind=True,
    ),
    Mutant(
        name="halt-forgotten",
        kind=Slip.CLEANUP,
        where="p2pcrawl.master.majority.mandate:Mandate._review",
        old="            self._halt()\n",
        new="            pass\n",
        harm="What slaves have open goes on though most do not agree any more.",
        blind=True,
    ),
    Mutant(
        name="through-and-voting",
        kind=Slip.CLEANUP,
        where="p2pcrawl.master.majority.mandate:Mandate.part",
        old="        self._through = True\n",
        new="",
        harm="One that leaves asks on for consent, and holds others to its view.",
        blind=True,
    ),
    Mutant(
        name="version-not-pulled",
        kind=Slip.RETRY,
        where="p2pcrawl.master.majority.suffrage:Suffrage.heard_of",
        old="if self._electorate.behind(version) and node not in self._pulling:",
        new="if self._electorate.behind(version) and self._pulling:",
        harm="Who has an older electorate never hears of the newer one.",
        blind=True,
    ),
)
