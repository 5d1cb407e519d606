"""Balance, movement and look-up cost of all ways to share out keys, over drawn memberships.

Each draw makes a membership with fresh ids, lets one member join and (apart from that) one leave, and counts buckets.
The same seed gives the same figures, apart from the look-up cost.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from p2pcrawl.core.ring.rendezvous import BUCKETS

from ..report.outputs import refuse_unwritable
from .ring_contenders import CONTENDERS, HOSTS, Contender, View
from .ring_picture import Bar, picture

Table = list[tuple[str, ...]]

LOOK_UPS = 20_000


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over all draws, as a multiple of what would be ideal."""

    mean: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.fmean(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.least:.2f} to {self.greatest:.2f})"


@dataclass(frozen=True, slots=True)
class Result:
    """The results of one contender with one number of copies and one choice of weights."""

    name: str
    copies: int
    weights: tuple[int, ...]
    largest: Spread
    """The fullest member's share over its fair share."""
    deviation: float
    """The standard deviation of all shares over the fair share, mean of the draws."""
    join: Spread
    """What a join moved over what it must move."""
    leave: Spread
    """What a leave moved over what the one who left should have held."""
    between_stayers: float
    """The part of all slots that moved between members which stayed, on the mean join or leave."""
    shares: dict[int, Spread] = field(default_factory=dict)
    """Weight -> share over fair share of the members of this weight: mean of all, least and greatest of any."""
    heirs: float = 1.0
    """How often the next owner, after the owner has left, is among the copies."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of looking up on this machine."""

    name: str
    look_up_us: float
    table_ms: float


class Tally:
    """Collects the figures of one contender, draw by draw."""

    def __init__(self, copies: int, slots: int) -> None:
        self._copies = copies
        self._slots = copies * slots
        self._largest: list[float] = []
        self._deviation: list[float] = []
        self._join: list[float] = []
        self._leave: list[float] = []
        self._strays: list[float] = []
        self._heirs: list[float] = []
        self._shares: dict[int, list[float]] = {}

    def balance(self, weights: dict[str, int], table: Table, weighted: bool) -> None:
        """Counts a membership's shares."""
        held = Counter(node for nodes in table for node in nodes)
        total = sum(weights.values()) if weighted else len(weights)
        ratios = []
        for node, weight in weights.items():
            fair = self._slots * (weight if weighted else 1) / total
            ratios.append(held[node] / fair)
            self._shares.setdefault(weight, []).append(ratios[-1])
        self._largest.append(max(ratios))
        self._deviation.append(statistics.pstdev(ratios))

    def join(self, before: Table, after: Table, newcomer: str, share: float) -> None:
        """Counts what moved when ``newcomer`` joined, who deserves this share of the whole."""
        moved, strays = movement(before, after, newcomer)
        self._join.append(moved / (self._slots * share))
        self._strays.append(strays / (self._slots))

    def leave(self, before: Table, after: Table, gone: str, share: float) -> None:
        """Counts what moved when ``gone`` left, who deserved this share of the whole."""
        strays, moved = 0, 0
        for old, new in zip(before, after, strict=True):
            gained = len(set(new) - set(old))
            moved += gained
            strays += gained - (gone in old)
        self._leave.append(moved / (self._slots * share))
        self._strays.append(strays / (self._slots))
        heirs = [new[0] in old for old, new in zip(before, after, strict=True) if old[0] == gone]
        self._heirs.append(statistics.fmean(heirs) if heirs and self._copies > 1 else 1.0)

    def result(self, name: str, weights: tuple[int, ...]) -> Result:
        """Returns the figures over all draws."""
        return Result(
            name,
            self._copies,
            weights,
            Spread.of(self._largest),
            statistics.fmean(self._deviation),
            Spread.of(self._join),
            Spread.of(self._leave),
            statistics.fmean(self._strays),
            {weight: Spread.of(ratios) for weight, ratios in sorted(self._shares.items())},
            statistics.fmean(self._heirs),
        )


def movement(before: Table, after: Table, newcomer: str) -> tuple[int, int]:
    """Counts the slots that got another holder, and how many of these went to one who was there before."""
    gained = [node for old, new in zip(before, after, strict=True) for node in set(new) - set(old)]
    return len(gained), sum(node != newcomer for node in gained)


