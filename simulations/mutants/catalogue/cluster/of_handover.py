"""Mistakes in how buckets are let go of and taken in, and in when it is time for that."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_HANDOVER = "p2pcrawl.master.buckets.handover:Handover."
_BUCKETS = "p2pcrawl.master.buckets."

MUTANTS = (
    Mutant(
        name="forgets-what-came-since",
        kind=Slip.RACE,
        where=_HANDOVER + "begin",
        old="if not generation.over:",
        new="if buckets:",
        harm="A bucket comes back while its rows are made copies: links that were acknowledged since are forgotten.",
    ),
    Mutant(
        name="begins-before-all-were-asked",
        kind=Slip.EARLY,
        where=_BUCKETS + "view_changes:Views._look_no_longer",
        old="loop.time() < until and not self._peers.all_asked()",
        new="False",
        harm="One that comes back among many dead does again, alone, what a living one did that it has not asked yet.",
    ),
    Mutant(
        name="late-copies-forgotten",
        kind=Slip.CLEANUP,
        where="p2pcrawl.core.buckets.ownership:Ownership.given_up",
        old="        self.states.take(BucketEvent.FOUND, late)\n",
        new="",
        harm="A copy that came when its bucket was let go of is not offered, and is dropped.",
    ),
    Mutant(
        name="late-copies-not-offered",
        kind=Slip.RACE,
        where="p2pcrawl.master.service:Service._note_late",
        old="ownership.owner(b) not in (None, sender) or ",
        new="",
        harm=(
            "A copy comes from a former owner when its bucket is let go of: should that one die with its disk, the row "
            "is where nobody looks, and is dropped."
        ),
    ),
    Mutant(
        name="copies-of-ours-among-copies",
        kind=Slip.SIDE,
        where="p2pcrawl.master.cluster:Cluster.claims",
        old="return not self.caution.looking and self.ownership.owner(bucket) is None",
        new="return False",
        harm="A row for a holder that has become the owner is acknowledged, and is not among what it serves.",
    ),
    Mutant(
        name="held-pages-not-open",
        kind=Slip.EARLY,
        where=_HANDOVER + "answer",
        old="{*self._open(), *self.held_in}",
        new="set(self._open())",
        harm="A bucket is let go of while the end of a page in it waits for its links: the end is lost.",
    ),
    Mutant(
        name="lent-hosts-not-open",
        kind=Slip.EARLY,
        where=_HANDOVER + "asked",
        old="asked = set(self._company.lent())",
        new="asked = set[int]()",
        harm="A host goes to a new owner while another master asks it on a loan of the old one.",
    ),
    Mutant(
        name="earlier-sessions-ignored",
        kind=Slip.FENCE,
        where=_HANDOVER + "answer",
        old="not closed and buckets",
        new="buckets",
        harm=("A master that has just crashed lets go of hosts that its slaves of before are asking still."),
    ),
    Mutant(
        name="forgotten-still-on-bench",
        kind=Slip.CLEANUP,
        where=_HANDOVER + "_forget",
        old="        self._bench.remove(buckets)\n",
        new="",
        harm="Pages are granted from memory whose records have gone to another master.",
    ),
    Mutant(
        name="empty-handed-with-links",
        kind=Slip.EARLY,
        where=_HANDOVER + "empty_handed",
        old=" or self._company.under_way:",
        new=":",
        harm="A master leaves while links that it found are on their way.",
    ),
    Mutant(
        name="farewell-of-an-earlier-view",
        kind=Slip.FENCE,
        where=_BUCKETS + "farewell:Farewell.confirmed",
        old="            self._safe.clear()\n",
        new="",
        harm="What owners of an earlier view have confirmed lets a master leave that has the only copy.",
    ),
    Mutant(
        name="farewell-with-provisional-links",
        kind=Slip.EARLY,
        where=_BUCKETS + "farewell:Farewell._spooled_is_safe",
        old="return not self._spool.size or (taken and bool(self._kept))",
        new="return taken",
        harm="A master leaves for good with links that have too few copies elsewhere.",
    ),
    Mutant(
        name="first-page-of-pull-only",
        kind=Slip.EDGE,
        where=_BUCKETS + "taking:Taking._pull",
        old="if page.last:",
        new="if page.last or page.rows:",
        harm=("Of what another hands over only the first page of rows is taken in; the rest is deleted there."),
    ),
    Mutant(
        name="copies-not-pulled",
        kind=Slip.EARLY,
        where=_BUCKETS + "taking:Taking._pull",
        old="return await self._pull_copies(node, bitmap, generation)",
        new="return frozenset()",
        harm="What others held for a dead owner is not asked for: what only they have is gone.",
    ),
    Mutant(
        name="taken-in-after-the-view",
        kind=Slip.FENCE,
        where=_BUCKETS + "taking:Taking._take_in",
        old="await generation.finish(self._own.take_in(rows))",
        new="await self._own.take_in(rows)",
        harm="Rows of a bucket are taken in that is another's by now.",
    ),
    Mutant(
        name="stall-of-the-lonely-ignored",
        kind=Slip.SIDE,
        where=_BUCKETS + "caution:Caution.watch_clock",
        old="(had_others or self._peers.others())",
        new="self._peers.others()",
        harm="One that wakes to hear that all are dead goes on with what they serve.",
    ),
    Mutant(
        name="restart-of-others-unseen",
        kind=Slip.FENCE,
        where=_BUCKETS + "view_changes:Views._meet",
        old="self.boots.get(member.id) != member.boot",
        new="member.id not in self.boots",
        harm="One that restarted within a moment is believed to know what it was told before.",
    ),
    Mutant(
        name="other-keys-hosts-not-open",
        kind=Slip.EARLY,
        where=_HANDOVER + "_open",
        old="        yield from map(bucket_of_hash, self.asked())\n",
        new="",
        harm="Where jobs shard by URL, a host goes to a new owner while slaves here are asking it.",
    ),
    Mutant(
        name="offered-without-patience",
        kind=Slip.FENCE,
        where=_BUCKETS + "offering:Offering.offer_due",
        old="buckets = frozenset(buckets).difference(let_go)",
        new="pass",
        harm="Two that offer faster than their owner can pull let it begin anew for ever: the bucket is never served.",
    ),
    Mutant(
        name="offered-once",
        kind=Slip.RETRY,
        where=_BUCKETS + "offering:Offering._offer_to",
        old="            self._due_at = monotonic()\n",
        new="            self._told[node] = frozenset(open_)\n",
        harm="An owner that acted in another view yet is not told what was left open here.",
    ),
)
