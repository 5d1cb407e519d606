"""Boards are added to a job, changed and taken away while masters die, stand still or are cut off.

Beside the job that goes on all along, one of two boards runs, each of a host. Again and again somebody asks any master
to change a board while something happens to one of them, maybe to the one that is asked; as soon as it has answered
its disk may be lost, or all may lose power. Whoever is not answered asks somebody else. Then there is a calm, after
which all masters must act by what was said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.model.errors import NotThere, P2PCrawlError
from p2pcrawl.peer.answers.submission import Submission

from ...kernel.life import NodeDown
from ...observe.folders import Record, print_of, read_folder, read_steps
from ...play.other_jobs import AGENT
from ...play.scenario import Scenario
from ...play.stage import Stage
from ...play.wanted import BOARDS, BoardListed, BoardsKept, BoardWord, entry_of, text_of_board
from ...world.machines import Machine
from ...world.web import Host, Robots
from ..swarm import clock, crash, cut, pause

TURNS = 6
BEGINS_WITH = 2
AGAIN_SHARE = 0.4
"""In so many of these runs pages of boards are visited more than once:"""
ROUNDS = 2
LATE_S, SOONER_S = 240.0, 20.0
"""after so long by the first editions, and by later ones."""
CALL_S = 0.1
"""About how long a call is under way when somebody dies."""
SOON_S = 2.0
AGAIN_S = 1.0
ANSWER_S = 60.0
AWAY_S = 6.0
CALM_S = 15.0
"""So long into a calm all masters know what was said (docs/simulation.md)."""
THROUGH_S = 600.0
"""For how long the end of the job is waited for."""


class BoardJob:
    """The job of boards, and what people have said of them."""

    def __init__(self, stage: Stage, hosts: Sequence[Host]) -> None:
        self.stage = stage
        self.number = 0
        self.words: list[BoardWord] = []
        self.unsafe: list[str] = []
        """The boards of which no disk had the new entry when somebody said that they are changed."""
        self._both = False
        """Two people speak at once: the entries of one of them are not put in."""
        self._hosts = [host.name for host in hosts]
        self._editions = 0
        self.rounds = ROUNDS if Random(f"{stage.options.seed}/boards again").random() < AGAIN_SHARE else 1
        """How often pages are visited: at first after a long time, by later editions of their boards sooner."""

    async def begin(self) -> None:
        words = [self._word(f"b{number}", host) for number, host in enumerate(self._hosts[:BEGINS_WITH])]
        texts = {word.board: self._text(word) for word in words}
        first = words[0].board
        settings: dict[str, Any] = {"USER_AGENT": f"{AGENT} ({BOARDS})"}
        if self.rounds > 1:
            settings["REVISIT_ROUNDS"] = self.rounds
        submission = Submission(
            "+".join(texts), file=f"{first}.toml", code=texts[first], settings=settings, label=BOARDS, boards=texts
        )
        self.number = (await self.stage.some(1)[0].tell("submit", submission.plain()))["job"]
        self.words = [word._replace(began_s=0.0, held_s=self.stage.world.now) for word in words]

    @property
    def latest(self) -> dict[str, BoardWord]:
        """The last word on each board."""
        return {word.board: word for word in self.words}

    async def change(self) -> None:
        """Adds, changes or takes away a board; returns when somebody has said that it is so."""
        dice, latest = self.stage.random, self.latest
        in_force = [word for word in latest.values() if word.editions]
        removed = [word for word in latest.values() if not word.editions]
        free = self._hosts[len(latest) :]
        kinds = ["change", "remove"] * bool(in_force) + ["back"] * bool(removed) + ["add"] * bool(free)
        kind = dice.choice(kinds)
        if kind == "add":
            await self._say("board-add", self._word(f"b{len(latest)}", free[0]))
        elif kind == "back":
            word = dice.choice(removed)
            await self._say(dice.choice(("board-add", "board-change")), self._word(word.board, word.host))
        elif kind == "remove":
            word = dice.choice(in_force)
            await self._say("board-remove", BoardWord(word.board, word.host, frozenset(), 0.0))
        else:
            word = dice.choice(in_force)
            words = [self._word(word.board, word.host) for _ in range(dice.choice((1, 1, 2)))]
            before = len(self.words)
            self._both = len(words) > 1
            await asyncio.gather(*(self._say("board-change", each) for each in words))
            self._both = False
            # Of two who speak at once either may have the last word.
            said = self.words[before:]
            editions = frozenset[int]().union(*(each.editions for each in said))
            self.words[before:] = [said[0]._replace(editions=editions, began_s=min(each.began_s for each in said))]

    def held(self) -> None:
        """Notes that all must know by now what was said."""
        now = self.stage.world.now
        self.words = [word if word.held_s < now else word._replace(held_s=now) for word in self.words]

    async def kept(self) -> BoardsKept:
        """Gathers what has become of it all."""
        stage, records = self.stage, dict[str, Record]()
        for machine in stage.up:
            for record in read_folder(machine.folder, self.number).records.values():
                known = records.get(record.url)
                if known is None or known.phase < record.phase:
                    records[record.url] = record
        return BoardsKept(
            self.words,
            {machine.name: await self._listed(machine) for machine in stage.up},
            {machine.name: stage.state(machine, self.number) for machine in stage.up},
            records,
            await stage.some(1)[0].results(self.number),
            self.unsafe,
            self.rounds,
        )

    # -- inside -------------------------------------------------------------------------------

    def _word(self, board: str, host: str) -> BoardWord:
        self._editions += 1
        return BoardWord(board, host, frozenset({self._editions}), 0.0)

    async def _say(self, verb: str, word: BoardWord) -> None:
        stage, arguments = self.stage, dict[str, Any](job=self.number, board=word.board)
        if word.editions:
            arguments = {"job": self.number, "file": f"{word.board}.toml", "text": self._text(word)}
        began_s = stage.world.now
        while True:
            # All may have lost power when somebody else was answered.
            await stage.until(lambda: bool(stage.up))
            machine = stage.some(1)[0]
            call = asyncio.create_task(_answered(machine, verb, arguments))
            if stage.random.random() < 0.25 and stage.spare > 0 and len(stage.up) > 1:
                await stage.pause(CALL_S)
                stage.crash([machine], power=stage.random.random() < 0.5)
            if await call:
                break
            await asyncio.sleep(AGAIN_S)
        self.words.append(word._replace(began_s=began_s))
        if word.editions and not self._both and not self._is_stored(word):
            self.unsafe.append(word.board)
        chance = stage.random.random()
        if chance < 0.25 and stage.spare > 0 and machine in stage.up:
            # What it has said is on the disk of another one.
            stage.wipe([machine])
            await stage.pause(AWAY_S)
            stage.start(machine)
        elif chance < 0.4:
            hit = stage.up
            stage.crash(hit, power=True)
            await stage.pause(AWAY_S)
            for each in hit:
                stage.start(each)

    def _text(self, word: BoardWord) -> str:
        (edition,) = word.editions
        period_s = 0.0 if self.rounds == 1 else LATE_S if edition <= BEGINS_WITH else SOONER_S
        return text_of_board(word.board, word.host, edition, period_s)

    def _is_stored(self, word: BoardWord) -> bool:
        """Tells whether any disk has the entry that a board has by this word alone."""
        (edition,) = word.editions
        key = print_of(entry_of(word.host, word.board, edition))
        return any(key in read_steps(machine.folder, self.number) for machine in self.stage.machines)

    async def _listed(self, machine: Machine) -> dict[str, BoardListed]:
        told = await machine.ask("boards", {"job": self.number})
        return {each["name"]: BoardListed(each["state"], tuple(each["entries"])) for each in told["boards"]}


async def faults(stage: Stage) -> None:
    began_s = stage.world.now
    await stage.progress(0.05)
    hosts = _hosts_of(stage)
    if not hosts:
        return
    job = BoardJob(stage, hosts)
    await job.begin()
    for _ in range(TURNS):
        await stage.sync()
        trouble = stage.random.choice((crash, pause, cut, clock, _nothing))
        if trouble is clock and job.rounds > 1:
            # Pages are due by the time of day.
            trouble = _nothing
        stage.world.note(f"a board is to be changed, with {trouble.__name__.strip('_')}")
        async with asyncio.TaskGroup() as group:
            group.create_task(trouble(stage))
            await stage.pause(SOON_S)
            group.create_task(job.change())
        stage.heal()
        await stage.sync()
        await asyncio.sleep(CALM_S)
        job.held()
    with suppress(TimeoutError):
        async with asyncio.timeout(THROUGH_S):
            await stage.until(lambda: all(stage.state(machine, job.number) == FINISHED for machine in stage.up))
    await stage.sync()
    stage.boards.append(await job.kept())
    # Of the other job nothing is asked for meanwhile that could not be of this one, such as a robots.txt.
    stage.injections.append((began_s, stage.world.now))


async def _nothing(stage: Stage) -> None:
    await stage.pause(SOON_S)


async def _answered(machine: Machine, verb: str, arguments: dict[str, Any]) -> bool:
    """Asks one master; tells whether it has answered. One that has not heard of the job, or the board, yet says so."""
    with suppress(NodeDown, NotThere, TimeoutError):
        try:
            async with asyncio.timeout(ANSWER_S):
                await machine.tell(verb, arguments)
                return True
        except P2PCrawlError as error:
            if error.exit_code == 2 and not isinstance(error, NotThere):
                raise
    return False


def _hosts_of(stage: Stage) -> list[Host]:
    """Returns the hosts that boards may have, those with the most pages first."""
    plain = [
        host
        for host in stage.web.hosts.values()
        if not (host.dead or host.private or any(host.away_s)) and host.robots is Robots.PLAIN
    ]
    return sorted(plain, key=lambda host: -len(host.pages))


SCENARIO = Scenario(
    "boards are added to a job, changed and taken away while masters die, stand still or are cut off",
    faults,
    replicas_min=2,
    masters_min=3,
    share=0.1,
)
