"""An eyewitness: what the harness itself knows of the machines, for a model to excuse by. No master is asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..kernel.moments import ASKED, TOLD, Moment
from ..model.endings import AWAY_S, COUNTED_S
from ..model.permissions import FENCE_S, SESSION_S
from ..model.stores import Key
from ..observe.folders import print_of
from ..observe.incidents import FULL_DISK, IO_ERROR, LEAVE, PAUSE
from ..record.board_values import board_value
from ..world.damages import FLIP, LOSE, TEAR
from ..world.slaves import SlaveMachine, honest
from ..world.web import DELAY_S

if TYPE_CHECKING:
    from ..observe.sightings import Presence
    from .stage import Stage

HEARD_S: Final = 1.0
"""So long before a master leaves, and since then, nothing is in the way of its word."""
MET_S: Final = 30.0
"""So long after its start a master that had left is known to all again."""
LATELY_S: Final = 2.0
"""What waited for a call to the disk that took long is done so soon after that."""
BEGUN_S: Final = 1.0
"""Who is seen for the first time has begun so long before at most."""
ROUNDING_S: Final = 0.02
REOPENED_S: Final = 60.0
"""So long somebody's call may let a job go on."""


class Eyewitness:
    """Tells what was done to the machines of a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._names: dict[tuple[int, int], str] = {}
        self._deleted: set[int] = set()
        self._reopened_s = -REOPENED_S
        self._dismissed: set[str] = set()
        self._by_name = {machine.name: machine for machine in stage.machines}
        self._nodes = {machine.name: machine for machine in (*stage.machines, *stage.slaves)}
        self._by_id = {machine.id: machine for machine in stage.machines}
        self._owned: dict[str, tuple[object, frozenset[int]]] = {}
        """The buckets of each master by the table that it had when somebody last asked."""
        self._named_in = lru_cache(4096)(lambda ids: tuple(self._by_id[id].name for id in ids))
        stage.world.moments.record(self._delete, [("verb delete", ASKED)])
        stage.world.moments.record(self._dismiss, [("verb forget", ASKED)])
        for phase in ASKED, TOLD:
            stage.world.moments.record(self._reopen, [("verb inject", phase), ("verb retry", phase)])

    @property
    def now_s(self) -> float:
        return self._stage.world.now

    @property
    def known(self) -> int:
        """The masters that all know of: those that live, and those that may come back."""
        stage, since_s = self._stage, self.now_s - MET_S
        unknown = set(stage.forgotten)
        for incident in stage.incidents:
            if incident.what == LEAVE:
                unknown |= incident.nodes
        back = {name for deed in stage.deeds if deed.do == "start" and deed.at_s < since_s for name in deed.who}
        left_s = {name: i.began_s for i in stage.incidents if i.what == LEAVE for name in i.nodes}
        started_s = {name: deed.at_s for deed in stage.deeds if deed.do == "start" for name in deed.who}
        met = {name for name in back if left_s.get(name, 0.0) < started_s[name] < since_s}
        return sum(machine.name not in unknown - met for machine in stage.machines)

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""
        stage = self._stage
        away = {name for incident in stage.incidents if incident.ended_s >= since_s for name in incident.nodes}
        for deed in reversed(stage.deeds):
            if deed.at_s < since_s:
                break
            away.update(deed.who)
        up = {machine.name for machine in stage.up}
        return frozenset(machine.name for machine in stage.machines if machine.name in away or machine.name not in up)

    def cut_s(self, since_s: float) -> float:
        """Returns when the first of the cuts began that lasted till then or longer; that moment, if none did."""
        cuts = (i.began_s for i in self._stage.incidents if i.everywhere and i.ended_s >= since_s)
        return min(cuts, default=since_s)

    def present(self) -> frozenset[str]:
        """Returns the masters that all others count: those that are there, and those that went a moment ago."""
        stage, since_s, until_s = self._stage, self.now_s - AWAY_S, self.now_s - COUNTED_S
        past = [i for i in stage.incidents if i.began_s < until_s and i.ended_s >= since_s]
        away = {name for incident in past for name in incident.nodes}
        for deed in reversed(stage.deeds):
            if deed.at_s < since_s:
                break
            if deed.at_s < until_s or deed.do in ("start", "thaw", "join"):
                away.update(deed.who)
        up = {machine.name for machine in stage.up}
        lately = {name for deed in stage.deeds if deed.at_s >= until_s for name in deed.who}
        there = {machine.name for machine in stage.machines if machine.name in up | lately}
        return frozenset(there - away)

    def injecting(self) -> bool:
        """Tells whether somebody has put URLs into a job, or has let its failed pages run again, a while ago."""
        return self.now_s < self._reopened_s + REOPENED_S

    def named(self, ids: Iterable[str]) -> frozenset[str]:
        """Returns the masters of these ids."""
        wanted = set(ids)
        return frozenset(machine.name for machine in self._stage.machines if machine.id in wanted)

    def departed(self) -> frozenset[str]:
        """Returns the masters that have left in order while nothing was amiss: all have heard of it."""
        stage = self._stage
        up = {machine.name for machine in stage.machines if machine.node.up}
        gone: set[str] = set()
        for i in (i for i in stage.incidents if i.what == LEAVE and i.ended_s < self.now_s - HEARD_S):
            amiss = any(o.ended_s > i.began_s - HEARD_S for o in stage.incidents if o.what != LEAVE)
            gone |= set() if amiss else i.nodes & stage.observer.left - up
        return frozenset(gone)

    def parts(self, master: str) -> None:
        """Takes in that a master says good-bye, as its word goes out: whoever hears it counts on it no more."""
        self._stage.observer.parted.add(master)

    def counted(self, member: str) -> frozenset[str]:
        """Returns whom a member, named by its id, counts at this moment, itself among them."""
        return self._by_id[member].members()

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""
        lead = next((machine.lead for machine in self._stage.machines if machine.name == master), None)
        return 0 if lead is None else lead.cluster.ownership.view

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""
        lead = self._by_name[master].lead
        table = () if lead is None else lead.cluster.ownership.table
        return self._named_in(table[bucket]) if table else ()

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""
        ids = self._by_name[master].members()
        return frozenset(machine.name for machine in self._stage.machines if machine.id in ids) - {master}

    def others(self, master: str) -> frozenset[str]:
        """Returns the names of the other masters that take part in the view in which one acts at this moment."""
        lead = self._by_name[master].lead
        return frozenset() if lead is None else self.named(lead.cluster.ownership.weights) - {master}

    def follows(self, owner: str, other: str, bucket: int) -> bool:
        """Tells whether, in the view of its owner, another one is sent what is acknowledged in a bucket: it is to hold
        it, or leaves where too few are left to hold it.
        """
        lead = self._by_name[owner].lead
        if lead is None or not lead.cluster.ownership.table:
            return False
        holders, node = lead.cluster.ownership.table[bucket], self._by_name[other].id
        if node in holders or len(holders) >= self._stage.options.replicas:
            return node in holders[1:]
        return any(member.id == node and member.leaving for member in lead.node.members())

    def owns(self, master: str, bucket: int) -> bool:
        """Tells whether a bucket is a master's own in its view."""
        lead = self._by_name[master].lead
        return lead is not None and bool(lead.cluster.ownership.table) and lead.cluster.ownership.owner(bucket) is None

    def owned(self, master: str) -> frozenset[int]:
        """Returns the buckets that are a master's own in its view."""
        lead, node = self._by_name[master].lead, self._by_name[master].id
        table = () if lead is None else lead.cluster.ownership.table
        known, owned = self._owned.get(master, (None, frozenset()))
        if known is not table:
            owned = frozenset([bucket for bucket, row in enumerate(table) if row[0] == node])
            self._owned[master] = table, owned
        return owned

    def keeps(self, node: str, bucket: int) -> bool:
        """Tells whether a master need not drop what it has of a bucket: by its view it holds or owns it, or has
        something of it that its owner has not taken.
        """
        machine = self._by_name[node]
        lead = machine.lead
        if lead is None or not lead.cluster.ownership.table:
            return True
        ownership = lead.cluster.ownership
        return machine.id in ownership.table[bucket] or bucket in ownership.left_over

    def in_service(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket at this moment."""
        lead = self._by_name[master].lead
        return self.serves(master, bucket) and lead is not None and not lead.cluster.ownership.paused

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more."""
        lead = self._by_name[master].lead
        return lead is not None and lead.cluster.ownership.in_service(bucket)

    def may_not_grant(self, master: str) -> bool:
        """Tells whether a master has no consent of most at this moment, and knows it."""
        lead = self._by_name[master].lead
        consent = None if lead is None else lead.cluster.ownership.consent
        return consent is not None and not consent()

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""
        return any(deed.do in (FLIP, TEAR, LOSE) for deed in self._stage.deeds)

    def life(self, node: str) -> int:
        """Returns which life a master, or a machine that runs slaves, is in; 0 if it is down, or none of these."""
        life = self._nodes[node].node.life if node in self._nodes else None
        return 0 if life is None else life.number

    def clock(self, node: str) -> float:
        """Returns how many seconds a node's clock counts in one of the world's."""
        return self._nodes[node].node.clock.rate if node in self._nodes else 1.0

    def session_s(self, slave: str) -> float:
        """Returns how long a slave's session lasts at most after its last beat that was answered."""
        clock, now_s = self._nodes[slave].node.clock, self.now_s
        return FENCE_S + ROUNDING_S if clock.rate == 1.0 and clock.local(now_s) == now_s else SESSION_S

    def lies(self, slave: str) -> bool:
        """Tells whether a slave says what it should not."""
        machine = self._nodes.get(slave)
        return isinstance(machine, SlaveMachine) and machine.make_slave is not honest

    def awake(self) -> frozenset[str]:
        """Returns the masters that are there, with their folders and ports open."""
        return frozenset(machine.name for machine in self._stage.up if machine.lead is not None)

    def standing(self) -> Hashable:
        """Returns what is as it was for as long as nothing is done to anybody; None while something is in the way."""
        stage, healing = self._stage, self._stage.observer.healing
        return healing.standing(stage) if stage.in_one_view() and not healing.is_troubled(stage) else None

    def states(self, master: str) -> Mapping[int, str]:
        """Returns the states of the jobs that a master knows."""
        lead = self._by_name[master].lead
        return {} if lead is None else {number: job.state for number, job in lead.master.jobs.items()}

    def setting(self, master: str, job: int, name: str) -> Any:
        """Returns a setting of a job that a master knows."""
        lead = self._by_name[master].lead
        return None if lead is None else getattr(lead.master.jobs[job].settings, name.lower())

    def board(self, master: str, job: int, name: str) -> str:
        """Returns the value of a board of a job that a master knows; "" where it knows none of this name."""
        lead = self._by_name[master].lead
        board = None if lead is None else lead.master.jobs[job].spec.boards.get(name)
        return "" if board is None else board_value(board.text, board.closed)

    def order(self, master: str, host: str) -> tuple[float | None, bool]:
        """Returns what a master knows that people have said of a host: its delay, and whether it rests."""
        lead = self._by_name[master].lead
        order = None if lead is None else lead.cluster.orders.of(host)
        return (None, False) if order is None else (order.delay_s, order.paused)

    def spaces(self, job: int, host: str) -> bool:
        """Tells whether a job keeps a distance at a host: by its settings, or for the host or a person wants it so."""
        stage = self._stage
        there = stage.web.hosts.get(host)
        if there is None or there.delay_s or any(change.host == host for change in stage.changes):
            return True
        # No other job is told how to ask hosts, nor is that of the run where nothing is said of it.
        usual = stage.job not in (0, job) or stage.options.delay_s == DELAY_S
        return not there.private if usual else stage.options.delay_s > 0.0

    def wanted_s(self, host: str) -> float:
        """Returns the delay that a host asks for, whoever asks it; 0 where none is."""
        there = self._stage.web.hosts.get(host)
        return 0.0 if there is None else there.delay_s

    def delay_s(self, host: str) -> float:
        """Returns a delay that a host has whatever job asks it; 0 where none is sure."""
        stage = self._stage
        there = stage.web.hosts.get(host)
        if there is None or there.private or any(change.host == host for change in stage.changes):
            return 0.0
        return min(stage.options.delay_s, DELAY_S)

    def asks_hosts(self, job: int) -> bool:
        """Tells whether a job asks hosts for its pages: where answers are kept, any other than the run's own reads
        these.
        """
        return self._stage.job in (0, job) or not any(machine.keeps_raw_pages for machine in self._stage.machines)

    def stood_still_s(self, member: str) -> float:
        """Returns for how long a member stood still until this moment; 0 if it did not."""
        name, now_s = self.called(member), self.now_s
        still = (i for i in self._stage.incidents if i.what == PAUSE and name in i.nodes and i.ended_s >= now_s)
        return max((now_s - incident.began_s for incident in still), default=0.0)

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        """Returns from when until when a member stood still between two moments."""
        name = self.called(member)
        still = (i for i in self._stage.incidents if i.what == PAUSE and name in i.nodes)
        spans = ((max(from_s, i.began_s), min(until_s, i.ended_s)) for i in still)
        return [(began_s, ended_s) for began_s, ended_s in spans if began_s < ended_s]

    def dismissed(self, member: str) -> bool:
        """Tells whether a person has said that a member will not come back."""
        # A person may name it by the beginning of its id.
        return member.startswith(tuple(self._dismissed))

    def called(self, member: str) -> str:
        """Returns the name of the machine with this id."""
        machine = self._by_id.get(member)
        return member[:8] if machine is None else machine.name

    def alone(self, master: str, from_s: float, until_s: float) -> bool:
        """Tells whether a master was the only one for a while, or beyond a cut, at any time between two moments: nobody
        is told then what it takes.
        """
        stage = self._stage
        if any(i.everywhere and i.began_s <= until_s and i.ended_s >= from_s for i in stage.incidents):
            return True
        others = [p for p in stage.observer.sightings.presences if p.name != master]
        gone_s = {id(presence): self._goes_s(presence) for presence in others}
        ends = [end for end in gone_s.values() if from_s <= end <= until_s]
        return any(all(self._joins_s(p) > end or gone_s[id(p)] <= end for p in others) for end in ends)

    def _goes_s(self, presence: Presence) -> float:
        """Returns when a master is there no more: one that gives up for its disk has told all, though its process is
        ended with the disk's trouble.
        """
        ended_s = presence.ended_s
        troubles = (
            i.began_s
            for i in self._stage.incidents
            if i.what in (FULL_DISK, IO_ERROR) and presence.name in i.nodes and ended_s <= i.ended_s + BEGUN_S
        )
        return min((began_s for began_s in troubles if presence.began_s <= began_s <= ended_s), default=ended_s)

    def _joins_s(self, presence: Presence) -> float:
        """Returns when one that begins may have met others: not before its disk lets it."""
        began_s = presence.began_s
        held_up = (s for s in self._stage.stalls if s.is_of_disk(presence.name))
        return max([began_s, *(s.ended_s for s in held_up if began_s - BEGUN_S <= s.began_s <= began_s)])

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything befell a node in a time, so that it could not hang up."""
        return any(
            node in incident.nodes and incident.began_s <= until_s and incident.ended_s >= from_s
            for incident in self._stage.incidents
            if incident.what != LEAVE
        )

    def struck(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything that befell a node began or ended in a time, or it stood still."""
        return self.stood_still(node, from_s, until_s) or any(
            node in incident.nodes and (from_s <= incident.began_s <= until_s or from_s <= incident.ended_s <= until_s)
            for incident in self._stage.incidents
            if incident.what != LEAVE
        )

    def in_trouble(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything was in a machine's own way in a time: it stood still, or its disk did not do."""
        return any(
            node in incident.nodes and incident.began_s <= until_s and incident.ended_s >= from_s
            for incident in self._stage.incidents
            if incident.what != LEAVE and not incident.everywhere
        )

    def is_brought(self, master: str) -> bool:
        """Tells whether a master was told, as it began, where others may be."""
        return bool(self._by_name[master].rejoin)

    def disk_s(self, node: str) -> float:
        """Returns how long an access to a node's disk takes at this moment, what was held up lately included."""
        there, since_s = self._by_name[node].node, self.now_s - LATELY_S
        held_s = sum(s.ended_s - s.began_s for s in self._stage.stalls if s.is_of_disk(node) and s.ended_s >= since_s)
        hesitated_s = 0.0 if there.hesitation is None else there.hesitation.lately_s(since_s)
        return there.executor_delay_s + held_s + hesitated_s

    def held_up_s(self, from_s: float, until_s: float) -> float:
        """Returns for how long any disk, or any message, was held up between two moments."""
        held_s, at_s = 0.0, from_s
        for stall in sorted(self._stage.stalls):
            held_s += max(0.0, min(stall.ended_s, until_s) - max(stall.began_s, at_s))
            at_s = max(at_s, stall.ended_s)
        return held_s

    def stood_still(self, node: str, from_s: float, until_s: float, least_s: float = 0.0) -> bool:
        """Tells whether a machine stood still, for so long, at any time between two moments."""
        return any(
            incident.what == PAUSE and node in incident.nodes
            and incident.began_s <= until_s and incident.ended_s >= from_s
            and min(incident.ended_s, self.now_s) - incident.began_s >= least_s
            for incident in self._stage.incidents
        )  # fmt: skip

    def stalled(self, member: str, from_s: float, until_s: float, least_s: float) -> bool:
        """Tells whether a member stood still for so long at a time between two moments."""
        return self.stood_still(self.called(member), from_s, until_s, least_s)

    @property
    def lonely(self) -> bool:
        """True if one master at most was there at some time since all copies were last whole."""
        return self._stage.lonely

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""
        return master in self._stage.behind

    def unsynced(self, master: str) -> bool:
        """Tells whether a loss of power at this moment could take away what has been committed on a disk."""
        return self._by_name[master].disk.cache.has_unsynced

    def is_safe(self, master: str, file: str) -> bool:
        """Tells whether a file on a disk outlives a loss of power at this moment. Raises FileNotFoundError."""
        disk = self._by_name[master].disk
        return disk.cache.is_safe(disk.folder / file)

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""
        return job in self._deleted

    def closes_early(self, job: int) -> bool:
        """Tells whether something closes a job before its queue is empty, by what was submitted."""
        others = [other for other in self._stage.others.values() if other.closed_by]
        for machine in self._stage.up:
            for other in others:
                # Who was not answered learns its number from whoever has taken it.
                other.state(machine)
        return any(other.number == job for other in others)

    def destroyed(self, key: Key) -> bool:
        """Tells whether all disks are gone that had something of a fact's bucket at some time."""
        reckoning = self._stage.observer.reckoning
        return reckoning.buckets(key[2]).get(key[:2]) in reckoning.destroyed()

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""
        if not self._names:
            self._names = {print_of(url): url for url in self._stage.web.pages}
        return self._names.get(key[:2], "a start")

    def _reopen(self, moment: Moment) -> None:
        self._reopened_s = moment.at

    def _dismiss(self, moment: Moment) -> None:
        self._dismissed.add(str(moment.what["peer"]))

    def _delete(self, moment: Moment) -> None:
        self._deleted.add(int(moment.what["job"]))
