"""Checks that what masters state of a job in the end is true: the certificate that all have signed, and what they
answer.

Held against the disks, the results, and what the web saw; the masters' counters are not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...observe.folders import DONE, PHASES
from ...observe.incidents import LEAVE
from ...play.evidence import Evidence
from ...play.spiders import LATEST, LONGEST, SEEN, SHORTEST, SIZES_COUNTED
from ...world.web import Kind

COUNTED_S = 2.0
"""What was counted so long before a death outlives it: masters tell each other once a second,"""
CRAMPED_S = 8.0
"""and what goes into one message otherwise goes into several, one after the other, where limits are small."""
DEATHS = frozenset({"crash", "power loss", LEAVE})


def check(evidence: Evidence) -> Iterator[str]:
    yield from _exaggerated(evidence)
    if not evidence.ended:
        return
    yield from _forgotten(evidence)
    truth = _truth(evidence)
    ids = {name: member for member, name in evidence.names.items()}
    left = _left(evidence) | evidence.forgotten
    for name, answer in sorted(evidence.answers.items()):
        yield from _wrong(f"{name} says of the job", answer, truth, evidence)
        yield from _wrong_statistics(name, answer, evidence)
        if evidence.settings.get(SIZES_COUNTED) and not evidence.label:
            yield from _wrong_sizes(name, answer, evidence)
        open_ = {what: answer[what] for what in ("missing", "not_whole", "moving") if answer[what]}
        if open_ and not evidence.destroyed:
            yield f"{name} says of the job that {open_} while nothing is"
        certificate = answer["certificate"]
        if certificate is None:
            yield f"{name} has no certificate of the job's end"
            continue
        yield from _wrong(f"the certificate at {name} says", certificate["counts"], truth, evidence)
        gone = sorted(ids[each] for each in ids if each not in evidence.folders and each not in left)
        # Who had left in order, and came back when all was over, has signed nothing and is not missing.
        copies = min(evidence.options.replicas, len(certificate["members"]))
        expected = {
            "missing": gone, "incomplete": [], "final": not gone, "conserved": True,
            "copies": {"asked": evidence.options.replicas, "kept": copies},
        }  # fmt: skip
        if evidence.destroyed:
            # What is told of that is judged by another checker.
            del expected["missing"], expected["incomplete"], expected["final"]
        for what, wanted in expected.items():
            if certificate[what] != wanted:
                yield f"the certificate at {name} says {what} {certificate[what]}, which is {wanted}"
        strangers = set(certificate["members"]) & set(gone) or set(certificate["members"]) - set(ids.values())
        if strangers:
            yield f"the certificate at {name} is of {len(strangers)} members that are not there"


def _exaggerated(evidence: Evidence) -> Iterator[str]:
    """Yields the answers whose sums are greater than what there is to be counted, unless they say that they may be."""
    for now_s, name, answer, known in evidence.told:
        if answer.get("settled", True) and answer["discovered"] > known:
            yield (
                f"{name} says at {now_s:.2f} s that the job is {answer['state']}, with {answer['discovered']} URLs "
                f"discovered, when there were {known} on all disks together"
            )


def _forgotten(evidence: Evidence) -> Iterator[str]:
    """Yields the answers that leave out what a master that is gone had counted, and had time to tell others."""
    if not _deaths_one_by_one(evidence):
        return
    # Who keeps it for others may be held up while it is told.
    held_up_s = sum(stall.ended_s - stall.began_s for stall in evidence.stalls)
    in_time_s = held_up_s + (CRAMPED_S if evidence.limits else COUNTED_S)
    least = evidence.ledgers.least(in_time_s, evidence.folders)
    deaths = [(node, incident.began_s) for incident in evidence.incidents for node in incident.nodes]
    of_slices = evidence.ledgers.least_of_slices(in_time_s, deaths)
    for name, answer in sorted(evidence.answers.items()):
        if answer["fetches"] < least:
            yield f"{name} says of the job fetches {answer['fetches']}, and masters had counted {least} in good time"
        told = answer["statistics"]["total"]["fetches"]
        if told < of_slices:
            yield f"{name} says in its statistics fetches {told}, and masters had counted {of_slices} in good time"


def _deaths_one_by_one(evidence: Evidence) -> bool:
    """Tells whether nothing but deaths befell the masters, of fewer than there are copies at once, and each when
    those that were left after the one before had agreed on who they are, and could tell each other what they keep.
    """
    incidents = sorted(evidence.incidents, key=lambda incident: incident.began_s)
    return all(i.what in DEATHS and len(i.nodes) < evidence.options.replicas for i in incidents) and all(
        one.agreed_s + COUNTED_S < other.began_s for one, other in pairwise(incidents)
    )


def _left(evidence: Evidence) -> frozenset[str]:
    """Returns who left in order and never came back. They handed over all that they had, and are not missed."""
    leaves = [i for i in evidence.incidents if i.what == LEAVE and i.heirs and not i.open]
    left_s = {name: incident.ended_s for incident in leaves for name in incident.nodes}
    last_s = {presence.name: presence.began_s for presence in evidence.presences}
    return frozenset(name for name in left_s if last_s.get(name, 0.0) < left_s[name])


def _truth(evidence: Evidence) -> dict[str, int]:
    """Counts what a certificate should count, from the disks, the results and the web."""
    records = evidence.phases()
    by_phase = Counter(PHASES[record.phase] for record in records.values())
    done = {url for url, record in records.items() if record.phase == DONE}
    answered = {visit.url for visit in evidence.pages if visit.answered and visit.url in done}
    redirects = {url for url in answered & evidence.web.pages.keys() if evidence.web.pages[url].kind is Kind.REDIRECT}
    return {
        "discovered": len(records),
        **{phase: by_phase[phase] for phase in PHASES},
        "leased": 0,
        "items": evidence.items.total(),
        "pages": len(answered - redirects),
    }


def _wrong_statistics(name: str, answer: dict[str, Any], evidence: Evidence) -> Iterator[str]:
    """Yields what is wrong with the statistics that a master tells: they count work, and none of it twice."""
    statistics, calm = answer["statistics"], not evidence.incidents
    fetches, made = statistics["total"]["fetches"], len(evidence.pages)
    if fetches > made or (calm and fetches != made):
        yield f"{name} says in its statistics fetches {fetches}, and the web saw {made}"
    pages, of_hosts = statistics["total"]["pages"], sum(row["pages"] for row in statistics["rows"])
    if calm and pages != of_hosts:
        yield f"{name} says in its statistics {pages} pages by day, and {of_hosts} by host"


def _wrong_sizes(name: str, answer: dict[str, Any], evidence: Evidence) -> Iterator[str]:
    """Yields what is wrong with the sizes that spiders have noted: what died before it was reported is in nobody's."""
    web = evidence.web
    seen = {len(web.body(visit.url)) for visit in evidence.pages if visit.status == 200 and visit.url in web.pages}
    if not seen or not any(record.phase == DONE for record in evidence.phases().values()):
        return
    wanted = ("stats_max", LONGEST, {max(seen)}), ("stats_min", SHORTEST, {min(seen)}), ("stats_last", LATEST, seen)
    for group, what, right in wanted:
        told = answer[group].get(what)
        if told not in (seen if evidence.incidents else right) and not (told is None and evidence.incidents):
            yield f"{name} says of the job {what} {told}, and of the pages that the web gave it is {max(right)}"


def _wrong(who: str, told: dict[str, Any], truth: dict[str, int], evidence: Evidence) -> Iterator[str]:
    wrong = [f"{what} {told[what]} instead of {count}" for what, count in truth.items() if told[what] != count]
    if wrong:
        yield f"{who} {', '.join(wrong)}"
    # What was done twice may be counted twice; and what was never reported is in nobody's count.
    calm, redirects = not evidence.incidents, [visit for visit in evidence.pages if 300 <= visit.status < 400]
    for what, made in ("fetches", len(evidence.pages)), ("redirects", len(redirects)):
        if told[what] > made or (told[what] < made and calm):
            yield f"{who} {what} {told[what]}, and the web saw {made}"
    # What the spider counted came with the ends of its pages: none of it twice, and all of it where nobody died.
    seen, ran = told["stats"].get(SEEN, 0), len([visit for visit in evidence.pages if visit.status == 200])
    if seen > ran or (calm and seen < truth["pages"]) or (calm and seen > truth["pages"] and not evidence.begun_anew()):
        yield f"{who} its spider saw {seen} pages, and the web gave {ran}, of which {truth['pages']} are through"
