"""Each checker finds what it is there to find, and nothing in a run without fault."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import inf
from typing import Any, cast

import pytest

from simulations.checkers import CHECKERS, Evidence, violations
from simulations.checkers.wanted import entries
from simulations.checkers.work import finish, told
from simulations.observe.alarms import Alarm
from simulations.observe.contents import Content
from simulations.observe.folders import DONE, DROPPED, FAILED, PHASES, QUEUED, Copy, Folder, Record, print_of
from simulations.observe.incidents import LEAVE, PAUSE, Incident, Stall
from simulations.observe.inventory import Held, Inventory
from simulations.observe.loads import Peak
from simulations.observe.losses import Reach, Said, Telling
from simulations.observe.sightings import Presence, Sighting
from simulations.observe.tables import Table
from simulations.play.evidence import Asked, HostChange, Remains, ScheduleKept, SinkFound
from simulations.play.healing import IDLE, SESSION, THIN, UNSERVED, VIEWS, Ailment
from simulations.play.options import Options
from simulations.play.other_jobs import CLOSES
from simulations.play.spiders import SEEN, item_of
from simulations.play.wanted import BoardsKept, Rereading
from simulations.world.liars import FAREWELL
from simulations.world.web import Host, Kind, Page, Visit, Web, WebPlan

_PHASE = {Kind.FORBIDDEN: DROPPED, Kind.MISSING: FAILED, Kind.FAILING: FAILED}


def visit(url: str, began_s: float, node: str = "m0", status: int = 200, **more: object) -> Visit:
    return replace(Visit(url, url.split("/")[2], node, 1, began_s, began_s + 0.1, status, ""), **more)  # type: ignore[arg-type]


def agree(evidence: Evidence) -> None:
    """Lets everything fit the records: the counters, the copies at the other master, and what is said of the job."""
    folder, copies = evidence.folders["m0"], evidence.folders["m1"].copies
    count(folder)
    copies.clear()
    copies.update({key: Copy(record.phase, record.items) for key, record in folder.records.items()})
    redirects = sum(visit.status == 302 for visit in evidence.pages)
    pages = {visit.url for visit in evidence.pages if visit.status == 200}
    counts = {
        **{what: folder.tally[what] for what in ("discovered", *PHASES)},
        **{"leased": 0, "items": evidence.items.total(), "fetches": len(evidence.pages), "redirects": redirects},
        "pages": sum(folder.records[print_of(url)].phase == DONE for url in pages if print_of(url) in folder.records),
    }
    # What spiders count travels with the ends of their pages.
    counts["stats"] = {SEEN: counts["pages"]}
    certificate = {
        "counts": dict(counts), "members": ["a", "b"], "missing": [], "incomplete": [], "final": True,
        "conserved": True, "copies": {"asked": 2, "kept": 2},
    }  # fmt: skip
    work = {"fetches": counts["fetches"], "pages": counts["pages"]}
    evidence.answers["m0"] = {
        **counts, "missing": [], "not_whole": [], "moving": 0, "certificate": certificate,
        "statistics": {"total": work, "rows": [{"pages": counts["pages"]}]},
    }  # fmt: skip


def count(folder: Folder) -> None:
    """Lets a master's counters fit its records."""
    folder.tally = Counter(PHASES[record.phase] for record in folder.records.values())
    folder.tally["discovered"] = len(folder.records)
    folder.tally["items"] = sum(record.items for record in folder.records.values())


def flawless() -> Evidence:
    """Makes the evidence of two masters that did all as they should: one has all the records, the other all the
    copies.
    """
    web = Web(3, WebPlan(pages=60, hosts=1, flaky=0.0, dead_hosts=0.0))
    folder, items, clock = Folder(), Counter[str](), 1.0
    status = {Kind.REDIRECT: 302, Kind.MISSING: 404, Kind.FAILING: 500}
    web.visits.append(visit(f"{web.start}robots.txt", 0.1))
    for url, page in web.pages.items():
        phase = _PHASE.get(page.kind, DONE)
        has_item = phase == DONE and page.kind is not Kind.REDIRECT
        folder.records[print_of(url)] = Record(url, phase, "robots" if phase == DROPPED else "", 1, 0, int(has_item))
        if has_item:
            items[url] = 1
        if phase != DROPPED:
            clock += 2.0
            web.visits.append(visit(url, clock, status=status.get(page.kind, 200)))
    whole = {key: Held(record.phase, 2, 2 * bool(record.phase)) for key, record in folder.records.items()}
    evidence = Evidence(
        Options(masters=2),
        web,
        {"m0": folder, "m1": Folder()},
        items,
        incidents=[],
        claims=[(clock + 1.0, "m0", True)],
        doubles=[],
        complaints=[],
        states={"m0": "finished"},
        inventories=[Inventory(10.0, {}, 2), Inventory(clock, whole, 2, whole=2)],
        tables=[
            Table(1.0, {"a": 1, "b": 1}, ["a", "b", "b"], [("a", "b"), ("b", "a"), ("b", "a")]),
            Table(2.0, {"a": 1}, ["a", "a", "a"], [("a",), ("a",), ("a",)]),
            Table(3.0, {"a": 1, "b": 1}, ["a", "b", "b"], [("a", "b"), ("b", "a"), ("b", "a")]),
        ],
        sightings=[Sighting(1.0, by, of, True) for by in ("m0", "m1") for of in ("a", "b")],
        presences=[Presence("m0", 1, 0.0), Presence("m1", 2, 0.0)],
        peaks={"links under way": Peak(3, "m0", 5.0)},
        names={"a": "m0", "b": "m1"},
        looked_s=300.0,
    )
    agree(evidence)
    count(evidence.folders["m1"])
    return evidence


def a_page(evidence: Evidence) -> Page:
    """The last plain one."""
    return [page for page in evidence.web.pages.values() if page.kind is Kind.PLAIN][-1]


LAST = print_of(a_page(flawless()).url)
NEXT_VISIT = 1 << 2
"""A step, beside its phase."""


