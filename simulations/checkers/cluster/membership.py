"""Checks that who is gone is missed before long, and who is there is not held dead.

Seen from outside: when each master was up and awake, and whom each other counted as a member, twice a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import log10

from ...observe.incidents import LEAVE, PAUSE, Incident
from ...observe.sightings import Presence, Sighting
from ...play.evidence import Evidence

NOTICE_S = 60.0
"""The longest suspicion lasts 36 s; before it somebody has to ask whoever died, and after it all have to hear of it."""
SUSPICION_S = 36.0
DOUBT_S = 8.0
"""Whom hardly anybody answers, doubts itself, and asks no more than one in so many seconds."""
NEW_S = 15.0
"""Who has just begun has to be heard of, and hears of others, first."""
LOOK_S = 0.5
"""How often was looked."""
TROUBLE_S = 60.0
"""Who stood still or was cut off may be held dead for so long after that at most: news of it still goes round."""


def check(evidence: Evidence) -> Iterator[str]:
    ids = {name: member for member, name in evidence.names.items()}
    by_pair: dict[tuple[str, str], list[Sighting]] = {}
    for sighting in evidence.sightings:
        by_pair.setdefault((sighting.by, sighting.of), []).append(sighting)
    yield from _not_missed(evidence, ids, by_pair)
    yield from _held_dead(evidence, by_pair)


def _not_missed(
    evidence: Evidence, ids: dict[str, str], by_pair: dict[tuple[str, str], list[Sighting]]
) -> Iterator[str]:
    """Masters that were down or stood still for so long that all should have noticed."""
    for gone in evidence.presences:
        due_s = gone.ended_s + _bound_s(evidence, gone.ended_s)
        if any(other.name == gone.name and gone.ended_s <= other.began_s <= due_s for other in evidence.presences):
            continue
        # It may have been awake for so short a moment that nobody looked.
        if any(gone.ended_s <= awoke_s <= due_s for awoke_s in _awoke(evidence, gone.name)):
            continue
        for other in evidence.presences:
            if other.name == gone.name or not other.began_s < gone.ended_s < due_s <= other.ended_s:
                continue
            if due_s <= evidence.looked_s and _counts(by_pair.get((other.name, ids[gone.name]), []), due_s):
                yield f"{gone.name} went at {gone.ended_s:.2f} s, and {other.name} still counted it at {due_s:.2f} s"


def _awoke(evidence: Evidence, name: str) -> Iterator[float]:
    """Yields when a machine went on that had stood still. Who dies as it stands still does not."""
    befell = [incident for incident in evidence.incidents if name in incident.nodes]
    began_s = {incident.began_s for incident in befell}
    yield from (i.ended_s for i in befell if i.what == PAUSE and i.ended_s not in began_s)


def _bound_s(evidence: Evidence, gone_s: float) -> float:
    """Returns how long it may take all to miss who went at that moment.

    Where most are there, each asks one of the others a second, and all tell each other. Who is one of the few that are
    left asks everybody itself: two rounds at most lie between its last answer and the next question.
    """
    masters = len(evidence.names)
    bound_s = notice_s(masters, masters)
    there = {p.name for p in evidence.presences if p.began_s < gone_s and gone_s + bound_s <= p.ended_s}
    return notice_s(masters, len(there))


def notice_s(masters: int, there: int) -> float:
    """Returns how long it may take so many of the masters, which are there, to miss the others."""
    bound_s = NOTICE_S * max(1.0, log10(max(1, masters)))
    if 2 * there > masters:
        return bound_s
    return max(bound_s, SUSPICION_S + DOUBT_S * (2 * (masters - 2) + 1))


def _held_dead(evidence: Evidence, by_pair: dict[tuple[str, str], list[Sighting]]) -> Iterator[str]:
    """Masters that were up, awake and in touch, and were counted no more."""
    for (by, of), sightings in by_pair.items():
        name = evidence.names[of]
        for sighting, after in zip_longest(sightings, sightings[1:]):
            if sighting.seen:
                continue
            until_s = evidence.looked_s if after is None else after.now_s
            for now_s in _moments(evidence, {by, name}, sighting.now_s, until_s):
                there = all(_is_there(evidence.presences, each, now_s) for each in (by, name))
                if there and not _is_troubled(evidence, {by, name}, now_s):
                    yield f"{by} held {name} dead at {now_s:.2f} s, which was up and in touch"
                    break


def _moments(evidence: Evidence, names: set[str], from_s: float, until_s: float) -> list[float]:
    """Returns when to judge a stretch of time: as it begins, and each time that something is no excuse any more."""
    new = [p.began_s + NEW_S for p in evidence.presences if p.name in names]
    over = [_over_s(incident) + LOOK_S for incident in evidence.incidents if incident.nodes & names]
    over += [stall.ended_s + NEW_S + LOOK_S for stall in evidence.stalls if stall.nodes & names]
    return sorted({from_s, *(moment for moment in (*new, *over) if from_s < moment < until_s)})


def _counts(sightings: list[Sighting], now_s: float) -> bool:
    """Tells whether a member was counted when it was looked at last."""
    before = [sighting for sighting in sightings if sighting.now_s <= now_s]
    return bool(before) and before[-1].seen


def _is_there(presences: list[Presence], name: str, now_s: float) -> bool:
    return any(p.name == name and p.began_s <= now_s - NEW_S and now_s < p.ended_s for p in presences)


def _is_troubled(evidence: Evidence, names: set[str], now_s: float) -> bool:
    """Tells whether an incident of one of these machines explains what is seen, or that its disk held it up as it
    began.
    """
    began = [p for p in evidence.presences if p.name in names and p.began_s <= now_s < p.ended_s]
    if any(
        stall.is_of_disk(p.name)
        and p.began_s - LOOK_S <= stall.began_s <= p.began_s + NEW_S
        and now_s <= stall.ended_s + NEW_S
        for p in began
        for stall in evidence.stalls
    ):
        return True
    return any(i.began_s <= now_s <= _over_s(i) and i.nodes & names for i in evidence.incidents)


def _over_s(incident: Incident) -> float:
    """Returns until when an incident explains that somebody is held dead. One that did not last does not: both are up,
    and have been for a while. Who has left is seen to be gone at the next look.
    """
    if incident.what == LEAVE:
        return incident.ended_s + LOOK_S
    return incident.ended_s + (TROUBLE_S if incident.ended_s > incident.began_s else 0.0)
