"""Cases: runs made of parts that can be taken away one by one, and the words to tell and to write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any

from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.peer.config import Partition
from p2pcrawl.spiders.spider import Spider

from ..kernel.paths import Law
from ..observe.incidents import Deed
from ..play.aims import FOR_S, STALL, Aim
from ..play.faults import Fault
from ..play.options import Options
from ..play.spiders import Beginner, Walker
from ..scenarios import SCENARIOS
from ..whole.plan import Plan
from ..whole.plan_file import fault_and_aim
from ..world.web import Web, WebPlan
from .deeds import faults_of
from .least import numbers_told

Part = Fault | Aim


@dataclass(frozen=True, slots=True)
class Case:
    """One run: its options, web and network, and the faults and aims that come in it."""

    options: Options
    web: WebPlan
    law: Law
    parts: tuple[Part, ...] = ()
    weights: tuple[int, ...] = (1,)
    spider: type[Spider] = Walker
    partition: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Limits of the peers that are small."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the job is set to."""
    beside: tuple[Part, ...] = ()
    """What happens besides what the scenario does by its own code."""
    own: bool = False
    """What happens is done by the scenario's own code, and cannot be taken apart."""

    @property
    def plan(self) -> Plan:
        """Makes what is to be run."""
        if self.own:
            options = replace(self.options, partition=self.partition)
            usual = Plan(options).completed().web
            web = None if self.web == usual else self.web
            limits, settings = self.limits or None, self.settings or None
            return Plan(options, web=web, limits=limits, settings=settings, beside=self.parts or None)
        faults = [part for part in self.parts if isinstance(part, Fault)]
        aims = [part for part in self.parts if isinstance(part, Aim)]
        options = replace(self.options, partition=self.partition)
        happen = partial(fault_and_aim, faults=faults, aims=aims)
        return Plan(
            options,
            faults=happen,
            web=self.web,
            law=self.law,
            weights=self.weights,
            spider=self.spider,
            limits=self.limits,
            settings=self.settings,
            beside=(),
        )

    @property
    def size(self) -> str:
        """Says how large it is."""
        options = self.options
        what = f"all of {options.scenario}" if self.own else f"{len(self.parts)} faults and aims"
        pages, hosts = len(self.numbers), len({host_of(self.urls[number]) for number in self.numbers})
        return f"{what}, {options.masters} masters, {options.replicas} copies, {pages} pages on {hosts} hosts"

    @property
    def urls(self) -> tuple[str, ...]:
        """All pages of the web by their numbers, also those that are left out of it."""
        return _urls(self.options.seed, replace(self.web, only=""))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the pages that are there."""
        return _numbers(self.options.seed, self.web)

    def of_pages(self, numbers: Iterable[int]) -> Case:
        """Returns it with these pages of its web only."""
        return replace(self, web=replace(self.web, only=numbers_told({0, *numbers})))

    def limited_by(self, names: Iterable[str]) -> Case:
        """Returns it with these of its small limits only."""
        return replace(self, limits={name: self.limits[name] for name in names})

    def set_to(self, names: Iterable[str]) -> Case:
        """Returns it with these settings of the job only."""
        return replace(self, settings={name: self.settings[name] for name in names})

    def smaller(self, *, pages: int | None = None, **options: Any) -> Case:
        """Returns it with fewer pages, or other options; what was done to masters that are gone is done to others."""
        web = self.web
        if pages is not None:
            web = replace(web, pages=pages, hosts=max(1, min(web.hosts, pages // 3)), only="")
        changed = replace(self.options, **options, pages=web.pages, hosts=web.hosts)
        parts = tuple(_among(part, changed.masters) for part in self.parts)
        return replace(self, options=changed, web=web, parts=parts)


@cache
def _urls(seed: int, web: WebPlan) -> tuple[str, ...]:
    return tuple(Web(seed, web).pages)


@cache
def _numbers(seed: int, web: WebPlan) -> tuple[int, ...]:
    there = Web(seed, web).pages
    return tuple(number for number, url in enumerate(_urls(seed, replace(web, only=""))) if url in there)


def case_of(plan: Plan) -> Case:
    """Takes a plan apart. What a scenario does by its own code is none of the parts, until it was seen once: see
    :func:`recorded`.
    """
    whole = plan.completed()
    # From here on it says itself what the options draw.
    options = replace(whole.options, draws=())
    parts: Sequence[Part] = ()
    scenario = SCENARIOS.get(options.scenario)
    if scenario is not None and scenario.parts is not None and plan.faults is None:
        parts = scenario.parts(options)
    elif isinstance(plan.faults, partial) and plan.faults.func is fault_and_aim:
        parts = (*plan.faults.keywords["faults"], *plan.faults.keywords["aims"])
    beside = whole.beside or ()
    parts = (*parts, *beside) if parts else ()
    assert whole.web is not None and whole.law is not None
    said = "" if plan.partition is Partition.AVAILABLE else str(plan.partition)
    weights = tuple(whole.weight(number) for number in range(options.masters))
    return Case(
        options, whole.web, whole.law, tuple(parts), weights, whole.spider, said, dict(whole.limits or {}),
        dict(whole.settings or {}), beside,
    )  # fmt: skip


def recorded(case: Case, deeds: Iterable[Deed], job_s: float) -> Case:
    """Returns a case with the faults that a scenario's own code was seen to do, at the times when it did them; as it is
    where its spider needs somebody who brings it URLs, for no plan does.
    """
    if case.spider is Beginner:
        return replace(case, parts=case.beside, own=True)
    said = [part for part in case.beside if isinstance(part, Fault)]
    # What else aims did was done to machines; whom a stall struck besides, too.
    stalls = [replace(part, then="") for part in case.beside if isinstance(part, Aim) and part.do == STALL]
    return replace(case, parts=(*faults_of(deeds, job_s), *said, *stalls))


def _among(part: Part, masters: int) -> Part:
    """Returns the part for a cluster of so many masters."""

    def now(name: str) -> str:
        return f"m{int(name[1:]) % masters}" if name[:1] == "m" and name[1:].isdigit() else name

    if isinstance(part, Aim):
        return replace(part, of=now(part.of))
    groups = tuple(tuple(dict.fromkeys(map(now, group))) for group in part.groups)
    overlap = len({name for group in groups for name in group}) < sum(map(len, groups))
    return replace(part, who=tuple(dict.fromkeys(map(now, part.who))), groups=() if overlap else groups)


def text_of(case: Case, story: Iterable[str] = ()) -> str:
    """Writes a case as a plan's file, with its story as a comment above."""
    options = case.options
    lines = [f"# {line}".rstrip() for line in story]
    lines += ["", f"seed = {options.seed}", f"limit = {_value(options.limit_s or 3600.0)}"]
    if case.own:
        lines.append(f"scenario = {_value(options.scenario)}")
    for name in ("control", "mutant"):
        if getattr(options, name):
            lines.append(f"{name} = {_value(getattr(options, name))}")
    cluster: dict[str, Any] = {"masters": options.masters, "slaves": options.slaves, "replicas": options.replicas}
    usual = Options()
    odd = {name: (getattr(options, name), getattr(usual, name)) for name in ("ring", "placement")}
    extra = {
        "delay": (options.delay_s, usual.delay_s),
        **odd,
        "sinks": (options.sinks, 0),
        "buckets": (options.buckets, 0),
        "key": (options.key, "host"),
        "partition": (case.partition, ""),
    }
    cluster |= {name: value for name, (value, usual) in extra.items() if value != usual}
    lines += _table("[cluster]", cluster)
    lines += _table("[limits]", {f'"{name}"': value for name, value in case.limits.items()})
    lines += _table("[settings]", dict(case.settings))
    lines += _table("[web]", _unusual(case.web, WebPlan(), ("pages", "hosts")))
    lines += [] if case.own else _table("[network]", _unusual(case.law, Law(), ()))
    for number, weight in enumerate(case.weights[: options.masters]):
        if weight != 1 and not case.own:
            lines += _table("[[machine]]", {"name": f"m{number}", "weight": weight})
    for part in case.parts:
        lines += _of_aim(part) if isinstance(part, Aim) else _of_fault(part)
    return "\n".join(lines).lstrip("\n") + "\n"


