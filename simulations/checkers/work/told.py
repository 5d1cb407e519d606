"""Losses are told, by name, and nothing else is: what was settled and is out of reach, and who may bring it back.

Judged each time that masters have come to rest, by the disks and by who was there; what masters say is only compared.
Not where only the part with most of the masters goes on: who is missed there is decided by votes, and by no look.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from math import inf
from typing import Any

from p2pcrawl.core.control import FINISHED, INCOMPLETE

from ...observe.folders import print_of
from ...observe.losses import Said, Telling
from ...play.evidence import Evidence, listed
from ...play.reckoning import RENEWED_S

GRACE_S = 2.0
"""A certificate that was stored just before a loss is seen just after it."""


def check(evidence: Evidence) -> Iterator[str]:
    for telling in () if evidence.majority else evidence.tellings:
        for what in _wrong(telling, evidence):
            yield f"at {telling.reach.now_s:.2f} s {what}"


def _wrong(telling: Telling, evidence: Evidence) -> Iterator[str]:
    named = frozenset(bucket for said in telling.said.values() for bucket in said.named)
    gone = _names(telling.reach.gone, evidence)
    if telling.at_rest:
        yield from _wrong_buckets(telling, named, evidence)
    for name, said in sorted(telling.said.items()):
        if telling.at_rest and (missing := _names(said.missing, evidence)) != gone:
            yield f"{name} misses {missing}, which is {gone}"
        # Who was gone a moment after is seen with it when it is back.
        signed_s = evidence.certified.get(said.certificate, inf)
        for what in _wrong_end(telling, name, said, named, signed_s):
            yield f"{name} says that the job is {said.state}, {what}"
        if name in telling.answers:
            for what in _wrong_answers(telling, name, said, named):
                yield f"{name} answers {what}"


def _wrong_buckets(telling: Telling, named: frozenset[int], evidence: Evidence) -> Iterator[str]:
    """Yields what of the buckets is told that is not so, or is not told."""
    reach = telling.reach
    urls = {print_of(url): url for url in evidence.web.pages} if reach.lacking.keys() - named else {}
    if silent := sorted(reach.lacking.keys() - named):
        examples = listed([f"{urls.get(reach.lacking[bucket], '?')} of {bucket}" for bucket in silent])
        yield f"what was settled is out of reach in {len(silent)} buckets that nobody names: {examples}"
    if unnamed := sorted(reach.storeless - named):
        yield f"{len(unnamed)} buckets have no store that is there, and nobody names them: {_some(unnamed)}"
    if unharmed := sorted(named - reach.bereft):
        yield f"{len(unharmed)} buckets are named of which all is there: {_some(unharmed)}"


def _wrong_end(telling: Telling, name: str, said: Said, named: frozenset[int], signed_s: float) -> Iterator[str]:
    """Yields why a job should not be said to be over in this way. ``signed_s``: when what it was signed with was first
    on a disk.
    """
    certified_s = min(telling.certified_s.get(name, 0.0), signed_s)
    certificate = json.loads(said.certificate) if said.certificate else None
    if said.state == FINISHED:
        since_s = {bucket: telling.since_s[bucket] for bucket in telling.reach.lacking if bucket in telling.since_s}
        if late := sorted(bucket for bucket, at_s in since_s.items() if at_s + GRACE_S < certified_s):
            yield f"as it has since {certified_s:.2f} s, when settled facts of buckets {_some(late)} were out of reach"
        if named and telling.named_s + GRACE_S < certified_s:
            yield f"as it has since {certified_s:.2f} s, though buckets were named since {telling.named_s:.2f} s"
    if said.state == INCOMPLETE and certificate is None:
        yield "without a certificate"
    elif said.state == INCOMPLETE and certificate is not None and telling.rest_s >= RENEWED_S:
        wanted = {"incomplete": sorted(named), "missing": sorted(telling.reach.gone), "final": False}
        for what, right in wanted.items():
            if certificate[what] != right:
                yield f"and its certificate has {what} {_shown(certificate[what])}, which is {_shown(right)}"


def _wrong_answers(telling: Telling, name: str, said: Said, named: frozenset[int]) -> Iterator[str]:
    """Yields where the verbs do not say the same."""
    answer, status = telling.answers[name], telling.statuses.get(name)
    gone = sorted(telling.reach.gone)
    told: list[tuple[str, Any, Any]] = [
        ("that the job is", answer["state"], said.state),
        ("that not whole are", answer["not_whole"], sorted(named)),
        ("that away are", sorted(answer["away"]), gone),
    ]
    if status is not None:
        warnings = " ".join(status["warnings"])
        told += [
            ("in its status for the missing", sorted(status["missing"]), gone),
            ("in its status for the buckets that are not whole", status["copies"]["not_whole"], len(named)),
            ("in its status for whether it warns of buckets", "not whole" in warnings, bool(named)),
            ("in its status for whether it warns of masters", "missing" in warnings, bool(gone)),
        ]
    for what, saying, right in told:
        if saying != right:
            yield f"{what} {_shown(saying)}, which is {_shown(right)}"


def _names(ids: Collection[str], evidence: Evidence) -> list[str]:
    return sorted(evidence.names.get(id, id) for id in ids)


def _some(buckets: list[int]) -> str:
    return listed([str(bucket) for bucket in buckets])


def _shown(value: Any) -> str:
    return listed([str(each) for each in value]) or "nothing" if isinstance(value, list) else str(value)
