"""An epoch that was begun and never served holds nothing: who dies with its disk then takes nothing along. What was
served and is lost is told of, whoever is left.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from simulations.verbs.run import drawn
from simulations.whole.outcome import Report
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

HEAD = """
seed = 1
limit = "20 min"
[cluster]
masters = {masters}
replicas = 2
[web]
pages = {pages}
hosts = {hosts}
"""
DIES_AS_IT_TELLS = """
[[fault]]
at_share = {share}
do = "leave"
who = ["{leaves}"]
for = "5 s"
whole = true
[[aim]]
kind = "Taken"
phase = "left"
of = "{dies}"
do = "wipe"
for = "15 s"
"""
ALONE_AND_LOST = """
[[fault]]
at_share = 0.2
do = "leave"
who = ["m1"]
for = "60 s"
whole = true
[[fault]]
at = "30 s"
do = "wipe"
who = ["m0"]
for = "5 s"
"""
BOTH_HOLDERS_LOST = """
[[fault]]
at_share = 0.1
do = "wipe"
who = ["m2"]
for = "12 s"
whole = true
[[fault]]
at_share = 0.6
do = "wipe"
who = ["m0", "m1"]
for = "20 s"
whole = true
"""
STANDS_STILL_AS_IT_LEAVES = """
[[fault]]
at = "2 s"
do = "wipe"
who = ["m1"]
for = "1 s"
whole = true
[[fault]]
at = "2.2 s"
do = "leave"
who = ["m0"]
for = "6 s"
[[fault]]
at = "3.3 s"
do = "freeze"
who = ["m0"]
for = "9 s"
"""
MEETS_THE_OTHERS_AGAIN = """
seed = 2092
[cluster]
masters = 3
slaves = 0
replicas = 2
placement = "host-bucket"
key = "url"
[web]
pages = 6
hosts = 2
[[fault]]
do = "split"
at = "11 s"
for = "60 s"
groups = [["m0"], ["m1", "m2"]]
"""


def ran(folder: Path, faults: str, *, masters: int, pages: int, hosts: int) -> Report:
    plan = folder / "plan.toml"
    plan.write_text(HEAD.format(masters=masters, pages=pages, hosts=hosts) + faults)
    return Simulation(read_plan(plan)).run()


def said_in_the_end(report: Report) -> tuple[str, int]:
    """Returns the state of the job, and how many buckets are named as lacking something."""
    last = report.figures["heard"][-1]
    return last["state"], last["buckets"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leaves", "dies", "masters", "pages", "hosts"),
    [("m2", "m1", 3, 20, 4), ("m2", "m2", 3, 80, 20), ("m1", "m0", 2, 8, 2)],
    ids=["heir-of-who-leaves", "who-comes-back", "the-only-one-that-stays"],
)
def test_who_dies_with_its_disk_as_the_first_hears_of_its_epoch_takes_nothing_along(
    tmp_path: Path, leaves: str, dies: str, masters: int, pages: int, hosts: int
) -> None:
    faults = DIES_AS_IT_TELLS.format(leaves=leaves, dies=dies, share=0.3)

    report = ran(tmp_path, faults, masters=masters, pages=pages, hosts=hosts)

    assert [aim["hit"] for aim in report.figures["aims"]] == [[dies]]
    assert report.violations == []


@pytest.mark.slow
def test_what_was_crawled_alone_and_lost_is_told_by_the_one_that_had_left_before(tmp_path: Path) -> None:
    """Of all buckets: who was there when it left owned some of them all along, and took over the rest."""
    report = ran(tmp_path, ALONE_AND_LOST, masters=2, pages=60, hosts=6)

    assert len(report.incidents) == 2
    assert said_in_the_end(report) == ("incomplete", 4096)


@pytest.mark.slow
def test_newcomer_that_nobody_handed_anything_tells_of_what_was_lost_with_both_of_its_holders(tmp_path: Path) -> None:
    report = ran(tmp_path, BOTH_HOLDERS_LOST, masters=3, pages=90, hosts=6)

    assert [len(incident.nodes) for incident in report.incidents] == [1, 2]
    state, buckets = said_in_the_end(report)
    assert state == "incomplete" and buckets > 1200


@pytest.mark.slow
def test_who_was_taken_for_dead_by_one_without_a_disk_has_not_left_before_that_has_everything(tmp_path: Path) -> None:
    report = ran(tmp_path, STANDS_STILL_AS_IT_LEAVES, masters=2, pages=30, hosts=8)

    assert [incident.what for incident in report.incidents] == ["power loss", "leave", "pause"]
    assert report.violations == []


@pytest.mark.slow
def test_who_follows_an_epoch_that_was_joined_hears_of_it_before_the_one_that_lacks_it() -> None:
    """One that was alone without a majority has begun an epoch, and is back: who serves on exceeds that."""
    report = Simulation(drawn(52)).run()

    assert report.violations == []


@pytest.mark.slow
def test_who_was_alone_does_not_take_what_others_served_for_what_it_began_as_it_met_them(tmp_path: Path) -> None:
    """It claims all anew, and nobody has to let go in a view of one: epochs begin there that nobody hears of."""
    plan = tmp_path / "plan.toml"
    plan.write_text(MEETS_THE_OTHERS_AGAIN)

    report = Simulation(read_plan(plan)).run()

    assert [incident.what for incident in report.incidents] == ["partition"]
    assert report.violations == []
