"""Aimed faults strike at the moment that is named, on the spot, and only what the cluster promises to bear."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.timings import TIMINGS
from simulations.draws.stalls import ANSWERS, MESSAGES, STORES, drawn_hesitations
from simulations.kernel.moments import CAME, COMES, COMMITS, COMMITTED, LEAVES, LEFT, Moment
from simulations.play.aims import BLOWS, BOTH, MEANWHILE, NODE, PEER, STALL, Aim, strike
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.scenarios.aimed import COUNTS, drawn_aims, drawn_faults
from simulations.shrink.case import case_of, text_of
from simulations.whole.outcome import Report
from simulations.whole.plan import Plan
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

ROOT = Path(__file__).parents[2]
SMALL = Options(masters=4, replicas=2, pages=20, hosts=4, seed=2)


def struck(*aims: Aim, options: Options = SMALL) -> tuple[Report, list[Moment]]:
    """A run with these aims, and its moments as one saw them who listened after the aims."""
    heard: list[Moment] = []

    async def faults(stage: Stage) -> None:
        aiming = strike(stage, aims)
        stage.world.loop.call_soon(stage.world.moments.listen, heard.append)
        await aiming

    return Simulation(Plan(options, faults=faults)).run(), heard


@pytest.mark.slow
def test_who_dies_before_a_message_leaves_has_not_sent_it() -> None:
    report, heard = struck(Aim(kind="Copy", phase=LEAVES, nth=3, do="power-loss"))

    (aim,) = report.figures["aims"]
    (dead,) = aim["hit"]
    assert report.violations == []
    own = [m.phase for m in heard if m.node == dead and m.kind == "Copy" and round(m.at, 3) <= aim["at_s"]]
    assert own.count(LEAVES) == own.count(LEFT) + 1


@pytest.mark.slow
@pytest.mark.parametrize("phase", [COMES, CAME])
def test_the_other_end_of_a_message_can_be_hit(phase: str) -> None:
    report, _ = struck(Aim(kind="Discover", phase=phase, nth=2, do="crash", side=PEER, for_s=3.0))

    assert report.violations == []
    assert [incident.what for incident in report.incidents] == ["crash"]


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "kept"), [(COMMITS, False), (COMMITTED, True)])
def test_a_transaction_is_gone_before_its_commit_and_kept_after_it(phase: str, kept: bool) -> None:
    report, heard = struck(Aim(kind="Store.commit", phase=phase, nth=20, do="crash"))

    (aim,) = report.figures["aims"]
    (dead,) = aim["hit"]
    own = [m.phase for m in heard if m.node == dead and m.kind == "Store.commit" and round(m.at, 3) <= aim["at_s"]]
    assert report.violations == []
    assert own.count(COMMITS) == own.count(COMMITTED) + (not kept)


@pytest.mark.slow
def test_a_pair_is_hit_one_after_the_other_if_there_are_copies_enough_for_both() -> None:
    pair = Aim(kind="Copied", phase=LEFT, nth=5, do="crash", side=BOTH, peer_do="freeze", apart_s=0.005)

    report, _ = struck(pair, options=replace(SMALL, replicas=3))
    refused, _ = struck(pair)

    assert report.violations == refused.violations == []
    assert [(i.what, len(i.nodes)) for i in report.incidents] == [("crash", 1), ("pause", 1)]
    assert report.incidents[1].began_s - report.incidents[0].began_s == pytest.approx(0.005)
    assert refused.incidents == []
    assert refused.figures["aims_never_came"] == [str(pair)]


@pytest.mark.slow
def test_somebody_else_can_be_hit_at_a_moment() -> None:
    report, _ = struck(Aim(kind="Store.commit", phase=COMMITTED, nth=5, of="m0", do="crash", who="m1", for_s=2.0))

    assert report.violations == []
    assert [aim["hit"] for aim in report.figures["aims"]] == [["m1"]]


@pytest.mark.slow
def test_an_aim_goes_beyond_what_the_cluster_bears_only_if_it_says_so() -> None:
    both = Aim(kind="Copied", phase=LEFT, nth=30, do="wipe", side=BOTH, for_s=1.0, beyond=True)

    report, _ = struck(both)

    assert len(report.figures["aims"][0]["hit"]) == 2
    assert report.figures["heard"][-1]["state"] == "incomplete"


@pytest.mark.slow
def test_message_that_is_held_up_comes_later_and_somebody_may_be_struck_meanwhile() -> None:
    aim = Aim(
        kind="Copy", phase=LEAVES, nth=3, do=STALL, for_s=2.0,
        then="freeze", side=PEER, apart_s=0.5, then_for_s=0.3,
    )  # fmt: skip

    report, heard = struck(aim)

    (told,) = report.figures["aims"]
    one, other = told["hit"]
    came = [m.at for m in heard if (m.kind, m.phase, m.node, m.peer) == ("Copy", COMES, other, one)]
    assert report.violations == []
    assert told["meanwhile"] == [other]
    assert [i.what for i in report.incidents] == ["pause"]
    assert report.incidents[0].began_s == pytest.approx(told["at_s"] + 0.5, abs=0.002)
    assert not [at for at in came if told["at_s"] + 0.1 < at < told["at_s"] + 1.99]
    assert [at for at in came if told["at_s"] + 1.99 <= at < told["at_s"] + 2.1]


@pytest.mark.slow
def test_answer_to_what_comes_can_be_held_up() -> None:
    report, heard = struck(Aim(kind="Copy", phase=COMES, nth=3, do=STALL, for_s=2.0))

    (told,) = report.figures["aims"]
    one, other = told["hit"]
    came = [m.at for m in heard if (m.kind, m.phase, m.node, m.peer) == ("Copied", COMES, other, one)]
    assert report.violations == []
    assert not [at for at in came if told["at_s"] + 0.1 < at < told["at_s"] + 1.99]
    assert [at for at in came if told["at_s"] + 1.99 <= at < told["at_s"] + 2.1]


@pytest.mark.slow
def test_what_is_stored_is_durable_long_before_anybody_hears_of_it_if_that_is_held_up() -> None:
    report, heard = struck(Aim(kind="CopyStore.put", phase=COMMITTED, nth=4, do=STALL, for_s=3.0))

    (told,) = report.figures["aims"]
    (slow,) = told["hit"]
    stored = [m.at for m in heard if (m.kind, m.phase, m.node) == ("CopyStore.put", COMMITTED, slow)]
    said = [m.at for m in heard if (m.kind, m.phase, m.node) == ("Copied", LEAVES, slow)]
    assert report.violations == []
    assert not [at for at in (*stored, *said) if told["at_s"] + 0.001 < at < told["at_s"] + 2.99]
    assert [at for at in stored if at >= told["at_s"] + 2.99]


def test_plan_says_what_is_held_up_and_what_happens_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        PLAN + '[[aim]]\nkind = "Claim"\nphase = "left"\ndo = "stall"\nfor = "9 s"\n'
        'then = "leave"\nwho = "m2"\napart = "300 ms"\nthen_for = "2 s"\n'
        '[[fault]]\ndo = "hesitate"\nat = "1 s"\nwho = ["m1"]\nshare = 0.01\nlongest = "2 s"\n'
    )

    case = case_of(read_plan(path))
    written = tmp_path / "written.toml"
    written.write_text(text_of(case))

    fault, aim = case.parts
    assert str(aim) == "stall for 9 s and leave of m2 0.3 s later when Claim left for the 1. time"
    assert fault.change == {"share": 0.01, "longest": 2.0}
    assert [replace(part, place="") for part in case_of(read_plan(written)).parts] == [
        replace(part, place="") for part in case.parts
    ]


OF_OTHER_RUNS = {"AskElectorate", "Borrow", "CallIn", "Repay"}
"""Kinds that come with a majority, and with another key, only."""


def test_more_than_half_of_the_aims_hold_something_up_and_most_of_these_strike_meanwhile() -> None:
    aims = [aim for seed in range(300) for aim in drawn_aims(replace(SMALL, seed=seed)) if not is_slow(aim)]

    stalls = [aim for aim in aims if aim.do == STALL]
    assert 0.6 < len(stalls) / len(aims) < 0.8
    assert 0.6 < sum(bool(aim.then) for aim in stalls) / len(stalls) < 0.8
    assert {aim.then for aim in stalls} == {"", *MEANWHILE}


def is_slow(aim: Aim) -> bool:
    """Tells whether an aim is one of those that hold up one kind again and again."""
    return aim.place.startswith("slow ")


def test_in_many_runs_some_kinds_are_held_up_again_and_again() -> None:
    drawn = [list(filter(is_slow, drawn_aims(replace(SMALL, seed=seed)))) for seed in range(300)]

    there = [aims for aims in drawn if aims]
    assert 0.5 < len(there) / len(drawn) < 0.7
    assert {len({aim.kind for aim in aims}) for aims in there} == {1, 2, 3}
    assert min(map(len, there)) >= 4
    assert all(aim.do == STALL for aims in there for aim in aims)
    assert {aim.kind for aims in there for aim in aims} >= ANSWERS.keys() - {"Lent", "Voted"}


def test_who_waits_for_an_answer_stands_still_meanwhile_in_some_runs_and_is_not_held_dead() -> None:
    aims = [aim for seed in range(300) for aim in drawn_aims(replace(SMALL, seed=seed))]

    answers = [aim for aim in aims if aim.place.startswith("answer")]
    assert 50 < len(answers) < 100
    assert {aim.kind for aim in answers} == set(ANSWERS) - {"Lent", "Voted"}
    assert all((aim.then, aim.side, aim.phase) == ("freeze", PEER, LEAVES) for aim in answers)
    assert all(
        TIMINGS.stood_still_s + TIMINGS.clock_look_s < aim.then_for_s < TIMINGS.suspicion_min_s for aim in answers
    )


def test_hesitations_are_drawn_moderately() -> None:
    drawn = [fault for seed in range(100) for fault in drawn_hesitations(replace(SMALL, seed=seed))]

    assert drawn == [fault for seed in range(100) for fault in drawn_hesitations(replace(SMALL, seed=seed))]
    assert max(fault.change["share"] for fault in drawn) <= 0.02
    assert {len(fault.who) for fault in drawn} == {1, 2, 3, 4}


def test_seldom_kinds_are_drawn_almost_as_often_as_frequent_ones() -> None:
    kinds = [aim.kind for seed in range(600) for aim in drawn_aims(replace(SMALL, seed=seed))]

    assert set(kinds) == (set(COUNTS) | set(MESSAGES) | set(STORES)) - OF_OTHER_RUNS
    assert kinds.count("Copy") < 3 * kinds.count("Taken")


def test_aims_and_faults_come_from_the_seed_alone() -> None:
    assert drawn_aims(SMALL) == drawn_aims(SMALL)
    assert drawn_faults(SMALL) == drawn_faults(SMALL)
    assert drawn_aims(SMALL) != drawn_aims(replace(SMALL, seed=9))


PLAN = """
[cluster]
masters = 3
replicas = 2
[web]
pages = 20
hosts = 4
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('kind = "Copy"\nphase = "leafs"\ndo = "crash"', "phase: there is no 'leafs'; did you mean 'leaves'?"),
        (
            'kind = "Copy"\nphase = "left"\ndo = "leave"',
            f"do: there is no 'leave'; there are {', '.join((*BLOWS, STALL))}",
        ),
        ('kind = "Copy"\nphase = "left"\ndo = "wipe"\nthen = "crash"', 'then: is for do = "stall"'),
        ('kind = "verb job"\nphase = "told"\ndo = "stall"', "phase: there is no 'told'"),
        ('kind = "Copy"\nphase = "left"\ndo = "stall"\npeer_do = "crash"', "peer_do: is not for do = "),
        ('kind = "Copy"\nphase = "left"\ndo = "wipe"\nof = "m7"', "of: there is no 'm7'; there are m0, m1, m2"),
        ('kind = "Copy"\nphase = "left"\ndo = "wipe"\nwho = "m7"', "who: there is no 'm7'; there are m0, m1, m2"),
        ('kind = "Copy"\nphase = "left"\ndo = "wipe"\nwho = "m1"\nside = "peer"', "who: is for aims without a side"),
        ('kind = "Copy"\nphase = "left"\ndo = "wipe"\nnth = 0', "nth: must be at least 1"),
        ('kind = "Copy"\nphase = "left"\ndo = "wipe"\napart = "1 s"', 'apart: is for side = "both", and not for split'),
    ],
)
def test_what_an_aim_says_wrongly_is_refused(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f"{PLAN}[[aim]]\n{line}\n")

    with pytest.raises(ConfigurationError) as refused:
        read_plan(path)

    assert said in str(refused.value)


