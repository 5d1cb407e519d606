"""Mistakes in how items are brought to where they are wanted, and in the order of a turn."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_MASTER = "p2pcrawl.master."
_STORES = "p2pcrawl.stores."

MUTANTS = (
    Mutant(
        name="brought-before-copied",
        kind=Slip.EARLY,
        where=_MASTER + "cycle:Cycle._follow",
        old="            copied(self.outputs.expect_copies(committed.last_item))\n",
        new="            self.outputs.expect_copies(committed.last_item)()\n",
        harm=("A sink has items of pages whose end a death undoes: what comes of them then is brought beside it."),
    ),
    Mutant(
        name="brought-at-a-restart",
        kind=Slip.EARLY,
        where=_MASTER + "master:Master._recover",
        old="self.company.when_abreast(self.outputs.expect_copies(last))",
        new="self.outputs.expect_copies(last)()",
        harm="A master that is back brings items of a page whose end it had told nobody, and dies with its disk.",
    ),
    Mutant(
        name="moved-as-own",
        kind=Slip.EARLY,
        where=_MASTER + "cycle:Cycle._is_own",
        old="not batch.moved and ",
        new="",
        harm="A sink has items of a page that came with its bucket, and whose end only one copy had.",
    ),
    Mutant(
        name="synced-as-acknowledged",
        kind=Slip.EARLY,
        where=_MASTER + "company.neighbours:Neighbours.when_abreast",
        old="self.copier.when_copied(lambda: self.abreast.when(then))",
        new="self.abreast.when(then)",
        harm="A sink has items of a page that ended beside rows of others, and whose end is on its way to its copies.",
    ),
    Mutant(
        name="copied-in-any-order",
        kind=Slip.EDGE,
        where=_MASTER + "jobs.outputs:Outputs._bring_copied",
        old="while self._expected and self._expected[0].copied:",
        new="while self._expected and any(each.copied for each in self._expected):",
        harm="Items whose pages are not copied yet are brought with later ones whose pages are.",
    ),
    Mutant(
        name="new-not-replicated",
        kind=Slip.CLEANUP,
        where=_MASTER + "cycle:Cycle._follow",
        old="        self.company.replicate(batch.endings, committed)\n",
        new="",
        harm="What is new goes to no copies but by the slow comparison.",
    ),
    Mutant(
        name="aside-never-run",
        kind=Slip.RETRY,
        where=_MASTER + "cycle:Cycle._follow",
        old="        await self.aside.run()\n",
        new="        pass\n",
        harm="Retries and pages of dead hosts wait for ever for their turn.",
    ),
    Mutant(
        name="ended-still-granted",
        kind=Slip.RACE,
        where=_MASTER + "cycle:Cycle._apply",
        old="            bench.withdraw(committed.ended)\n",
        new="            pass\n",
        harm="Pages that another master has ended stay to be granted.",
    ),
    Mutant(
        name="grants-while-full",
        kind=Slip.EDGE,
        where=_MASTER + "cycle:Cycle._gather",
        old="if not self.draining and not self.company.full:",
        new="if not self.draining:",
        harm="What waits for slow masters grows without bound.",
    ),
    Mutant(
        name="place-beyond-the-cursor",
        kind=Slip.RETRY,
        where=_MASTER + "jobs.delivery:Delivery.leave_alone",
        old="        self._place = self.cursor.last\n",
        new="",
        harm="What was read when a sink went away is never brought to it.",
    ),
    Mutant(
        name="refused-not-written-down",
        kind=Slip.CLEANUP,
        where=_MASTER + "jobs.delivery:Delivery._bring",
        old="            await self._refuse(written.refused)\n",
        new="",
        harm="Items that a sink refuses are gone.",
    ),
    Mutant(
        name="letters-lost-where-away",
        kind=Slip.CLEANUP,
        where=_MASTER + "jobs.redelivery:_sent",
        old="    left = letters\n",
        new="    left = letters if told.away else []\n",
        harm="Dead letters that are sent again while their sink is away are gone.",
    ),
    Mutant(
        name="letters-refused-again-lost",
        kind=Slip.CLEANUP,
        where=_MASTER + "jobs.redelivery:send_again_here",
        old="            await letters.put_back(stays)\n",
        new="",
        harm="Dead letters that are sent again and refused once more are gone.",
    ),
    Mutant(
        name="cursor-not-stored",
        kind=Slip.EARLY,
        where=_MASTER + "jobs.delivery:Delivery._bring",
        old="        self._told(self, True)\n",
        new="        self._told(self, False)\n",
        harm="After each restart everything is brought again.",
    ),
    Mutant(
        name="through-with-items-left",
        kind=Slip.EARLY,
        where=_MASTER + "jobs.delivery:Delivery._catch_up",
        old="if self._ended and not self._grew.is_set():",
        new="if self._ended:",
        harm="A destination is closed, and its job reported as delivered, while items are still to come.",
    ),
    Mutant(
        name="turns-side-by-side",
        kind=Slip.RACE,
        where=_MASTER + "jobs.delivery:Delivery._bring_all",
        old=("                    async with self._turn:\n                        await self._bring(pages, places)\n"),
        new="                    await self._bring(pages, places)\n",
        harm="Two jobs that share a file write into it at once.",
    ),
    Mutant(
        name="away-doubles-without-end",
        kind=Slip.EDGE,
        where=_MASTER + "jobs.delivery:Delivery._wait_for_it",
        old="min(AWAY_MAX_S, 2 * self._pause_s)",
        new="2 * self._pause_s",
        harm="A sink that was away for an hour is left alone for another hour when it is back.",
    ),
    Mutant(
        name="copied-without-waking",
        kind=Slip.RETRY,
        where=_MASTER + "jobs.outputs:Outputs._bring_copied",
        old=("            for delivery in self._deliveries:\n                delivery.grow()\n"),
        new="            pass\n",
        harm="The last items of a job wait until others come.",
    ),
    Mutant(
        name="parts-listed-first",
        kind=Slip.EARLY,
        where=_STORES + "parts.part_sink:PartSink._put",
        old=(
            "        await self._store.put(name, encoded.data)\n"
            "        await self._manifests.exchange(manifest.with_part(Part(name, len(rows), "
            "len(encoded.data), digest, again)))\n"
        ),
        new=(
            "        await self._manifests.exchange(manifest.with_part(Part(name, len(rows), "
            "len(encoded.data), digest, again)))\n"
            "        await self._store.put(name, encoded.data)\n"
        ),
        harm="A manifest lists a part that a crash keeps from being there.",
    ),
    Mutant(
        name="brought-parts-again",
        kind=Slip.CHECK,
        where=_STORES + "parts.part_sink:PartSink._write",
        old="        rows = [row for row in rows if row.key not in there]\n",
        new="",
        harm="Items that were brought already are in another part once more.",
    ),
    Mutant(
        name="brought-out-of-reach",
        kind=Slip.CHECK,
        where=_MASTER + "jobs.outputs:Outputs._delivery",
        old="page.again or self._misses(page.bucket)",
        new="page.again",
        harm="What was fetched again, because who knew of it is out of reach, is in the parts twice.",
    ),
    Mutant(
        name="overtaken-not-read-anew",
        kind=Slip.RETRY,
        where=_STORES + "parts.part_sink:PartSink.write",
        old="                    await self._manifests.read()\n",
        new="",
        harm="A writer that was overtaken tries again by what it knew before.",
    ),
    Mutant(
        name="shared-file-at-the-first-place",
        kind=Slip.MERGE,
        where=_STORES + "shared_sink:SharedSink.__init__",
        old="_writes(position) >= _writes(self._position or {})",
        new="self._position is None",
        harm="A file that several jobs write is cut back to where one of them had come.",
    ),
    Mutant(
        name="shared-writes-not-counted",
        kind=Slip.FENCE,
        where=_STORES + "shared_sink:SharedSink.write",
        old="self._counted(written.position, 1)",
        new="self._counted(written.position, 0)",
        harm="Of the places that jobs have noted in a shared file nobody can tell the latest.",
    ),
)