def drop_a_page_for_its_network(evidence: Evidence) -> None:
    """The web says that it is open to all."""
    folder, url = evidence.folders["m0"], a_page(evidence).url
    folder.records[print_of(url)] = Record(url, DROPPED, "private-network", 1, 0, 0)
    del evidence.items[url]
    evidence.web.visits[:] = [visit for visit in evidence.web.visits if visit.url != url]
    evidence.inventories[-1].held[print_of(url)] = Held(DROPPED, 2, 2)
    count(folder)
    agree(evidence)


def drop_a_forbidden_page_for_its_network(evidence: Evidence) -> None:
    folder = evidence.folders["m0"]
    (key, record), *_ = [each for each in folder.records.items() if each[1].phase == DROPPED]
    folder.records[key] = replace(record, reason="private-network")


def ask_where_nobody_may(evidence: Evidence) -> None:
    """A host whose robots.txt was asked for, and nothing else."""
    hidden = Host("10.0.0.9", 0.0, 0.1, False, "10.0.0.9", private=True, open=False)
    evidence.web.hosts[hidden.name] = hidden
    evidence.web.visits.append(replace(visit("http://10.0.0.9/robots.txt", 1.0), host="10.0.0.9"))


def lose_a_page(evidence: Evidence) -> None:
    folder = evidence.folders["m0"]
    del folder.records[print_of(a_page(evidence).url)]
    del evidence.items[a_page(evidence).url]
    agree(evidence)


def leave_one_queued(evidence: Evidence) -> None:
    folder, url = evidence.folders["m0"], a_page(evidence).url
    folder.records[print_of(url)] = Record(url, QUEUED, "", 1, 0, 0)
    del evidence.items[url]
    agree(evidence)


def give_up_a_good_page(evidence: Evidence) -> None:
    folder, url = evidence.folders["m0"], a_page(evidence).url
    folder.records[print_of(url)] = Record(url, FAILED, "http-5xx", 1, 0, 0)
    del evidence.items[url]
    agree(evidence)


def give_up_after_one_try(evidence: Evidence) -> None:
    give_up_a_good_page(evidence)
    last = [each for each in evidence.web.visits if each.url == a_page(evidence).url][-1]
    last.status = 500
    agree(evidence)


def claim_what_was_not_fetched(evidence: Evidence) -> None:
    url = a_page(evidence).url
    evidence.web.visits[:] = [each for each in evidence.web.visits if each.url != url]
    agree(evidence)
    evidence.answers.clear()


def lose_an_item(evidence: Evidence) -> None:
    del evidence.items[a_page(evidence).url]
    agree(evidence)


def sink_with(evidence: Evidence, **change: object) -> None:
    """Lets one sink have all items, save for a change."""
    refused = set(sorted(evidence.items)[:2])
    found = SinkFound(Counter({url: 1 for url in evidence.items if url not in refused}), refused, 0, 0)
    evidence.sinks["db"] = found._replace(**change)  # type: ignore[arg-type]


def lose_an_item_on_its_way_to_a_sink(evidence: Evidence) -> None:
    sink_with(evidence, refused=set())


def refuse_items_without_a_word(evidence: Evidence) -> None:
    sink_with(evidence, letters=frozenset(sorted(evidence.items)[:1]))


def bring_an_item_twice(evidence: Evidence) -> None:
    sink_with(evidence)
    evidence.sinks["db"].items[max(evidence.items)] = 2


def bring_an_item_twice_into_parts(evidence: Evidence) -> None:
    sink_with(evidence, parts=True)
    evidence.sinks["db"].items[max(evidence.items)] = 2


def bring_what_nobody_found(evidence: Evidence) -> None:
    sink_with(evidence)
    evidence.sinks["db"].items["http://nowhere.test/"] = 1


def store_what_was_refused(evidence: Evidence) -> None:
    sink_with(evidence, items=Counter(evidence.items))


def let_an_item_wait_for_ever(evidence: Evidence) -> None:
    sink_with(evidence, waiting=1)


def open_a_sink_with_a_wrong_password(evidence: Evidence) -> None:
    sink_with(evidence, strangers=1)


def have_one_text_twice(evidence: Evidence) -> None:
    """All pages of the web say one of three things, and duplicates were to be dropped."""
    evidence.web.plan = replace(evidence.web.plan, texts=3)


def visit_once_what_is_due_twice(evidence: Evidence) -> None:
    object.__setattr__(evidence, "rounds", 2)


def begin_no_run(evidence: Evidence) -> None:
    evidence.kept.append(ScheduleKept("m0", {60_000: 7}, [], {}, {}, {}, Counter()))


def tell_two_reasons_of_its_end(evidence: Evidence) -> None:
    object.__setattr__(evidence, "closed_by", min(CLOSES))
    object.__setattr__(evidence, "reasons", {"m0": "", "m1": CLOSES[min(CLOSES)].reason + " of another"})


def ask_a_slow_host_at_once(evidence: Evidence) -> None:
    slow = {"target_concurrency": 0.001, "max_delay": 60.0, "enabled": True}
    object.__setattr__(evidence, "settings", {f"autothrottle_{name}": value for name, value in slow.items()})


def let_a_board_job_go_on(evidence: Evidence) -> None:
    evidence.boards.append(BoardsKept([], {}, {"m0": "running"}, {}, []))


def lose_a_stored_page(evidence: Evidence) -> None:
    url = a_page(evidence).url
    states = {"m0": "finished"}
    evidence.rereadings.append(Rereading(frozenset({url}), frozenset({url}), states, {}, [], {}))


def double_an_item(evidence: Evidence) -> None:
    evidence.items[a_page(evidence).url] += 1
    agree(evidence)


def fetch_twice(evidence: Evidence) -> None:
    evidence.web.visits.append(visit(a_page(evidence).url, 1.5))
    agree(evidence)


def hurry(evidence: Evidence) -> None:
    late = evidence.web.visits[-1]
    evidence.web.visits[-1] = replace(late, began_s=late.began_s - 1.5)


def ignore_retry_after(evidence: Evidence) -> None:
    evidence.web.visits[-3].retry_after_s = 60.0


