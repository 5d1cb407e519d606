"""Small jobs are deleted while masters die, stand still or are out of reach, and a dead master is forgotten.

Besides the job that goes on all along, small ones come to their ends. Each is deleted while somebody may be away that
has it on a disk, and comes back with it; a call that nobody answers is made again, at somebody else. At last a machine
is gone for good, and a person says so: while the job runs, or when it has ended without that master.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from p2pcrawl.core.control import DELETED, FINISHED
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.answers.submission import submission_of

from ...kernel.life import NodeDown
from ...play.scenario import Scenario
from ...play.spiders import Walker
from ...play.stage import Stage
from ...world.machines import Machine
from ..swarm import crash, cut, pause

SHARES = (0.05, 0.25, 0.45)
SIZE = 8
"""Pages of a small job, at most: it asks each host for one."""
CALL_S = 0.1
"""About how long a call is under way when somebody dies."""
AGAIN_S = 1.0
ANSWER_S = 60.0
SOON_S = 3.0


async def faults(stage: Stage) -> None:
    for turn, share in enumerate(SHARES):
        await stage.progress(share)
        if stage.ended:
            return
        job = await small_job(stage, turn)
        await stage.sync()
        trouble = stage.random.choice((crash, crash, pause, cut))
        stage.world.note(f"job {job} is to be deleted, with {trouble.__name__}")
        async with asyncio.TaskGroup() as group:
            group.create_task(trouble(stage))
            await stage.pause(SOON_S)
            group.create_task(delete(stage, job))
        stage.heal()
        await stage.sync()
    if not stage.ended and len(stage.up) > 2:
        await one_is_forgotten(stage)


async def small_job(stage: Stage, turn: int) -> int:
    """Gives the masters another job, and waits until all say that it is finished."""
    hosts = [host for host in stage.web.hosts.values() if not (host.dead or host.private)]
    urls = " ".join(f"http://{host.name}/file/{turn}" for host in hosts[:SIZE])
    began_s = stage.world.now
    submission = submission_of(Walker, Settings(), {}, {"start_urls": urls})
    job: int = (await stage.some(1)[0].tell("submit", submission.plain()))["job"]
    stage.asides.update(urls.split())
    await stage.until(lambda: all(stage.state(machine, job) == FINISHED for machine in stage.up))
    # Of the other job nothing is asked for meanwhile that could not be of this one, such as a robots.txt.
    stage.injections.append((began_s, stage.world.now))
    return job


async def delete(stage: Stage, job: int) -> None:
    """Deletes a job; returns when somebody has said that it is. Who is asked may die before, or at once after that."""
    while True:
        machine = stage.some(1)[0]
        call = asyncio.create_task(deleted(stage, machine, job))
        if stage.random.random() < 0.3 and stage.spare > 0:
            await stage.pause(CALL_S)
            stage.crash([machine], power=stage.random.random() < 0.5)
        if await call:
            stage.deleted.append(job)
            return
        await asyncio.sleep(AGAIN_S)


async def deleted(stage: Stage, machine: Machine, job: int) -> bool:
    """Asks one to delete a job; tells whether it has said that it is deleted."""
    with suppress(NodeDown, P2PCrawlError, TimeoutError):
        async with asyncio.timeout(ANSWER_S):
            await machine.tell("delete", {"job": job})
            return True
    # Who answered that it is, for it had been told by whoever did not answer before.
    return stage.state(machine, job) == DELETED


async def one_is_forgotten(stage: Stage) -> None:
    """Takes one away for good, and says so."""
    (gone,) = stage.some(1)
    stage.bury([gone])
    await stage.agree()
    if stage.random.random() < 0.5:
        await stage.until(lambda: stage.ended)
    await stage.some(1)[0].tell("forget", {"peer": gone.id})
    stage.forget(gone)


SCENARIO = Scenario(
    "small jobs are deleted while masters die or are out of reach, and a dead master is forgotten",
    faults,
    replicas_min=2,
    masters_min=3,
    share=0.05,
)
