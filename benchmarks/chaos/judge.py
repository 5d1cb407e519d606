"""The laws of a round, each a function from the evidence to what breaks it.

None believes the masters: what was fetched and when is the site's word, what came of it stands in the outputs, what is
stored on the disks. What the job says of itself is only ever held against it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.chaos.evidence import Asked, Cut, Evidence

LATE_S = 1.0
"""So soon after it went on, a slave that had stood still may send what it was about to send."""
TOLD_MAX = 5
"""Of one law's violations, how many are told one by one."""


class Broken(NamedTuple):
    """A law and what breaks it."""

    law: str
    what: str


def verdict(evidence: Evidence) -> list[Broken]:
    """Judges a round; an empty list when nothing is amiss. Of one that broke off nothing is asked of its end."""
    found = []
    for law, breaches in LAWS.items():
        if law in AT_THE_END and not evidence.items:
            continue
        told = list(breaches(evidence))
        found += [Broken(law, what) for what in told[:TOLD_MAX]]
        if len(told) > TOLD_MAX:
            found.append(Broken(law, f"and {len(told) - TOLD_MAX} more"))
    return found


def is_complete(evidence: Evidence) -> bool:
    """Tells whether every page was fetched and has its item everywhere."""
    return not _unfetched(evidence) and all(not set(evidence.urls) - set(got) for got in evidence.items.values())


def coverage(evidence: Evidence) -> Iterator[str]:
    """Tells of pages that were never fetched; where too many disks were lost, only if the job says nothing of it."""
    if not (evidence.loses_more and _tells_of_loss(evidence)):
        for url in sorted(_unfetched(evidence)):
            yield f"{url} was never asked for"


def items(evidence: Evidence) -> Iterator[str]:
    """Tells of pages whose item is not in each output, once, and of items of no page."""
    for name, got in evidence.items.items():
        counted = Counter(got)
        for url in sorted(url for url, times in counted.items() if times > 1):
            yield f"{name} has {counted[url]} items of {url}"
        for url in sorted(set(counted) - set(evidence.urls)):
            yield f"{name} has an item of {url}, which is no page"
        if not (evidence.loses_more and _tells_of_loss(evidence)):
            for url in sorted(set(evidence.urls) - set(counted)):
                yield f"{name} has no item of {url}"


def politeness(evidence: Evidence) -> Iterator[str]:
    """Tells of requests to a host that came sooner than its delay after the end of the one before, over all machines.

    Two excuses, by what was done to the machines: the two sides of a cut network keep the delay each by itself until
    they agree again, unless only the greater part is to go on; and each slave that stood still may send one request
    when it goes on that it was about to send.
    """
    late = sorted(evidence.thawed_s)
    of_host: dict[str, list[Asked]] = defaultdict(list)
    for asked in sorted(evidence.asked, key=lambda each: each.begin_s):
        before = of_host[asked.host]
        for other in reversed(before[-8:]):
            gap_s = asked.begin_s - other.end_s if other.end_s is not None else -1.0
            if gap_s >= evidence.delay_s or _of_two_sides(evidence, other, asked):
                continue
            excuse = next((s for s in late if any(0 <= a.begin_s - s <= LATE_S for a in (other, asked))), None)
            if excuse is not None:
                late.remove(excuse)
                continue
            yield (
                f"{asked.host}{other.target} and {asked.target} are {gap_s:.3f} s apart, not {evidence.delay_s:g}, "
                f"at {asked.begin_s:.2f} by {asked.client}"
            )
        before.append(asked)


def refetches(evidence: Evidence) -> Iterator[str]:
    """Tells of more requests for pages again than strikes explain; each may cost a host what it had in hand."""
    again = sum(asked_again(evidence).values())
    most = evidence.hosts * evidence.strikes
    if again > most and not evidence.cuts and not evidence.lost_disks:
        yield f"{again} pages were asked for again, after {evidence.strikes} strikes"


