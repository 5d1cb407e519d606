"""The reasons why pages of a job are not among its results: what failed, what was dropped, and the links that slaves
did not follow, with counts and examples.

What failed and what was dropped is counted from records, over all masters. Of links that were not followed there are no
records: they are counted as they are met, which outlives masters as all accounts do; their examples are kept by the
master that was told, and lost with its disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from p2pcrawl.frontier.reading.inquiry import Inquiry
from p2pcrawl.frontier.reading.job_errors import statuses_of
from p2pcrawl.frontier.reading.left_out_links import left_out_of
from p2pcrawl.frontier.reading.outside_pages import some_outside
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.outcome import Filter
from p2pcrawl.model.reason_choice import Outside, ReasonChoice
from p2pcrawl.peer.figures.troubles import FailedKind, kinds_of, merged_kinds


class ReasonExample(TypedDict):
    """A page or a link. ``page``: the page that a link was on; ``of_host``: how many of its host ended for the same
    reason, 0 where nobody has counted that.
    """

    url: str
    host: str
    at: int
    status: int
    detail: str
    of_host: int
    page: str


class ReasonTold(TypedDict):
    """A reason, how many pages or links ended for it, of how many hosts (0: nobody has counted them)."""

    outcome: str
    reason: str
    count: int
    hosts: int
    statuses: dict[str, int]
    examples: list[ReasonExample]


class ReasonsAnswer(TypedDict):
    """The reasons of a job, or of all (``job`` is None), most first, and the masters that did not answer."""

    job: int | None
    name: str
    reasons: list[ReasonTold]
    missing: list[NodeId]


class ReasonExamples(TypedDict):
    """Examples of one reason, of whatever hosts: where few hosts have it, or one status is asked for."""

    outcome: str
    reason: str
    examples: list[ReasonExample]


class ReasonsHere(TypedDict):
    """The part that one master tells."""

    failed: list[FailedKind]
    dropped: list[FailedKind]
    more: list[ReasonExamples]
    statuses: dict[str, dict[str, int]]
    links: list[list[Any]]
    """Examples of links that were not followed: reason, URL, page, when."""


EXAMPLES: Final = 3


def reasons_here(folder: Path, job: int, examples: int, choice: ReasonChoice) -> ReasonsHere:
    """Looks into a data folder. Raises as every reading of one does."""
    statuses = statuses_of(folder, job)
    kinds = {phase: kinds_of(folder, job, examples, "", phase) for phase in (Phase.FAILED, Phase.DROPPED)}
    return ReasonsHere(
        failed=kinds[Phase.FAILED],
        dropped=kinds[Phase.DROPPED],
        more=_more(folder, job, examples, choice, kinds),
        statuses={reason: {str(status): n for status, n in counts.items()} for reason, counts in statuses.items()},
        links=[list(each) for each in left_out_of(folder, job)],
    )


def reasons_told(
    parts: Sequence[ReasonsHere],
    filtered: Mapping[str, int],
    examples: int,
    choice: ReasonChoice,
    *,
    hosts_apart: bool = True,
) -> list[ReasonTold]:
    """Adds up what masters tell, most first, with the links that were ``filtered``; of some reasons, where some are
    chosen.
    """
    found = []
    for outcome, kinds in (
        (Outside.FAILED, [part["failed"] for part in parts]),
        (Outside.DROPPED, [part["dropped"] for part in parts]),
    ):
        for kind in merged_kinds(kinds, examples, hosts_apart=hosts_apart):
            if choice.covers(kind["kind"], choice.status):
                told = _of_kind(outcome, kind, _statuses(parts, kind["kind"]))
                found.append(_filled(_of_status(told, choice.status), parts, examples))
    links = [link for part in parts for link in part["links"]]
    some = {reason: n for reason, n in filtered.items() if reason != Filter.SEEN and choice.covers(reason, 0)}
    return in_order([*found, *(_of_filter(reason, n, links, examples) for reason, n in some.items())])


def in_order(reasons: Iterable[ReasonTold]) -> list[ReasonTold]:
    """Returns those of which there are any, most first; what failed before what was dropped and what was not
    followed.
    """
    order = list(Outside)
    some = (each for each in reasons if each["count"])
    return sorted(some, key=lambda told: (order.index(Outside(told["outcome"])), -told["count"], told["reason"]))


def summed_reasons(jobs: Iterable[Sequence[ReasonTold]], examples: int) -> list[ReasonTold]:
    """Adds up the reasons of several jobs."""
    sums: dict[tuple[str, str], ReasonTold] = {}
    for told in (told for job in jobs for told in job):
        known = sums.get((told["outcome"], told["reason"]))
        if known is None:
            sums[told["outcome"], told["reason"]] = {**told}
            continue
        known["count"] += told["count"]
        known["hosts"] = max(known["hosts"], told["hosts"])
        known["examples"] = [*known["examples"], *told["examples"]][:examples]
        statuses = {*known["statuses"], *told["statuses"]}
        known["statuses"] = {s: known["statuses"].get(s, 0) + told["statuses"].get(s, 0) for s in sorted(statuses)}
    return in_order(sums.values())


def reasons_of_folder(folder: Path, called: str, choice: ReasonChoice, examples: int) -> ReasonsAnswer:
    """Answers for one data folder: of the job that is called so, or of all where that is "". Raises as every reading of
    one does.
    """
    with Inquiry(folder) as inquiry:
        jobs = inquiry.jobs_called(called)
    told = []
    for job in jobs:
        filtered = {name.partition(":")[2]: n for name, n in job.tallies.items() if name.startswith("filtered:")}
        told.append(reasons_told([reasons_here(folder, job.id, examples, choice)], filtered, examples, choice))
    one = jobs[0] if len(jobs) == 1 else None
    return ReasonsAnswer(
        job=one.id if one is not None else None,
        name=one.name if one is not None else "",
        reasons=summed_reasons(told, examples),
        missing=[],
    )


def _statuses(parts: Iterable[ReasonsHere], reason: str) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in parts:
        for status, count in part["statuses"].get(reason, {}).items():
            sums[status] = sums.get(status, 0) + count
    return dict(sorted(sums.items()))


def _of_kind(outcome: Outside, kind: FailedKind, statuses: dict[str, int]) -> ReasonTold:
    return ReasonTold(
        outcome=str(outcome),
        reason=kind["kind"],
        count=kind["count"],
        hosts=kind["hosts"],
        statuses=statuses,
        examples=[ReasonExample(**page, page="") for page in kind["examples"]],
    )


def _of_filter(reason: str, count: int, links: Iterable[Sequence[Any]], examples: int) -> ReasonTold:
    known: dict[str, ReasonExample] = {}
    for told, url, page, at in links:
        if told == reason and url not in known:
            known[url] = ReasonExample(url=url, host=host_of(url), at=at, status=0, detail="", of_host=0, page=page)
    return ReasonTold(
        outcome=str(Outside.FILTERED),
        reason=reason,
        count=count,
        hosts=0,
        statuses={},
        examples=list(known.values())[:examples],
    )


def _of_status(told: ReasonTold, status: int) -> ReasonTold:
    """Returns as much of a reason as had one status."""
    if not status:
        return told
    count = told["statuses"].get(str(status), 0)
    shown = [each for each in told["examples"] if each["status"] == status]
    return {**told, "count": count, "hosts": 0, "statuses": {str(status): count}, "examples": shown}


def _more(
    folder: Path, job: int, examples: int, choice: ReasonChoice, kinds: Mapping[Phase, Sequence[FailedKind]]
) -> list[ReasonExamples]:
    found = []
    for phase, kind in ((phase, kind) for phase, those in kinds.items() for kind in those):
        few = kind["hosts"] < examples and kind["count"] > kind["hosts"]
        if choice.covers(kind["kind"], choice.status) and (few or choice.status):
            wanted = ReasonChoice((kind["kind"],), choice.status)
            pages = [
                ReasonExample(
                    url=page.url,
                    host=host_of(page.url),
                    at=page.at,
                    status=page.status,
                    detail=page.detail,
                    of_host=0,
                    page=page.page,
                )
                for page in some_outside(folder, job, phase, wanted, examples)
            ]
            found.append(ReasonExamples(outcome=phase.name.lower(), reason=kind["kind"], examples=pages))
    return found


def _filled(told: ReasonTold, parts: Iterable[ReasonsHere], examples: int) -> ReasonTold:
    """Adds further pages of the same hosts, where there are too few examples of different ones."""
    known = {each["url"]: each for each in told["examples"]}
    for more in (more for part in parts for more in part["more"]):
        if (more["outcome"], more["reason"]) == (told["outcome"], told["reason"]):
            for each in more["examples"]:
                known.setdefault(each["url"], each)
    return {**told, "examples": list(known.values())[:examples]}
