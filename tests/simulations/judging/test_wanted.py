"""What becomes of boards that people change, and of stored pages, is judged from outside: nothing of a run that is as
it should be is told, and each thing that is amiss is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from simulations.checkers.wanted import boards, reextraction
from simulations.observe.folders import DONE, DROPPED, FAILED, QUEUED, Record
from simulations.play.evidence import Evidence
from simulations.play.options import Options
from simulations.play.spiders import reread
from simulations.play.wanted import BOARDS, BoardListed, BoardsKept, BoardWord, Rereading, entry_of
from simulations.world.web import Kind, Visit, Web, WebPlan

PLAIN = WebPlan(pages=12, hosts=2, flaky=0.0, redirect=0.0, missing=0.0, failing=0.0, forbidden=0.0, dead_hosts=0.0)
ONE, OTHER = Web(1, PLAIN).hosts


def evidence_of(web: Web, **more: object) -> Evidence:
    known = {"claims": [], "doubles": [], "complaints": [], "states": {}}
    return replace(Evidence(Options(), web, {}, items={}, incidents=[], **known), **more)  # type: ignore[arg-type]


# -- boards -----------------------------------------------------------------------------------


def board_run() -> tuple[Web, BoardsKept]:
    """Makes a job of two boards: the first was changed at 50 s, and the other one was taken away at 20 s."""
    web = Web(1, PLAIN)
    words = [
        BoardWord("b0", ONE, frozenset({1}), 0.0, 1.0),
        BoardWord("b1", OTHER, frozenset({2}), 0.0, 1.0),
        BoardWord("b1", OTHER, frozenset(), 20.0, 30.0),
        BoardWord("b0", ONE, frozenset({3}), 50.0, 60.0),
    ]
    entry = entry_of(ONE, "b0", 3)
    lists = {who: {"b0": BoardListed("in force", (f"http://{ONE}/", entry)), "b1": BoardListed("removed", ())}
             for who in ("m0", "m1")}  # fmt: skip
    records = {entry: Record(entry, DONE, "", 1, 0, 0)}
    items = []
    for place, page in enumerate(web.hosts[ONE].pages):
        began_s = 10.0 * place
        web.visits.append(Visit(page.url, ONE, "m0", 1, began_s, began_s + 0.1, 200, "", job=BOARDS))
        records[page.url] = Record(page.url, DONE, "", 1, 0, 1)
        if place:
            items.append({"url": page.url, "title": page.url, "board": "b0", "edition": 1 if began_s < 55.0 else 3})
    gone = web.hosts[OTHER].pages[1].url
    records[gone] = Record(gone, DROPPED, "board-gone", 0, 0, 0)
    return web, BoardsKept(words, lists, {"m0": "finished", "m1": "finished"}, records, items)


def told_of(web: Web, kept: BoardsKept) -> list[str]:
    return list(boards.check(evidence_of(web, boards=[kept])))


def ask_for_what_is_gone(web: Web, kept: BoardsKept) -> BoardsKept:
    url = web.hosts[OTHER].pages[1].url
    web.visits.append(Visit(url, OTHER, "m1", 1, 40.0, 40.1, 200, "", job=BOARDS))
    return kept


def keep_a_queue(web: Web, kept: BoardsKept) -> BoardsKept:
    url = web.hosts[OTHER].pages[1].url
    return kept._replace(records={**kept.records, url: Record(url, QUEUED, "", 0, 0, 0)})


def leave_out_a_page(web: Web, kept: BoardsKept) -> BoardsKept:
    gone = web.hosts[ONE].pages[-1].url
    return kept._replace(records={url: record for url, record in kept.records.items() if url != gone})


def lose_an_item(web: Web, kept: BoardsKept) -> BoardsKept:
    return kept._replace(items=kept.items[1:])


def double_an_item(web: Web, kept: BoardsKept) -> BoardsKept:
    return kept._replace(items=[*kept.items, kept.items[0]])


def read_by_the_old_text(web: Web, kept: BoardsKept) -> BoardsKept:
    return kept._replace(items=[*kept.items[:-1], {**kept.items[-1], "edition": 1}])


def read_by_a_text_to_come(web: Web, kept: BoardsKept) -> BoardsKept:
    return kept._replace(items=[{**kept.items[0], "edition": 3}, *kept.items[1:]])


def leave_out_an_entry(web: Web, kept: BoardsKept) -> BoardsKept:
    entry = entry_of(ONE, "b0", 3)
    return kept._replace(records={url: record for url, record in kept.records.items() if url != entry})


def have_one_not_hear(web: Web, kept: BoardsKept) -> BoardsKept:
    old = {**kept.lists["m1"], "b1": BoardListed("in force", (f"http://{OTHER}/", entry_of(OTHER, "b1", 2)))}
    return kept._replace(lists={**kept.lists, "m1": old})


def go_on(web: Web, kept: BoardsKept) -> BoardsKept:
    return kept._replace(states={**kept.states, "m1": "running"})


def test_boards_of_which_all_act_as_was_said_are_as_they_should_be() -> None:
    assert told_of(*board_run()) == []


def test_a_page_that_robots_txt_forbids_is_dropped_where_a_redirect_of_a_board_leads_to_it() -> None:
    web, kept = board_run()
    allowed, forbidden = (page.url for page in web.hosts[OTHER].pages[1:3])
    web.pages[forbidden].kind = Kind.FORBIDDEN
    dropped = {url: Record(url, DROPPED, "robots", 0, 0, 0) for url in (allowed, forbidden)}

    found = told_of(web, kept._replace(records={**kept.records, **dropped}))

    assert found == [f"{allowed} of the job of boards is dropped (robots) in the end"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ask_for_what_is_gone, "were asked for when all had to know it"),
        (keep_a_queue, "is queued in the end"),
        (leave_out_a_page, "of board b0 is unknown"),
        (lose_an_item, "has no item"),
        (double_an_item, "has 2 items"),
        (read_by_the_old_text, "was read by edition 1"),
        (read_by_a_text_to_come, "was read by edition 3"),
        (leave_out_an_entry, "an entry of board b0 in force, is unknown"),
        (have_one_not_hear, "m1 says of board b1, of which people said that it is taken away, that it is in force"),
        (lambda web, kept: kept._replace(unsafe=["b0"]), "board b0 was said to be changed when its entries"),
        (go_on, "m1: the job of boards is running"),
    ],
)
def test_what_is_amiss_with_boards_is_told(fault: Callable[[Web, BoardsKept], BoardsKept], words: str) -> None:
    web, kept = board_run()

    found = told_of(web, fault(web, kept))

    assert any(words in what for what in found), found


# -- stored pages -----------------------------------------------------------------------------


def rereading() -> tuple[Web, Rereading]:
    """Makes a job that has read all pages but one, which only a lost disk had."""
    web = Web(1, PLAIN)
    *stored, lost = web.pages
    records = {url: Record(url, DONE, "", 1, 0, 1) for url in stored}
    records[lost] = Record(lost, FAILED, "not-stored", 1, 0, 0)
    items = [reread(url, web.body(url)) for url in stored]
    states, failed = {"m0": "finished"}, {"m0": {"not-stored": 1}}
    return web, Rereading(frozenset(web.pages), frozenset(stored), states, records, items, failed)


def test_stored_pages_that_were_read_once_and_one_that_is_told_to_be_lost_are_as_they_should_be() -> None:
    web, read = rereading()

    assert list(reextraction.check(evidence_of(web, rereadings=[read]))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda read: read._replace(stored=read.pages), "whose answer is on a disk, is failed (not-stored)"),
        (lambda read: read._replace(items=read.items[1:]), "has 0 items, of 1"),
        (lambda read: read._replace(items=[*read.items, read.items[0]]), "has 2 items, of 1"),
        (lambda read: read._replace(items=[{**read.items[0], "bytes": 0}, *read.items[1:]]), "is not what the changed"),
        (lambda read: read._replace(failed={"m0": {}}), "m0 tells that {} have failed"),
        (lambda read: read._replace(states={"m0": "incomplete"}), "is incomplete"),
        (lambda read: read._replace(pages=read.pages | {"http://h0.web.test/new"}), "of one of two jobs only"),
    ],
)
def test_what_is_amiss_with_stored_pages_is_told(change: Callable[[Rereading], Rereading], words: str) -> None:
    web, read = rereading()

    found = list(reextraction.check(evidence_of(web, rereadings=[change(read)])))

    assert any(words in what for what in found), found


def test_web_that_is_asked_for_stored_pages_is_told() -> None:
    web, read = rereading()
    web.visits.append(Visit(web.start, ONE, "m0", 1, 1.0, 1.1, 200, "", job="reading"))

    found = list(reextraction.check(evidence_of(web, rereadings=[read])))

    assert found == [f"the web was asked 1 times for stored pages, such as {web.start} by m0"]