def miscount(evidence: Evidence) -> None:
    evidence.folders["m0"].tally["done"] += 1


def keep_a_page_twice(evidence: Evidence) -> None:
    key, record = next(iter(evidence.folders["m0"].records.items()))
    del evidence.folders["m1"].copies[key]
    evidence.folders["m1"].records[key] = record
    count(evidence.folders["m1"])


def go_on_after_the_end(evidence: Evidence) -> None:
    evidence.claims.insert(0, (evidence.web.visits[-1].began_s - 0.5, "m0", True))


def certify_over_the_head_of_one_that_is_away(evidence: Evidence) -> None:
    evidence.overlooked.append("m0 had a final certificate, and m1, which was away, knew more of 3 URLs")


def serve_one_bucket_twice(evidence: Evidence) -> None:
    evidence.doubles.append("m0 and m1 both serve bucket 7")


def grant_in_two_parts(evidence: Evidence) -> None:
    evidence.parted.append("m0 and m1 both grant, apart for 9.0 s")


def raise_what_nobody_catches(evidence: Evidence) -> None:
    evidence.complaints.append("KeyError")


def forget_a_link(evidence: Evidence) -> None:
    """A page is done, and nobody knows where it led to."""
    last = evidence.inventories[-1]
    held = {key: held for key, held in last.held.items() if key != LAST}
    evidence.inventories[:] = [replace(last, held=held, whole=0)]


def copy_the_end_before_the_links(evidence: Evidence) -> None:
    evidence.inventories[-1].held[LAST] = Held(QUEUED, 1, 0)


def forget_what_was_through(evidence: Evidence) -> None:
    """A page is queued again after a crash: a disk did not keep what it had said was safe."""
    last = evidence.inventories[-1]
    evidence.inventories.append(
        replace(last, now_s=last.now_s + 1.0, held={**last.held, LAST: Held(QUEUED, 2, 0)}, whole=0)
    )


def forget_that_it_is_fetched_anew(evidence: Evidence) -> None:
    """A page that had failed was to be fetched anew, and has failed after all: nobody knows of its next visit."""
    last = evidence.inventories[-1]
    anew = replace(last, now_s=last.now_s + 1.0, held={**last.held, LAST: Held(NEXT_VISIT | QUEUED, 2, 0)}, whole=0)
    after = replace(last, now_s=last.now_s + 2.0, held={**last.held, LAST: Held(FAILED, 2, 2)}, whole=0)
    evidence.inventories.extend([anew, after])


def make_no_new_copies(evidence: Evidence) -> None:
    """Loses with the second disk what was on two, though copies were said to be whole after the first was lost."""
    last = evidence.inventories[-1]
    one = replace(last, now_s=last.now_s + 1.0, lost=frozenset({"m1"}), whole=0)
    two = replace(last, now_s=last.now_s + 60.0)
    three = replace(one, now_s=last.now_s + 61.0, lost=frozenset({"m0"}), held={})
    evidence.inventories.extend([one, two, three])


def lose_a_copy(evidence: Evidence) -> None:
    del evidence.folders["m1"].copies[LAST]


def leave_a_copy_behind(evidence: Evidence) -> None:
    evidence.folders["m2"] = Folder(copies={LAST: Copy(QUEUED, 0)})
    count(evidence.folders["m2"])
    evidence.answers.clear()


def keep_an_old_copy(evidence: Evidence) -> None:
    evidence.folders["m1"].copies[LAST] = Copy(QUEUED, 0)


def move_a_bucket_between_two_that_stay(evidence: Evidence) -> None:
    evidence.tables.append(replace(evidence.tables[-1], now_s=4.0, owners=["a", "a", "b"]))


def copy_to_one_that_has_not_come(evidence: Evidence) -> None:
    three = {"a": 1, "b": 1, "c": 1}
    before = Table(4.0, {**three, "d": 1}, ["a"], [("a", "d")])
    evidence.tables[:] = [before, Table(5.0, three, ["a"], [("b", "c")])]


def serve_more_than_ones_share(evidence: Evidence) -> None:
    weights, holders = {"a": 1, "b": 1}, [("a", "b")] * 400
    evidence.tables[:] = [Table(4.0, weights, ["a"] * 300 + ["b"] * 100, holders)]


def hold_a_living_one_dead(evidence: Evidence) -> None:
    evidence.sightings.append(Sighting(100.0, "m0", "b", False))


def miss_nobody(evidence: Evidence) -> None:
    evidence.presences[1].ended_s = 50.0


def pile_up(evidence: Evidence) -> None:
    evidence.peaks["links under way"] = Peak(40_000, "m0", 5.0)


def storm(evidence: Evidence) -> None:
    evidence.peaks["datagrams a second"] = Peak(125, "m0", 5.0)


def keep_a_spooled_link(evidence: Evidence) -> None:
    evidence.folders["m1"].spooled = 1


def ask_before_the_rules_are_known(evidence: Evidence) -> None:
    del evidence.web.visits[0]


def ask_for_what_is_forbidden(evidence: Evidence) -> None:
    forbidden = next(page for page in evidence.web.pages.values() if page.kind is Kind.FORBIDDEN)
    evidence.web.visits.insert(1, visit(forbidden.url, 1.5, status=404))
    agree(evidence)


def certify_what_is_not(evidence: Evidence) -> None:
    evidence.answers["m0"]["certificate"]["counts"]["done"] -= 1


def answer_what_is_not(evidence: Evidence) -> None:
    evidence.answers["m0"]["pages"] += 1


def count_more_requests_than_were_made(evidence: Evidence) -> None:
    evidence.answers["m0"]["fetches"] += 1


def call_an_incomplete_end_final(evidence: Evidence) -> None:
    del evidence.folders["m1"]
    evidence.inventories.clear()
    evidence.folders["m0"].copies.clear()


def keep_rows_of_a_deleted_job(evidence: Evidence) -> None:
    evidence.remains.append(Remains(7, "m0", "deleted", {"held": 1}))


def bring_a_deleted_job_back(evidence: Evidence) -> None:
    evidence.remains.append(Remains(7, "m0", "finished", {}))


