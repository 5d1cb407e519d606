"""Faults by plan: what happens to whom, when and for how long, with the words of
:class:`Stage`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from p2pcrawl.model.errors import P2PCrawlError

from ..kernel.life import NodeDown
from ..world.caches import DRAWN
from ..world.damages import FILES
from ..world.machines import Machine, PeerMachine
from . import people
from .evidence import Coming
from .stage import Stage

ASK_S = 60.0
"""How long a person waits for an answer."""
UNTIL_SHARE = 0.9
"""A fault that comes again and again stops when so much of the web has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of a plan."""

    place: str
    """Where it is written, for a person."""
    do: str
    """One of WORDS."""
    at_s: float | None = None
    """When, counted from the beginning of the job."""
    at_share: float | None = None
    """When, as the share of the web that has answered."""
    for_s: float | None = None
    """After which time it is undone; None: when all is over."""
    every_s: float | None = None
    """It comes again and again, with this between two beginnings."""
    times: int | None = None
    """How often at most, if it comes again; None: until most of the web has answered."""
    whole: bool = False
    """It waits, besides, until every copy is whole and nothing else is wrong."""
    who: tuple[str, ...] = ()
    some: int | float | None = None
    """In place of ``who``: that many, or that share, of the masters that are up, at random."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Of a split; without them it is between those that are hit and all others."""
    change: dict[str, Any] = field(default_factory=dict)
    """What else the word takes."""

    def __str__(self) -> str:
        when = f"at {self.at_share:.0%}" if self.at_share is not None else f"at {self.at_s or 0.0:g} s"
        rest = [f"{name} {value}" for name, value in self.change.items() if value not in ("", None)]
        lasts = [f"for {self.for_s:g} s"] if self.for_s is not None else []
        words: list[str] = [self.do, *self.who, when, *lasts, *rest]
        return " ".join(words)

    def hit(self, stage: Stage) -> list[PeerMachine]:
        """Returns the machines that the fault happens to, now."""
        if self.some is not None:
            share = isinstance(self.some, float)
            return list(stage.some(max(1, round(self.some * len(stage.up))) if share else int(self.some)))
        everybody: list[PeerMachine] = [*stage.staying, *stage.slaves]
        return [machine for machine in everybody if machine.name in self.who]


