"""Looks at a run from outside while it goes on, and writes down what checkers want to know.

Nobody who is simulated notices: looking takes no virtual time, no dice, and changes nothing. It is cheap, too: what
costs more, like reading all disks, is done every now and then and whenever something has been destroyed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.figures.statistics_told import ROWS_MAX

from ..kernel.life import NodeDown
from ..observe.folders import Print, disks_at_rest, read_steps
from ..observe.inventory import Stock
from ..observe.ledgers import Ledgers
from ..observe.loads import Loads
from ..observe.parts import LOOK_S as PARTS_S
from ..observe.parts import Parts, together
from ..observe.sightings import Sightings
from ..observe.tables import Table
from .healing import Healing
from .reckoning import Reckoning

if TYPE_CHECKING:
    from ..world.machines import Machine
    from .stage import Stage

LOOK_S = 0.5
STOCK_S = 10.0
"""Between two inventories while nothing happens."""


class Told(NamedTuple):
    """A master's answer to a question about the job."""

    now_s: float
    who: str
    answer: dict[str, Any]
    known: int
    """How many URLs there were then on all disks together."""


class Observer:
    """Looks at a stage from outside, and keeps what it saw."""

    def __init__(self, stage: Stage) -> None:
        self.claims: list[tuple[float, str, bool]] = []
        """When somebody said that the job is finished, and whether that was the last word: all were up and in touch
        then, or the certificate says that it is final."""
        self.doubles: list[str] = []
        """Buckets that two masters of one view would grant from at once."""
        self.overlooked: list[str] = []
        """Certificates that were final though somebody was away that may have known more, or that did know more."""
        self.left: set[str] = set()
        """Who has left in order, and was not counted by anybody since."""
        self.parted: set[str] = set()
        """Who has said good-bye, in the last of its lives: from then on it has left, though its process may go on."""
        self.tables: list[Table] = []
        self.stock = Stock()
        self.sightings = Sightings()
        self.loads = Loads()
        self.ledgers = Ledgers()
        self.healing = Healing()
        self.answers: dict[str, dict[str, Any]] = {}
        """What each master says of the job in the end, when it is asked."""
        self.told: list[Told] = []
        """What masters said of the job when they were asked while it went on."""
        self.parts = Parts(stage.world.network)
        self.reckoning = Reckoning(stage)
        self._stage = stage
        self._finals: set[bytes] = set()
        """Those that were final. Who comes back is given them, too."""
        self._away: dict[bytes, frozenset[str]] = {}
        """Who was not there when a certificate was first seen."""
        self._said: dict[str, bytes] = {}
        """The certificate of each that says that the job is finished."""
        self._stocked_s = 0.0
        self._view = 0

    async def watch(self) -> None:
        """Looks again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    async def watch_parts(self, judge: Callable[[Mapping[str, frozenset[int]]], Iterable[str]]) -> None:
        """Looks, more often, at who grants in which part of the network; ``judge`` is told who serves what, and tells
        whose consent has ended.
        """
        while True:
            await asyncio.sleep(PARTS_S)
            self._stage.lapse(judge({machine.name: machine.served()[1] for machine in self._stage.up}))
            self.parts.look(self._stage.world.now, self._stage.machines, self._stage.up)

    def look(self) -> None:
        """Writes down what there is to see at this moment."""
        stage, now_s = self._stage, self._stage.world.now
        agreed = stage.agreed()
        self._look_for_claims()
        # Who was cut off may count one that has left long after it went: it is back only when it is up.
        self.left -= {m.name for m in stage.up if any(m.id in one.members() for one in stage.up if one is not m)}
        self._look_for_doubles()
        if stage.in_one_view():
            for incident in stage.incidents:
                if not incident.open:
                    incident.agreed_s = min(incident.agreed_s, now_s)
        if agreed:
            for incident in (*stage.incidents, *stage.lapses):
                if not incident.open:
                    incident.settled_s = min(incident.settled_s, now_s)
            self._look_at_the_table()
        self.reckoning.look(agreed=agreed)
        up = stage.up
        lives = {m.name: m.node.life.number for m in up if m.node.life is not None}
        self.sightings.look(now_s, lives, {m.name: m.members() for m in up if m.lead is not None})
        self.loads.look(now_s, up)
        self.ledgers.look(now_s, stage.job, up)
        self.loads.count(now_s, stage.machines)
        self.healing.look(stage)
        if now_s >= self._stocked_s + STOCK_S:
            self.take_stock()

    async def interview(self) -> None:
        """Asks all that are up how the job stands, as a person would."""
        stage = self._stage
        for machine in stage.up:
            statistics = await machine.ask("statistics", {"job": stage.job, "by": "host", "limit": ROWS_MAX})
            self.answers[machine.name] = {**await machine.ask("job", {"job": stage.job}), "statistics": statistics}
        await self.reckoning.inquire()

    async def question(self) -> None:
        """Asks all that are up how the job stands, in the middle of a run. Who does not answer is passed over."""
        stage = self._stage
        for machine in stage.up:
            try:
                answer = await machine.ask("job", {"job": stage.job})
            except (P2PCrawlError, NodeDown):
                continue
            known = frozenset().union(*(read_steps(m.folder, stage.job) for m in stage.staying))
            self.told.append(Told(stage.world.now, machine.name, answer, len(known)))

    def take_stock(self, lost: frozenset[str] = frozenset()) -> None:
        """Reads all disks. ``lost`` are those of these machines, since the last time."""
        stage = self._stage
        self._stocked_s = stage.world.now
        with disks_at_rest():
            self.reckoning.settle()
            self.reckoning.look_for_losses()
            if stage.job:
                folders = (m.folder for m in stage.staying)
                whole = 0 if lost or not stage.whole() else min(stage.options.replicas, self._taking_part())
                self.stock.take(stage.world.now, stage.job, folders, lost=lost, whole=whole)

    # -- inside -------------------------------------------------------------------------------

    def _look_for_claims(self) -> None:
        stage = self._stage
        for machine in stage.up:
            certificate = stage.certificate(machine) if stage.state(machine) == FINISHED else b""
            if certificate and certificate != self._said.get(machine.name):
                final = bool(json.loads(certificate)["final"])
                if final and certificate not in self._finals:
                    self._finals.add(certificate)
                    self.look_for_overlooked(machine, frozenset(json.loads(certificate)["members"]))
                # Who has left in order and is back beyond a cut knows of nothing that was said since.
                heard = not any(one.name in self.left for one in stage.up)
                # Who was away when it was said is told so when it is back, and may know better.
                away = frozenset(one.name for one in stage.machines if one not in stage.up)
                told = machine.name in self._away.setdefault(certificate, away)
                is_last_word = (final and heard) or (stage.untroubled() and not told)
                self.claims.append((stage.world.now, machine.name, is_last_word))
            self._said[machine.name] = certificate

    def look_for_overlooked(self, machine: Machine, signers: frozenset[str]) -> None:
        """Looks on the disks whether a final certificate speaks for all who ever knew anything: those who signed it,
        and those who had handed over what they knew.
        """
        stage = self._stage
        known: dict[Print, int] = {}
        for signer in (m for m in stage.machines if m.id in signers):
            for key, step in read_steps(signer.folder, stage.job).items():
                known[key] = max(step, known.get(key, -1))
        said = f"{machine.name} had a final certificate at {stage.world.now:.2f} s"
        for away in (m for m in stage.machines if m.id not in signers):
            more = sum(step > known.get(key, -1) for key, step in read_steps(away.folder, stage.job).items())
            if more:
                self.overlooked.append(f"{said}, and {away.name}, which was away, knew more of {more} URLs")
            elif away.name not in self.left | self.parted:
                self.overlooked.append(f"{said}, and {away.name} was away and had not left in order")

    def _taking_part(self) -> int:
        """Counts the masters that share out the buckets, as one of them says. Who is about to leave does not take
        part.
        """
        leads = [machine.lead for machine in self._stage.up if machine.lead is not None]
        return sum(not member.leaving for member in leads[0].node.members()) if leads else 0

    def _look_for_doubles(self) -> None:
        by_view: dict[int, list[tuple[Machine, frozenset[int]]]] = {}
        for machine in self._stage.up:
            view, served = machine.served()
            by_view.setdefault(view, []).append((machine, served))
        for those in by_view.values():
            self._look_for_tables([machine for machine, _ in those])
            every = tuple([served for _, served in those])
            if sum(map(len, every)) == len(together(every)):
                continue
            for (one, left), (other, right) in combinations(those, 2):
                if both := left & right:
                    text = f"{one.name} and {other.name} both serve {len(both)} buckets, such as {min(both)}"
                    self.doubles.append(f"at {self._stage.world.now:.2f} s {text}")

    def _look_for_tables(self, machines: list[Machine]) -> None:
        """Looks whether those that say that they act in one view share out the buckets among the same masters."""
        weights = [machine.lead.cluster.ownership.weights for machine in machines if machine.lead is not None]
        if any(each != weights[0] for each in weights[1:]):
            text = f"{', '.join(machine.name for machine in machines)} act in one view, and share out by several"
            self.doubles.append(f"at {self._stage.world.now:.2f} s {text}")

    def _look_at_the_table(self) -> None:
        """Notes the table that all agree on, if it is not what they agreed on before."""
        first = self._stage.up[0] if self._stage.up else None
        if first is None or first.lead is None or first.lead.cluster.ownership.view == self._view:
            return
        owners = [""] * BUCKETS
        for machine in self._stage.up:
            for bucket in machine.served()[1]:
                owners[bucket] = machine.id
        if all(owners):
            self._view = first.lead.cluster.ownership.view
            members = first.lead.node.members()
            # When all leave, nobody is left to take part but they.
            weights = {str(m.id): m.weight for m in [m for m in members if not m.leaving] or members}
            self.tables.append(Table(self._stage.world.now, weights, owners, first.lead.cluster.ownership.table))