def tell_an_item_twice(evidence: Evidence) -> None:
    item = item_of(url := next(iter(evidence.items)), evidence.web.body(url))
    evidence.asked.append(Asked(200.0, 201.0, "m0", "results", {"job": 1}, [item, item], ""))


def tell_an_item_of_a_page_that_comes_later(evidence: Evidence) -> None:
    item = item_of(url := next(iter(evidence.items)), evidence.web.body(url))
    evidence.asked.append(Asked(0.0, 0.1, "m0", "results", {"job": 1}, [item], ""))


def promise_what_is_not_stored(evidence: Evidence) -> None:
    evidence.found["acknowledged"] = ["at 1.000 s m0 settled a link, and it was with m0 only"]


def let_go_of_what_nobody_has(evidence: Evidence) -> None:
    evidence.found["handovers"] = ["at 1.000 s m1 dropped its copy of a page, which is with nobody besides"]


def finish_with_a_page_queued(evidence: Evidence) -> None:
    evidence.found["endings"] = ["at 1.000 s m1 has the job finished while a page is queued on the disk of m0"]


def ask_what_was_let_go_of(evidence: Evidence) -> None:
    evidence.found["permissions"] = ["m0 asked for a page at 1.000 s, and had let go of its host's bucket"]


def tell_what_no_order_explains(evidence: Evidence) -> None:
    evidence.found["verbs"] = ["job 7: m1 had it running at 40.00 s, though it is paused by then"]


def give_out_an_item_of_another_page(evidence: Evidence) -> None:
    url, other = list(evidence.items)[:2]
    evidence.results.append(item_of(url, evidence.web.body(other)))


def take_an_entry_for_a_link(evidence: Evidence) -> None:
    """Says of a page that people put into the job only what is known of a link: with visits, to be said of no disk."""
    url = next(url for url in evidence.items if url not in evidence.web.starts)
    evidence.asked.append(Asked(10.0, 10.1, "m0", "inject", {"urls": [url]}, {}, ""))
    row = content_of(evidence, url)
    cast(dict, evidence.held)["m0"] = [row]


def leave_an_entry_as_it_was(evidence: Evidence) -> None:
    evidence.asked.append(Asked(200.0, 200.1, "m0", "clear", {}, {}, ""))


def content_of(evidence: Evidence, url: str) -> Content:
    """Returns what a disk says of a page that is done, as the web has it."""
    body = evidence.web.body(url)
    item = json.dumps(item_of(url, body)).encode()
    parent = next((other.url for other in evidence.web.pages.values() if url in other.links), "")
    return Content(False, print_of(url), url, DONE, 200, len(body), 99, False, parent, 0, 1, (item,))


def log_an_error(evidence: Evidence) -> None:
    evidence.alarms.append(Alarm(5.0, "m0", "upkeep: the patrol failed: KeyError('m1')", "KeyError"))


def ailment(what: str, began_s: float, ended_s: float, *, there: int = 2) -> Ailment:
    """What was amiss in a calm that began at 100 s."""
    return Ailment(what, "", 100.0, began_s, ended_s, 2, there)


def leave_a_bucket_to_nobody(evidence: Evidence) -> None:
    evidence.ailments.append(ailment(UNSERVED, 100.0, 160.0))


def keep_a_session_of_a_dead_slave(evidence: Evidence) -> None:
    evidence.ailments.append(ailment(SESSION, 100.0, 130.0))


def ask_for_nothing_and_go_on(evidence: Evidence) -> None:
    evidence.ailments.append(ailment(IDLE, 100.0, 200.0))


LOST = 7
"""A bucket."""


def loss(evidence: Evidence, named: tuple[int, ...] = (LOST,), missing: tuple[str, ...] = ("b",), **more: Any) -> None:
    """Lets a bucket lack something that was settled, while m1 is away, and m0 say this of it."""
    end = {"incomplete": [LOST], "missing": ["b"], "final": False, **more}
    reach = Reach(200.0, frozenset({"b"}), {LOST: LAST}, frozenset({LOST}), frozenset({LOST}))
    said = Said("incomplete", named, missing, json.dumps(end).encode())
    evidence.tellings.append(Telling(reach, {"m0": said}, {LOST: 100.0}, 90.0, 110.0, {"m0": 120.0}))


def name_no_bucket_that_lacks_something(evidence: Evidence) -> None:
    loss(evidence, named=())


def name_a_bucket_that_lacks_nothing(evidence: Evidence) -> None:
    loss(evidence, named=(LOST, LOST + 1), incomplete=[LOST, LOST + 1])


def miss_another_master(evidence: Evidence) -> None:
    loss(evidence, missing=("a",))


def sign_for_other_buckets(evidence: Evidence) -> None:
    loss(evidence, incomplete=[LOST + 1])


def call_an_end_final_without_what_is_lost(evidence: Evidence) -> None:
    loss(evidence, final=True)


def call_it_finished(evidence: Evidence) -> None:
    loss(evidence)
    (telling,) = evidence.tellings
    said = telling.said["m0"]._replace(state="finished")
    evidence.tellings[:] = [telling._replace(said={"m0": said}, rest_s=0.0)]


def answer_otherwise_than_it_is_signed(evidence: Evidence) -> None:
    loss(evidence)
    (telling,) = evidence.tellings
    answer = {"state": "incomplete", "not_whole": [], "away": {"b": 90.0}}
    evidence.tellings[:] = [telling._replace(answers={"m0": answer})]


def vote_twice(evidence: Evidence) -> None:
    evidence.found["ballots"] = ["at 1.000 s m1 voted in ballot (1, 'a') after (2, 'b')"]


def queue_what_has_ended(evidence: Evidence) -> None:
    evidence.found["tables"] = ["at 1.000 s m1 has page 2 in a queue, which has ended"]


def serve_without_most(evidence: Evidence) -> None:
    evidence.found["consents"] = ["at 1.000 s m1 serves 2 buckets, and has not the consent of most yet"]


