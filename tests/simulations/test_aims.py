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
from simulations.kernel.moments import CAME, COMES, COMMITS, COMMITTED, LEAVES, LEFT, Moment
from simulations.play.aims import BLOWS, BOTH, NODE, PEER, Aim, strike
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.scenarios.aimed import COUNTS, drawn_aims, drawn_faults
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


def test_seldom_kinds_are_drawn_almost_as_often_as_frequent_ones() -> None:
    kinds = [aim.kind for seed in range(600) for aim in drawn_aims(replace(SMALL, seed=seed))]

    assert set(kinds) == set(COUNTS)
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
        ('kind = "Copy"\nphase = "left"\ndo = "leave"', f"do: there is no 'leave'; there are {', '.join(BLOWS)}"),
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


def _begun(path: Path, hash_seed: int) -> subprocess.Popen[str]:
    environment: dict[str, Any] = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "simulations", "run", str(path), "--json"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    printed, _ = process.communicate(timeout=120)
    told: dict[str, Any] = json.loads(printed)
    del told["real_s"]
    return told
