"""Mistakes at a slave's end: when its session is over, and what becomes of what it has in hand."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_LINK = "p2pcrawl.slave.link."
_SESSION = "p2pcrawl.slave.session:SlaveSession."

MUTANTS = (
    Mutant(
        name="renewed-by-the-last-answer",
        kind=Slip.MERGE,
        where=_LINK + "fence:Fence.renewed",
        old="self._until = max(self._until, sent_at + self._length_s)",
        new="self._until = sent_at + self._length_s",
        harm="A late answer shortens a session.",
        equivalent=(
            "Answers come over one link in the order of their beats, and beats before an "
            "answered one are forgotten: the last is the latest."
        ),
    ),
    Mutant(
        name="session-counts-from-the-answer",
        kind=Slip.FENCE,
        where=_LINK + "fence:Fence.renewed",
        old="sent_at + self._length_s",
        new="monotonic() + self._length_s",
        harm=("A slave works on by an answer that was long under way, when its master has given its hosts to others."),
    ),
    Mutant(
        name="what-is-over-comes-back",
        kind=Slip.FENCE,
        where=_LINK + "fence:Fence.renewed",
        old="if not self.passed:",
        new="if self._until > -inf:",
        harm="A slave that stood still goes on after a late answer, under a session that is over.",
    ),
    Mutant(
        name="no-look-before-a-step",
        kind=Slip.FENCE,
        where=_LINK + "fence:Fence._steps",
        old="if self.passed:",
        new="if given_up:",
        harm="A slave that stood still sends what it was about to send before it looks at the clock.",
    ),
    Mutant(
        name="closed-fence-is-open",
        kind=Slip.FENCE,
        where=_LINK + "fence:Fence.close",
        old="            self._until = -inf\n",
        new="            self._until = self._until\n",
        harm="What a session had open goes on when its master has ended it.",
    ),
    Mutant(
        name="fence-not-looked-at-again",
        kind=Slip.RETRY,
        where=_LINK + "fence:Fence._look",
        old="            self._timer = self._loop.call_later(self._until - monotonic(), self._look)\n",
        new="            self._timer = None\n",
        harm="A session that was renewed once never ends by itself.",
    ),
    Mutant(
        name="last-report-never-safe",
        kind=Slip.EDGE,
        where=_LINK + "outbox:Outbox.acknowledged",
        old="self._sent[0].sequence <= sequence",
        new="self._sent[0].sequence < sequence",
        harm="The last report waits for an acknowledgement that has come, and the slave cannot leave.",
    ),
    Mutant(
        name="orphans-one-too-few",
        kind=Slip.EDGE,
        where=_LINK + "outbox:Outbox.acknowledged",
        old="range(min(flying.pages - self._safe, len(self._orphans)))",
        new="range(min(flying.pages - self._safe + 1, len(self._orphans)))",
        harm="One page that was not acknowledged yet is not brought to the next master.",
    ),
    Mutant(
        name="parts-as-a-whole",
        kind=Slip.MERGE,
        where=_LINK + "outbox:Outbox.put",
        old="page if whole else Page(page.lease, page.record, page.job, page.links)",
        new="page",
        harm="A page of which parts were lost is ended at the next master with its last items only.",
    ),
    Mutant(
        name="orphans-not-handed-on",
        kind=Slip.CLEANUP,
        where=_LINK + "outbox:Outbox.close",
        old="                self._orphanage.take(orphan)\n",
        new="                pass\n",
        harm="What a slave has not been acknowledged is forgotten with its session.",
    ),
    Mutant(
        name="unsent-put-to-the-old",
        kind=Slip.SIDE,
        where=_LINK + "outbox:Outbox.put",
        old="                self._orphanage.take(orphan)\n",
        new="                pass\n",
        harm="What a callback finds after its session is over is lost.",
    ),
    Mutant(
        name="flying-orphans-lost",
        kind=Slip.RETRY,
        where=_LINK + "orphans:Orphanage.detach",
        old="        self._kept.extendleft(reversed(self._flying))\n",
        new="",
        harm="Orphans that were on their way to a master that died are not said again.",
    ),
    Mutant(
        name="adopted-by-an-old-word",
        kind=Slip.FENCE,
        where=_LINK + "orphans:Orphanage.adopted",
        old="sequence != self._sequence or not self._flying",
        new="not self._flying",
        harm="A late word of an earlier master lets orphans be forgotten that nobody has.",
    ),
    Mutant(
        name="orphans-only-on-attach",
        kind=Slip.RETRY,
        where=_LINK + "orphans:Orphanage.take",
        old="        self._send()\n",
        new="",
        harm="An orphan that comes after its slave is attached anew waits for another master.",
    ),
    Mutant(
        name="void-work-begins",
        kind=Slip.RACE,
        where=_SESSION + "_worker",
        old=("                if self._fence.passed:\n                    continue\n"),
        new="",
        harm="A page is begun whose session ended while the slave waited for its job.",
    ),
    Mutant(
        name="room-not-waited-for",
        kind=Slip.EDGE,
        where=_SESSION + "_worker",
        old="                await self._outbox.room()\n",
        new="",
        harm="A slave fetches without bound while its master takes nothing.",
    ),
    Mutant(
        name="leaves-with-reports-on-the-way",
        kind=Slip.EARLY,
        where=_SESSION + "_leave",
        old="                await self._outbox.drained()\n",
        new="",
        harm="A slave that leaves in order does not wait till its last reports are safe.",
    ),
    Mutant(
        name="leaves-with-orphans",
        kind=Slip.EARLY,
        where=_SESSION + "_leave",
        old="                await self._orphanage.empty()\n",
        new="",
        harm="A slave that leaves takes what it still has from its last master with it.",
    ),
    Mutant(
        name="grants-of-the-leaving-kept",
        kind=Slip.CLEANUP,
        where=_SESSION + "_granted",
        old="            self._post.send(Returned([task.record for task in grant.tasks]))\n",
        new="",
        harm="Pages that come to a slave which is leaving are nobody's until its session ends.",
    ),
)
