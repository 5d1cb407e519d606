"""The record of what people ask of masters: when each call began, what came of it, and what masters made of jobs by
themselves; and what each master knew, looked at again and again.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Hashable, Mapping
from math import inf
from typing import Any, Final, NamedTuple, Protocol

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere

from ..kernel.life import NodeDown
from ..kernel.moments import ASKED, FAILED, TOLD, Moment, Moments
from ..model.acknowledged import Tell
from ..model.endings import JobRow
from ..model.hearsay import Calm, Loss
from ..model.registers import (
    BECOMES,
    BY_ITSELF,
    CANCELLED,
    DELETED,
    ENDED,
    RUNNING,
    STATES,
    UNKNOWN,
    Deed,
    Heard,
    judged,
    told,
)
from .board_values import CHANGES, board_value, name_asked, value_asked

JOB: Final = "job"
SETTING: Final = "setting"
DELAY: Final = "delay"
REST: Final = "rest"
BOARD: Final = "board"
OF_JOBS: Final = (*BECOMES, "retry", "inject", "clear", "set", "job")
VERBS: Final = (*OF_JOBS, "submit", "set-host", *CHANGES)
DECIDED_S: Final = 20.0
"""Who ends a job, or lets it go on, may have decided it so long before it is on its disk."""
AT_FIRST: Final = {JOB: UNKNOWN, DELAY: "null", REST: "false", BOARD: UNKNOWN}


class Register(NamedTuple):
    """A thing that can be changed: the state of a job, one of its settings or boards, or one of two words on a host."""

    kind: str
    name: str
    of: int = 0
    """The job of a setting, or of a board."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + (f" of job {self.of}" if self.of else "")


class Minds(Protocol):
    """The harness's own knowledge of what masters know at this moment, and of what is in their way."""

    @property
    def now_s(self) -> float:
        """The time."""

    def life(self, master: str) -> int:
        """Returns which life a master is in; 0 if it is down."""

    def awake(self) -> frozenset[str]:
        """Returns the masters that are there."""

    def standing(self) -> Hashable:
        """Returns what is as it was for as long as nothing is done to anybody; None while something is in the way."""

    def states(self, master: str) -> Mapping[int, str]:
        """Returns the states of the jobs that a master knows."""

    def setting(self, master: str, job: int, name: str) -> Any:
        """Returns a setting of a job that a master knows."""

    def board(self, master: str, job: int, name: str) -> str:
        """Returns the value of a board of a job that a master knows; "" where it knows none of this name."""

    def order(self, master: str, host: str) -> tuple[float | None, bool]:
        """Returns what a master knows that people have said of a host: its delay, and whether it rests."""


class Call(NamedTuple):
    """A call that goes on."""

    began_s: float
    life: int
    arguments: Mapping[str, Any]


class Run(NamedTuple):
    """A time in which a master was seen to know the same."""

    value: str
    first_s: float
    last_s: float


