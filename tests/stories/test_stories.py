"""What once went wrong, each as the run that showed it: none of it may come back.

A seed tells the same story as long as nothing that matters to it is changed. Later it tells another one of its kind,
which must end as well.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple

import pytest

from p2pcrawl.slave.pages import harvest as harvest_module
from simulations import Options, Plan, Simulation, Stage
from simulations.kernel.moments import CAME, COMMITTED, LEAVES
from simulations.play.aims import Aim, strike
from simulations.play.spiders import Beginner, Insister, Latecomer, Thinker
from simulations.scenarios.deaths import newcomers
from simulations.scenarios.deaths.inject import injected
from simulations.verbs.run import drawn
from simulations.world.machines import Machine
from simulations.world.web import Visit, WebPlan

pytestmark = pytest.mark.slow


class Story(NamedTuple):
    """A run, and what was wrong in it."""

    what: str
    run: Options | Plan


async def one_begins_anew_beyond_a_cut(stage: Stage) -> None:
    one, *others = stage.machines
    await stage.progress(0.1)
    stage.split([one], others)
    stage.crash([one])
    await asyncio.sleep(2.0)
    stage.start(one)
    await asyncio.sleep(45.0)
    stage.join()
    await stage.agree()


async def one_is_away_for_a_moment_before_another_loses_its_disk(stage: Stage) -> None:
    away, wiped = stage.machines[:2]
    await asyncio.sleep(1.0)
    stage.crash([away], power=True)
    await asyncio.sleep(2.0)
    stage.start(away)
    await asyncio.sleep(3.0)
    stage.wipe([wiped])
    await asyncio.sleep(2.0)
    stage.start(wiped)
    await stage.agree()


async def nothing(stage: Stage) -> None:
    """Happens."""


async def one_is_killed_while_it_leaves(stage: Stage) -> None:
    leaver = stage.machines[1]
    await stage.progress(0.3)
    leaving = asyncio.create_task(stage.leave(leaver))
    await asyncio.sleep(0.3)
    stage.crash([leaver])
    await leaving
    await stage.until(lambda: stage.ended)
    stage.start(leaver)
    await stage.agree()


async def one_gives_up_on_a_full_disk(stage: Stage) -> None:
    full = stage.machines[1]
    await stage.progress(0.3)
    stage.fill([full])
    await stage.until(lambda: not full.node.up)
    await stage.until(lambda: stage.ended)
    stage.free([full])
    stage.start(full)
    await stage.agree()


async def two_stand_still_in_turn(stage: Stage) -> None:
    await stage.progress(0.1)
    for _ in range(6):
        for stopped in stage.machines[:2]:
            stage.freeze([stopped])
            await asyncio.sleep(8.0)
            stage.thaw([stopped])
    # Without those two it comes to 0.51; what one has found of the other's is told when both are awake.
    assert stage.share() > 0.7
    await stage.until(lambda: stage.ended)
    await stage.agree()


async def one_finds_files_damaged(stage: Stage, files: tuple[str, ...]) -> None:
    damaged = stage.machines[1]
    await stage.progress(0.4)
    stage.damage([damaged], files)
    await asyncio.sleep(2.0)
    stage.start(damaged)
    await stage.until(lambda: stage.ended)
    await stage.agree()


async def both_sides_of_a_partition_finish_and_are_asked_when_it_heals(stage: Stage) -> None:
    await stage.progress(0.1)
    stage.split(stage.machines[:1], stage.machines[1:])
    await stage.until(lambda: stage.ended)
    stage.join()
    for _ in range(120):
        await stage.observer.question()
        await asyncio.sleep(0.1)
    await stage.agree()


async def two_come_empty(stage: Stage) -> list[Machine]:
    """Two leave in order and come back at once with empty disks; when each serves what is its own."""
    hit = stage.machines[:2]
    await stage.progress(0.15)
    for machine in hit:
        await stage.leave(machine)
    stage.wipe(hit)
    await stage.sync()
    stage.slow(stage.machines[2:], newcomers.DISK_S)
    for machine in hit:
        stage.start(machine)
    await newcomers.taken_over(stage, hit)
    return hit


async def who_takes_start_urls_that_it_owns_loses_its_disk(stage: Stage) -> None:
    _, *private = stage.web.starts
    # Pages led to them, and they were dropped; the owner of each is asked to take it in as an entry.
    await stage.until(lambda: stage.ended)
    for url in private:
        (owner,) = stage.owners_of(url)
        await injected(stage, owner, url)
        stage.wipe([owner])
        await asyncio.sleep(2.0)
        stage.start(owner)
        await stage.sync()
    await stage.agree()


async def an_heir_dies_with_its_epochs_on_its_disk(stage: Stage) -> None:
    heir, silent = stage.machines[:2]
    await asyncio.sleep(1.0)
    stage.crash([heir])
    await asyncio.sleep(10.0)
    stage.start(heir)
    kind = "CopyStore.set_standings"
    aim = Aim(kind=kind, phase=COMMITTED, of=heir.name, do="crash", for_s=30.0, beyond=True)
    dies = asyncio.ensure_future(strike(stage, [aim]))
    await stage.until(lambda: not heir.node.up)
    await asyncio.sleep(6.0)
    stage.freeze([silent])
    await asyncio.sleep(9.0)
    stage.thaw([silent])
    await dies
    await stage.agree()


async def who_tells_a_newcomer_of_the_job_dies_while_that_is_stored(stage: Stage) -> None:
    newcomer = stage.machines[2]
    aim = Aim(kind="MirrorJob", phase=CAME, side="peer", do="crash", beyond=True)
    await asyncio.sleep(2.0)
    stage.wipe([newcomer])
    stage.slow([newcomer], 0.04)
    stage.start(newcomer)
    await strike(stage, [aim])
    stage.quicken([newcomer])
    await stage.agree()


async def one_of_two_newcomers_loses_its_disk(stage: Stage) -> None:
    hit = (await two_come_empty(stage))[:1]
    await asyncio.sleep(0.03)
    stage.wipe(hit)
    stage.quicken(stage.machines)
    await stage.sync()
    stage.start(hit[0])
    await stage.sync()


async def both_newcomers_lose_what_they_have_acknowledged(stage: Stage, *, synced: bool) -> None:
    hit = await two_come_empty(stage)
    share = stage.share()
    if synced:
        await stage.sync()
    else:
        # The comparing takes longer than a few pages.
        stage.slow(stage.machines, 0.2)
    await stage.until(lambda: stage.share() > share + 0.05)
    stage.wipe(hit)
    stage.quicken(stage.machines)
    await stage.agree()
    for machine in hit:
        stage.start(machine)
    await stage.agree()


async def two_leave_and_come_back_in_the_smaller_part(stage: Stage) -> None:
    left, alone, others = stage.machines[:2], stage.machines[2], stage.machines[3:]
    await asyncio.sleep(30.0)
    for machine in left:
        await stage.leave(machine)
        await asyncio.sleep(8.0)
    stage.split([*left, alone], others)
    for machine in left:
        stage.start(machine)
    await asyncio.sleep(60.0)
    stage.join()
    await stage.agree()


async def a_network_comes_and_goes_faster_than_deaths_are_declared(stage: Stage) -> None:
    flapping, others = stage.machines[:2], stage.machines[2:]
    await asyncio.sleep(30.0)
    for off_s in (5.0, 7.0, 3.9, 8.0, 6.5, 5.0, 7.5, 40.0):
        stage.split(flapping, others)
        await asyncio.sleep(off_s)
        stage.join()
        await asyncio.sleep(0.6)
    await stage.agree()


async def one_leaves_while_another_is_away_that_loses_its_disk(stage: Stage) -> None:
    lost, leaver = stage.machines[2], stage.machines[1]
    await asyncio.sleep(20.0)
    stage.crash([lost], power=True)
    await asyncio.sleep(12.0)
    await stage.leave(leaver)
    stage.wipe([lost])
    for machine in (leaver, lost):
        stage.start(machine)
    await stage.agree()


async def two_are_away_in_turn_and_each_has_served_alone(stage: Stage) -> None:
    first, second = stage.machines[:2]
    await stage.progress(0.2)
    for crash, machine in (
        (True, first),
        (True, second),
        (False, first),
        (True, first),
        (False, second),
        (False, first),
    ):
        if crash:
            stage.crash([machine])
        else:
            stage.start(machine)
        await stage.agree()
        await asyncio.sleep(2.0)


async def one_dies_while_another_is_out_of_reach(stage: Stage) -> None:
    apart, *others = stage.machines
    await stage.progress(0.4)
    stage.split([apart], others)
    stage.crash(others[:1], power=True)
    await asyncio.sleep(40.0)
    stage.join()
    stage.start(others[0])
    await stage.agree()


async def who_asked_for_the_start_page_is_killed(stage: Stage) -> None:
    """In the middle of its callback, when others have been told of most of its links."""
    await stage.until(lambda: len(stage.web.visits) > 20)
    asked = {visit.master for visit in stage.web.visits if visit.url == stage.web.start}
    hit = [machine for machine in stage.machines if machine.name in asked]
    stage.crash(hit, power=True)
    await asyncio.sleep(10.0)
    for machine in hit:
        stage.start(machine)
    await stage.agree()


async def a_borrower_is_cut_off_with_a_page_open_and_is_back_before_that_ends(stage: Stage) -> None:
    def silent() -> list[Visit]:
        """Returns the visit of a borrower that has just begun, and gets no answer for half a minute."""
        long = (v for v in stage.web.visits if v.failure == "silence" and v.ended_s > stage.world.now + 27.0)
        return [v for v in long if (owners := stage.owners_of(v.url)) and v.master not in {m.name for m in owners}]

    await stage.until(lambda: bool(silent()))
    visit = silent()[0]
    borrower = [machine for machine in stage.machines if machine.name == visit.master]
    stage.split(borrower, [machine for machine in stage.machines if machine not in borrower])
    # It is taken for dead after some 7 s, and what it was lent is written off 7 s later.
    await asyncio.sleep(17.0)
    stage.join()
    await stage.agree()
    assert stage.world.now < visit.ended_s - 5.0


async def one_that_was_held_dead_is_cut_off_again_before_anybody_has_told_it(stage: Stage) -> None:
    apart, *others = stage.machines

    def silent() -> list[Visit]:
        """Returns what those that took over ask, and gets no answer for long, of hosts that the other one still has."""
        mine = {m.name for m in others}
        begun = (v for v in stage.web.visits if v.master in mine and v.began_s > cut_s)
        open_ = (v for v in begun if v.failure == "silence" and v.ended_s > stage.world.now + 20.0)
        return [v for v in open_ if apart in stage.owners_of(v.url)]

    await stage.progress(0.1)
    stage.split([apart], others)
    cut_s = stage.world.now
    await stage.until(lambda: bool(silent()))
    stage.join()
    await stage.until(lambda: any(apart.id in m.members() for m in others), 0.01)
    # Most have not heard of it yet; what they offer it gets lost.
    stage.split([apart], others)
    await asyncio.sleep(0.5)
    stage.join()
    await stage.agree()
    await asyncio.sleep(10.0)


async def one_dies_as_a_copy_leaves_and_is_back_at_once(stage: Stage) -> None:
    await strike(stage, [Aim(kind="Copy", phase=LEAVES, nth=20, do="crash", for_s=0.3)])
    await stage.agree()


async def the_power_goes_as_soon_as_all_have_met(stage: Stage) -> None:
    first, second, away = stage.machines
    stage.crash(stage.machines, power=True)
    await asyncio.sleep(1.0)
    stage.start(first)
    stage.start(second)
    await stage.progress(0.5)
    stage.start(away)
    await stage.agree()


async def two_disks_refuse_a_call_at_once(stage: Stage) -> None:
    hit = stage.machines[:2]
    await stage.progress(0.5)
    stage.refuse(hit, "commit", 1)
    await stage.until(lambda: not any(machine.node.up for machine in hit))
    await asyncio.sleep(20.0)
    stage.relent(hit)
    for machine in hit:
        stage.start(machine)
    await stage.agree()


A_LONG_START_PAGE = WebPlan(
    pages=1_100,
    hosts=1,
    links=0,
    private=1.0,
    listed=1.0,
    redirect=0.0,
    missing=0.0,
    failing=0.0,
    forbidden=0.0,
    flaky=0.0,
)

STORIES = {
    "idle-while-masters-die": Story(
        "A job whose components want it to go on ended over their question, or never.",
        Plan(Options(scenario="massacre", masters=3, pages=60, hosts=12), spider=Insister),
    ),
    "start-page-in-parts": Story(
        "What a start URL opens travelled with the end of its page only: pages that its parts led to were dropped by "
        "slaves that did not know, and the certificate was final.",
        Plan(
            Options(masters=3, slaves=1, key="url", limit_s=3_600.0),
            faults=nothing,
            web=A_LONG_START_PAGE,
            spider=Thinker,
        ),
    ),
    "start-page-that-dies-with-its-master": Story(
        "The same, and it was lost with the master that had the page in hand.",
        Plan(
            Options(seed=2, masters=3, slaves=1, key="url", limit_s=3_600.0),
            faults=who_asked_for_the_start_page_is_killed,
            web=A_LONG_START_PAGE,
            spider=Thinker,
        ),
    ),
    "start-pages-in-a-churn": Story(
        "What start URLs had opened did not come to who took over: their pages were dropped.",
        Options(scenario="churn", seed=3, masters=4, pages=240, hosts=30, private=0.7, key="url", rate=6.0),
    ),
    "opened-at-one-alone": Story(
        "A URL that a page had led to, and was dropped, was put into the job at its owner: nothing of it was new, so "
        "no copy was made, and that its host was open by then went with the owner's disk.",
        Plan(
            Options(masters=3, pages=20, hosts=6, limit_s=600.0),
            faults=who_takes_start_urls_that_it_owns_loses_its_disk,
            web=WebPlan(pages=20, hosts=6, private=0.9),
            spider=Beginner,
        ),
    ),
    "job-on-the-disk-alone": Story(
        "Who told a newcomer of the job died while that was being stored: it was on the newcomer's disk, and not in "
        "its memory, and nobody could tell it of the job any more.",
        Plan(
            Options(masters=3, pages=20, hosts=5, limit_s=600.0),
            faults=who_tells_a_newcomer_of_the_job_dies_while_that_is_stored,
        ),
    ),
    "crawl-delay": Story(
        "A bucket was handed over, and with the last page of a host its robots.txt's delay had been forgotten.",
        Options(scenario="rolling", seed=45, masters=4, pages=60, hosts=30),
    ),
    "delay-of-a-new-copy": Story(
        "Whoever came to hold copies got the records and not what their hosts had asked for.",
        Options(scenario="wiped", seed=1, pages=250),
    ),
    "granted-before-the-delay": Story(
        "Pages of a bucket that had just come over were granted while its epoch was being written down, and its hosts' "
        "delays were counted only after that.",
        Options(scenario="mixed-weights", seed=4012, masters=3, slaves=1, pages=120, hosts=15),
    ),
    "both-sides-of-a-partition-asked-it": Story(
        "When two parts met, whoever went on with a bucket asked its hosts though the other part had just done so.",
        Options(scenario="partition", seed=12),
    ),
    "lent-twice-beyond-a-partition": Story(
        "A host that was lent to a master beyond a partition was lent to another one meanwhile, which went on with it "
        "after the parts had met, though a page was still open at the first.",
        Options(
            scenario="partition",
            seed=95015,
            masters=6,
            replicas=1,
            pages=240,
            hosts=15,
            key="url",
            sinks=2,
            limit_s=1200,
        ),
    ),
    "what-the-other-side-had-of-a-host": Story(
        "When two parts met, whoever went on with a host knew neither of a page that was open at the other part, nor "
        "of the Retry-After that the host had told it.",
        Plan(
            Options(scenario="partition-isolated", seed=7, masters=5, replicas=2, key="url", limit_s=1200),
            web=WebPlan(pages=150, hosts=25, flaky=0.4),
        ),
    ),
    "lent-as-the-parts-met": Story(
        "One began anew beyond a cut, asked hosts there, and told their owners two seconds after the parts had met; "
        "and what these had lent a moment before went on without their delay.",
        Plan(
            Options(masters=4, replicas=1, pages=120, hosts=12, seed=8, key="url", limit_s=1200),
            faults=one_begins_anew_beyond_a_cut,
            web=WebPlan(
                pages=120,
                hosts=12,
                flaky=0.85,
                redirect=0,
                missing=0,
                failing=0,
                forbidden=0,
                dead_hosts=0,
                delayed_hosts=0,
            ),
        ),
    ),
    "slaves-that-outlive-the-power": Story(
        "All masters lost power and came back while a slave on another machine still had a page in hand.",
        Options(scenario="power-loss", seed=6230, masters=4, slaves=1, pages=60, hosts=5, latency_s=0.0005),
    ),
    "leaves-with-a-page-in-hand": Story(
        "A master that left with a page in hand which did not end in time took all its other buckets with it.",
        Options(scenario="rolling", seed=65, masters=3, replicas=1, pages=60, hosts=5),
    ),
    "half-open-link": Story(
        "After a partition calls went on over connections whose other end was gone, and each waited 30 s in vain.",
        Options(scenario="partition", seed=11, masters=7, pages=60, hosts=30),
    ),
    "taken-in-another-view": Story(
        "A master that came back was alone for a moment, took everything, and told that to the others when it had met "
        "them: they forgot rows that it had not pulled yet. Pages were lost.",
        Options(scenario="churn", seed=13, masters=6, replicas=1, pages=120, hosts=15, law="weibull", latency_s=0.0005),
    ),
    "epoch-of-nobody": Story(
        "A master that came back was alone for a moment and began epochs of which nobody ever had a copy, so that its "
        "buckets were held to be incomplete for ever.",
        Plan(
            Options(seed=1, masters=4, replicas=3, slaves=1, pages=60, hosts=6),
            faults=one_is_away_for_a_moment_before_another_loses_its_disk,
        ),
    ),
    "full-disk": Story(
        "An epoch was raised in memory, could not be written down, and others were told of it all the same.",
        Options(scenario="full-disk", seed=2, masters=6, pages=120, hosts=15),
    ),
    "copies-left-over": Story(
        "Views come back: who had been told to drop its copies in one was not told again when it had made new ones.",
        Options(scenario="rolling", seed=17, masters=3, pages=120, hosts=5),
    ),
    "copies-of-a-false-alarm": Story(
        "Two held a third for dead for half a second and copied its buckets; nobody told them to drop these again.",
        Options(scenario="partition", seed=2, masters=4, pages=60, hosts=10),
    ),
    "copies-held-back": Story(
        "One that had been cut off from most of the others made no copies for a minute after these were back.",
        Options(scenario="partition", seed=9084, replicas=3, pages=60, hosts=30),
    ),
    "robots-txt-of-a-link-that-broke": Story(
        "A slave's link broke while it asked for a robots.txt and for nothing else: the host was asked again though "
        "the slave may have been at it.",
        Options(scenario="slaves-lie", seed=10031, masters=4, slaves=2, pages=240, hosts=30),
    ),
    "robots-txt-in-hand": Story(
        "Buckets were handed over while robots.txt files of their hosts were being read.",
        Options(scenario="swarm", seed=10150, masters=2, replicas=1, pages=60, hosts=15, latency_s=0.0005),
    ),
    "pause-that-only-one-knew": Story(
        "With one copy, a master that gave up took Retry-After with it that was too short for the directory.",
        Options(scenario="full-disk", seed=10410, masters=7, replicas=1, pages=240, hosts=5),
    ),
    "spool-of-too-few": Story(
        "Two of four were left where there should be three copies: links in the spool were said again for ever, though "
        "nobody could settle them.",
        Options(scenario="massacre", seed=10035, masters=4, replicas=3, slaves=1, pages=60, hosts=5, latency_s=0.0005),
    ),
    "copies-under-way": Story(
        "Copies were on their way to a holder that was none any more, and came after it had been told to drop them.",
        Options(scenario="partition-ring", seed=10039, masters=7, slaves=1, pages=60, hosts=5, latency_s=0.0005),
    ),
    "loan-that-was-lost": Story(
        "A host was lent, and neither the repayment nor, at times, the loan got through: nobody asked that host again.",
        Options(scenario="partition", seed=2, masters=4, pages=120, hosts=15, latency_s=0.0005, key="url"),
    ),
    "loan-that-came-late": Story(
        "A loan of a host arrived long after it had been lent, and written off; its term was counted from then.",
        Options(scenario="flapping", seed=13, masters=5, slaves=1, pages=240, hosts=5, key="url"),
    ),
    "loan-of-the-dead": Story(
        "A host whose dead owner was owed something waited for it to be repaid, though it was another's by then.",
        Options(scenario="massacre", seed=10042, masters=4, replicas=3, pages=120, hosts=30, latency_s=0.08, key="url"),
    ),
    "loan-of-one-that-is-back": Story(
        "Who borrowed a host was cut off with a page open for half a minute, and back before that ended: what it had "
        "been lent was written off for good, and others asked the host meanwhile.",
        Plan(
            Options(masters=3, pages=90, hosts=3, seed=2, key="url"),
            faults=a_borrower_is_cut_off_with_a_page_open_and_is_back_before_that_ends,
            web=WebPlan(pages=90, hosts=3, flaky=0.4, dead_hosts=0.0),
        ),
    ),
    "held-dead-and-never-told": Story(
        "A master that was cut off, declared dead, and back before it had declared anybody dead went on with its "
        "buckets, though others had taken them over, and still had pages of their hosts open.",
        Plan(
            Options(masters=6, pages=240, hosts=20, seed=9, key="url"),
            faults=one_that_was_held_dead_is_cut_off_again_before_anybody_has_told_it,
            web=WebPlan(pages=240, hosts=20, flaky=0.6, dead_hosts=0.0),
        ),
    ),
    "brought-before-anybody-else-knew-the-end": Story(
        "A master that was back after a crash brought all items of its disk into sinks, though it had told nobody of "
        "the ends of their pages: without its disk they would have been fetched again.",
        Plan(
            Options(masters=4, replicas=3, pages=60, hosts=6, seed=2, sinks=1),
            faults=one_dies_as_a_copy_leaves_and_is_back_at_once,
        ),
    ),
    "two-that-give-up-at-once": Story(
        "What only two masters knew that gave up in the same moment was to be known to the others: each of them was "
        "still up when the other's disk refused a call.",
        Plan(Options(masters=4, pages=60, hosts=12, seed=1), faults=two_disks_refuse_a_call_at_once),
    ),
    "answer-of-another-time": Story(
        "A master stood still again while it claimed its buckets, and took the answers for those to its next claim.",
        Options(scenario="pauses", seed=40449, masters=6, replicas=1, pages=120, hosts=15, key="url"),
    ),
    "rows-that-came-too-late": Story(
        "What a holder had and its owner lacked came when the bucket was another's already, and was stored all the "
        "same.",
        Options(
            scenario="slaves-die",
            seed=60107,
            masters=4,
            replicas=3,
            slaves=2,
            pages=240,
            hosts=15,
            key="url",
            latency_s=0.08,
            limit_s=1200.0,
        ),
    ),
    "counted-at-both-ends": Story(
        "Masters signed what they had when a job had just been found finished, and a newer view had begun to move it.",
        Options(scenario="rolling", seed=70030, masters=4, slaves=1, pages=60, hosts=15),
    ),
    "links-that-could-not-be-kept": Story(
        "Links that had too few copies found no room on the disk, and nobody heard of it.",
        Options(scenario="full-disk", seed=70237, masters=3, pages=60, hosts=5, latency_s=0.08),
    ),
    "no-memory-of-a-life-before": Story(
        "A master lost its disk and came back while a slave on another machine still worked for its life before.",
        Options(scenario="wiped", seed=60063, masters=3, slaves=1, pages=240, hosts=15),
    ),
    "page-in-hand-that-was-through": Story(
        "A job was said to be finished while a page was in hand that somebody else had fetched beyond a partition.",
        Options(scenario="one-way", seed=40237, masters=2, pages=60, hosts=5),
    ),
    "whole-again-and-forgotten": Story(
        "What made a bucket whole was written down only after who had it had been told to forget it, and a crash came "
        "in between.",
        Options(scenario="churn", seed=1, masters=4, replicas=3, pages=120, hosts=12, rate=6.0),
    ),
    "last-one-leaves": Story(
        "Two masters: one stood still, the other crawled on alone and left; it was said to have left in order, though "
        "nobody had what it knew, and the first called final what it fetched again.",
        Options(scenario="alone", masters=2, pages=200, hosts=20),
    ),
    "killed-while-it-leaves": Story(
        "One that said that it would give its buckets away was not missed when it was killed before it had.",
        Plan(Options(masters=3, pages=120, hosts=20), faults=one_is_killed_while_it_leaves),
    ),
    "gives-up-on-a-full-disk": Story(
        "One that gave up because nothing could be stored any more said that it had left in order.",
        Plan(Options(masters=3, pages=120, hosts=20), faults=one_gives_up_on_a_full_disk),
    ),
    "counted-on-both-sides": Story(
        "After a partition each side added up what both had counted, before either had let go of anything: a job was "
        "shown as finished with twice as many pages as there are.",
        Plan(
            Options(masters=2, pages=100, hosts=20),
            faults=both_sides_of_a_partition_finish_and_are_asked_when_it_heals,
        ),
    ),
    "two-stand-still-in-turn": Story(
        "Two of three stood still in turn, 8 s each: whoever woke claimed all its buckets anew, waited for the one "
        "that slept, and stood still again before that was taken for dead. Their hosts were asked no more.",
        Plan(Options(masters=3, pages=600, hosts=300, seed=1), faults=two_stand_still_in_turn),
    ),
    "damaged-frontier": Story(
        "A master whose frontier was damaged did not start again; it is to begin with a new one, and to say of no "
        "bucket that it has all of it.",
        Plan(
            Options(masters=3, pages=120, hosts=20),
            faults=partial(one_finds_files_damaged, files=("frontier.db",)),
        ),
    ),
    "damaged-copies": Story(
        "The same of the copies that it kept for others.",
        Plan(
            Options(masters=3, pages=120, hosts=20),
            faults=partial(one_finds_files_damaged, files=("copies.db",)),
        ),
    ),
    "damaged-both": Story(
        "The same of both: it is a master with a new disk.",
        Plan(
            Options(masters=3, pages=120, hosts=20),
            faults=partial(one_finds_files_damaged, files=("frontier.db", "copies.db")),
        ),
    ),
    "newcomer-that-loses-its-disk": Story(
        "A newcomer lost its disk when all had just confirmed that it has taken over: its buckets were held to be "
        "incomplete for ever, for want of an epoch in which nothing was acknowledged that others did not have.",
        Options(scenario="newcomers", masters=3, pages=120, hosts=30),
    ),
    "newcomers-that-lose-their-disks": Story(
        "The same of two at once, with three copies.",
        Options(scenario="newcomers", seed=5, masters=5, replicas=3, pages=120, hosts=30),
    ),
    "newcomer-between-others": Story(
        "The same of one that came together with another: buckets were with these two alone, and with nobody who had "
        "had them before.",
        Plan(Options(masters=4, pages=120, hosts=30), faults=one_of_two_newcomers_loses_its_disk),
    ),
    "newcomer-that-knows-of-nobody": Story(
        "A newcomer that had not taken the others into its view yet was sent links, and called them settled, as one "
        "copy was all that there could be. It lost its disk, and the page that led to them was done.",
        Options(scenario="newcomers", seed=90002, masters=7, pages=240, hosts=15, latency_s=0.0005, limit_s=1200.0),
    ),
    "disk-lost-unnoticed": Story(
        "A master that had lost its disk was back at once, while its neighbour believed that it still held copies: "
        "the simulation took all for whole, and destroyed two more disks of the three.",
        Options(scenario="newcomers", seed=91326, masters=7, replicas=3, pages=60, hosts=30, limit_s=1200.0),
    ),
    "two-majorities": Story(
        "Each part of a divided cluster counted its own members: two that had left and came back on the smaller side "
        "made that more than half of those that it knew, and both parts granted.",
        Plan(
            Options(masters=5, pages=300, hosts=12, partition="majority"),
            faults=two_leave_and_come_back_in_the_smaller_part,
        ),
    ),
    "flapping-majority": Story(
        "Whether most were in reach was asked once somebody was suspect, which waited for probes that slowed down: "
        "after a network had come and gone a few times the smaller part went on for seconds beside the larger one.",
        Plan(
            Options(masters=5, pages=300, hosts=12, partition="majority"),
            faults=a_network_comes_and_goes_faster_than_deaths_are_declared,
        ),
    ),
    "leaver-beside-a-lost-disk": Story(
        "One of three masters left while another was away: who stayed took its vote, and with that needed the one that "
        "was away. That came back without its disk, and so without its vote, and nothing was granted ever after.",
        Plan(
            Options(masters=3, pages=200, hosts=12, partition="majority", limit_s=600),
            faults=one_leaves_while_another_is_away_that_loses_its_disk,
        ),
    ),
    "masters-away-in-turn": Story(
        "Masters were away in turn, with the only copies. Of what each had served meanwhile, what lay between two "
        "epochs that it lacked was not counted as there, and when all were back the job stayed incomplete.",
        Plan(
            Options(masters=3, replicas=1, pages=400, hosts=20),
            faults=two_are_away_in_turn_and_each_has_served_alone,
        ),
    ),
    "one-dead-one-apart": Story(
        "What two of five masters had was fetched again when one of them died while the other one was cut off, as it "
        "must be where only these two knew; that was held against the masters.",
        Plan(Options(masters=5, pages=120, hosts=12), faults=one_dies_while_another_is_out_of_reach),
    ),
    "one-left-of-nine": Story(
        "The only one of nine masters that did not stand still was to miss the others as soon as most of nine miss "
        "one; it asks one in eight seconds, for it must doubt itself.",
        Options(scenario="alone", masters=9, slaves=1, pages=60, hosts=15),
    ),
    "woken-alone": Story(
        "One that had stood still heard first of all, from the last that had served and left, that all others were "
        "dead. It took that for always having been alone, and asked a host at once that the other had just asked.",
        Options(scenario="alone", seed=39, slaves=1, replicas=1, pages=120, hosts=30, latency_s=0.0005, limit_s=1200),
    ),
    "long-way": Story(
        "Two masters far apart were judged ten seconds after the job's end, while one was still bringing to the other "
        "what it had missed.",
        Options(scenario="alone", seed=34, masters=2, pages=120, hosts=5, key="url", latency_s=0.08, limit_s=1200),
    ),
    "settled-before-it-was-served": Story(
        "What came for a bucket before its epoch had begun was called settled: whoever had the epoch before said that "
        "it has all, and had not.",
        Options(
            scenario="slow-owner",
            seed=9103,
            masters=3,
            replicas=1,
            pages=120,
            hosts=30,
            ring="modulo",
            placement="host-bucket",
            latency_s=0.0005,
            limit_s=1200,
            draws=("limits",),
        ),
    ),
    "offered-for-ever": Story(
        "Those that had let go of a bucket offered it every two seconds, and its owner pulled it from them anew: where "
        "that took longer it was never served.",
        Options(
            scenario="aimed",
            seed=9138,
            masters=6,
            replicas=3,
            pages=240,
            hosts=15,
            latency_s=0.08,
            limit_s=1200,
            draws=("limits",),
        ),
    ),
    "rest-of-a-queue": Story(
        "What memory had of a queue left with its bucket, and the rest of it was never loaded: the job did not end.",
        Options(
            scenario="majority",
            seed=9126,
            masters=4,
            pages=120,
            hosts=5,
            key="url",
            placement="host-bucket",
            sinks=2,
            limit_s=1200,
            draws=("limits",),
        ),
    ),
    "found-after-all-the-dead": Story(
        "A master that came back asked those that it knew, as many as are asked at a time, and left out the others: "
        "the one that lived it found after minutes.",
        Options(
            scenario="losses",
            seed=9122,
            masters=7,
            pages=60,
            hosts=30,
            private=0.5,
            ring="modulo",
            limit_s=1200,
            draws=("limits",),
        ),
    ),
    "resumed-while-it-was-away": Story(
        "A master began while its job rested, took in a link for a host of which it had more on disk, and then heard "
        "that the job goes on: what it had on disk it never asked for.",
        Options(
            scenario="aimed",
            seed=9004,
            masters=6,
            slaves=1,
            pages=120,
            hosts=5,
            private=0.5,
            placement="host-bucket",
            limit_s=1200,
            draws=("jobs", "verbs"),
        ),
    ),
    "fetched-anew-by-one-that-was-alone": Story(
        "A page that people had fetched anew counted as lost, and what one that came back was told of a job's end as "
        "its own word.",
        Options(
            scenario="alone",
            seed=9019,
            masters=7,
            pages=60,
            hosts=15,
            buckets=1,
            limit_s=1200,
            draws=("jobs", "verbs"),
        ),
    ),
    "rests-by-a-late-word": Story(
        "A person let the job rest, and was obeyed by one that woke up two minutes later: that nothing was asked for "
        "then was held against the masters.",
        drawn(9411, ("limits", "jobs", "verbs")),
    ),
    "lent-before-it-goes-on": Story(
        "A paused job went on, and a master that had not heard of that lent its hosts to several at once.",
        Options(
            scenario="losses",
            seed=9413,
            masters=4,
            slaves=1,
            pages=120,
            hosts=5,
            key="url",
            placement="host-bucket",
            limit_s=1200,
            draws=("jobs", "verbs"),
        ),
    ),
    "leaves-by-an-earlier-word": Story(
        "A master had handed over everything, and waited for its vote to go; meanwhile one was back, and others had "
        "its buckets. It said that it had left, and on its disk that it has what they acknowledge from then on.",
        drawn(92),
    ),
    "two-epochs-of-one-turn": Story(
        "A master was cut off while it told of an epoch, which it never served; beyond the cut another one served one "
        "of the same number. When they met, what had been acknowledged there passed for nothing.",
        Options(scenario="flapping", seed=22, masters=4, pages=60, hosts=10, partition="majority"),
    ),
    "broken-slave": Story(
        "A slave that spoke of jobs, phases and fingerprints that there are not ended its master, and then the next.",
        Options(scenario="slaves-lie", seed=1, masters=3, slaves=2, pages=120, hosts=15),
    ),
    "rounds-that-wait-for-a-sleeper": Story(
        "While one stood still that was to be told of a job, its teller sent nobody what hosts had asked for.",
        Options(
            scenario="aimed",
            seed=30128,
            masters=7,
            slaves=1,
            replicas=3,
            pages=120,
            hosts=5,
            private=0.5,
            delay_s=0.0,
            sinks=2,
            latency_s=0.0005,
            draws=("aims",),
        ),
    ),
    "goes-on-after-its-word": Story(
        "Masters let go of buckets for one that wrote down that it has everything, and died before it told anybody. "
        "While another one was silent they went on under the epochs that it says to have.",
        Plan(Options(masters=5, pages=60, hosts=40), faults=an_heir_dies_with_its_epochs_on_its_disk),
    ),
    "forgot-whom-it-had-just-met": Story(
        "Masters whose power went soon did not know of the third any more, and settled links with two stores.",
        Plan(
            Options(masters=3, replicas=3, pages=20, hosts=6, latency_s=0.0005),
            faults=the_power_goes_as_soon_as_all_have_met,
        ),
    ),
}


LONG = {
    "start-page-in-parts",
    "start-page-that-dies-with-its-master",
    "held-dead-and-never-told",
    "flapping-majority",
    "two-majorities",
    "lent-as-the-parts-met",
    "offered-for-ever",
    "rest-of-a-queue",
    "resumed-while-it-was-away",
    "rests-by-a-late-word",
}
"""What takes long, and what another story tells as well."""


def is_for_soak(name: str) -> bool:
    """Tells whether a story is left to ``make soak``: those that are long, and those that a seed alone told once."""
    run = STORIES[name].run
    return name in LONG or isinstance(run, Options) or run.faults is None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if is_for_soak(name) else name for name in STORIES]
)
def test_it_does_not_come_back(name: str) -> None:
    story = STORIES[name]

    report = Simulation(story.run).run()

    assert report.violations == [], story.what


@pytest.mark.parametrize("synced", [False, True], ids=["in-the-sync", "after-it"])
def test_what_was_acknowledged_and_is_lost_with_all_its_copies_is_missed(synced: bool) -> None:
    """Two newcomers were all that had been sent what one of them acknowledged: the others must not call it whole."""
    faults = partial(both_newcomers_lose_what_they_have_acknowledged, synced=synced)
    plan = Plan(Options(masters=4, pages=120, hosts=30), faults=faults)

    report = Simulation(plan).run()

    last = report.figures["heard"][-1]
    assert last["state"] == "incomplete" and last["buckets"] > 0
    assert report.violations == []


def test_what_was_dropped_before_its_start_url_came_is_fetched_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of the web led to private hosts before the start URLs that open them came, and stayed dropped."""
    # What start() yields is told at once, as if it were very much.
    monkeypatch.setattr(harvest_module, "PART_LINKS", 1)
    plan = Plan(Options(masters=3, pages=120, hosts=20, private=0.5, key="url"), faults=nothing, spider=Latecomer)

    report = Simulation(plan).run()

    assert report.violations == []
