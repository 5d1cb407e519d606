"""Each checker finds what it is there to find, and nothing in a run without fault."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf

import pytest

from simulations.checkers import CHECKERS, Evidence, violations
from simulations.folders import DONE, DROPPED, FAILED, PHASES, QUEUED, Folder, Record, print_of
from simulations.incidents import Incident
from simulations.options import Options
from simulations.web import Kind, Page, Visit, Web, WebPlan

_PHASE = {Kind.FORBIDDEN: DROPPED, Kind.MISSING: FAILED, Kind.FAILING: FAILED}


def visit(url: str, began_s: float, node: str = "m0", status: int = 200, **more: object) -> Visit:
    return replace(Visit(url, url.split("/")[2], node, 1, began_s, began_s + 0.1, status, ""), **more)  # type: ignore[arg-type]


def count(folder: Folder) -> None:
    """Lets a master's counters fit its records."""
    folder.tally = Counter(PHASES[record.phase] for record in folder.records.values())
    folder.tally["discovered"] = len(folder.records)
    folder.tally["items"] = sum(record.items for record in folder.records.values())


def flawless() -> Evidence:
    """What one master leaves that did all as it should."""
    web = Web(3, WebPlan(pages=60, hosts=1, flaky=0.0, dead_hosts=0.0))
    folder, items, clock = Folder(), Counter[str](), 0.0
    status = {Kind.REDIRECT: 302, Kind.MISSING: 404, Kind.FAILING: 500}
    for url, page in web.pages.items():
        phase = _PHASE.get(page.kind, DONE)
        has_item = phase == DONE and page.kind is not Kind.REDIRECT
        folder.records[print_of(url)] = Record(url, phase, "", 1, 0, int(has_item))
        if has_item:
            items[url] = 1
        if phase != DROPPED:
            clock += 2.0
            web.visits.append(visit(url, clock, status=status.get(page.kind, 200)))
    count(folder)
    claims = [(clock + 1.0, "m0", True)]
    return Evidence(Options(), web, {"m0": folder}, items, [], claims, [], [], {"m0": "finished"})


def a_page(evidence: Evidence) -> Page:
    """The last plain one."""
    return [page for page in evidence.web.pages.values() if page.kind is Kind.PLAIN][-1]


LAST = print_of(a_page(flawless()).url)


def lose_a_page(evidence: Evidence) -> None:
    folder = evidence.folders["m0"]
    del folder.records[print_of(a_page(evidence).url)]
    del evidence.items[a_page(evidence).url]
    count(folder)


def leave_one_queued(evidence: Evidence) -> None:
    folder, url = evidence.folders["m0"], a_page(evidence).url
    folder.records[print_of(url)] = Record(url, QUEUED, "", 1, 0, 0)
    del evidence.items[url]
    count(folder)


def give_up_a_good_page(evidence: Evidence) -> None:
    folder, url = evidence.folders["m0"], a_page(evidence).url
    folder.records[print_of(url)] = Record(url, FAILED, "http-5xx", 1, 0, 0)
    del evidence.items[url]
    count(folder)


def claim_what_was_not_fetched(evidence: Evidence) -> None:
    url = a_page(evidence).url
    evidence.web.visits[:] = [each for each in evidence.web.visits if each.url != url]


def lose_an_item(evidence: Evidence) -> None:
    del evidence.items[a_page(evidence).url]


def double_an_item(evidence: Evidence) -> None:
    evidence.items[a_page(evidence).url] += 1


def fetch_twice(evidence: Evidence) -> None:
    evidence.web.visits.append(visit(a_page(evidence).url, 0.5))


def hurry(evidence: Evidence) -> None:
    late = evidence.web.visits[-1]
    evidence.web.visits[-1] = replace(late, began_s=late.began_s - 1.5)


def ignore_retry_after(evidence: Evidence) -> None:
    evidence.web.visits[-3].retry_after_s = 60.0


def miscount(evidence: Evidence) -> None:
    evidence.folders["m0"].tally["done"] += 1


def keep_a_page_twice(evidence: Evidence) -> None:
    key, record = next(iter(evidence.folders["m0"].records.items()))
    evidence.folders["m1"] = Folder({key: replace(record, items=0)})
    count(evidence.folders["m1"])


def go_on_after_the_end(evidence: Evidence) -> None:
    evidence.claims.insert(0, (evidence.web.visits[-1].began_s - 0.5, "m0", True))


def serve_one_bucket_twice(evidence: Evidence) -> None:
    evidence.doubles.append("m0 and m1 both serve bucket 7")


def raise_what_nobody_catches(evidence: Evidence) -> None:
    evidence.complaints.append("KeyError")


FAULTS = {
    lose_a_page: "coverage",
    leave_one_queued: "coverage",
    give_up_a_good_page: "coverage",
    claim_what_was_not_fetched: "coverage",
    lose_an_item: "items",
    double_an_item: "items",
    fetch_twice: "fetches",
    hurry: "politeness",
    ignore_retry_after: "politeness",
    miscount: "conservation",
    keep_a_page_twice: "conservation",
    go_on_after_the_end: "finish",
    serve_one_bucket_twice: "ownership",
    raise_what_nobody_catches: "quiet",
}


def test_a_flawless_run_has_no_violations() -> None:
    assert violations(flawless()) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_is_found_by_its_checker_alone(fault) -> None:
    evidence = flawless()

    fault(evidence)

    assert {violation.checker for violation in violations(evidence)} == {FAULTS[fault]}


def test_every_checker_has_a_fault_that_it_finds() -> None:
    assert set(FAULTS.values()) == set(CHECKERS)


@pytest.mark.parametrize("states", [{}, {"m0": "incomplete"}, {"m0": "finished", "m1": "running"}])
def test_a_job_that_is_not_finished_everywhere_is_a_violation(states: dict[str, str]) -> None:
    evidence = replace(flawless(), states=states)

    assert {violation.checker for violation in violations(evidence)} == {"finish"}


@pytest.mark.parametrize(
    ("incident", "excuses"),
    [
        (Incident("crash", frozenset({"m0"}), 1.0, 1.0, frozenset()), True),
        (Incident("crash", frozenset({"m1"}), 1.0, 1.0, frozenset()), False),
        (Incident("crash", frozenset({"m1"}), 1.0, 1.0, frozenset(), alone=frozenset({LAST})), True),
        (Incident("partition", frozenset({"m1"}), 0.0, inf, frozenset(), everywhere=True), True),
    ],
)
def test_a_second_fetch_is_excused_by_what_happened_to_the_one_that_fetched_first(
    incident: Incident, excuses: bool
) -> None:
    evidence = flawless()
    fetch_twice(evidence)
    evidence.incidents.append(incident)

    assert (violations(evidence) == []) is excuses


def test_a_second_fetch_is_not_excused_when_others_knew_that_the_page_was_through() -> None:
    evidence = flawless()
    fetch_twice(evidence)
    through = frozenset({print_of(a_page(evidence).url)})
    evidence.incidents.append(Incident("crash", frozenset({"m0"}), 1.0, 1.0, through))

    assert {violation.checker for violation in violations(evidence)} == {"fetches"}
