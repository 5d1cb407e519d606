"""What disks say of a page is held against what the web served, value by value."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from simulations.checkers.work import contents
from simulations.observe.contents import PACKED, Content, lines_of
from simulations.observe.folders import DONE, FAILED, print_of
from simulations.play.evidence import Asked, Evidence, SinkFound
from simulations.play.spiders import item_of
from simulations.world.web import Kind
from tests.simulations.judging.test_checkers import flawless

EVIDENCE = flawless()
WEB = EVIDENCE.web
CHILD = next(url for url in WEB.pages[WEB.start].links if WEB.pages[url].kind is Kind.PLAIN)
OTHER = next(url for url, page in WEB.pages.items() if page.kind is Kind.PLAIN and url not in (WEB.start, CHILD))
STRANGER = next(url for url, page in WEB.pages.items() if page.kind is Kind.PLAIN and CHILD not in page.links)


def item(url: str, of: str = "") -> bytes:
    return json.dumps(item_of(url, WEB.body(of or url))).encode()


START = Content(False, print_of(WEB.start), WEB.start, DONE, 200, len(WEB.body(WEB.start)), 0, True, "", 0, 1,
                (item(WEB.start),))  # fmt: skip
PAGE = Content(True, print_of(CHILD), CHILD, DONE, 200, len(WEB.body(CHILD)), 1, False, WEB.start, 0, 1, (item(CHILD),))

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "fingerprint": ({"key": print_of(OTHER)}, "under another's fingerprint"),
    "status": ({"status": 203, "size": 0}, "with a status that the web never gave"),
    "no status": ({"status": 0, "size": 0}, "with a status that the web never gave"),
    "size": ({"size": PAGE.size + 1}, "with another size than the page has"),
    "parent": ({"referer": STRANGER, "depth": 5}, "that a page led to which does not"),
    "depth": ({"depth": 0}, "nearer to the start than there is a way"),
    "entry": ({"seed": True}, "with which the job is said to begin"),
    "visit": ({"visit": 1}, "with more visits than there were"),
    "number": ({"number": 2}, "with another number of items than they have"),
    "no items": ({"number": 0, "items": ()}, "with another number of items than they have"),
    "another's items": ({"items": (item(OTHER),)}, "with items that are not what their pages said"),
    "another's text": ({"items": (item(CHILD, OTHER),)}, "with items that are not what their pages said"),
}


def told(*rows: Content) -> list[str]:
    evidence: Evidence = replace(flawless(), one_each=True)
    assert isinstance(evidence.held, dict)
    evidence.held["m1"] = rows
    return list(contents.check(evidence))


def test_what_the_web_has_served_is_as_it_should_be() -> None:
    assert told(START, PAGE, PAGE._replace(is_copy=False), PAGE._replace(referer="", depth=4)) == []
    assert told(PAGE._replace(phase=FAILED, status=0, size=0, number=0, items=())) == []


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_value_that_is_another_is_told(change: dict[str, Any], said: str) -> None:
    found = told(START, PAGE._replace(**change))

    assert len(found) == 1
    assert found[0].startswith(f"m1 has 1 copies {said}: ")


def test_page_that_a_person_put_into_the_job_is_as_near_as_a_start_whether_that_was_answered_or_not() -> None:
    evidence: Evidence = replace(flawless(), one_each=True)
    evidence.held["m1"] = [START, PAGE._replace(depth=0, seed=True, referer="")]  # type: ignore[index]
    before = list(contents.check(evidence))

    evidence.asked.append(Asked(200.0, 201.0, "m0", "inject", {"job": 1, "urls": [CHILD]}, None, "it is gone"))

    assert len(before) == 2
    assert list(contents.check(evidence)) == []


@pytest.mark.parametrize("where", ["results", "sink", "answer"])
def test_item_of_another_page_is_told_wherever_it_is_given_out(where: str) -> None:
    evidence, wrong = flawless(), item(CHILD, OTHER)
    if where == "results":
        evidence.results.append(json.loads(wrong))
    elif where == "sink":
        evidence.sinks["db"] = SinkFound(evidence.items, set(), 0, 0, lines=(item(OTHER), wrong))
    else:
        evidence.asked.append(Asked(200.0, 201.0, "m0", "results", {"job": 1}, [json.loads(wrong)], ""))

    found = list(contents.check(evidence))

    assert len(found) == 1
    assert f"have 1 items that are not what their pages said: {CHILD}" in found[0]


@pytest.mark.parametrize("packs", [False, True])
def test_items_are_read_as_they_were_written(*, packs: bool) -> None:
    lines = [item(CHILD), item(OTHER)]
    data = b"\n".join(lines)

    assert lines_of(PACKED + zlib.compress(data) if packs else data) == lines
    assert lines_of(b"") == []
