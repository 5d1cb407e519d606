"""Mistakes in what a master grants, and what it makes of its slaves' reports and deaths."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_SLAVES = "p2pcrawl.master.slaves."
_TERM = "p2pcrawl.core.group.session_states:SessionTerm."

MUTANTS = (
    Mutant(
        name="reports-acknowledged-at-once",
        kind=Slip.EARLY,
        where=_SLAVES + "inbox:Reports.gather",
        old="                self._acks.append((session, sequence))\n",
        new="                session.link.send(ReportsDurable(sequence))\n",
        harm="A slave forgets what it has reported before that is on disk: a crash takes it.",
    ),
    Mutant(
        name="reports-of-the-dead-dropped",
        kind=Slip.CLEANUP,
        where=_SLAVES + "inbox:Reports.bury",
        old="        self.take(session, batch, now, all_of_it=True)\n",
        new="",
        harm="Pages that a slave had reported in time are fetched again when it dies.",
    ),
    Mutant(
        name="parts-without-end",
        kind=Slip.EDGE,
        where=_SLAVES + "inbox:Reports.take",
        old="                self._parts_left -= links\n",
        new="",
        harm="A page with a million links holds up a whole turn.",
    ),
    Mutant(
        name="last-part-beside-the-staged",
        kind=Slip.MERGE,
        where=_SLAVES + "outcomes:Intake._end",
        old="(batch.staged if lease.staged else batch.items).append(items)",
        new="batch.items.append(items)",
        harm="Of a page whose items came in parts the copies have all but the last.",
    ),
    Mutant(
        name="staged-of-the-lost-kept",
        kind=Slip.CLEANUP,
        where=_SLAVES + "outcomes:Intake.lost",
        old=(
            "        if lease.staged:\n"
            "            batch.unstage.append(candidate.record)\n"
            "            lease.staged = 0\n"
        ),
        new="        lease.staged = 0\n",
        harm="What a dead slave had sent of a page is added to what the next one finds.",
    ),
    Mutant(
        name="lost-host-asked-at-once",
        kind=Slip.CHECK,
        where=_SLAVES + "outcomes:Intake.lost",
        old="lease.seat.host.release(now, job.pace)",
        new="lease.seat.host.release(now, None)",
        harm="A host that a dead slave may have asked a moment ago is asked without its delay.",
    ),
    Mutant(
        name="returned-counts-as-attempt",
        kind=Slip.CLEANUP,
        where=_SLAVES + "outcomes:Intake.returned",
        old="        lease.candidate.attempts -= 1\n",
        new="",
        harm="Pages that slaves have given back unused fail after a few of these.",
    ),
    Mutant(
        name="ended-not-forgotten",
        kind=Slip.CLEANUP,
        where=_SLAVES + "outcomes:Intake._leave",
        old="        self.aftermath.forgotten.append(record)\n",
        new="",
        harm="The workbench keeps pages that are over.",
    ),
    Mutant(
        name="held-page-released-twice",
        kind=Slip.CLEANUP,
        where=_SLAVES + "outcomes:Intake.release",
        old="ready, self._ready = self._ready, []",
        new="ready = list(self._ready)",
        harm="A page whose links were waited for ends in each turn anew.",
    ),
    Mutant(
        name="held-bucket-forgotten",
        kind=Slip.EARLY,
        where=_SLAVES + "outcomes:Intake._over",
        old="            self.held_in[lease.candidate.bucket] += 1\n",
        new="            self.held_in[lease.candidate.bucket] = 1\n",
        harm=("Of two pages that wait in one bucket the first to end lets the bucket go, and the other with it."),
    ),
    Mutant(
        name="pause-not-kept",
        kind=Slip.EARLY,
        where=_SLAVES + "outcomes:Intake._asked",
        old=(
            "                batch.pauses.append((host.key, min(outcome.host_pause_s, job.pace.retry_after_max_s)))\n"
        ),
        new="                pass\n",
        harm="A master that restarts asks hosts that have asked to be left alone.",
    ),
    Mutant(
        name="robots-end-without-delay",
        kind=Slip.CHECK,
        where=_SLAVES + "outcomes:Intake.robots",
        old=(
            "            host.end(now, pace, answered=not unreachable, ours=reason in NOT_THE_HOSTS, deaf_s=deaf_s)\n"
        ),
        new="            host.release(now, None)\n",
        harm="The first page follows a host's robots.txt without its delay.",
    ),
    Mutant(
        name="unreachable-robots-kept-for-a-day",
        kind=Slip.RETRY,
        where=_SLAVES + "outcomes:Intake.robots",
        old="entry.expires_at = now if again else now + TIMINGS.robots_unreachable_ttl_s",
        new="entry.expires_at = now + TIMINGS.robots_unreachable_ttl_s",
        harm="One lost answer, and a host is left out for as long as one that never answers.",
    ),
    Mutant(
        name="granted-before-the-disk",
        kind=Slip.EARLY,
        where=_SLAVES + "granting:Granting._lease",
        old="                leases.append((candidate.record, job.id, number, candidate.attempts))\n",
        new="",
        harm=(
            "A crash forgets which pages were under way: their attempts do not count, and a page "
            "that kills does so for ever."
        ),
    ),
    Mutant(
        name="granted-to-the-lost",
        kind=Slip.RACE,
        where=_SLAVES + "granting:Granting.send",
        old="if session is None or session.gone:",
        new="if session is None:",
        harm="A session that ended during the commit is sent pages.",
    ),
    Mutant(
        name="suspects-together",
        kind=Slip.CHECK,
        where=_SLAVES + "granting:Granting._for_suspect",
        old="                self._suspected.add(number)\n",
        new="",
        harm="Two pages that may kill are given to one slave, and both are blamed.",
    ),
    Mutant(
        name="beat-brings-back-the-void",
        kind=Slip.FENCE,
        where=_TERM + "renew",
        old="if self.state not in LASTING or self.void_in_s(now) < 0:",
        new="if self.state not in LASTING:",
        harm="A session that was over, and whose pages others have, goes on after a late beat.",
    ),
    Mutant(
        name="void-at-the-fence",
        kind=Slip.EDGE,
        where=_TERM + "overdue",
        old="self.void_in_s(now) < 0",
        new="self.void_in_s(now) < self.void_s / 25",
        harm=("A session is ended, and its pages given to others, when its slave may just stop, by a slower clock."),
    ),
    Mutant(
        name="remote-leases-back-at-once",
        kind=Slip.FENCE,
        where=_TERM + "end",
        old="0 < self.void_in_s(now) < inf",
        new="self.void_s < self.void_in_s(now) < inf",
        harm=("When the link of a remote slave breaks, its hosts are given to another while it still asks them."),
    ),
    Mutant(
        name="void-reports-count",
        kind=Slip.FENCE,
        where=_SLAVES + "slaves:Slaves.received",
        old="case _ if session.gone:",
        new="case _ if session.gone and not session.held:",
        harm="What a slave says under a session that is over counts, and counts again as orphans.",
    ),
    Mutant(
        name="orphans-adopted-before-safe",
        kind=Slip.EARLY,
        where=_SLAVES + "slaves:Slaves._make_safe",
        old="await self.on_orphans(session.pid, orphans)",
        new="asyncio.get_running_loop().create_task(self.on_orphans(session.pid, orphans))",
        harm="A slave forgets what it brought from its last master before that is safe anywhere.",
    ),
    Mutant(
        name="old-session-not-ended",
        kind=Slip.CLEANUP,
        where=_SLAVES + "slaves:Slaves._greeted",
        old="        self._follow(session, outputs)\n",
        new="",
        harm="The pages of a session whose slave began anew are never granted again.",
    ),
    Mutant(
        name="stall-judged-unheard",
        kind=Slip.RACE,
        where=_SLAVES + "slaves:Slaves.watch",
        old="                await asyncio.sleep(HEAR_S)\n",
        new="                pass\n",
        harm="A master that stood still ends sessions of which renewals wait to be read.",
    ),
    Mutant(
        name="placed-with-the-left",
        kind=Slip.CLEANUP,
        where=_SLAVES + "placing:BoundedPlacing.follow",
        old="            self._group.leave(number)\n",
        new="",
        harm="Hosts stay with a slave that has left, and nobody asks them.",
    ),
)