def measure(contender: Contender, *, nodes: int, draws: int, copies: int, weights: Sequence[int], seed: int) -> Result:
    """Draws memberships, each member with one of ``weights``, and sees how the contender shares out."""
    rng = random.Random(f"{seed} {nodes} {weights}")
    tally = Tally(copies, contender.slots)
    for _ in range(draws):
        names = [f"{rng.getrandbits(160):040x}" for _ in range(nodes + 1)]
        numbers = {name: number for number, name in enumerate(names)}
        more = {name: rng.choice(list(weights)) for name in names}
        newcomer, gone = names[-1], rng.choice(names[:-1])
        members = {name: weight for name, weight in more.items() if name != newcomer}
        fewer = {name: weight for name, weight in members.items() if name != gone}
        base, joined, left = (table(contender, View(view, numbers), copies) for view in (members, more, fewer))
        tally.balance(members, base, contender.weighted)
        tally.join(base, joined, newcomer, more[newcomer] / sum(more.values()))
        tally.leave(base, left, gone, members[gone] / sum(members.values()))
    return tally.result(contender.name, tuple(weights))


def table(contender: Contender, view: View, copies: int) -> Table:
    """Returns the holders of all slots."""
    ring = contender.ring(view)
    return [ring.owners(slot, copies) for slot in range(contender.slots)]


def cost(contender: Contender, nodes: int, seed: int) -> Cost:
    """Times the making of a ring with all its answers, then single look-ups."""
    rng = random.Random(seed)
    names = [f"{rng.getrandbits(160):040x}" for _ in range(nodes)]
    view = View(dict.fromkeys(names, 1), {name: number for number, name in enumerate([*names, ""])})
    started = time.perf_counter()
    ring = contender.ring(view)
    ring.owners(0, 1)
    made = time.perf_counter()
    for number in range(LOOK_UPS):
        ring.owners(number % contender.slots, 1)
    ended = time.perf_counter()
    return Cost(contender.name, (ended - made) / LOOK_UPS * 1e6, (made - started) * 1e3)


def all_results(nodes: int, draws: int, seed: int) -> tuple[list[Result], list[Result]]:
    """Measures all contenders with equal weights, then those that know weights and copies with weights 1:2:4."""
    equal = [
        measure(contender, nodes=nodes, draws=draws, copies=1, weights=(1,), seed=seed) for contender in CONTENDERS
    ]
    weighted = [
        measure(contender, nodes=nodes, draws=draws, copies=copies, weights=(1, 2, 4), seed=seed)
        for contender in CONTENDERS
        if contender.weighted
        for copies in range(1, contender.copies_max + 1)
    ]
    return equal, weighted


def report(equal: list[Result], weighted: list[Result], costs: list[Cost]) -> str:
    """Writes both tables as Markdown."""
    by_name = {one.name: one for one in costs}
    lines = [
        "| equal weights | fullest / fair, mean (draws) | deviation | join moves / ideal | leave moves / ideal "
        "| between those that stay | ring made | look-up |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in equal:
        spent = by_name[one.name]
        lines.append(
            f"| {one.name} | {one.largest} | {one.deviation:.1%} | {one.join} | {one.leave} "
            f"| {one.between_stayers:.1%} | {spent.table_ms:.1f} ms | {spent.look_up_us:.2f} us |"
        )
    lines += [
        "",
        "| weights 1:2:4 | copies | share / fair of weight 1 | of weight 2 | of weight 4 | join moves / ideal "
        "| between those that stay | heir has a copy |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in weighted:
        shares = " | ".join(str(share) for share in one.shares.values())
        heirs = f"{one.heirs:.1%}" if one.copies > 1 else "-"
        lines.append(f"| {one.name} | {one.copies} | {shares} | {one.join} | {one.between_stayers:.1%} | {heirs} |")
    return "\n".join(lines)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``python -m simulations rings``."""
    parser.add_argument("--nodes", type=_count, default=10, help="members of a drawn membership (default 10)")
    parser.add_argument("--draws", type=_count, default=100, help="how many memberships are drawn (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other memberships (default 1)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="write the picture of docs/rings.md here")


def run(options: argparse.Namespace) -> int:
    """Measures, prints, draws; returns the exit status. Raises ConfigurationError."""
    if options.picture is not None:
        refuse_unwritable(options.picture)
    equal, weighted = all_results(options.nodes, options.draws, options.seed)
    costs = [cost(contender, options.nodes, options.seed) for contender in CONTENDERS]
    if options.picture is not None:
        bars = [Bar(one.name, one.largest.mean, one.join.mean, one.between_stayers) for one in equal]
        title = f"{options.draws} drawn memberships of {options.nodes}, {BUCKETS} buckets (or {HOSTS} hosts)"
        options.picture.write_text(picture(title, bars), encoding="utf-8")
    if options.json:
        print(json.dumps({part: [asdict(one) for one in rows] for part, rows in _parts(equal, weighted, costs)}))
    else:
        print(report(equal, weighted, costs))
    return 0


def _parts(*rows: Sequence[Result | Cost]) -> list[tuple[str, Sequence[Result | Cost]]]:
    return list(zip(("equal", "weighted", "costs"), rows, strict=True))


def _count(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("at least 2")
    return number
