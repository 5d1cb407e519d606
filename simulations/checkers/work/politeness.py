"""A host is asked by one at a time, its delay counted from the end of the last answer, over all masters; and as people
say while it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import NamedTuple

from p2pcrawl.model.timings import TIMINGS

from ...observe.incidents import PAUSE, Incident
from ...play.evidence import Evidence, HostChange
from ...world.liars import FAREWELL
from ...world.web import Host, Visit

TELLING_S = 2.0
"""A master that lives for so long after an answer has told the others what the host asks for."""
IN_HAND_S = TIMINGS.loan_term_s + 1.0
"""What was granted or lent of a host without a delay is not called back when one of its answers asks for patience.
Its owner may lend it till it hears of that, which takes what is open there, and the way."""
ON_ITS_WAY_S = 1.0
"""What a slave begins so soon after it said that it has stopped may have been granted before that was heard."""
COPIED_S = 20.0
"""What one knew that has died is with as many as before by then, as long as others have it."""
OBEYED_S = 1.0
"""So soon after a call was answered what a person said of a host is obeyed by all that are there and in touch."""
PENALTY_MAX_S = 60.0
"""Answers of 429 and 503 in a row that do not say for how long double the delay, from a second up to this."""
REFUSED = (429, 503)
AT_ONCE = 8
"""A host without a delay is asked by so many requests at once at most, over all masters and jobs (docs/settings.md)."""
TOLERANCE = 0.97
"""Clocks differ by 2 %, and a timer of asyncio may fire a moment early."""


def check(evidence: Evidence) -> Iterator[str]:
    by_host: dict[str, list[Visit]] = {}
    for visit in evidence.web.visits:
        by_host.setdefault(visit.host, []).append(visit)
    # Beyond a partition somebody else holds itself the owner; until both act in one view each keeps its own pace.
    split = [(i.began_s, i.agreed_s) for i in evidence.incidents if i.everywhere and not evidence.majority]
    for host, visits in by_host.items():
        said = [_Said.of(change, evidence.incidents) for change in evidence.changes if change.host == host]
        patience = _Patience.of(evidence.web.hosts.get(host), evidence.options.delay_s, said)
        yield from _crowded(visits, split, evidence.incidents)
        for visit in sorted(visits, key=lambda v: v.began_s):
            if not any(began_s <= visit.began_s <= agreed_s for began_s, agreed_s in split):
                yield from patience.broken_by(visit, partial(_is_within_reach, visit, evidence))
                yield from patience.refused_in_vain(visit, evidence.incidents)
            patience.spaced_at = max(patience.spaced_at, _end(visit, evidence.incidents))
            if visit.failure != "cut" and not _died_with(visit, evidence):
                patience.learn(visit)


def _crowded(visits: Sequence[Visit], split: Sequence[tuple[float, float]], incidents: list[Incident]) -> Iterator[str]:
    """Yields the first visit of a host that begins while as many as may be are open already."""
    ends: list[float] = []
    for visit in sorted(visits, key=lambda v: v.began_s):
        ends = [end_s for end_s in ends if end_s > visit.began_s]
        if len(ends) >= AT_ONCE and not any(began_s <= visit.began_s <= agreed_s for began_s, agreed_s in split):
            yield f"{_told(visit)} while {len(ends)} requests to that host were open, of {AT_ONCE} that may be"
            return
        ends.append(_end(visit, incidents))


class _Said(NamedTuple):
    """The word of a person on a host, and what kept masters from hearing of it when it was said."""

    change: HostChange
    unheard: tuple[Incident, ...] = ()

    @classmethod
    def of(cls, change: HostChange, incidents: Sequence[Incident]) -> _Said:
        """Returns it with what went on when it was answered: beyond a cut, or asleep, one hears of it afterwards."""
        met = (i for i in incidents if i.began_s <= change.answered_s and i.ended_s >= change.began_s)
        return cls(change, tuple(i for i in met if i.everywhere or i.what == PAUSE))

    def must_be_obeyed(self, visit: Visit) -> bool:
        """Tells whether the master for which a request was made must have heard of it."""
        deaf = (i for i in self.unheard if i.everywhere or visit.master in i.nodes)
        heard_s = max((i.agreed_s if i.everywhere else i.ended_s for i in deaf), default=0.0)
        return max(self.change.answered_s, heard_s) + OBEYED_S <= visit.began_s


@dataclass(slots=True)
class _Patience:
    """The wishes of one host, as far as masters have to know them."""

    usual_s: float
    """Between two of its pages, whatever it asks for."""
    wanted_s: float
    """The Crawl-delay in its robots.txt."""
    grace_s: float
    """How long what was granted before goes on when it asks for patience."""
    told: list[Visit] = field(default_factory=list)
    """The times that its robots.txt was read."""
    free_at: float = 0.0
    """Until when it asked to be left alone, ``asked_at`` that moment."""
    asked_at: float = 0.0
    spaced_at: float = 0.0
    """When the last answer ended."""
    changes: Sequence[_Said] = ()
    """What people said of it."""
    refusals: list[Visit] = field(default_factory=list)
    """Its last answers, all to one master, as far as they were 429 or 503 in a row."""

    @classmethod
    def of(cls, host: Host | None, usual_s: float, changes: Sequence[_Said] = ()) -> _Patience:
        """Returns the patience that a host is due; links may lead to hosts that there are not."""
        if host is not None and host.private:
            # A private host that a start URL names is the user's own, and asked for many pages at a time.
            return cls(0.0, host.delay_s, IN_HAND_S, changes=changes)
        wanted_s = host.delay_s if host is not None else 0.0
        return cls(usual_s, wanted_s, 0.0 if usual_s else IN_HAND_S, changes=changes)

    def broken_by(self, visit: Visit, knows: Callable[[Visit], bool]) -> Iterator[str]:
        """Yields what is wrong with a visit that begins now. ``knows``: whether it was made for one that can know what
        was told in another one.
        """
        if self.asked_at + self.grace_s <= visit.began_s < self.free_at:
            yield f"{_told(visit)} though the host had asked to be left alone until {self.free_at:.2f} s"
        told = self.wanted_s > 0.0 and any(
            visit.began_s > each.ended_s + self.grace_s and knows(each) for each in self.told
        )
        usual_s, paused = self._said(visit)
        if paused:
            yield f"{_told(visit)} though a person had it paused"
        delay_s = max(usual_s, self.wanted_s) if told else usual_s
        due = self.spaced_at + delay_s * TOLERANCE
        if self.spaced_at and delay_s and visit.began_s < due:
            early = f"{due - visit.began_s:.2f} s too early"
            yield f"{_told(visit)} {early}: the last answer ended at {self.spaced_at:.2f} s"

    def refused_in_vain(self, visit: Visit, incidents: Sequence[Incident]) -> Iterator[str]:
        """Yields what is wrong with a visit by one that was refused again and again, and to which nothing happened."""
        if len(self.refusals) < 2 or self.changes or visit.master != self.refusals[-1].master:
            return
        since_s, ended_s = self.refusals[0].began_s, self.refusals[-1].ended_s
        met = (i for i in incidents if i.began_s <= visit.began_s and i.ended_s >= since_s)
        if visit.began_s < ended_s + self.grace_s or any(i.everywhere or visit.master in i.nodes for i in met):
            return
        due = ended_s + min(PENALTY_MAX_S, 2.0 ** (len(self.refusals) - 1)) * TOLERANCE
        if visit.began_s < due:
            yield f"{_told(visit)} {due - visit.began_s:.2f} s too early: it was refused {len(self.refusals)} times"

    def _said(self, visit: Visit) -> tuple[float, bool]:
        """Returns the least delay that any of what people said asks for that may be in force, and whether all of that
        has it paused.
        """
        said: list[tuple[float | None, bool]] = [(None, False)]
        for each in self.changes:
            if each.must_be_obeyed(visit):
                said = []
            if each.change.began_s <= visit.began_s:
                said.append((each.change.delay_s, each.change.paused))
        delays = [self.usual_s if delay_s is None else delay_s for delay_s, _ in said]
        return min(delays), all(paused for _, paused in said)

    def learn(self, visit: Visit) -> None:
        """Takes in what the answer to a visit asks for."""
        if visit.status not in REFUSED or (self.refusals and self.refusals[-1].master != visit.master):
            self.refusals = []
        if visit.status in REFUSED and not visit.is_robots and not visit.retry_after_s:
            self.refusals = [*self.refusals, visit]
        if visit.retry_after_s:
            self.asked_at = visit.ended_s
            self.free_at = max(self.free_at, visit.ended_s + visit.retry_after_s * TOLERANCE)
        if visit.is_robots and visit.status == 200:
            self.told.append(visit)


def _end(visit: Visit, incidents: list[Incident]) -> float:
    """Returns when a visit ended for whoever owns the host. A process that stands still cannot hang up, and nobody can
    for it; a slave that lies of having stopped is believed.
    """
    slack_s = {PAUSE: 0.0, FAREWELL: ON_ITS_WAY_S}
    ends = ((i.began_s, slack_s[i.what]) for i in incidents if i.what in slack_s and visit.node in i.nodes)
    return min([visit.ended_s, *(at_s for at_s, slack in ends if at_s > visit.began_s - slack)])


def _died_with(visit: Visit, evidence: Evidence) -> bool:
    """Tells whether what this answer asked for may have been lost with the one that it was told to."""
    return any(
        incident.hit(visit)
        and visit.ended_s - TELLING_S <= incident.began_s
        and (incident.began_s <= visit.ended_s + TELLING_S or _was_alone(visit, incident, evidence))
        for incident in evidence.incidents
    )


def _is_within_reach(visit: Visit, evidence: Evidence, told: Visit) -> bool:
    """Tells whether one that has a request made can know what was told in another one: not where the master that heard
    that is away, and went with as many others as keep it.
    """
    up = [presence for presence in evidence.presences if presence.began_s <= visit.began_s]
    last_s = {name: max(each.ended_s for each in up if each.name == name) for name in {each.name for each in up}}
    went_s = last_s.get(told.master, inf)
    with_it = [
        name for name, ended_s in last_s.items() if ended_s <= visit.began_s and abs(ended_s - went_s) <= COPIED_S
    ]
    return went_s > visit.began_s or len(with_it) < evidence.options.replicas


def _was_alone(visit: Visit, incident: Incident, evidence: Evidence) -> bool:
    """Tells whether no other master was up and awake from this answer on until that happened: nobody could be told."""
    known = {visit.node, visit.master}
    others = (p for p in evidence.presences if p.name not in known)
    return not any(p.began_s <= incident.began_s and visit.ended_s < p.ended_s for p in others)


def _told(visit: Visit) -> str:
    return f"{visit.node} asked for {visit.url} at {visit.began_s:.2f} s"