@pytest.mark.slow
def test_aims_of_every_kind_do_the_same_in_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + "".join(_aim(*aim) for aim in zip(BLOWS, SPOTS, SIDES_OF, strict=True)))

    one, other = [_ended(process) for process in [_begun(path, hash_seed) for hash_seed in (1, 77)]]

    assert one == other
    assert [hit["aim"].split()[0] for hit in one["aims"]] == list(BLOWS)


@pytest.mark.slow
def test_stalls_and_hesitations_do_the_same_in_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    hesitates = '[[fault]]\nat = "0 s"\ndo = "hesitate"\nwho = ["m0", "m2"]\nshare = 0.02\nlongest = "1 s"\n'
    path.write_text(PLAN + hesitates + "".join(map(_stall, MEANWHILE, STALLED_SPOTS)))

    one, other = [_ended(process) for process in [_begun(path, hash_seed) for hash_seed in (1, 77)]]

    assert one == other
    assert len(one["aims"]) == len(MEANWHILE)
    assert all(hit["aim"].startswith("stall") for hit in one["aims"])


SPOTS = (
    ("Copy", LEAVES),
    ("Discover", COMES),
    ("Store.commit", COMMITS),
    ("CopyStore.put", COMMITTED),
    ("Copied", LEFT),
)
SIDES_OF = (NODE, PEER, NODE, NODE, BOTH)


