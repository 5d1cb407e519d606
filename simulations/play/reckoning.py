"""The reckoning with losses: holds what masters say is out of reach beside what is, each time that they have come to
rest.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

from p2pcrawl.core.control import FINISHED, INCOMPLETE
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.errors import P2PCrawlError

from ..kernel.life import NodeDown
from ..observe.folders import Print, print_of, read_steps
from ..observe.keepers import has_excess
from ..observe.losses import REST_S, Losses, Reach, Said, Telling
from .evidence import NotSettled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..world.machines import Machine
    from ..world.web import Web
    from .stage import Stage

LOOK_S = 0.5
PATIENCE_S = 600.0
RENEWED_S = 80.0
"""So soon what has changed is signed anew. Where more than half of the masters were away, copies are not made anew for
a minute, and nothing is said to be over before."""


def buckets_of(web: Web, key: str) -> dict[Print, int]:
    """Returns the bucket of each page, of a job that shards by this key."""
    keys = Keys()
    return {print_of(url): keys.bucket(ShardKey(key), url, fingerprint(url)) for url in web.pages}


class Reckoning:
    """Looks at a stage, and keeps what was told of losses."""

    def __init__(self, stage: Stage) -> None:
        self.losses = Losses(buckets_of(stage.web, stage.options.key))
        self._buckets: dict[str, Mapping[Print, int]] = {stage.options.key: self.losses.buckets}
        """By what jobs shard by."""
        self.tellings: list[Telling] = []
        self._stage = stage
        self._said: dict[str, Said] = {}
        """The words of all, as they are since ``_since_s``."""
        self._since_s = inf
        self._named_s = inf
        """Since when anybody names a bucket."""
        self._certified: dict[str, tuple[bytes, float]] = {}
        """The certificate that each has, and when it was first seen there."""
        self._up: frozenset[str] = frozenset()
        """Who was there at the last look."""

    def look(self, *, agreed: bool) -> None:
        """Takes in how things are at this moment. ``agreed``: all that are up act in one view."""
        stage = self._stage
        if self._up != (up := frozenset(machine.name for machine in stage.up)):
            # Who is back for a moment has brought everything back, and takes it away again later.
            self._up = up
            self.look_for_losses()
        self._look_at_tables()
        keepers = self.losses.keepers
        there = self._there()
        is_known = not agreed or keepers.at_rest or keepers.is_copied(there)
        if not is_known and all(_has_copies(m) and not _has_excess(m) for m in stage.up):
            keepers.copied(stage.world.now, there)
        ends = self._look_for_ends()
        said = self._words() if agreed and stage.ended else {}
        names = any(m.lead is not None and m.lead.cluster.ownership.broken() for m in stage.up)
        self._named_s = min(self._named_s, stage.world.now) if names else inf
        if said != self._said:
            self._said, self._since_s = said, stage.world.now
            if ends and self._is_harmed():
                self.tellings.append(self._telling())
        elif said and self._takes_down():
            self.tellings.append(self._telling())

    @property
    def rest_s(self) -> float:
        """For how long all have said the same."""
        return self._stage.world.now - self._since_s if self._said else 0.0

    def settle(self) -> None:
        """Takes in what may be lost from now on: by which table each acts, however short a time ago it came to that,
        and what is firm, if all act in one view.
        """
        stage = self._stage
        self._look_at_tables()
        if stage.job and stage.up and stage.agreed():
            table = stage.up[0].lead.cluster.ownership.table if stage.up[0].lead is not None else ()
            if len(table):
                self.losses.settle(self._disks(), table, stage.options.replicas)

    def look_for_losses(self) -> None:
        """Reads from the disks since when something is out of reach."""
        if not self._is_harmed():
            self.losses.since_s.clear()
        elif self._stage.job:
            self._reach()

    async def hear(self, patience_s: float = PATIENCE_S) -> None:
        """Waits until all that are up have come to rest with nothing left to do, and asks them what is out of reach.
        Raises NotSettled.
        """
        began_s = self._stage.world.now
        # Whoever has just begun has said nothing yet.
        await asyncio.sleep(LOOK_S)
        while not (self.rest_s >= REST_S and self._stage.agreed() and (self._is_current() or self.rest_s >= RENEWED_S)):
            if self._stage.world.now > began_s + patience_s:
                raise NotSettled(f"nothing was at rest for {REST_S:g} s within {patience_s:g} s: {self._unrest()}")
            await asyncio.sleep(LOOK_S)
        await self.inquire()

    async def inquire(self) -> None:
        """Asks all how the job and the cluster stand, as a person would. What changes meanwhile is not taken down."""
        stage, before = self._stage, self._words()
        answers: dict[str, dict[str, Any]] = {}
        statuses: dict[str, dict[str, Any]] = {}
        for machine in stage.up:
            with suppress(P2PCrawlError, NodeDown):
                answers[machine.name] = await machine.ask("job", {"job": stage.job})
                statuses[machine.name] = await machine.ask("status", {})
        if self._words() == before == self._said and stage.agreed():
            telling = self._telling()._replace(answers=answers, statuses=statuses)
            self.tellings.append(telling)
            if self._is_harmed() or "heard" in stage.figures:
                stage.figures.setdefault("heard", []).append(_shown(telling))

    def buckets(self, job: int) -> Mapping[Print, int]:
        """Returns the bucket of each page of a job."""
        key = next((other.key for other in self._stage.others.values() if other.number == job), self._stage.options.key)
        if key not in self._buckets:
            self._buckets[key] = buckets_of(self._stage.web, key)
        return self._buckets[key]

    def destroyed(self) -> frozenset[int]:
        """Returns the buckets of which all disks that had something of some time are gone for good."""
        return self.losses.keepers.bereft({m.id for m in self._stage.staying} | self._left())

    def _takes_down(self) -> bool:
        """Tells whether what all say is to be taken down now: when they have come to rest, and once more when what is
        signed has been signed anew, if it ever is.
        """
        last_s = self.tellings[-1].reach.now_s if self.tellings else 0.0
        return any(self.rest_s >= due_s and last_s < self._since_s + due_s for due_s in (REST_S, RENEWED_S))

    def _is_current(self) -> bool:
        """Tells whether whoever says that the job is incomplete has signed for what."""
        named = sorted({bucket for said in self._said.values() for bucket in said.named})
        signed = [json.loads(s.certificate or b"{}") for s in self._said.values() if s.state == INCOMPLETE]
        return all(each.get("incomplete") == named for each in signed)

    def _unrest(self) -> str:
        words = (f"{name}: {said.state}, {len(said.named)} buckets" for name, said in sorted(self._words().items()))
        return "; ".join(words)

    # -- inside -------------------------------------------------------------------------------

    def _look_at_tables(self) -> None:
        leads = {m.id: m.lead for m in self._stage.up if m.lead is not None}
        tables = {id: lead.cluster.ownership.table for id, lead in leads.items() if len(lead.cluster.ownership.table)}
        self.losses.keepers.look(self._stage.world.now, tables, self._there())

    def _look_for_ends(self) -> bool:
        """Takes down who has another certificate than before. Tells whether anybody says with it that the job is
        finished.
        """
        found = False
        for machine in self._stage.up:
            certificate = self._stage.certificate(machine)
            if certificate != self._certified.get(machine.name, (b"", 0.0))[0]:
                self._certified[machine.name] = certificate, self._stage.world.now
                found = found or self._stage.state(machine) == FINISHED
        return found

    def _is_harmed(self) -> bool:
        return len(self._stage.up) < len(self._stage.machines) or any(s.lost for s in self.losses.keepers.spells)

    def _reach(self) -> Reach:
        stage = self._stage
        gone = {m.id for m in stage.machines if m not in stage.up and m.name not in stage.observer.left}
        return self.losses.reach(stage.world.now, self._disks(), self._there(), gone)

    def _telling(self) -> Telling:
        reach = self._reach()
        certified_s = {name: at_s for name, (certificate, at_s) in self._certified.items() if certificate}
        since_s = dict(self.losses.since_s)
        return Telling(reach, dict(self._words()), since_s, self.rest_s, self._named_s, certified_s)

    def _words(self) -> dict[str, Said]:
        return {machine.name: self._word(machine) for machine in self._stage.up if machine.lead is not None}

    def _word(self, machine: Machine) -> Said:
        stage, lead = self._stage, machine.lead
        assert lead is not None
        missing = tuple(sorted(member.id for member in lead.node.membership.missing()))
        named = tuple(lead.cluster.ownership.broken())
        return Said(stage.state(machine), named, missing, stage.certificate(machine))

    def _disks(self) -> Mapping[str, Mapping[Print, int]]:
        return {m.id: read_steps(m.folder, self._stage.job) for m in self._stage.up}

    def _there(self) -> set[str]:
        return {m.id for m in self._stage.up} | self._left()

    def _left(self) -> set[str]:
        """Returns who left in order: it has handed over what it had."""
        stage = self._stage
        return {m.id for m in stage.machines if m.name in stage.observer.left and m.name not in stage.forgotten}


def _shown(telling: Telling) -> dict[str, Any]:
    """Tells in short what was said."""
    states = sorted({said.state for said in telling.said.values()})
    named = {bucket for said in telling.said.values() for bucket in said.named}
    missing = sorted({id[:8] for said in telling.said.values() for id in said.missing})
    return {
        "at_s": round(telling.reach.now_s, 3), "state": "/".join(states), "buckets": len(named), "missing": missing,
    }  # fmt: skip


def _has_copies(machine: Machine) -> bool:
    """Tells whether a master serves all that is its own, and all who are to have copies of it have them."""
    if machine.lead is None or machine.node.disk_full:
        return False
    cluster = machine.lead.cluster
    return not (cluster.ownership.syncing or cluster.copying.lacking())


def _has_excess(machine: Machine) -> bool:
    """Tells whether a master has not heard yet that it need not hold what it held."""
    assert machine.lead is not None
    ownership = machine.lead.cluster.ownership
    return has_excess(machine.id, ownership.table, ownership.counters, ownership.lacks)