def call_one_dead_too_soon(evidence: Evidence) -> None:
    evidence.found["rumours"] = ["at 1.000 s m1 declares m2 dead after a suspicion of 1.00 s"]


def count_a_copy_that_is_not_there(evidence: Evidence) -> None:
    evidence.found["counted"] = ["at 1.000 s m0 counts m1's copy of bucket 5, which has it not"]


FAULTS = {
    drop_a_page_for_its_network: "coverage",
    drop_a_forbidden_page_for_its_network: "coverage",
    ask_where_nobody_may: "coverage",
    lose_a_page: "coverage",
    leave_one_queued: "coverage",
    give_up_a_good_page: "coverage",
    give_up_after_one_try: "coverage",
    claim_what_was_not_fetched: "coverage",
    forget_a_link: "children",
    copy_the_end_before_the_links: "children",
    forget_what_was_through: "durability",
    forget_that_it_is_fetched_anew: "durability",
    make_no_new_copies: "durability",
    lose_a_copy: "copies",
    keep_an_old_copy: "copies",
    leave_a_copy_behind: "copies",
    lose_an_item: "items",
    double_an_item: "items",
    tell_an_item_twice: "answers",
    tell_an_item_of_a_page_that_comes_later: "answers",
    lose_an_item_on_its_way_to_a_sink: "delivered",
    refuse_items_without_a_word: "delivered",
    bring_an_item_twice: "delivered",
    bring_an_item_twice_into_parts: "delivered",
    bring_what_nobody_found: "delivered",
    store_what_was_refused: "delivered",
    let_an_item_wait_for_ever: "delivered",
    open_a_sink_with_a_wrong_password: "delivered",
    keep_rows_of_a_deleted_job: "deleted",
    bring_a_deleted_job_back: "deleted",
    fetch_twice: "fetches",
    hurry: "politeness",
    ignore_retry_after: "politeness",
    ask_before_the_rules_are_known: "robots",
    ask_for_what_is_forbidden: "robots",
    miscount: "conservation",
    keep_a_page_twice: "conservation",
    go_on_after_the_end: "finish",
    certify_what_is_not: "statements",
    name_no_bucket_that_lacks_something: "told",
    name_a_bucket_that_lacks_nothing: "told",
    miss_another_master: "told",
    sign_for_other_buckets: "told",
    call_an_end_final_without_what_is_lost: "told",
    call_it_finished: "told",
    answer_otherwise_than_it_is_signed: "told",
    answer_what_is_not: "statements",
    count_more_requests_than_were_made: "statements",
    call_an_incomplete_end_final: "statements",
    move_a_bucket_between_two_that_stay: "movement",
    copy_to_one_that_has_not_come: "movement",
    serve_more_than_ones_share: "balance",
    hold_a_living_one_dead: "membership",
    miss_nobody: "membership",
    pile_up: "bounds",
    storm: "bounds",
    keep_a_spooled_link: "bounds",
    certify_over_the_head_of_one_that_is_away: "finish",
    serve_one_bucket_twice: "ownership",
    grant_in_two_parts: "parts",
    raise_what_nobody_catches: "quiet",
    log_an_error: "quiet",
    leave_a_bucket_to_nobody: "healing",
    keep_a_session_of_a_dead_slave: "healing",
    ask_for_nothing_and_go_on: "healing",
    promise_what_is_not_stored: "acknowledged",
    let_go_of_what_nobody_has: "handovers",
    finish_with_a_page_queued: "endings",
    tell_what_no_order_explains: "verbs",
    give_out_an_item_of_another_page: "contents",
    take_an_entry_for_a_link: "entries",
    leave_an_entry_as_it_was: "entries",
    ask_what_was_let_go_of: "permissions",
    vote_twice: "ballots",
    queue_what_has_ended: "tables",
    serve_without_most: "consents",
    call_one_dead_too_soon: "rumours",
    count_a_copy_that_is_not_there: "counted",
    have_one_text_twice: "duplicates",
    visit_once_what_is_due_twice: "visits",
    begin_no_run: "scheduled",
    tell_two_reasons_of_its_end: "closed",
    ask_a_slow_host_at_once: "throttling",
    let_a_board_job_go_on: "boards",
    lose_a_stored_page: "reextraction",
}


def test_loss_that_is_told_as_it_is_is_no_violation() -> None:
    evidence = flawless()

    loss(evidence)

    assert violations(evidence) == []


@pytest.mark.parametrize("stored_s", [99.0, 119.0])
def test_end_that_was_on_a_disk_before_anything_was_out_of_reach_may_be_said_after_that(stored_s: float) -> None:
    evidence = flawless()
    call_it_finished(evidence)
    certificate = evidence.tellings[0].said["m0"].certificate

    found = list(told.check(replace(evidence, certified={certificate: stored_s})))

    assert bool(found) == (stored_s > 100.0)


def test_page_may_be_gone_with_all_disks_that_had_its_bucket() -> None:
    evidence = replace(flawless(), bucket_of={LAST: LOST})
    forget_a_link(evidence)

    assert {violation.checker for violation in violations(evidence)}
    assert violations(replace(evidence, destroyed=frozenset({LOST}))) == []


@pytest.mark.parametrize(("died_s", "is_amiss"), [(9.0, True), (11.0, False)])
def test_that_a_page_was_put_in_may_be_gone_with_all_disks_that_had_its_bucket_since(
    died_s: float, is_amiss: bool
) -> None:
    evidence = flawless()
    take_an_entry_for_a_link(evidence)
    url = evidence.held["m0"][0].url
    evidence.incidents.append(Incident("power loss", frozenset({"m1"}), died_s, died_s, frozenset()))

    found = list(entries.check(replace(evidence, bucket_of={print_of(url): LOST}, destroyed=frozenset({LOST}))))

    assert bool(found) is is_amiss


def test_a_flawless_run_has_no_violations() -> None:
    assert violations(flawless()) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_is_found_by_its_checker_alone(fault) -> None:
    evidence = flawless()

    fault(evidence)

    assert {violation.checker for violation in violations(evidence)} == {FAULTS[fault]}


