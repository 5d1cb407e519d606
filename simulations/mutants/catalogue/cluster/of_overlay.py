"""Mistakes in what masters tell each other beside links: votes on disk, views, the directory."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_MASTER = "p2pcrawl.master."
_OVERLAY = "p2pcrawl.overlay."

MUTANTS = (
    Mutant(
        name="vote-before-the-disk",
        kind=Slip.EARLY,
        where=_MASTER + "majority.roll:Roll.vote",
        old="            await self._save()\n",
        new="",
        harm="A voter that crashes votes again, and otherwise.",
    ),
    Mutant(
        name="ballot-before-the-disk",
        kind=Slip.EARLY,
        where=_MASTER + "majority.roll:Roll.open_ballot",
        old="            await self._save()\n",
        new="",
        harm="A ballot that was opened before a crash is opened again for another set.",
    ),
    Mutant(
        name="votes-side-by-side",
        kind=Slip.RACE,
        where=_MASTER + "majority.roll:Roll.vote",
        old="async with self._turn:",
        new="if True:",
        harm="Of two votes at once the older may be what is on disk.",
    ),
    Mutant(
        name="older-roll-over-newer",
        kind=Slip.RACE,
        where=_MASTER + "majority.roll:Roll._write",
        old="if number > self._written:",
        new="if number:",
        harm="A slow writing puts an older roll in the place of a newer one.",
    ),
    Mutant(
        name="halted-from-now",
        kind=Slip.EDGE,
        where=_MASTER + "majority.mandate:Mandate._review",
        old="ended_at = min(now, self._consent.until)",
        new="ended_at = max(now, self._consent.until)",
        harm="What was open when the consent ended goes on into the time of the next majority.",
    ),
    Mutant(
        name="confirmed-kept-back",
        kind=Slip.RETRY,
        where=_MASTER + "majority.mandate:Mandate._review",
        old="            self._confirmed(self._ownership.confirm())\n",
        new="            self._ownership.confirm()\n",
        harm="What was gained is not granted though most agree, until the view changes.",
    ),
    Mutant(
        name="decides-with-half-silent",
        kind=Slip.EDGE,
        where=_MASTER + "majority.suffrage:Suffrage.tend",
        old="if 2 * len(silent) >= len(voters):",
        new="if len(silent) >= len(voters):",
        harm="Ballots are held that cannot be decided, again and again.",
    ),
    Mutant(
        name="view-of-another-believed",
        kind=Slip.CHECK,
        where=_OVERLAY + "gossip:GossipDriver.answer_exchange",
        old="if theirs.source != sender:",
        new="if not theirs.source:",
        harm="A master may speak in the name of another.",
    ),
    Mutant(
        name="last-never-asked",
        kind=Slip.EDGE,
        where=_OVERLAY + "gossip:GossipDriver._begin_exchanges",
        old=".add_done_callback(lambda _: self._begin_exchanges())",
        new="",
        harm="Who joins through many asks the first of them only: one that lives is not found for long.",
    ),
    Mutant(
        name="datagram-of-another-believed",
        kind=Slip.CHECK,
        where=_OVERLAY + "gossip:GossipDriver._received",
        old="if message.source != opened.sender and not isinstance(message, Ack):",
        new="if not message.source:",
        harm="A master may speak in the name of another.",
    ),
    Mutant(
        name="record-of-the-dead-stays",
        kind=Slip.SIDE,
        where=_OVERLAY + "records:RecordStore.counts_more",
        old="                return lives\n",
        new="                return lived\n",
        harm="The directory says that a bucket is where its dead owner served it.",
    ),
    Mutant(
        name="record-outlives-its-end",
        kind=Slip.CLEANUP,
        where=_OVERLAY + "records:RecordStore.held",
        old=("        if held.until <= now:\n            self._drop(key)\n            return None\n"),
        new="",
        harm="The directory tells for ever what was true two hours ago.",
    ),
    Mutant(
        name="older-record-replaces",
        kind=Slip.MERGE,
        where=_OVERLAY + "records:RecordStore.offer",
        old=" and not self.counts_more(record, held.record):",
        new=" and self.counts_more(record, held.record):",
        harm="Of two records the older one is kept.",
    ),
    Mutant(
        name="own-record-in-the-same-version",
        kind=Slip.FENCE,
        where=_OVERLAY + "directory:Directory.publish_peer",
        old="        self._version += 1\n",
        new="",
        harm="A new address of a master does not replace the old one in the directory.",
    ),
    Mutant(
        name="note-in-the-same-version",
        kind=Slip.FENCE,
        where=_OVERLAY + "directory:Directory.publish_host",
        old="before.version + 1 if",
        new="before.version if",
        harm="What a host asks now does not replace what it asked before.",
    ),
    Mutant(
        name="pause-counts-anew",
        kind=Slip.EDGE,
        where=_OVERLAY + "directory:Directory.host",
        old="max(0.0, body.pause_s - found.age_s)",
        new="body.pause_s",
        harm="Each that looks up a host leaves it alone for the whole pause again.",
    ),
    Mutant(
        name="condemned-goes-on",
        kind=Slip.FENCE,
        where="p2pcrawl.master.cluster:Cluster.happened",
        old="self.caution.condemned()",
        new="pass",
        harm="One that was cut off, and declared dead, goes on with what others have taken over.",
    ),
    Mutant(
        name="condemned-untold",
        kind=Slip.RETRY,
        where="p2pcrawl.core.membership.hearsay:Hearsay._report",
        old="out.datagrams.append((after.address, charge))",
        new="pass",
        harm="One whose refutation came when it had been declared dead never hears of that, and goes on.",
    ),
    Mutant(
        name="no-second-look-after-join",
        kind=Slip.RETRY,
        where="p2pcrawl.core.membership.comparing:Exchanges.joined",
        old="        self._again_at = now + self._config.join_again_s\n",
        new="",
        harm="Masters that join through one at the same moment learn late of each other.",
    ),
    Mutant(
        name="old-facts-as-new-ones",
        kind=Slip.MERGE,
        where="p2pcrawl.core.membership.courier:Courier.gossip_about",
        old="""facts.incarnation != verdict[0]:
            return None
        return Gossip(self.me.id, self._fill([Alive(facts),""",
        new="""False:
            return None
        return Gossip(self.me.id, self._fill([Alive(replace(facts, incarnation=verdict[0])),""",
        harm="What a member said of itself before it refuted something is told as its last word, and may win for good.",
    ),
)
