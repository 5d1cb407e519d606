"""Plans from TOML files: a user's own cluster, web, network, machines and faults.

What a file says wrongly is refused in one line that names the place; nothing is guessed and nothing ignored.
"""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

from p2pcrawl.model.errors import ConfigurationError

from ..draws.limits import LIMITS
from ..draws.of_jobs import SETTINGS
from ..kernel.moments import PHASES
from ..kernel.paths import Law
from ..play.aims import BLOWS, BOTH, MEANWHILE, SIDES, STALL, STALLED, Aim, strike
from ..play.faults import LAW_KEYS, OF_PEOPLE, WORDS, Fault, play
from ..play.options import KEYS, Options
from ..play.other_jobs import CLOSES
from ..play.stage import Stage
from ..scenarios import SCENARIOS
from ..world.caches import UNSYNCED
from ..world.damages import FILES
from ..world.disk_errors import KINDS
from ..world.web import WebPlan
from .mistakes import check_mistakes
from .plan import MachinePlan, Plan, names_of

T = TypeVar("T")

CLUSTER = {
    "masters": int,
    "slaves": int,
    "replicas": int,
    "sinks": int,
    "buckets": int,
    "key": str,
    "partition": str,
    "ring": str,
    "placement": str,
}
STEP_MAX_S = 100 * 365 * 86_400.0
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_CALLED = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