def test_sink_that_has_or_refuses_every_item_once_is_as_it_should_be() -> None:
    evidence = flawless()

    sink_with(evidence)

    assert violations(evidence) == []


def test_every_checker_has_a_fault_that_it_finds() -> None:
    assert set(FAULTS.values()) == set(CHECKERS)


@pytest.mark.parametrize("states", [{}, {"m0": "incomplete"}, {"m0": "finished", "m1": "running"}])
def test_a_job_that_is_not_finished_everywhere_is_a_violation(states: dict[str, str]) -> None:
    evidence = replace(flawless(), states=states)

    assert {violation.checker for violation in violations(evidence)} == {"finish"}


@pytest.mark.parametrize(("replicas", "left", "is_amiss"), [(2, 2, True), (3, 2, False), (3, 1, True)])
def test_spool_may_be_left_where_fewer_masters_are_than_copies_and_more_than_one(
    replicas: int, left: int, is_amiss: bool
) -> None:
    evidence = flawless()
    keep_a_spooled_link(evidence)
    evidence = replace(evidence, options=replace(evidence.options, replicas=replicas))
    for name in ["m0", "m1"][: 2 - left]:
        del evidence.folders[name]

    assert any(violation.checker == "bounds" for violation in violations(evidence)) is is_amiss


@pytest.mark.parametrize(
    ("what", "began_s", "ended_s", "there", "is_late"),
    [
        (UNSERVED, 100.0, 140.0, 2, False),
        (UNSERVED, 100.0, 160.0, 2, True),
        (UNSERVED, 100.0, 160.0, 1, False),
        (VIEWS, 155.0, 160.0, 2, False),
        (THIN, 140.0, 160.0, 2, False),
        (THIN, 140.0, 180.0, 2, True),
        (THIN, 140.0, 180.0, 1, False),
        (IDLE, 100.0, 165.0, 2, False),
    ],
)
def test_what_is_amiss_has_time_to_be_mended_and_more_where_somebody_has_to_be_missed(
    what: str, began_s: float, ended_s: float, there: int, is_late: bool
) -> None:
    evidence = flawless()

    evidence.ailments.append(ailment(what, began_s, ended_s, there=there))

    assert {violation.checker for violation in violations(evidence)} == ({"healing"} if is_late else set())


@pytest.mark.parametrize(
    ("what", "error", "befell", "when_s", "is_amiss"),
    [
        ("full disk", "DiskFullError", "m0", 5.0, False),
        ("full disk", "DiskFullError", "m1", 5.0, True),
        ("full disk", "DiskFullError", "m0", 60.0, True),
        ("I/O error", "StorageError", "m0", 5.0, False),
        ("I/O error", "KeyError", "m0", 5.0, True),
    ],
)
def test_who_cannot_store_may_say_so_and_nobody_else(
    what: str, error: str, befell: str, when_s: float, is_amiss: bool
) -> None:
    evidence = flawless()
    evidence.incidents.append(Incident(what, frozenset({befell}), 4.0, 6.0, frozenset()))

    evidence.alarms.append(Alarm(when_s, "m0", "lead: the master failed", error))

    assert {violation.checker for violation in violations(evidence)} == ({"quiet"} if is_amiss else set())


def test_link_that_its_finder_keeps_is_not_forgotten() -> None:
    evidence = flawless()
    forget_a_link(evidence)

    evidence.inventories[:] = [replace(evidence.inventories[-1], spooled=frozenset({LAST}))]

    assert violations(evidence) == []


def test_what_goes_with_more_disks_than_copies_allow_is_no_violation() -> None:
    evidence = flawless()
    last = evidence.inventories[-1]
    lost = replace(last, now_s=last.now_s + 1.0, held={}, lost=frozenset({"m0", "m1"}), whole=0)

    evidence.inventories.append(lost)

    assert violations(evidence) == []


def test_what_was_on_one_disk_only_may_go_with_it() -> None:
    evidence = flawless()
    last = evidence.inventories[-1]
    thin = {key: Held(held.phase, 1, bool(held.phase)) for key, held in last.held.items()}
    evidence.inventories[:] = [replace(last, held=thin, whole=0)]

    evidence.inventories.append(replace(last, now_s=last.now_s + 1.0, held={}, lost=frozenset({"m1"}), whole=0))

    assert violations(evidence) == []


@pytest.mark.parametrize(("counted_again_s", "is_amiss"), [(150.0, False), (200.0, True)])
def test_who_was_cut_off_may_be_held_dead_for_a_while(counted_again_s: float, is_amiss: bool) -> None:
    evidence = flawless()
    hold_a_living_one_dead(evidence)
    evidence.incidents.append(Incident("partition", frozenset({"m0", "m1"}), 90.0, 95.0, frozenset(), everywhere=True))

    evidence.sightings.append(Sighting(counted_again_s, "m0", "b", True))

    assert {violation.checker for violation in violations(evidence)} == ({"membership"} if is_amiss else set())


def test_who_has_left_is_seen_to_be_gone_at_the_next_look() -> None:
    evidence = flawless()
    evidence.presences[1].ended_s = 58.0
    evidence.incidents.append(Incident("leave", frozenset({"m1"}), 53.5, 57.5, frozenset()))
    # What excuses the other one ends between its leaving and that look.
    evidence.stalls.append(Stall(30.0, 42.3, "Offer", frozenset({"m0"})))

    evidence.sightings.append(Sighting(57.5, "m0", "b", False))

    assert violations(evidence) == []


@pytest.mark.parametrize("majority", [False, True])
def test_nothing_excuses_haste_in_a_network_in_parts_where_only_one_may_go_on(majority: bool) -> None:
    evidence = replace(flawless(), majority=majority)
    hurry(evidence)

    evidence.incidents.append(Incident("partition", frozenset({"m0", "m1"}), 0.0, inf, frozenset(), everywhere=True))

    assert {violation.checker for violation in violations(evidence)} == ({"politeness"} if majority else set())