def _of_aim(aim: Aim) -> list[str]:
    said: dict[str, Any] = {"kind": aim.kind, "phase": aim.phase, "do": aim.do}
    usual = {"nth": 1, "side": "node", "peer_do": "", "of": "", "who": "", "then": "", "beyond": False}
    said |= {name: getattr(aim, name) for name, value in usual.items() if getattr(aim, name) != value}
    said |= {"apart": aim.apart_s} if aim.apart_s else {}
    said |= {"after": aim.after_s} if aim.after_s else {}
    if aim.for_s != FOR_S:
        said["for"] = aim.for_s
    if aim.then and aim.then_for_s != FOR_S:
        said["then_for"] = aim.then_for_s
    return _table("[[aim]]", said)


def _of_fault(fault: Fault) -> list[str]:
    when = {"at": fault.at_s, "at_share": fault.at_share, "for": fault.for_s, "every": fault.every_s}
    said: dict[str, Any] = {"do": fault.do, **when, "times": fault.times, "some": fault.some, **fault.change}
    said |= {"who": list(fault.who) or None, "groups": [list(group) for group in fault.groups] or None}
    said["whole"] = fault.whole or None
    if isinstance(fault.some, float):
        said["some"] = f"{fault.some:.0%}"
    return _table("[[fault]]", {name: value for name, value in said.items() if value is not None})


def _unusual(made: Any, usual: Any, always: Sequence[str]) -> dict[str, Any]:
    names = [each.name for each in fields(made)]
    return {n: getattr(made, n) for n in names if n in always or getattr(made, n) != getattr(usual, n)}


def _table(head: str, said: dict[str, Any]) -> list[str]:
    return ["", head, *(f"{name} = {_value(value)}" for name, value in said.items())] if said else []


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(round(value, 6)) if isinstance(value, float) else str(value)
