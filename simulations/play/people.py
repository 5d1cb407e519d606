"""People: what they ask masters for while a job runs, and what they were told.

Whoever gets no answer asks somebody else, as a person would, until he is answered; a refusal is an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final

from p2pcrawl.core.control import PAUSED, RUNNING
from p2pcrawl.model.errors import ConfigurationError, NotThere, P2PCrawlError

from ..kernel.life import NodeDown
from ..world.machines import Machine
from .evidence import Asked, HostChange
from .other_jobs import OtherJob, crawl_of

if TYPE_CHECKING:
    from .stage import Stage

ANSWER_S: Final = 60.0
"""How long somebody waits for an answer."""
AGAIN_S: Final = 1.0
GO_ON_S: Final = 5.0
LATE_S: Final = 60.0
"""How long somebody may still obey what nobody has answered."""
PERSISTS_S: Final = 400.0
"""How long somebody goes on asking."""
LETTERS: Final = "letters"
"""Dead letters are sent again: one of the things that a master does when he is told to try again what failed."""
_NO_ANSWER: Final = (NodeDown, P2PCrawlError, TimeoutError)


async def once(stage: Stage, machine: Machine, verb: str, arguments: dict[str, Any]) -> Any:
    """Asks one master, and takes down what came of it. Raises what the master raises, NodeDown and TimeoutError."""
    began_s, number = stage.world.now, arguments.get("job", stage.job)
    label = next((job.label for job in stage.others.values() if job.number == number), "")
    try:
        async with asyncio.timeout(ANSWER_S):
            if verb == "results":
                answer: Any = await machine.results(arguments["job"])
            elif verb == LETTERS:
                answer = await machine.send_letters(arguments["job"])
            elif verb in ("job", "hosts"):
                answer = await machine.ask(verb, arguments)
            else:
                answer = await machine.tell(verb, arguments)
    except _NO_ANSWER as error:
        why = f"{type(error).__name__}: {error}"
        stage.asked.append(Asked(began_s, stage.world.now, machine.name, verb, arguments, None, why, label))
        if not label and verb in ("retry", "inject", "resume", "clear"):
            stage.injections.append((began_s, stage.world.now + LATE_S))
        raise
    stage.asked.append(Asked(began_s, stage.world.now, machine.name, verb, arguments, answer, "", label))
    return answer


async def persist(stage: Stage, first: Sequence[Machine], verb: str, arguments: dict[str, Any]) -> Any:
    """Asks one master after the other until one answers; returns its answer, and None for a refusal, or when nobody
    has answered for long.
    """
    asked = [machine for machine in first if machine in stage.up]
    until_s = stage.world.now + PERSISTS_S
    dice = Random(f"{stage.world.seed}/people {len(stage.asked)}")
    while stage.world.now < until_s:
        machine = asked.pop(0) if asked else dice.choice(stage.up or stage.staying)
        try:
            return await once(stage, machine, verb, arguments)
        except NotThere:
            # It has not heard of the job yet.
            await asyncio.sleep(AGAIN_S)
        except ConfigurationError:
            return None
        except _NO_ANSWER:
            await asyncio.sleep(AGAIN_S)
    return None


async def submit(stage: Stage, first: Sequence[Machine], label: str, key: str, pages: int, closed_by: str = "") -> None:
    """Gives the masters another job. Nobody asks twice: who was not answered does not know whether there is one."""
    job = OtherJob(label, key, crawl_of(stage.web, pages), closed_by)
    stage.others[label] = job
    for machine in first:
        if machine in stage.up:
            try:
                answer = await once(stage, machine, "submit", job.submission().plain())
            except _NO_ANSWER:
                return
            job.number, job.acknowledged = answer["job"], True
            return


async def steer(stage: Stage, first: Sequence[Machine], verb: str, label: str) -> None:
    """Pauses, resumes, retries, cancels or deletes a job; nothing happens if there is none of this label."""
    number = stage.job_called(label)
    if not number:
        return
    began_s = stage.world.now
    if label and verb in ("cancel", "delete"):
        stage.others[label].cancelled |= verb == "cancel"
    arguments: dict[str, Any] = {"job": number}
    answer = await persist(stage, first, verb, arguments)
    while verb == "resume" and answer is not None and answer["was"] == RUNNING and _rests(stage, number):
        # Who was asked had not heard yet that it rests: nothing came of it.
        await asyncio.sleep(AGAIN_S)
        answer = await persist(stage, (), verb, arguments)
    if label and verb == "delete" and answer is not None:
        stage.others[label].cancelled = True
        stage.deleted.append(number)
    if not label and verb in ("retry", "resume"):
        stage.injections.append((began_s, stage.world.now))


async def inject(stage: Stage, first: Sequence[Machine], label: str, count: int) -> None:
    """Puts pages of public hosts into a job, which has met them or will: nothing comes of it but what would, anyway.
    A third of them are such as somebody is just asking for, and a third what these lead to, if there are any.
    """
    number = stage.job_called(label)
    known = [p.url for h in stage.web.hosts.values() if not h.private for p in h.pages]
    if number:
        began_s = stage.world.now
        public = set(known)
        chosen = [url for url in stage.web.under_way(began_s) if url in public][: (count + 2) // 3]
        coming = [url for url in stage.web.led_to(began_s) if url in public and url not in chosen]
        chosen += coming[: (count + 1) // 3]
        others = [url for url in known if url not in chosen]
        dice = Random(f"{stage.world.seed}/injected {len(stage.asked)}")
        chosen += dice.sample(others, min(count - len(chosen), len(others)))
        await persist(stage, first, "inject", {"job": number, "urls": chosen})
        if not label:
            stage.injections.append((began_s, stage.world.now))


async def restart(stage: Stage, first: Sequence[Machine], label: str) -> None:
    """Has the entries of a job begun anew, and clears a queue in which no page of such a web is."""
    if number := stage.job_called(label):
        began_s = stage.world.now
        await persist(stage, first, "clear", {"job": number, "queue": "detail", "restart": True})
        if not label:
            stage.injections.append((began_s, stage.world.now))


async def send_letters(stage: Stage, first: Sequence[Machine], label: str) -> None:
    """Has the dead letters of a job sent again, by all masters that can be reached."""
    if number := stage.job_called(label):
        await persist(stage, first, LETTERS, {"job": number})


async def send_all_letters(stage: Stage) -> None:
    """Has the dead letters of the job sent again until every master has answered, and none has found a sink away. The
    sinks take all by now.
    """
    for sink in stage.sinks.values():
        sink.picky = False
    while True:
        # Two people at once, of whom the second finds nothing where the first is at it.
        asked = (persist(stage, (), LETTERS, {"job": stage.job}) for _ in range(2))
        answers = [answer for answer in await asyncio.gather(*asked) if answer is not None]
        if len(answers) == 2 and not any(answer["missing"] or _finds_away(answer) for answer in answers):
            return
        await asyncio.sleep(AGAIN_S)


def _finds_away(answer: dict[str, Any]) -> bool:
    return any(sink["away"] for sink in answer["sinks"])


async def set_depth(stage: Stage, first: Sequence[Machine], label: str, depth: int) -> None:
    """Says how deep a job may go; nothing happens if there is none of this label."""
    if number := stage.job_called(label):
        await persist(stage, first, "set", {"job": number, "settings": {"DEPTH_LIMIT": depth}})


async def change_host(stage: Stage, first: Sequence[Machine], host: str, change: dict[str, Any]) -> None:
    """Changes a host, as a person says."""
    began_s = stage.world.now
    answer = await persist(stage, first, "set-host", {"host": host, **change})
    if answer is not None:
        order = answer["set"]
        stage.changes.append(HostChange(host, began_s, stage.world.now, order["delay_s"], paused=order["paused"]))


async def let_go_on(stage: Stage) -> None:
    """Lets jobs and hosts go on that rest when all is over, again and again: an order may have been obeyed late, when
    whoever gave it had long asked somebody else.
    """
    while True:
        for label in ("", *stage.others):
            number = stage.job_called(label)
            if number and _rests(stage, number):
                await steer(stage, (), "resume", label)
        for host in dict.fromkeys(asked.arguments["host"] for asked in stage.asked if asked.verb == "set-host"):
            if _is_paused(stage, host):
                await change_host(stage, (), host, {"paused": False})
        await asyncio.sleep(GO_ON_S)


def _rests(stage: Stage, number: int) -> bool:
    return any(stage.state(machine, number) == PAUSED for machine in stage.up)


def _is_paused(stage: Stage, host: str) -> bool:
    return any(machine.lead is not None and machine.lead.cluster.orders.of(host).paused for machine in stage.up)