@pytest.mark.parametrize("forgotten", [False, True])
def test_certificate_is_final_without_a_master_that_is_gone_only_when_that_was_forgotten(forgotten: bool) -> None:
    evidence = flawless()
    call_an_incomplete_end_final(evidence)
    evidence.answers["m0"]["certificate"].update(members=["a"], copies={"asked": 2, "kept": 1})

    evidence = replace(evidence, forgotten=frozenset({"m1"} if forgotten else ()))

    assert bool([*CHECKERS["statements"](evidence)]) is not forgotten


def test_other_jobs_are_nothing_to_what_is_said_of_this_one() -> None:
    evidence = flawless()
    aside = "http://h0.web.test/file/0"

    evidence.web.visits.insert(1, visit(aside, 1.5))

    assert {violation.checker for violation in violations(evidence)} == {"statements"}
    assert violations(replace(evidence, asides=frozenset({aside}))) == []


@pytest.mark.parametrize(
    ("kind", "leads", "is_amiss"),
    [
        (Kind.MISSING, "elsewhere", False),
        (Kind.REDIRECT, "to itself", False),
        (Kind.REDIRECT, "elsewhere", True),
        (Kind.PLAIN, "to itself", True),
    ],
)
def test_page_that_failed_may_be_fetched_anew_when_somebody_asks_for_that(
    kind: Kind, leads: str, is_amiss: bool
) -> None:
    evidence = flawless()
    fetch_twice(evidence)
    url = next(url for url, times in Counter(visit.url for visit in evidence.pages).items() if times > 1)
    evidence.web.pages[url].kind = kind
    evidence.web.pages[url].links = [url if leads == "to itself" else "http://nowhere.test/"]

    evidence.asked.append(Asked(0.0, 1.0, "m0", "retry", {}, None, "nobody answered"))

    assert bool([*CHECKERS["fetches"](evidence)]) is is_amiss


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_what_nobody_has_answered_may_be_obeyed_when_a_cut_is_over(is_cut_off: bool) -> None:
    evidence = flawless()
    go_on_after_the_end(evidence)
    ended_s = evidence.claims[0][0]
    evidence.asked.append(Asked(ended_s - 100.0, ended_s - 90.0, "m0", "retry", {}, None, "the link was closed"))
    if is_cut_off:
        cut = Incident("partition", frozenset({"m0", "m1"}), ended_s - 95.0, ended_s - 20.0, frozenset())
        evidence.incidents.append(replace(cut, everywhere=True))

    assert any("requests followed" in each for each in finish.check(evidence)) != is_cut_off


def test_where_items_are_known_by_their_texts_each_visit_of_an_entry_that_was_begun_anew_has_one() -> None:
    evidence = flawless()
    url = a_page(evidence).url
    evidence.web.plan = replace(evidence.web.plan, texts=1)
    evidence.unmarked.clear()
    evidence.unmarked[url] = 2
    sink_with(evidence)
    evidence.sinks["db"].items[url] = 2
    fetch_once_more = visit(url, 200.0)
    evidence.web.visits.append(fetch_once_more)

    before = [*CHECKERS["duplicates"](evidence), *CHECKERS["delivered"](evidence)]
    evidence.asked.append(Asked(190.0, 191.0, "m0", "clear", {}, {}, ""))

    assert len(before) == 2
    assert [*CHECKERS["duplicates"](evidence), *CHECKERS["delivered"](evidence)] == []


@pytest.mark.parametrize(("begun_anew_s", "is_amiss"), [(0.5, True), (190.0, False)])
def test_item_of_a_visit_before_entries_were_begun_anew_stays_though_the_next_one_fails(
    begun_anew_s: float, is_amiss: bool
) -> None:
    evidence = flawless()
    url = a_page(evidence).url
    records = evidence.folders["m0"].records
    records[print_of(url)] = replace(records[print_of(url)], phase=FAILED)

    evidence.asked.append(Asked(begun_anew_s, begun_anew_s + 0.1, "m0", "clear", {}, {}, ""))

    assert bool([*CHECKERS["items"](evidence)]) is is_amiss


@pytest.mark.parametrize("at_once", [8, 9])
def test_a_host_without_a_delay_is_asked_by_eight_at_once(at_once: int) -> None:
    evidence = flawless()
    evidence = replace(evidence, options=replace(evidence.options, delay_s=0.0))
    host = next(iter(evidence.web.hosts.values()))
    host.delay_s = 0.0
    urls = [page.url for page in host.pages]
    evidence.web.visits[:] = [visit(urls[n % len(urls)], 100.0 + 0.001 * n) for n in range(at_once)]

    assert len([*CHECKERS["politeness"](evidence)]) == at_once - 8


@pytest.mark.parametrize("others_were_there", [False, True])
def test_what_a_host_asked_of_one_that_was_alone_and_left_nobody_else_can_know(others_were_there: bool) -> None:
    evidence = flawless()
    ignore_retry_after(evidence)
    (asked,) = (visit for visit in evidence.pages if visit.retry_after_s)
    left_s = asked.ended_s + 10.0
    evidence.incidents.append(Incident(LEAVE, frozenset({"m0"}), left_s, left_s + 1.0, frozenset(), heirs=False))

    if not others_were_there:
        evidence.presences[1].ended_s = asked.ended_s
        evidence.presences.append(Presence("m1", 3, left_s + 0.5))

    assert bool([*CHECKERS["politeness"](evidence)]) is others_were_there


@pytest.mark.parametrize(("others_went_s", "is_amiss"), [(20.0, False), (100.0, True), (None, True)])
def test_crawl_delay_that_was_with_those_that_are_away_nobody_else_can_know(
    others_went_s: float | None, is_amiss: bool
) -> None:
    evidence = flawless()
    host = next(iter(evidence.web.hosts.values()))
    host.delay_s = 9.0
    robots, page, *_ = evidence.web.visits
    evidence.web.visits[:] = [
        replace(robots, master="m1"),
        *(replace(page, began_s=at, ended_s=at) for at in (150.0, 154.0)),
    ]
    evidence.presences[1].ended_s = 21.0

    if others_went_s is not None:
        evidence.presences.append(Presence("m2", 3, 0.0, others_went_s))

    assert bool([*CHECKERS["politeness"](evidence)]) is is_amiss