def _aim(do: str, spot: tuple[str, str], side: str) -> str:
    kind, phase = spot
    nth = 3 + 10 * BLOWS.index(do)
    nth = 2 if kind == "Discover" else nth
    return (
        f'[[aim]]\nkind = "{kind}"\nphase = "{phase}"\nnth = {nth}\nside = "{side}"\ndo = "{do}"\n'
        'for = "2 s"\nbeyond = true\n'
    )


STALLED_SPOTS = (
    ("Copy", LEAVES),
    ("Copied", LEFT),
    ("Discover", COMES),
    ("Copy", CAME),
    ("Store.commit", COMMITS),
    ("CopyStore.put", COMMITTED),
    ("Copied", COMES),
)


def _stall(then: str, spot: tuple[str, str]) -> str:
    kind, phase = spot
    nth = 2 if kind == "Discover" else 5 + 10 * MEANWHILE.index(then)
    return (
        f'[[aim]]\nkind = "{kind}"\nphase = "{phase}"\nnth = {nth}\ndo = "stall"\nfor = "3 s"\n'
        f'then = "{then}"\napart = "200 ms"\nthen_for = "2 s"\nbeyond = true\n'
    )


def _begun(path: Path, hash_seed: int) -> subprocess.Popen[str]:
    environment: dict[str, Any] = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "simulations", "run", str(path), "--json"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    printed, _ = process.communicate(timeout=120)
    told: dict[str, Any] = json.loads(printed)
    del told["real_s"]
    return told


@pytest.mark.slow
def test_nobody_is_struck_any_more_when_the_job_has_ended_and_all_is_healed() -> None:
    usual, _ = struck(Aim(kind="MirrorJob", phase=LEAVES, nth=1, do=STALL, for_s=0.3))
    began_s = usual.figures["aims"][0]["at_s"]
    healed_s = next(at_s for at_s, what in usual.series.marks if what == "healed")
    late = Aim(
        kind="MirrorJob", phase=LEAVES, nth=1, do=STALL, for_s=0.3, then="crash", apart_s=healed_s - began_s + 0.5
    )

    report, _ = struck(late)

    assert usual.violations == report.violations == []
    assert report.incidents == []