Act = Callable[[Stage, Fault, list[PeerMachine]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Word:
    """A word that a plan may say after ``do``."""

    summary: str
    begin: Act
    end: Act | None = None
    """What undoes it; None: nothing does."""
    takes: tuple[str, ...] = ()
    """Keys of its own."""
    whom: bool = True
    """It happens to machines, not to all."""
    slaves: bool = False
    """It may happen to slave machines, too."""
    alone: str = ""
    """It is undone for the whole network at once, so the next fault with the same text here waits for it."""


async def play(stage: Stage, faults: Sequence[Fault]) -> None:
    """Lets all faults happen, each at its time; returns when all are over, or the job has ended."""
    turns = {word.alone: asyncio.Lock() for word in WORDS.values() if word.alone}
    tasks = [asyncio.create_task(_happen(stage, fault, turns)) for fault in faults]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _happen(stage: Stage, fault: Fault, turns: Mapping[str, asyncio.Lock]) -> None:
    if fault.at_share is not None:
        await stage.progress(fault.at_share)
        came = stage.share() >= fault.at_share
    else:
        came = await _passed(stage, fault.at_s or 0.0)
    if not came:
        # A plan whose crawl is over too soon does not test what its author had in mind.
        stage.world.note(f"{fault.place} never came: the job had ended")
        stage.figures.setdefault("never_came", []).append(fault.place)
        return
    spells: list[asyncio.Task[None]] = []
    try:
        while True:
            spells.append(asyncio.create_task(_spell(stage, fault, turns)))
            if fault.every_s is None or len(spells) == fault.times:
                break
            if not await _passed(stage, fault.every_s) or (fault.times is None and stage.share() >= UNTIL_SHARE):
                break
        await asyncio.gather(*spells)
    finally:
        for task in spells:
            task.cancel()


async def _spell(stage: Stage, fault: Fault, turns: Mapping[str, asyncio.Lock]) -> None:
    word = WORDS[fault.do]
    async with turns.get(word.alone, nullcontext()):
        if fault.whole:
            await stage.until(lambda: stage.ended or _untouched(stage))
            if stage.ended:
                return
        hit = fault.hit(stage)
        stage.came.append(Coming(fault, stage.world.now))
        stage.world.note(f"{fault.place}: {fault.do} {', '.join(machine.name for machine in hit)}".rstrip())
        await word.begin(stage, fault, hit)
        if fault.for_s is not None:
            await _passed(stage, fault.for_s)
            if word.end is not None:
                await word.end(stage, fault, hit)


def _untouched(stage: Stage) -> bool:
    return not any(incident.open for incident in stage.incidents) and stage.made_good()


async def _passed(stage: Stage, seconds: float) -> bool:
    """Waits; returns whether the time has passed before the job had ended."""
    try:
        async with asyncio.timeout(seconds):
            await stage.until(lambda: stage.ended)
    except TimeoutError:
        return True
    return False


# -- the words --------------------------------------------------------------------------------


def _masters(hit: Sequence[PeerMachine]) -> list[Machine]:
    return [machine for machine in hit if isinstance(machine, Machine)]


async def _crash(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.crash(hit)


async def _lose_power(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.crash(hit, power=True, unsynced=fault.change.get("unsynced") or DRAWN)


async def _wipe(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.wipe(_masters(hit))


async def _snapshot(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.snapshot(machine for machine in _masters(hit) if machine.folder.exists())


async def _set_back(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.set_back(_masters(hit))


async def _bury(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.bury(_masters(hit))


async def _leave(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    await asyncio.gather(*(stage.leave(machine) for machine in hit))


async def _ask(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    """Asks for the results, and how the job stands, as a person would."""
    for machine in _masters(hit):
        with suppress(NodeDown, P2PCrawlError, TimeoutError):
            async with asyncio.timeout(ASK_S):
                await machine.ask("job", {"job": stage.job})
                await machine.results(stage.job)


async def _submit(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    change = fault.change
    closed_by = change.get("closed_by", "")
    await people.submit(stage, _masters(hit), change["job"], change["key"], change["pages"], closed_by)


async def _steer(stage: Stage, fault: Fault, hit: list[PeerMachine], *, verb: str) -> None:
    await people.steer(stage, _masters(hit), verb, fault.change["job"])


async def _inject(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    await people.inject(stage, _masters(hit), fault.change["job"], fault.change["pages"])


async def _restart(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    await people.restart(stage, _masters(hit), fault.change["job"])


async def _send_letters(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    await people.send_letters(stage, _masters(hit), fault.change["job"])


async def _refuse_items(stage: Stage, fault: Fault, hit: list[PeerMachine], *, refuse: bool) -> None:
    for sink in stage.sinks.values():
        sink.picky = refuse


async def _set_job(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    await people.set_depth(stage, _masters(hit), fault.change["job"], fault.change["depth"])


async def _results(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    if number := stage.job_called(fault.change["job"]):
        for machine in _masters(hit):
            with suppress(NodeDown, P2PCrawlError, TimeoutError):
                await people.once(stage, machine, "results", {"job": number})


async def _set_host(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    delay_s = fault.change["delay"]
    change = {"delay_s": delay_s} if delay_s else {"paused": True}
    await people.change_host(stage, _masters(hit), _host(stage, fault), change)


async def _unset_host(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    await people.change_host(stage, _masters(hit), _host(stage, fault), {"delay_s": None, "paused": False})


def _host(stage: Stage, fault: Fault) -> str:
    names, number = list(stage.web.hosts), int(fault.change["host"])
    return names[number % len(names)]


async def _start(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    for machine in hit:
        if not machine.node.up and machine not in stage.gone:
            stage.start(machine)


async def _freeze(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.freeze([machine for machine in hit if machine.node.up])


async def _thaw(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.thaw(hit)


async def _split(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    if fault.groups:
        stage.split(*([m for m in stage.staying if m.name in group] for group in fault.groups))
    else:
        stage.split(_masters(hit), [machine for machine in stage.staying if machine not in hit])


async def _silence(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    deaf = fault.change.get("unheard_by") or [machine.name for machine in stage.staying]
    stage.silence(_masters(hit), [m for m in stage.staying if m.name in deaf and m not in hit])


async def _ring(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.ring(stage.staying)


async def _join(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.join()


async def _degrade(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.degrade(replace(stage.world.network.law, **fault.change))


async def _restore(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.restore()


async def _fill(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.fill(_masters(hit))


async def _free(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.free(_masters(hit))


async def _refuse(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.refuse(_masters(hit), fault.change["kind"], fault.change["nth"])


async def _relent(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.relent(_masters(hit))
    await _start(stage, fault, hit)


async def _spoil(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    files = fault.change.get("file")
    stage.spoil(_masters(hit), fault.do, [files] if files else FILES)


async def _slow(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.slow(_masters(hit), fault.change["delay"])


async def _quicken(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.quicken(_masters(hit))


async def _hesitate(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.hesitate(hit, fault.change["share"], fault.change["longest"])


async def _go_steadily(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    stage.go_steadily(hit)


async def _drift(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    for machine in hit:
        machine.node.drift(1.0 + fault.change["by"])


async def _steady(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    for machine in hit:
        machine.node.drift(1.0)


async def _step(stage: Stage, fault: Fault, hit: list[PeerMachine]) -> None:
    for machine in hit:
        machine.node.step_wall_clock(fault.change["by"])


LAW_KEYS = ("latency_s", "jitter_s", "loss", "duplicate", "reorder", "reorder_s", "bytes_per_s", "queue_s")

WORDS: dict[str, Word] = {
    "crash": Word("the process dies; its disk stays", _crash, _start, slaves=True),
    "power-loss": Word("the machine dies, and nobody is told", _lose_power, _start, ("unsynced",), slaves=True),
    "wipe": Word("the machine dies and loses its disk", _wipe, _start),
    "take-snapshot": Word("a snapshot is taken of its disk", _snapshot),
    "restore-snapshot": Word("it dies, and its disk is as it was when the last snapshot was taken", _set_back, _start),
    "bury": Word("the machine dies with its disk, for good", _bury),
    "leave": Word("it leaves in order", _leave, _start, slaves=True),
    "ask": Word("it is asked how the job stands, and for its results", _ask),
    "submit": Word("it is given another job", _submit, None, ("job", "key", "pages", "closed_by")),
    "pause-job": Word(
        "it is told to let a job rest",
        partial(_steer, verb="pause"),
        partial(_steer, verb="resume"),
        ("job",),
    ),
    "retry-job": Word("it is told to fetch anew what failed", partial(_steer, verb="retry"), None, ("job",)),
    "cancel-job": Word("it is told to end another job", partial(_steer, verb="cancel"), None, ("job",)),
    "delete-job": Word("it is told to delete another job", partial(_steer, verb="delete"), None, ("job",)),
    "inject": Word("it is told to put pages into a job", _inject, None, ("job", "pages")),
    "restart-job": Word("it is told to begin the entries of a job anew", _restart, None, ("job",)),
    "send-letters": Word("it is told to send the dead letters of a job again", _send_letters, None, ("job",)),
    "refuse-items": Word("databases refuse some items", partial(_refuse_items, refuse=True), whom=False),
    "take-items": Word("databases take all items", partial(_refuse_items, refuse=False), whom=False),
    "set-job": Word("it is told how deep a job may go", _set_job, None, ("job", "depth")),
    "results": Word("it is asked for the items of a job", _results, None, ("job",)),
    "set-host": Word("it is told how a host is to be asked", _set_host, _unset_host, ("host", "delay")),
    "freeze": Word("it stands still", _freeze, _thaw, slaves=True),
    "split": Word("nothing gets through between groups", _split, _join, ("groups",), alone="cut"),
    "silence": Word("others do not hear it, though it hears them", _silence, _join, ("unheard_by",), alone="cut"),
    "ring": Word("each reaches its two neighbours only", _ring, _join, whom=False, alone="cut"),
    "bad-network": Word("the whole network gets worse", _degrade, _restore, LAW_KEYS, whom=False, alone="law"),
    "full-disk": Word("nothing more can be stored", _fill, _free),
    "io-error": Word("its disk refuses one call", _refuse, _relent, ("kind", "nth")),
    "flip": Word("the machine dies, and a bit of a database turns over", _spoil, _start, ("file",)),
    "tear": Word("the machine dies, and a page of a database is torn", _spoil, _start, ("file",)),
    "lose-file": Word("the machine dies, and a database is deleted", _spoil, _start, ("file",)),
    "slow-disk": Word("each access takes long", _slow, _quicken, ("delay",)),
    "hesitate": Word(
        "a few accesses to its disk, and a little of what it sends, take long",
        _hesitate,
        _go_steadily,
        ("share", "longest"),
        slaves=True,
    ),
    "drift": Word("its clock runs fast or slow", _drift, _steady, ("by",), slaves=True),
    "step-clock": Word("its wall clock jumps", _step, None, ("by",), slaves=True),
}
OF_PEOPLE = frozenset(
    {
        "submit",
        "pause-job",
        "retry-job",
        "cancel-job",
        "delete-job",
        "inject",
        "restart-job",
        "send-letters",
        "set-job",
        "results",
        "set-host",
    }
)
"""The words for what people ask masters for."""