@pytest.mark.parametrize(("said_s", "is_amiss"), [(-0.05, False), (-2.0, True)])
def test_a_slave_that_lies_of_having_stopped_is_believed(said_s: float, is_amiss: bool) -> None:
    evidence = flawless()
    before, last = evidence.web.visits[-2:]
    evidence.web.visits[-1] = replace(last, began_s=before.ended_s + 0.96)

    said_at = before.began_s + said_s
    evidence.incidents.append(Incident(FAREWELL, frozenset({before.node}), said_at, said_at, frozenset()))

    assert bool([*CHECKERS["politeness"](evidence)]) is is_amiss


@pytest.mark.parametrize(("agreed_s", "is_amiss"), [(inf, False), (2.0, True), (None, True)])
def test_what_is_said_of_a_host_beyond_a_cut_is_heard_of_afterwards(agreed_s: float | None, is_amiss: bool) -> None:
    evidence = replace(flawless(), majority=True)
    slowed = HostChange(evidence.web.visits[-1].host, 1.0, 1.5, 100.0, paused=False)

    evidence.changes.append(slowed)
    if agreed_s is not None:
        cut = Incident("partition", frozenset({"m0"}), 0.5, 1.8, frozenset(), everywhere=True, agreed_s=agreed_s)
        evidence.incidents.append(cut)

    assert bool([*CHECKERS["politeness"](evidence)]) is is_amiss


def test_who_comes_back_before_long_need_not_be_missed() -> None:
    evidence = flawless()
    miss_nobody(evidence)

    evidence.presences.append(Presence("m1", 3, 80.0))

    assert violations(evidence) == []


@pytest.mark.parametrize(("who", "is_amiss"), [("m1", False), ("m0", True)])
def test_who_begins_with_a_disk_that_holds_it_up_is_counted_later(who: str, is_amiss: bool) -> None:
    evidence = flawless()
    evidence.presences[1].began_s = 100.0
    evidence.sightings.extend([Sighting(90.0, "m0", "b", False), Sighting(122.0, "m0", "b", True)])

    evidence.stalls.append(Stall(100.5, 112.0, "Store.recover", frozenset({who})))

    assert bool([*CHECKERS["membership"](evidence)]) is is_amiss


@pytest.mark.parametrize(("noticed_s", "is_amiss"), [(150.0, False), (210.0, True)])
def test_one_that_is_left_of_nine_has_longer_to_miss_the_others_and_not_for_ever(
    noticed_s: float, is_amiss: bool
) -> None:
    evidence = flawless()
    others = [f"m{n}" for n in range(2, 9)]
    evidence.names.update({name: name for name in others})
    evidence.presences[1].ended_s = 50.0
    evidence.presences.extend([Presence(name, 1, 0.0, 50.0) for name in others])

    evidence.sightings.append(Sighting(noticed_s, "m0", "b", False))

    assert bool([*CHECKERS["membership"](evidence)]) is is_amiss


def test_most_of_nine_miss_one_within_a_minute() -> None:
    evidence = flawless()
    others = [f"m{n}" for n in range(2, 9)]
    evidence.names.update({name: name for name in others})
    evidence.presences[1].ended_s = 50.0
    evidence.presences.extend([Presence(name, 1, 0.0) for name in others])

    evidence.sightings.append(Sighting(120.0, "m0", "b", False))

    assert [*CHECKERS["membership"](evidence)] == ["m1 went at 50.00 s, and m0 still counted it at 110.00 s"]


def test_who_was_awake_for_a_moment_between_two_looks_need_not_be_missed() -> None:
    evidence = flawless()
    miss_nobody(evidence)
    gone_s = next(presence.ended_s for presence in evidence.presences if presence.name == "m1")

    evidence.incidents.append(Incident(PAUSE, frozenset({"m1"}), gone_s - 0.3, gone_s + 50.0, frozenset()))

    assert violations(evidence) == []


def test_who_died_as_it_stood_still_is_missed() -> None:
    evidence = flawless()
    miss_nobody(evidence)
    gone_s = next(presence.ended_s for presence in evidence.presences if presence.name == "m1")

    evidence.incidents.append(Incident(PAUSE, frozenset({"m1"}), gone_s - 0.3, gone_s + 2.0, frozenset()))
    evidence.incidents.append(Incident("crash", frozenset({"m1"}), gone_s + 2.0, gone_s + 2.0, frozenset()))

    assert [checker for checker, _ in violations(evidence)] == ["membership"]


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


def test_a_page_that_is_fetched_anew_is_further_than_when_it_had_failed() -> None:
    evidence = flawless()
    last = evidence.inventories[-1]
    failed = replace(last, held={**last.held, LAST: Held(FAILED, 2, 2)})
    anew = replace(last, now_s=last.now_s + 1.0, held={**last.held, LAST: Held(NEXT_VISIT | QUEUED, 2, 0)}, whole=0)
    evidence.inventories[-1:] = [failed, anew]

    assert list(CHECKERS["durability"](evidence)) == []


@pytest.mark.parametrize(
    ("retry_after_s", "waits_s", "is_amiss"), [(0.0, 1.5, True), (0.0, 2.0, False), (0.5, 1.5, False)]
)
def test_a_host_that_refuses_again_and_again_is_left_alone_for_longer(
    retry_after_s: float, waits_s: float, is_amiss: bool
) -> None:
    evidence = flawless()
    host = evidence.web.visits[-1].host
    last = max((each for each in evidence.web.visits if each.host == host), key=lambda each: each.began_s)
    for number in range(2):
        began_s = last.ended_s + 10.0 * (number + 1)
        refused = replace(last, began_s=began_s, ended_s=began_s + 0.5, status=429, retry_after_s=retry_after_s)
        evidence.web.visits.append(refused)

    again_s = evidence.web.visits[-1].ended_s + waits_s
    evidence.web.visits.append(replace(last, began_s=again_s, ended_s=again_s + 0.5))

    assert bool([*CHECKERS["politeness"](evidence)]) is is_amiss
