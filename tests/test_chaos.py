"""The campaign against real processes: its draws are a seed's, and each law of its judge can be broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.chaos.draws import DISK_STRIKES, KILLS, LOSSES, NETWORK_STRIKES, SINK_STRIKES, draw_round
from benchmarks.chaos.evidence import Asked, Cut, Evidence, evidence_of, plain_evidence
from benchmarks.chaos.judge import LAWS, verdict
from benchmarks.chaos.receiver import received
from benchmarks.chaos.rounds import tracebacks
from benchmarks.kit.measure import ROOT

PORT = 8000
HOST = "127.1.0.1"
PAGES = ("/a", "/b", "/c")
SMALL_ROUND_S = 240
Spoil = Callable[[Evidence], object]


def _url(target: str) -> str:
    return f"http://{HOST}:{PORT}{target}"


def _flawless(**more: object) -> Evidence:
    """Returns the evidence of three pages that were fetched 2 s apart, by two machines in turn."""
    evidence = Evidence(copies=2, delay_s=1.0, partition="available", hosts=1, loses_more=False, port=PORT)
    evidence.urls = [_url(target) for target in PAGES]
    evidence.asked = [
        Asked(HOST, target, 10.0 + 2 * n, 10.5 + 2 * n, f"10.0.0.{n % 2}") for n, target in enumerate(PAGES)
    ]
    evidence.items = {"the file": list(evidence.urls), "the webhook": list(evidence.urls)}
    evidence.job = {"state": "finished", "certificate": {"final": True, "missing": []}, "not_whole": []}
    evidence.final_s, evidence.records = 20.0, len(PAGES) + 1
    for name, value in more.items():
        setattr(evidence, name, value)
    return evidence


def _unfinished(evidence: Evidence, **more: object) -> None:
    evidence.job = {"state": "incomplete", "certificate": {"final": False}, **more}


def _asked_at(evidence: Evidence, target: str, begin_s: float, client: str = "10.0.0.0") -> None:
    evidence.asked.append(Asked(HOST, target, begin_s, begin_s + 0.1, client))


def test_nothing_is_amiss_with_a_flawless_round() -> None:
    assert verdict(_flawless()) == []


SLIPS: list[tuple[str, Spoil]] = [
    ("coverage", lambda e: e.asked.pop()),
    ("items", lambda e: e.items["the webhook"].pop()),
    ("items", lambda e: e.items["the file"].append(_url("/a"))),
    ("items", lambda e: e.items["the file"].append(_url("/nowhere"))),
    ("politeness", lambda e: _asked_at(e, "/robots.txt", 13.4)),
    ("politeness", lambda e: e.asked.__setitem__(1, e.asked[1]._replace(end_s=None))),
    ("refetches", lambda e: _asked_at(e, "/a", 18.0)),
    ("finish", lambda e: _asked_at(e, "/robots.txt", 21.0)),
    ("finish", lambda e: _unfinished(e, not_whole=[7])),
    ("finish", lambda e: e.job["certificate"].update(final=False, missing=["m1"])),
    ("finish", lambda e: e.overdue.append("not within 60 s: it agrees")),
    ("told", lambda e: e.items["the file"].pop()),
    ("disks", lambda e: setattr(e, "records", 3)),
    ("disks", lambda e: setattr(e, "few", 1)),
    ("disks", lambda e: setattr(e, "astray", 1)),
    ("logs", lambda e: e.logs.update({"1-of-0": ["a traceback: KeyError: 3"]})),
    ("ends", lambda e: e.ends.append(("1-of-0", -11, "ended by itself"))),
    ("left_over", lambda e: e.left_over.append("process 4711")),
]


@pytest.mark.parametrize(("law", "spoil"), SLIPS, ids=[f"{law}-{n}" for n, (law, _) in enumerate(SLIPS)])
def test_each_slip_breaks_its_law(law: str, spoil: Spoil) -> None:
    evidence = _flawless()

    spoil(evidence)

    assert law in {broken.law for broken in verdict(evidence)}


def test_every_law_has_a_slip_that_breaks_it() -> None:
    assert {law for law, _ in SLIPS} == set(LAWS)


def test_two_sides_of_a_cut_keep_the_delay_each_by_itself_until_they_agree() -> None:
    cut = Cut(at_s=9.0, healed_s=14.0, island=["10.0.0.1"], agreed_s=14.5)
    evidence = _flawless(cuts=[cut])
    _asked_at(evidence, "/robots.txt", 12.9, client="10.0.0.0")

    assert verdict(evidence) == []
    evidence.partition = "majority"
    assert {broken.law for broken in verdict(evidence)} == {"politeness"}
    evidence.partition, cut.agreed_s = "available", 11.0
    assert {broken.law for broken in verdict(evidence)} == {"politeness"}


def test_a_slave_that_stood_still_may_send_one_request_late_and_no_second_one() -> None:
    evidence = _flawless(thawed_s=[12.6])
    _asked_at(evidence, "/robots.txt", 12.8)

    assert verdict(evidence) == []
    _asked_at(evidence, "/robots.txt", 13.2)
    assert {broken.law for broken in verdict(evidence)} == {"politeness"}


def test_what_more_lost_disks_took_must_be_told_by_name() -> None:
    evidence = _flawless(loses_more=True)
    evidence.items["the file"].pop()
    evidence.job = {"state": "finished", "certificate": {"final": True}, "not_whole": []}

    assert "told" in {broken.law for broken in verdict(evidence)}
    _unfinished(evidence)
    assert "told" in {broken.law for broken in verdict(evidence)}
    _unfinished(evidence, not_whole=[7])
    evidence.records -= 1
    assert verdict(evidence) == []
    evidence.loses_more = False
    assert {"finish", "items", "disks"} <= {broken.law for broken in verdict(evidence)}


def test_draws_are_those_of_seed_and_number() -> None:
    assert draw_round(7, 4) == draw_round(7, 4)
    assert draw_round(7, 4) != draw_round(7, 5) != draw_round(8, 5)


def test_rounds_strike_in_every_way_there_is_and_lose_no_more_disks_than_they_say() -> None:
    rounds = [draw_round(1, number) for number in range(400)]

    struck = {strike.what for drawn in rounds for strike in drawn.strikes}
    of_kinds = {*KILLS, *LOSSES, *SINK_STRIKES}.union(*DISK_STRIKES.values(), *NETWORK_STRIKES.values())
    assert struck == of_kinds
    for drawn in rounds:
        lost = sum(len(strike.who) for strike in drawn.strikes if strike.what in LOSSES)
        assert lost == drawn.copies if drawn.loses_more else lost < drawn.copies


def test_of_an_item_that_came_again_the_receiver_has_one_and_of_a_line_that_was_cut_off_none(tmp_path: Path) -> None:
    kept = tmp_path / "received.jsonl"
    kept.write_text('\n["k1", 0, "u1"]\n["k2", 0, "u2"]\n["k1", 1, "u1"]\n["k3", 0, "u\n["k4", 0, "u4"]\n')

    assert received(kept) == ["u1", "u2", "u4"]


def test_tracebacks_are_found_in_logs_that_indent_them() -> None:
    first = "    Traceback (most recent call last):\n      File x\n    KeyError: 3\n"
    log = f"a line\n{first}another\nTraceback (most recent call last):\n  File y\nOSError: full\n"

    assert tracebacks(log) == ["a traceback: KeyError: 3", "a traceback: OSError: full"]


@pytest.mark.soak
def test_a_round_of_real_masters_holds_and_its_evidence_can_be_spoiled(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.chaos", "--small", "--seed", "1", "--rounds", "1", "--json"]

    ended = subprocess.run(
        [*command, "--keep", tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=SMALL_ROUND_S
    )

    assert ended.returncode == 0, ended.stderr
    (played,) = json.loads(ended.stdout)["rounds"]
    assert played["strikes"] > 0 and played["broken"] == []
    told = json.loads((tmp_path / "round-1" / "evidence.json").read_text())
    assert verdict(evidence_of(told)) == []
    for law, spoil in (
        ("items", lambda e: e.items["the file"].pop()),
        ("politeness", lambda e: e.asked.append(e.asked[40]._replace(begin_s=e.asked[40].begin_s + 0.2))),
        ("coverage", lambda e: setattr(e, "asked", [a for a in e.asked if not e.urls[7].endswith(a.target)])),
    ):
        spoiled = evidence_of(json.loads(json.dumps(plain_evidence(evidence_of(told)))))
        spoil(spoiled)
        assert law in {broken.law for broken in verdict(spoiled)}
