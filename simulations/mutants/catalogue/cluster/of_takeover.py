"""Mistakes in how buckets are claimed, and who has heard of it."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_TAKEOVER = "p2pcrawl.master.buckets.takeover:Takeover."

MUTANTS = (
    Mutant(
        name="claimed-in-another-view",
        kind=Slip.FENCE,
        where=_TAKEOVER + "_free",
        old="view != self._ownership.view or not",
        new="not",
        harm=("A master lets go for one that claims in a view which is not its own: two may serve the bucket."),
    ),
    Mutant(
        name="let-go-ahead-of-links",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_free",
        old="        await generation.wait_for(self._links_first.safe())\n",
        new="",
        harm=("A new owner learns that a page is done before anybody but the old one has the links that it led to."),
    ),
    Mutant(
        name="soon-forgotten",
        kind=Slip.EARLY,
        where="p2pcrawl.peer.acquaintances:AcquaintanceKeeping.remember",
        old="if not self",
        new="if False and not self",
        harm="A loss of power takes who was met last: links are settled with fewer copies than there should be.",
    ),
    Mutant(
        name="let-go-in-a-view-that-is-gone",
        kind=Slip.RACE,
        where=_TAKEOVER + "_free",
        old="await generation.finish(self._sizes_of(buckets))",
        new="await self._sizes_of(buckets)",
        harm="Buckets are let go of that have become our own again while their rows were counted.",
    ),
    Mutant(
        name="let-go-without-our-word",
        kind=Slip.CHECK,
        where=_TAKEOVER + "let_go",
        old="        self._ownership.let_go(buckets)\n",
        new="",
        harm="What a claimer has taken is never given up here: its rows stay in two frontiers.",
    ),
    Mutant(
        name="gives-up-in-a-view-that-is-gone",
        kind=Slip.FENCE,
        where=_TAKEOVER + "_give_up",
        old="await generation.finish(self._handover.forget(free, generation))",
        new="await self._handover.forget(free, generation)",
        harm="A master says that it has given up what it kept, for it owns that again by now.",
    ),
    Mutant(
        name="never-offered-again",
        kind=Slip.CLEANUP,
        where=_TAKEOVER + "view_changed",
        old="if not self._admission.knows_jobs and self._holdings.new:",
        new="if change.lost:",
        harm="What nobody takes from us by itself is never offered to its owner.",
    ),
    Mutant(
        name="taken-in-another-view",
        kind=Slip.FENCE,
        where=_TAKEOVER + "taken",
        old="if request.view != self._ownership.view:",
        new="if not request.view:",
        harm="Rows are given up at the word of one whose view is not ours any more.",
    ),
    Mutant(
        name="given-up-is-under-way",
        kind=Slip.RACE,
        where=_TAKEOVER + "taken",
        old="async with self._giving[claimer]:",
        new="if claimer in self._giving or True:",
        harm=(
            "Who says a second time what he has taken is told that it is given up while that is under way: two have "
            "the rows as their own."
        ),
    ),
    Mutant(
        name="forgets-what-was-not-let-go",
        kind=Slip.CHECK,
        where="p2pcrawl.core.buckets.ownership:Ownership.promised",
        old="self.states.those(BucketState.AGREED, BucketState.LET_GO)",
        new="self.states.those(BucketState.AGREED, BucketState.LET_GO, BucketState.LEFT_OVER)",
        harm="Rows are deleted that came here after the claim which they are said to answer.",
    ),
    Mutant(
        name="not-demoted",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_give_up",
        old="                await generation.finish(self._demote(free))\n",
        new="",
        harm="Whoever took a bucket has the only copy of it until others are made.",
    ),
    Mutant(
        name="handed-over-still-whole",
        kind=Slip.FENCE,
        where=_TAKEOVER + "_give_up",
        old="            self._ownership.handed_over(epochs, rivals)\n",
        new="",
        harm=(
            "A former owner takes itself for whole, and what came under the next epoch is not missed when it is lost."
        ),
    ),
    Mutant(
        name="handed-over-not-on-disk",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_give_up",
        old="            await self._holdings.note(self._ownership.standings(epochs))\n",
        new="",
        harm=(
            "After a restart a former owner takes itself for whole, for it has no word of the next epoch on its disk."
        ),
    ),
    Mutant(
        name="demotes-one-page",
        kind=Slip.EDGE,
        where=_TAKEOVER + "_demote",
        old="for row in rows])",
        new=("for row in rows])\n            break"),
        harm="Of a bucket with more than a thousand rows the rest has one copy for a while.",
    ),
    Mutant(
        name="epoch-begins-before-disk",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_begin",
        old="        await generation.finish(self._holdings.note(self._ownership.standings(begun)))\n",
        new="",
        harm=("A new owner that crashes forgets its epoch, and serves under it again what another has served since."),
    ),
    Mutant(
        name="served-though-some-missed-it",
        kind=Slip.QUORUM,
        where=_TAKEOVER + "_begin",
        old="                    self._claim_from(node)\n                return\n",
        new=(
            "                    self._claim_from(node)\n"
            "                if len(missed) > len(shares) // 2:\n"
            "                    return\n"
        ),
        harm=("A bucket is served under an epoch that some have not heard of: they hold themselves for whole."),
    ),
    Mutant(
        name="served-in-a-view-that-is-gone",
        kind=Slip.RACE,
        where=_TAKEOVER + "_begin",
        old="await generation.wait_for(asyncio.gather(*announced, return_exceptions=True))",
        new="await asyncio.gather(*announced, return_exceptions=True)",
        harm="What has become another's, while everybody was told that it is ours, is served.",
    ),
    Mutant(
        name="followers-hear-last",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_audiences",
        old="return following, lacking",
        new="return lacking, following",
        harm=(
            "A new owner dies with its disk while it tells of its epoch: those that lack it know of it, who is to "
            "follow it does not, and an epoch of which there was nothing is taken for lost."
        ),
    ),
    Mutant(
        name="epoch-told-anew-not-noted",
        kind=Slip.FENCE,
        where=_TAKEOVER + "_given_up",
        old="for bucket in taken if self._ownership.owner(bucket) == claimer}",
        new="for bucket in free}",
        harm=(
            "One word that gets lost, and the epoch that is served is another one than some have heard of: followers "
            "do not have it, and whoever lacks it does not know."
        ),
    ),
    Mutant(
        name="missed-not-asked-again",
        kind=Slip.RETRY,
        where=_TAKEOVER + "_begin",
        old="                self._ownership.ask_again(missed, epochs)\n",
        new="",
        harm="One word that gets lost, and a bucket is served by nobody until the view changes.",
    ),
    Mutant(
        name="claim-not-repeated",
        kind=Slip.RETRY,
        where=_TAKEOVER + "_claim",
        old="pause_s = min(CLAIM_PATIENCE * CLAIM_RETRY_S, 2 * pause_s)",
        new="return",
        harm="One lost claim, and a bucket is served by nobody until the view changes.",
    ),
    Mutant(
        name="pulled-in-a-view-that-is-gone",
        kind=Slip.RACE,
        where=_TAKEOVER + "_take_over",
        old="await generation.finish(self._join_standings(node, had))",
        new="await self._join_standings(node, had)",
        harm="The standing of another counts as ours though the claim for which its rows came is void.",
    ),
    Mutant(
        name="joined-standing-not-on-disk",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_join_standings",
        old="                await self._holdings.note(self._ownership.standings(served_on))\n",
        new="                pass\n",
        harm="One that lacks what we have is told so, and after a crash nobody knows that we have it.",
    ),
    Mutant(
        name="joined-meanwhile-not-on-disk",
        kind=Slip.EARLY,
        where=_TAKEOVER + "_announce_joined",
        old="async with self._noting:",
        new="if True:",
        harm="Two let go at a time: one is told of an epoch that the word of the other raised, and no disk has yet.",
    ),
    Mutant(
        name="joined-copies-not-doubted",
        kind=Slip.FENCE,
        where=_TAKEOVER + "_join_standings",
        old="            self._copier.copying.doubt(changed)\n",
        new="",
        harm="Copies stay counted that lack what has been joined to the owner's rows.",
    ),
    Mutant(
        name="hosts-of-joined-not-spaced",
        kind=Slip.CHECK,
        where=_TAKEOVER + "_join_standings",
        old="            self._bench.came_over(served, monotonic())\n",
        new="",
        harm=("A host is asked at once by the one that goes on, just after the other side of a partition did."),
    ),
    Mutant(
        name="hosts-not-spaced-at-meeting",
        kind=Slip.CHECK,
        where=_TAKEOVER + "meet",
        old="        self._budgets.came_over({b for b in range(BUCKETS) if self._ownership.in_service(b)})\n",
        new="",
        harm="When two sides meet, hosts that both served are asked twice within their delay.",
    ),
)