def read_plan(path: Path, seed: int | None = None) -> Plan:
    """Reads the plan in a file; ``seed`` comes before the one that the file gives. Raises ConfigurationError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is no text in UTF-8") from None
    except (ValueError, RecursionError) as error:
        # Not TOML, or numbers and nesting that are longer and deeper than Python reads.
        raise ConfigurationError(f"{path}: {error}") from None
    return _plan(_Table(str(path), data), path, seed)


def _plan(top: _Table, path: Path, seed: int | None) -> Plan:
    cluster, web, network = (top.table(name) for name in ("cluster", "web", "network"))
    machine_tables, fault_tables, aim_tables = (top.tables(name) for name in ("machine", "fault", "aim"))
    given: dict[str, Any] = {
        name: value for name, kind in CLUSTER.items() if (value := cluster.take(name, kind)) is not None
    }
    if (delay_s := cluster.time("delay")) is not None:
        given["delay_s"] = delay_s
    cluster.done()
    plan = web.made(WebPlan())
    given |= {"scenario": path.stem, "pages": plan.pages, "hosts": plan.hosts, "private": plan.private}
    limits, settings = _limits(top.table("limits")), _settings(top.table("settings"))
    if (scenario := top.take("scenario", str)) is not None:
        top.known("scenario", scenario, list(SCENARIOS))
        given["scenario"] = scenario
    own_seed = top.take("seed", int)
    if (number := own_seed if seed is None else seed) is not None:
        given["seed"] = number
    if (limit_s := top.time("limit")) is not None:
        if not limit_s:
            top.refuse("must be above 0", "limit")
        given["limit_s"] = limit_s
    given |= {name: said for name in ("control", "mutant") if (said := top.take(name, str)) is not None}
    top.done()
    try:
        options = Options(**given)
        check_mistakes(options)
    except ValueError as error:
        cluster.refuse(str(error))
    masters = names_of(options.masters)
    slaves = [f"s{place}" for place in range(options.masters * options.slaves)]
    machines = _machines(machine_tables, masters)
    faults = [_fault(table, masters, slaves) for table in fault_tables]
    aims = [_aim(table, [*masters, *slaves]) for table in aim_tables]
    law, said = network.made(Law()), partial(fault_and_aim, faults=faults, aims=aims)
    if scenario is not None:
        # What the scenario does by its own code comes besides, on the network that it has.
        return Plan(
            options, web=plan, law=None if law == Law() else law, machines=tuple(machines), limits=limits,
            settings=settings, beside=(*faults, *aims), path=str(path),
        )  # fmt: skip
    return Plan(
        options, faults=said, web=plan, law=law, machines=tuple(machines), limits=limits, settings=settings, beside=(),
        path=str(path),
    )  # fmt: skip


def _machines(tables: Sequence[_Table], masters: list[str]) -> list[MachinePlan]:
    machines: list[MachinePlan] = []
    for table in tables:
        name = table.take("name", str, needed=True)
        table.known("name", name, masters)
        if any(machine.name == name for machine in machines):
            table.refuse(f"{name} has a table already", "name")
        machines.append(table.made(MachinePlan(name), keep=("name",)))
    return machines


def _limits(table: _Table) -> dict[str, int]:
    """Reads which limits of the peers are small."""
    limits = {name: value for name in LIMITS if (value := table.take(name, int)) is not None}
    for name, value in limits.items():
        if value < 1:
            table.refuse("must be at least 1", name)
    table.done()
    return limits


def _settings(table: _Table) -> dict[str, Any]:
    """Reads what the job is set to."""
    settings = {name: value for name, kind in SETTINGS.items() if (value := table.take(name, kind)) is not None}
    table.done()
    return settings


async def fault_and_aim(stage: Stage, faults: Sequence[Fault], aims: Sequence[Aim]) -> None:
    """Lets faults happen, each at its time, and aims strike, each at its moment; returns when all are over."""
    await asyncio.gather(play(stage, faults), strike(stage, aims))


def _check_nodes(table: _Table, nodes: list[str], **named: str) -> None:
    """Refuses a node that there is not; nothing is no name."""
    for name, node in named.items():
        if node:
            table.known(name, node, nodes)


def _aim(table: _Table, nodes: list[str]) -> Aim:
    kind, phase, do = (table.take(name, str, needed=True) for name in ("kind", "phase", "do"))
    table.known("phase", phase, list(PHASES))
    table.known("do", do, [*BLOWS, STALL])
    table.place = f"{table.place} ({do})"
    side, of, peer_do, who, then = (table.take(name, str) or "" for name in ("side", "of", "peer_do", "who", "then"))
    _check_nodes(table, nodes, of=of, who=who)
    _check_side(table, side, who)
    if peer_do:
        table.known("peer_do", peer_do, [blow for blow in BLOWS if blow != "split"])
    apart_s, after_s, nth = table.time("apart"), table.time("after"), _nth(table)
    lasts = {f"{key}_s": time_s for key in ("for", "then_for") if (time_s := table.time(key)) is not None}
    if do == STALL or then:
        _check_stall(table, phase, do, then, peer_do)
    elif (peer_do or apart_s) and (side != BOTH or do == "split"):
        table.refuse(f'is for side = "{BOTH}", and not for split', "peer_do" if peer_do else "apart")
    beyond = bool(table.take("beyond", bool))
    table.done()
    return Aim(
        kind=kind, phase=phase, do=do, nth=nth, side=side or SIDES[0], peer_do=peer_do, apart_s=apart_s or 0.0,
        after_s=after_s or 0.0, of=of, who=who, then=then, beyond=beyond, place=table.place,
        **lasts,
    )  # fmt: skip


def _check_side(table: _Table, side: str, who: str) -> None:
    table.known("side", side or SIDES[0], list(SIDES))
    if who and side:
        table.refuse("is for aims without a side", "who")


def _check_stall(table: _Table, phase: str, do: str, then: str, peer_do: str) -> None:
    """Refuses what cannot be held up, and what a stall does not take."""
    if do != STALL:
        table.refuse(f'is for do = "{STALL}"', "then")
    table.known("phase", phase, list(STALLED))
    if then:
        table.known("then", then, list(MEANWHILE))
    if peer_do:
        table.refuse(f'is not for do = "{STALL}": say then', "peer_do")


def _fault(table: _Table, masters: list[str], slaves: list[str]) -> Fault:
    do = table.take("do", str, needed=True)
    table.known("do", do, list(WORDS))
    word = WORDS[do]
    table.place = f"{table.place} ({do})"
    at_s, at_share = table.time("at"), table.take("at_share", float)
    if (at_s is None) == (at_share is None):
        table.refuse('needs at, such as "30 s", or at_share, such as 0.4, and not both')
    if at_share is not None and not 0 <= at_share <= 1:
        table.refuse("must be between 0 and 1", "at_share")
    groups = _groups(table, masters) if "groups" in word.takes else ()
    allowed = [*masters, *(slaves if word.slaves else ())]
    who, some = _whom(table, allowed) if word.whom and not groups else ((), None)
    whole = bool(table.take("whole", bool))
    for_s, every_s, times = table.time("for"), table.time("every"), table.take("times", int)
    if word.end is None and for_s is not None:
        table.refuse(f"{do} is not undone: leave it out", "for")
    if word.alone and for_s is None:
        table.refuse('needs for, such as "20 s": how long it lasts')
    if every_s == 0:
        table.refuse("must be above 0", "every")
    if times is not None and (every_s is None or times < 1):
        table.refuse("must be at least 1, and needs every", "times")
    change = _change(table, do, masters)
    table.done()
    return Fault(
        place=table.place, do=do, at_s=at_s, at_share=at_share, for_s=for_s, every_s=every_s, times=times, who=who,
        whole=whole, some=some, groups=groups, change=change,
    )  # fmt: skip


def _groups(table: _Table, masters: list[str]) -> tuple[tuple[str, ...], ...]:
    groups = table.take("groups", list)
    if groups is None:
        return ()
    if len(groups) < 2 or not all(group and isinstance(group, list) for group in groups):
        table.refuse('must be two lists or more, such as [["m0"], ["m1", "m2"]]', "groups")
    names = [name for group in groups for name in group]
    for name in names:
        table.known("groups", name, masters)
        if names.count(name) > 1:
            table.refuse(f"{name} is in more than one group", "groups")
    return tuple(tuple(group) for group in groups)


def _whom(table: _Table, allowed: list[str]) -> tuple[tuple[str, ...], int | float | None]:
    who, some = table.take("who", list), table.take("some", object)
    if (not who) == (some is None):
        table.refuse('needs who, such as ["m1"], or some, such as 2 or "10 %", and not both')
    if who is not None:
        for name in who:
            table.known("who", name, allowed)
        return tuple(who), None
    if isinstance(some, int) and not isinstance(some, bool) and some >= 1:
        return (), some
    found = _PERCENT.fullmatch(some) if isinstance(some, str) else None
    if found is None or not 0 < float(found[1]) <= 100:
        table.refuse('must be a whole number from 1, or a share such as "10 %"', "some")
    return (), float(found[1]) / 100


def _change(table: _Table, do: str, masters: list[str]) -> dict[str, Any]:
    if do in OF_PEOPLE:
        return _of_people(table, do)
    match do:
        case "bad-network":
            said = [name for name in LAW_KEYS if name in table]
            law = table.made(Law())
            if not said:
                table.refuse(f"needs one of {', '.join(LAW_KEYS)}")
            return {name: getattr(law, name) for name in said}
        case "power-loss" | "flip" | "tear" | "lose-file" | "io-error":
            return _change_of_disk(table, do)
        case "slow-disk":
            return {"delay": table.time("delay", needed=True)}
        case "hesitate":
            share = table.take("share", float, needed=True)
            if not 0 < share <= 1:
                table.refuse("must be above 0, and at most 1: 0.01 is 1 %", "share")
            return {"share": share, "longest": table.time("longest", needed=True)}
        case "drift":
            by = table.take("by", float, needed=True)
            if not -0.5 <= by <= 0.5:
                table.refuse("must be between -0.5 and 0.5: 0.02 is 2 % fast", "by")
            return {"by": by}
        case "step-clock":
            by = table.take("by", float, needed=True)
            if abs(by) > STEP_MAX_S:
                table.refuse("must be a hundred years at most", "by")
            return {"by": by}
        case "silence":
            names = table.take("unheard_by", list)
            if names == []:
                table.refuse("must name somebody; without it nobody hears them", "unheard_by")
            for name in names or ():
                table.known("unheard_by", name, masters)
            return {"unheard_by": names}
    return {}


def _of_people(table: _Table, do: str) -> dict[str, Any]:
    """Reads what people ask for, and of which job."""
    match do:
        case "submit":
            label, key, pages = table.take("job", str, needed=True), table.take("key", str), table.take("pages", int)
            table.known("key", key or "host", list(KEYS))
            if not label or (pages or 0) < 0:
                table.refuse("needs a name for the job, and pages that are not negative")
            said = {"job": label, "key": key or "host", "pages": pages or 0}
            if (closed_by := table.take("closed_by", str)) is not None:
                table.known("closed_by", closed_by, list(CLOSES))
                said["closed_by"] = closed_by
            return said
        case "pause-job" | "retry-job" | "restart-job" | "send-letters" | "results":
            return {"job": table.take("job", str) or ""}
        case "cancel-job" | "delete-job":
            return {"job": table.take("job", str, needed=True)}
        case "inject":
            return {"job": table.take("job", str) or "", "pages": table.take("pages", int) or 1}
        case "set-job":
            return {"job": table.take("job", str) or "", "depth": _depth(table)}
        case "set-host":
            return {"host": table.take("host", int) or 0, "delay": table.time("delay") or 0.0}
    return {}


def _depth(table: _Table) -> int:
    depth = table.take("depth", int, needed=True) or 0
    if depth < 0:
        table.refuse("must not be negative, and is 0 for any", "depth")
    return depth


def _change_of_disk(table: _Table, do: str) -> dict[str, Any]:
    key, names = {"power-loss": ("unsynced", UNSYNCED), "io-error": ("kind", KINDS)}.get(do, ("file", FILES))
    name = table.take(key, str, needed=do == "io-error")
    if name is not None:
        table.known(key, name, list(names))
    if do != "io-error":
        return {key: name} if name is not None else {}
    return {key: name, "nth": _nth(table)}


def _nth(table: _Table) -> int:
    nth: int | None = table.take("nth", int)
    if nth is not None and nth < 1:
        table.refuse("must be at least 1", "nth")
    return nth or 1


class _Table:
    """One table of the file. What is taken from it is checked; what is left over in the end is refused."""

    def __init__(self, place: str, data: dict[str, Any]) -> None:
        self.place = place
        self._left = dict(data)
        self._keys: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def refuse(self, why: str, key: str = "") -> NoReturn:
        raise ConfigurationError(": ".join(part for part in (self.place, key, why) if part))

    def known(self, key: str, name: object, names: list[str]) -> None:
        """Refuses a name that is none of these."""
        if name in names:
            return
        near = get_close_matches(str(name), names, 1)
        shown = ", ".join(names[:20]) if len(names) <= 20 else f"{names[0]} to {names[-1]}"
        self.refuse(f"there is no {name!r}; " + (f"did you mean {near[0]!r}?" if near else f"there are {shown}"), key)

    def take(self, key: str, kind: type[T], *, needed: bool = False) -> Any:
        """Reads a value, or None. A whole number does where any number does."""
        self._keys.append(key)
        if key not in self._left:
            if needed:
                self.refuse(f"needs {key}")
            return None
        value: Any = self._left.pop(key)
        if kind is float and (number := _finite(value)) is not None:
            return number
        if kind is float or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.refuse(f"must be {_CALLED[kind]}, not {value!r}", key)
        return value

    def time(self, key: str, *, needed: bool = False) -> Any:
        """Reads a length of time in seconds, or None."""
        value = self.take(key, object, needed=needed)
        if value is None:
            return None
        found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
        seconds = _finite(float(found[1]) * _UNITS[found[2]] if found else value)
        if seconds is None or seconds < 0:
            self.refuse(f'must be a time such as "30 s", "500 ms", "2 min" or "1 h", not {value!r}', key)
        return seconds

    def table(self, key: str) -> _Table:
        return _Table(f"{self.place}: [{key}]", self.take(key, dict) or {})

    def tables(self, key: str) -> list[_Table]:
        """Reads an array of tables, each with its number in its place."""
        found = self.take(key, object)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.refuse(f"must be written as [[{key}]]", key)
        return [_Table(f"{self.place}: {key} {number}", each) for number, each in enumerate(found, 1)]

    def made(self, usual: T, *, keep: tuple[str, ...] = ()) -> T:
        """Makes a dataclass with what the table says in place of what is usual."""
        changes: dict[str, Any] = {}
        hints = get_type_hints(type(usual))
        for each in fields(usual):  # type: ignore[arg-type]
            if each.name in keep:
                continue
            wanted = next((t for t in get_args(hints[each.name]) if t is not type(None)), hints[each.name])
            value = self.take(each.name, wanted)
            if value is not None:
                changes[each.name] = value
        self.done()
        try:
            return replace(usual, **changes)  # type: ignore[type-var]
        except ValueError as error:
            self.refuse(str(error))

    def done(self) -> None:
        """Refuses what nobody has asked for."""
        for key in self._left:
            near = get_close_matches(key, self._keys, 1)
            self.refuse(
                "unknown key; " + (f"did you mean {near[0]}?" if near else f"known are {', '.join(self._keys)}"), key
            )


def _finite(value: object) -> float | None:
    """Reads a number of the file, if that is what it is."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None