def finish(evidence: Evidence) -> Iterator[str]:
    """Tells of a job that does not end as it must, and of what was fetched when it was over and final."""
    yield from evidence.overdue
    if not evidence.loses_more and not evidence.overdue:
        if (state := evidence.job.get("state")) != "finished":
            yield f"the job is {state}, though no more disks were lost than the cluster bears"
        elif not _certificate(evidence).get("final"):
            yield f"its certificate is not final: {_unsettled(evidence)}"
    for asked in evidence.asked:
        if asked.begin_s > evidence.final_s:
            yield f"{asked.host}{asked.target} was asked for {asked.begin_s - evidence.final_s:.1f} s after its end"


def told(evidence: Evidence) -> Iterator[str]:
    """Tells of a job that lacks pages or items and names neither buckets nor anybody who is missing."""
    if not is_complete(evidence) and not _tells_of_loss(evidence):
        state = evidence.job.get("state")
        yield f"pages or items are missing, and the job is {state} with no word of it: {_unsettled(evidence)}"


def disks(evidence: Evidence) -> Iterator[str]:
    """Tells of records that are not in one frontier in the end, and on as many disks as there are to be copies."""
    if evidence.records < 0 or (evidence.loses_more and _tells_of_loss(evidence)):
        return
    if evidence.records != len(evidence.urls) + 1:
        yield f"{evidence.records} records lie on the disks, of {len(evidence.urls)} pages and the start"
    if evidence.few:
        yield f"{evidence.few} records are on fewer disks than {evidence.copies}, as they are"
    if evidence.astray:
        yield f"{evidence.astray} records are in no frontier, or in several"


def logs(evidence: Evidence) -> Iterator[str]:
    """Tells of tracebacks in logs."""
    for name, lines in evidence.logs.items():
        for line in lines:
            yield f"{name}: {line}"


def ends(evidence: Evidence) -> Iterator[str]:
    """Tells of peers that ended untold, with a disk that works, and of those that did not leave in order when told."""
    for name, code, what in evidence.ends:
        yield f"{name}: {what}, exit code {code}"


def left_over(evidence: Evidence) -> Iterator[str]:
    """Tells of processes that run when all has ended, and of temporary files that nobody removes."""
    yield from evidence.left_over


LAWS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    law.__name__: law for law in (coverage, items, politeness, refetches, finish, told, disks, logs, ends, left_over)
}

AT_THE_END = {"coverage", "items", "told", "disks"}
"""What needs a round that was played to its end."""


def asked_again(evidence: Evidence) -> Counter[str]:
    """Counts the requests for each page that were not its first."""
    hits = _hits(evidence)
    return Counter({url: hits[url] - 1 for url in evidence.urls if hits[url] > 1})


def _hits(evidence: Evidence) -> Counter[str]:
    return Counter(f"http://{asked.host}:{evidence.port}{asked.target}" for asked in evidence.asked)


def _unfetched(evidence: Evidence) -> set[str]:
    return set(evidence.urls) - set(_hits(evidence))


def _certificate(evidence: Evidence) -> dict[str, object]:
    return evidence.job.get("certificate") or {}


def _tells_of_loss(evidence: Evidence) -> bool:
    """Tells whether the job says by name what may be missing."""
    names = bool(evidence.job.get("not_whole") or evidence.job.get("missing") or _certificate(evidence).get("missing"))
    return names and not _certificate(evidence).get("final")


def _unsettled(evidence: Evidence) -> str:
    certificate = _certificate(evidence)
    return (
        f"missing {certificate.get('missing', evidence.job.get('missing'))}, "
        f"{len(evidence.job.get('not_whole') or ())} buckets not whole"
    )


def _of_two_sides(evidence: Evidence, one: Asked, other: Asked) -> bool:
    return evidence.partition == "available" and any(_beyond(cut, one, other) for cut in evidence.cuts)


def _beyond(cut: Cut, one: Asked, other: Asked) -> bool:
    apart = (one.client in cut.island) != (other.client in cut.island)
    return apart and other.begin_s >= cut.at_s and one.begin_s <= cut.agreed_s


def port_of(start: str) -> int:
    """Returns the port of the site, from its first page."""
    return urlsplit(start).port or 80
