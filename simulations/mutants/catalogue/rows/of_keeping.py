"""Mistakes in what a master keeps for others: copies, the spool, standings, accounts."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_STORE = "p2pcrawl.frontier.copies."
_HELD = "p2pcrawl.master.copies."
_CORE = "p2pcrawl.core."

MUTANTS = (
    Mutant(
        name="older-copy-wins",
        kind=Slip.MERGE,
        where=_STORE + "copy_store:CopyStore.put",
        old="is_further(row.stamp, known.stamp)",
        new="is_further(known.stamp, row.stamp)",
        harm="Of two changes of a page in one message the older one is kept.",
    ),
    Mutant(
        name="late-copy-overwrites",
        kind=Slip.FENCE,
        where=_STORE + "copy_store:CopyStore.put",
        old="is_further(row.stamp, here[p][0])",
        new="row.stamp != here[p][0]",
        harm="A change that comes late puts a copy back to what the page was.",
    ),
    Mutant(
        name="marks-of-copies-lost",
        kind=Slip.CLEANUP,
        where=_STORE + "copy_store:CopyStore.put",
        old=(
            "            self._mark([Mark(*place, r.stamp, r.items, r.marks) for place, r in "
            "newest.items() if r.marks])\n"
        ),
        new="",
        harm="A copy that is whole does not learn which sinks have its items: they are brought again.",
    ),
    Mutant(
        name="a-bucket-left-out",
        kind=Slip.EDGE,
        where=_STORE + "copy_store:CopyStore.rows",
        old='("a.bucket > ?", (bucket,))',
        new='("a.bucket > ? + 1", (bucket,))',
        harm="Behind the end of a page of copies one bucket is left out.",
    ),
    Mutant(
        name="spool-of-deleted-jobs",
        kind=Slip.CLEANUP,
        where=_STORE + "copy_store:CopyStore.drop_job",
        old='                    self._db.execute("DELETE FROM spool WHERE job = ?", (job,))\n',
        new="",
        harm="Links of a deleted job are kept, and said, for ever.",
    ),
    Mutant(
        name="pieces-not-read",
        kind=Slip.MERGE,
        where=_STORE + "copy_store:CopyStore.standings",
        old="_pieces_read(text)",
        new="()",
        harm="After a restart a bucket lacks what two together had, and nobody can bring it.",
    ),
    Mutant(
        name="lost-frontier-not-doubted",
        kind=Slip.EARLY,
        where=_STORE + "set_aside:_doubt_standings",
        old="SET lack = epoch, base",
        new="SET lack = 0, base",
        harm="One whose frontier was lost takes the empty buckets for whole.",
    ),
    Mutant(
        name="lost-copies-same-store",
        kind=Slip.FENCE,
        where=_STORE + "set_aside:_change_store",
        old="WHERE name = 'store'",
        new="WHERE name = 'life'",
        harm="One whose copies were lost counts as the holder that it was.",
    ),
    Mutant(
        name="spool-before-the-disk",
        kind=Slip.EARLY,
        where=_HELD + "spool:Spool.keep",
        old="await self._holdings.spool(rows)",
        new="asyncio.get_running_loop().create_task(self._holdings.spool(rows))",
        harm=("A page is done before its provisional links are on this disk: a crash takes their second store."),
    ),
    Mutant(
        name="spool-let-go-of",
        kind=Slip.EARLY,
        where=_HELD + "spool:Spool._send",
        old="waiting = {*answer.refused, *(answer.provisional if owner is not None else ())}",
        new="waiting = set(answer.refused)",
        harm="Links that are provisional still are forgotten here.",
    ),
    Mutant(
        name="unanswered-taken-for-said",
        kind=Slip.RETRY,
        where=_HELD + "spool:Spool.send_again",
        old="self._sent_at = changes if answered else -1",
        new="self._sent_at = changes",
        harm="What an owner did not answer is held for said, and a job ends without it.",
    ),
    Mutant(
        name="spool-does-not-hold-up",
        kind=Slip.EARLY,
        where=_HELD + "spool:Spool.unsaid",
        old="self._said != self._kept or self._sent_at",
        new="self._sent_at",
        harm="A job is finished though links that came to be kept since are not with their owner.",
    ),
    Mutant(
        name="lack-at-equal-epoch-lost",
        kind=Slip.EDGE,
        where=_HELD + "holdings:Holdings._newer",
        old="s.epoch >= here[b].epoch",
        new="s.epoch > here[b].epoch",
        harm="That a bucket has been dropped is forgotten with a restart, for its epoch is the same.",
    ),
    Mutant(
        name="copied-before-the-disk",
        kind=Slip.EARLY,
        where=_HELD + "holdings:Holdings.copy",
        old="await self._put(message.rows, notes)",
        new="self._put(message.rows, notes)",
        harm=("Copies are acknowledged before they are on disk: a loss of power takes all stores of a fact."),
    ),
    Mutant(
        name="coming-copies-overlooked",
        kind=Slip.RACE,
        where=_HELD + "holdings:Holdings.sizes",
        old="self._store.bare and not self._is_coming",
        new="self._store.bare",
        harm="A bucket begins while the first copies of it are on their way to the disk, and stay among copies.",
    ),
    Mutant(
        name="keeper-is-itself",
        kind=Slip.EDGE,
        where=_CORE + "accounts:keepers",
        old="(bisect_right if speaks else bisect_left)(members, master)",
        new="bisect_left(members, master)",
        harm="What a master has counted is kept by itself, and dies with it.",
    ),
    Mutant(
        name="older-account-wins",
        kind=Slip.MERGE,
        where=_CORE + "accounts:joined_accounts",
        old="_rank(account) > _rank(known)",
        new="_rank(account) < _rank(known)",
        harm="What a dead master counted last is replaced by what it had counted before.",
    ),
    Mutant(
        name="drops-by-what-was-known",
        kind=Slip.RACE,
        where=_HELD + "excess:Excess.drop_surplus",
        old="            if self._ownership.generation != generation:\n",
        new="            if self._ownership.view != view:\n",
        harm="One stands still while it tells others to drop copies, and goes on with that: these may be the last.",
    ),
)