class Calls:
    """Takes down what is asked of masters, and has it judged when all is over. ``rows`` has the jobs on each disk."""

    def __init__(self, moments: Moments, minds: Minds, rows: Mapping[str, Mapping[int, JobRow]]) -> None:
        self._minds = minds
        self._rows = rows
        self.deeds: dict[Register, list[Deed]] = defaultdict(list)
        self._calms: list[Calm] = []
        self._losses: list[Loss] = []
        self._standing: Hashable = None
        self._open: dict[tuple[str, str, int], Call] = {}
        self._made: set[tuple[int, int, str]] = set()
        """The states of jobs that were on a disk already, with their versions."""
        self._runs: dict[tuple[Register, str, int], Run] = {}
        for verb in VERBS:
            moments.record(self._asked, [(f"verb {verb}", ASKED)])
            moments.record(self._told, [(f"verb {verb}", TOLD)])
            moments.record(self._failed, [(f"verb {verb}", FAILED)])

    # -- what is asked ----------------------------------------------------------------------------

    def _asked(self, moment: Moment) -> None:
        self._open[_key(moment)] = Call(moment.at, self._minds.life(moment.node), dict(moment.what))

    def _told(self, moment: Moment) -> None:
        call, verb, answer = self._open.pop(_key(moment)), _verb(moment), moment.what
        deed = self._deed(moment, call)
        if verb == "set-host":
            host, asked = answer["host"], call.arguments
            in_force = {register: now for register, (_, now) in _orders(host, None, answer["set"], asked).items()}
            # While others are told, somebody may change it again at another master, and that is what is in force then.
            self._change(deed, _orders(host, answer["was"], asked, asked), in_force)
            return
        if verb in CHANGES:
            self.deeds[Register(BOARD, answer["board"], answer["job"])].append(
                deed._replace(writes=value_asked(verb, call.arguments))
            )
            return
        job = Register(JOB, str(answer["job"] if verb == "submit" else call.arguments["job"]))
        if verb == "submit":
            self.deeds[job].append(deed._replace(writes=RUNNING))
            for name, text in call.arguments.get("boards", {}).items():
                self.deeds[Register(BOARD, name, answer["job"])].append(deed._replace(writes=board_value(text, "")))
            return
        if verb == "set":
            names = {Register(SETTING, name, int(job.name)): (answer["was"][name], answer["set"][name])
                     for name in answer["set"]}  # fmt: skip
            self._change(deed, names)
        state, was = answer.get("state", ""), answer.get("was") if verb != "set" else None
        # What is in force may not be on the disk yet; who changes something waits for that.
        tells = frozenset({state}) if verb in BECOMES or self._is_on_disk(moment.node, job, state) else None
        if verb in BECOMES:
            after = BECOMES[verb].get(str(was), f"{verb} of what is {was}")
            deed = deed._replace(writes=after if after != was else None)
        found = frozenset({was}) if was else None
        if found or tells:
            self.deeds[job].append(deed._replace(finds=found, tells=tells))

    def _failed(self, moment: Moment) -> None:
        call, verb, error = self._open.pop(_key(moment)), _verb(moment), moment.what
        deed = self._deed(moment, call)
        deed = deed._replace(what=f"{deed.what} ({type(error).__name__})")
        if verb in OF_JOBS and isinstance(number := call.arguments.get("job"), int):
            job = Register(JOB, str(number))
            if isinstance(error, NotThere):
                self.deeds[job].append(deed._replace(finds=frozenset({UNKNOWN, DELETED})))
            elif isinstance(error, NotNow) and verb in ("pause", "resume", "cancel"):
                self.deeds[job].append(deed._replace(finds=STATES - BECOMES[verb].keys() - {UNKNOWN}))
            elif verb in BECOMES and _is_open(error, moment, call):
                for before, after in BECOMES[verb].items():
                    if before != after:
                        perhaps = deed._replace(ended_s=inf, finds=frozenset({before}), writes=after)
                        self.deeds[job].append(perhaps)
            elif verb == "set" and _is_open(error, moment, call):
                changes = dict(call.arguments.get("settings", {}))
                names = {Register(SETTING, name, number): (None, value) for name, value in changes.items()}
                self._change(deed._replace(ended_s=inf), names)
        elif verb in CHANGES and _is_open(error, moment, call):
            board = Register(BOARD, name_asked(call.arguments), int(call.arguments["job"]))
            self.deeds[board].append(deed._replace(ended_s=inf, writes=value_asked(verb, call.arguments)))
        elif verb == "set-host" and _is_open(error, moment, call):
            given = call.arguments
            self._change(deed._replace(ended_s=inf), _orders(given["host"], None, given, given))

    def _deed(self, moment: Moment, call: Call) -> Deed:
        rest = "".join(
            f" {name}={value}" for name, value in call.arguments.items() if name not in ("job", "spider", "text")
        )
        what = f"{_verb(moment)}{rest if _verb(moment) in ('set', 'set-host', *CHANGES) else ''}"
        said = f" was told that it is {moment.what['state']}" if _says_state(moment) else ""
        times = f"at {moment.node}, {call.began_s:.2f} to {moment.at:.2f} s"
        return Deed(moment.node, call.life, f"{what} {times}{said}", call.began_s, moment.at)

    def _change(
        self, deed: Deed, changes: Mapping[Register, tuple[Any, Any]], in_force: Mapping[Register, Any] | None = None
    ) -> None:
        """Takes in a change of plain values, and what they were, where that was told, and were said to be then."""
        for register, (was, now) in changes.items():
            found = frozenset({json.dumps(was)}) if deed.answered else None
            tells = None if in_force is None else frozenset({json.dumps(in_force[register])})
            self.deeds[register].append(deed._replace(finds=found, writes=json.dumps(now), tells=tells))

    # -- what masters do by themselves ------------------------------------------------------------

    def stored(self, node: str, job: int, row: JobRow | None) -> None:
        """Takes in what a disk says of a job from now on. Who says first that it has ended, or goes on, has made it
        so.
        """
        before, at_s = self._rows.get(node, {}).get(job), self._minds.now_s
        if row is None or (job, row.version, row.state) in self._made:
            return
        self._made.add((job, row.version, row.state))
        register = Register(JOB, str(job))
        self.deeds.setdefault(register, [])
        if before is None or (row.state == RUNNING and before.state not in ENDED):
            return
        if (found := BY_ITSELF.get(row.state)) is not None:
            what = f"{node} has it {row.state} since {at_s:.2f} s"
            self.deeds[register].append(
                Deed(node, self._minds.life(node), what, at_s - DECIDED_S, at_s, finds=found, writes=row.state)
            )

    def lost(self, node: str) -> None:
        """Takes in that a disk is no more, or is as it was at an earlier time."""
        self._losses.append(Loss(self._minds.now_s, node))
        # What was made before may be made once more.
        self._made = {(job, row.version, row.state) for name, rows in self._rows.items() if name != node
                      for job, row in rows.items()}  # fmt: skip

    # -- what is seen -----------------------------------------------------------------------------

    def look(self) -> None:
        """Looks what each master knows at this moment, and whether nothing is in anybody's way."""
        minds, who = self._minds, self._minds.awake()
        standing = minds.standing()
        if standing is None or standing != self._standing:
            self._standing = standing
            if standing is not None:
                self._calms.append(Calm(minds.now_s, minds.now_s, who))
        else:
            self._calms[-1] = self._calms[-1]._replace(ended_s=minds.now_s)
        for name in sorted(who):
            self._look_at(name)

    def _look_at(self, who: str) -> None:
        minds, states = self._minds, self._minds.states(who)
        for number in states:
            self.deeds.setdefault(Register(JOB, str(number)), [])
        for register in self.deeds:
            if register.kind == JOB:
                value = states.get(int(register.name), UNKNOWN)
                if not self._is_on_disk(who, register, value):
                    continue
            elif register.kind == SETTING:
                if register.of not in states:
                    continue
                value = json.dumps(minds.setting(who, register.of, register.name))
            elif register.kind == BOARD:
                if register.of not in states:
                    continue
                value = minds.board(who, register.of, register.name)
            else:
                value = json.dumps(minds.order(who, register.name)[register.kind == REST])
            key = register, who, minds.life(who)
            run = self._runs.get(key)
            if run is not None and run.value == value:
                self._runs[key] = run._replace(last_s=minds.now_s)
            else:
                self._see(key)
                self._runs[key] = Run(value, minds.now_s, minds.now_s)

    def _see(self, key: tuple[Register, str, int]) -> None:
        """Takes down what a master knew for a while."""
        if (run := self._runs.pop(key, None)) is not None:
            register, who, life = key
            for at_s in dict.fromkeys((run.first_s, run.last_s)):
                what = f"{who} had it {run.value or 'unknown'} at {at_s:.2f} s"
                self.deeds[register].append(Deed(who, life, what, at_s, at_s, finds=frozenset({run.value})))

    def _is_on_disk(self, node: str, register: Register, state: str) -> bool:
        row = self._rows.get(node, {}).get(int(register.name))
        return (UNKNOWN if row is None else row.state) == state

    # -- the verdict ------------------------------------------------------------------------------

    def judge(self, tell: Tell) -> None:
        """Judges all that was asked, and seen."""
        for key in list(self._runs):
            self._see(key)
        defaults, heard = Settings(), Heard(self._calms, self._losses)
        for register, deeds in self.deeds.items():
            is_job = register.kind == JOB
            if is_job and not any(deed.writes == RUNNING and deed.finds is None for deed in deeds):
                # Whoever gave it to a master was not answered: there is a job or not, or it was withdrawn.
                deeds = [*deeds, *(Deed("", 0, "submit", 0.0, writes=state) for state in (RUNNING, CANCELLED))]
            if register.kind == SETTING:
                at_first = json.dumps(getattr(defaults, register.name.lower()))
            else:
                at_first = AT_FIRST[register.kind]
            verdict = judged(deeds, heard, at_first, of_job=is_job)
            if not verdict.explained and not verdict.given_up:
                tell(f"{register}: {told(deeds, heard, verdict)}")


def _orders(host: str, was: Any, now: Mapping[str, Any], given: Mapping[str, Any]) -> dict[Register, tuple[Any, Any]]:
    """Returns the words on a host that a call has changed."""
    before, changes = was or {}, dict[Register, tuple[Any, Any]]()
    if "delay_s" in given:
        delay_s = now["delay_s"]
        changes[Register(DELAY, host)] = before.get("delay_s"), None if delay_s is None else float(delay_s)
    if given.get("paused") is not None:
        changes[Register(REST, host)] = before.get("paused"), now["paused"]
    return changes


def _is_open(error: BaseException, moment: Moment, call: Call) -> bool:
    """Tells whether what was asked for may have come about, or may still, though nobody said so."""
    if isinstance(error, NodeDown) and moment.at == call.began_s:
        return False
    return not isinstance(error, ConfigurationError)


def _says_state(moment: Moment) -> bool:
    return isinstance(moment.what, dict) and "state" in moment.what


def _verb(moment: Moment) -> str:
    return moment.kind.removeprefix("verb ")


def _key(moment: Moment) -> tuple[str, str, int]:
    """Returns what a call is known by until it ends: whoever asks waits for the answer."""
    return moment.node, moment.kind, id(asyncio.current_task())
