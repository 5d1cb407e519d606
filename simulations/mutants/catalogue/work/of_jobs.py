"""Mistakes in how jobs are known to all, and steered."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_JOBS = "p2pcrawl.master.jobs."
_MASTER = "p2pcrawl.master."
_CONTROL = "p2pcrawl.core.control:"

MUTANTS = (
    Mutant(
        name="verb-told-before-the-disk",
        kind=Slip.EARLY,
        where=_MASTER + "steering:Steering._stored",
        old="        await _in_time(self._master.admission.write(job))\n",
        new="        pass\n",
        harm="A person is told that a job is paused, which a crash undoes.",
    ),
    Mutant(
        name="heard-end-not-on-disk",
        kind=Slip.EARLY,
        where=_JOBS + "admission:Admission._store_new",
        old=", *state",
        new="",
        harm="A newcomer says that it has heard of a job's end, and takes it for running after a crash.",
    ),
    Mutant(
        name="job-added-by-halves",
        kind=Slip.RACE,
        where=_JOBS + "admission:Admission._add",
        old="await to_its_end(self._store_new(spec, control))",
        new="await self._store_new(spec, control)",
        harm="A job whose teller hangs up while it is stored is on the disk, and not in memory: it can never be added.",
    ),
    Mutant(
        name="equal-versions-ignored",
        kind=Slip.MERGE,
        where=_JOBS + "admission:Admission._mirror",
        old="merged(job.control, control) != job.control",
        new="control.version > job.control.version",
        harm="Of two changes with one version each master keeps its own.",
    ),
    Mutant(
        name="mirrored-side-by-side",
        kind=Slip.RACE,
        where=_JOBS + "admission:Admission.mirror",
        old="async with self._mirroring:",
        new="if True:",
        harm="Two masters that tell of one job at once have it added twice, or the later overwritten.",
    ),
    Mutant(
        name="job-told-before-the-disk",
        kind=Slip.EARLY,
        where=_JOBS + "mirroring:Mirroring._send",
        old="        await self._admission.write(job)\n",
        new="",
        harm="Others hear of a change that a crash undoes where it was made, and the next one gets the same version.",
    ),
    Mutant(
        name="known-before-the-disk",
        kind=Slip.EARLY,
        where=_JOBS + "admission:Admission._mirror",
        old="        await self.write(job)\n",
        new="",
        harm="A master says that it has a job as it was told, or decided it itself, and a crash undoes that.",
    ),
    Mutant(
        name="opened-before-the-disk",
        kind=Slip.EARLY,
        where=_JOBS + "admission:Admission.learn_opened",
        old="            await self._stored()\n",
        new="            pass\n",
        harm="What a start URL has opened is forgotten in a crash, by one that has granted its pages.",
    ),
    Mutant(
        name="submitted-to-one",
        kind=Slip.QUORUM,
        where=_JOBS + "mirroring:Mirroring.spread",
        old="len(answers) >= min(enough, len(others))",
        new="len(answers) >= min(1, len(others))",
        harm="A job is said to be submitted when two masters have it, whatever the number of copies.",
    ),
    Mutant(
        name="wiped-not-told-again",
        kind=Slip.FENCE,
        where=_JOBS + "mirroring:Mirroring.restarted",
        old="self.sent.pop(node, None)",
        new="self.sent.get(node, None)",
        harm="A master that came back with an empty disk is not told of the jobs that it knew.",
    ),
    Mutant(
        name="spread-not-repeated",
        kind=Slip.RETRY,
        where=_JOBS + "mirroring:Mirroring.spread",
        old="if enough is None or len(answers) >= min(enough, len(others)):",
        new="if True:",
        harm="A job is said to be submitted though nobody else has it.",
    ),
    Mutant(
        name="change-keeps-version",
        kind=Slip.FENCE,
        where=_CONTROL + "Control.then",
        old="min(self.version + 1, FINAL - 1)",
        new="min(self.version, FINAL - 1)",
        harm="A change of a job does not reach masters that hold a state of higher rank.",
    ),
    Mutant(
        name="latest-by-version-only",
        kind=Slip.MERGE,
        where=_CONTROL + "merged",
        old="max(one, other, key=lambda control: control.rank)",
        new="one if one.version >= other.version else other",
        harm="Two masters that changed a job at once never agree.",
    ),
    Mutant(
        name="deleted-while-leased",
        kind=Slip.RACE,
        where=_MASTER + "deletion:Deletion._see_to",
        old="if job.leased or (looks",
        new="if (looks",
        harm="A page in a slave's hands comes back to a job of which nothing is left.",
    ),
    Mutant(
        name="deleted-looked-at-once",
        kind=Slip.RETRY,
        where=_MASTER + "deletion:Deletion._see_to",
        old="looks >= LOOKS and",
        new="looks >= 1 and",
        harm="Copies of a deleted job that were on their way stay for ever.",
    ),
    Mutant(
        name="injected-counted-off-early",
        kind=Slip.RACE,
        where=_MASTER + "board_changes.entries:bring_entries",
        old="Hold(1, settled.set)",
        new="Hold(0, settled.set)",
        harm="A call that puts in several URLs may be answered when the first is safe.",
    ),
    Mutant(
        name="loans-outlast-an-order",
        kind=Slip.CLEANUP,
        where="p2pcrawl.master.copies.host_orders:HostOrders._obey",
        old="self._call_in(hosts)",
        new="pass",
        harm="Whoever has borrowed a host when a person slows it down asks it once more beside the others.",
    ),
)
