"""What scenarios do to the machines is what they say, and the cluster bears it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from itertools import combinations
from pathlib import Path

import pytest

from simulations.kernel.paths import Law
from simulations.observe.folders import DONE, print_of
from simulations.observe.incidents import FULL_DISK, Incident, Stall
from simulations.observe.sightings import Presence
from simulations.play.eyewitness import Eyewitness
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.scenarios import SCENARIOS
from simulations.whole.outcome import Report
from simulations.whole.simulation import Simulation
from simulations.world.machines import Machine
from simulations.world.web import Web, WebPlan
from simulations.world.world import World
from tests.simulations.judging.test_observing import JOB, ONE, record

OF_PAGES = {"coverage", "durability", "items", "fetches", "politeness", "finish", "ownership", "quiet"}
"""The checkers that say whether a page was lost, or asked for when it should not have been."""
SMALL = Options(masters=4, pages=60, hosts=10)


def run(scenario: str, seed: int = 1, **more: object) -> Report:
    return Simulation(replace(SMALL, scenario=scenario, seed=seed, **more)).run()  # type: ignore[arg-type]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Five machines that are down."""

    def nobody_fetches(*_: object) -> None:
        raise AssertionError

    with World(1) as world:
        machines = [Machine(world, f"m{n}", tmp_path, 2, nobody_fetches) for n in range(5)]  # type: ignore[arg-type]
        yield Stage(Options(masters=5), world, Web(1, WebPlan(pages=10, hosts=2)), machines)


def in_touch(stage: Stage) -> set[str]:
    """The pairs that reach each other both ways."""
    path = stage.world.network.path
    return {
        one.name + other.name
        for one, other in combinations(stage.machines, 2)
        if not path(one.node, other.node).cut and not path(other.node, one.node).cut
    }


# -- what the stage does ----------------------------------------------------------------------


def test_in_a_ring_each_reaches_its_two_neighbours_only_until_all_are_joined(stage: Stage) -> None:
    stage.ring(stage.machines)

    assert in_touch(stage) == {"m0m1", "m1m2", "m2m3", "m3m4", "m0m4"}

    stage.join()

    assert len(in_touch(stage)) == 10


def test_who_is_in_no_part_of_a_split_is_a_bridge(stage: Stage) -> None:
    stage.split(stage.machines[1:3], stage.machines[3:])

    assert in_touch(stage) == {"m0m1", "m0m2", "m0m3", "m0m4", "m1m2", "m3m4"}


def test_healing_undoes_bad_networks_slow_disks_and_full_ones(stage: Stage) -> None:
    usual, (machine, other, *_) = stage.world.network.law, stage.machines
    usual_s = machine.node.executor_delay_s
    stage.gone.update(stage.machines)
    stage.degrade(Law(loss=0.5))
    stage.degrade(Law(loss=0.7))
    stage.slow([machine, other], 0.4)
    stage.slow([machine], 0.2)
    stage.fill([machine])
    stage.gone.remove(machine)
    machine.node.start(_nothing)

    stage.heal()

    assert stage.world.network.law == usual
    assert (machine.node.executor_delay_s, other.node.executor_delay_s) == (usual_s, usual_s)
    assert not machine.node.disk_full
    assert all(not incident.open for incident in stage.incidents)


async def _nothing() -> None: ...


def test_who_dies_is_counted_until_everything_is_whole_again(stage: Stage) -> None:
    for machine in stage.machines:
        machine.node.start(_nothing)
    stage.options = replace(stage.options, replicas=3)
    before = stage.spare

    stage.crash(stage.machines[:1])
    stage.crash(stage.machines[:1])
    after_one = stage.spare
    stage.crash(stage.machines[1:2], power=True)

    assert (before, after_one, stage.spare) == (2, 1, 0)


@pytest.mark.parametrize(
    ("before", "is_known"),
    [
        (lambda stage: None, True),
        (lambda stage: stage.split(stage.machines[:1], stage.machines[1:]), False),
        (lambda stage: stage.silence(stage.machines[:1], stage.machines[1:]), False),
        (lambda stage: stage.freeze(stage.machines[:1]), False),
        (lambda stage: stage.crash(stage.machines[:1]), False),
    ],
    ids=["whole", "parted", "unheard", "still", "down"],
)
def test_what_only_one_knows_that_cannot_be_asked_is_not_known_to_those_that_take_over(
    stage: Stage, before: Callable[[Stage], None], is_known: bool
) -> None:
    """Two have a page that is through; one of them is away, or out of reach, when the other one dies."""
    stage.job = JOB
    for machine in stage.machines:
        machine.node.start(_nothing)
    for machine in stage.machines[:2]:
        record(machine.folder, ONE, DONE)

    before(stage)
    stage.crash(stage.machines[1:2])

    assert (print_of(ONE) in stage.incidents[-1].through) is is_known


def test_a_side_of_a_split_does_not_know_what_only_one_of_it_knows_that_is_down(stage: Stage) -> None:
    stage.job = JOB
    for machine in stage.machines[:4]:
        machine.node.start(_nothing)
    for machine in (stage.machines[0], stage.machines[4]):
        record(machine.folder, ONE, DONE)

    stage.split(stage.machines[:1], stage.machines[1:])

    assert print_of(ONE) not in stage.incidents[-1].through


@pytest.mark.parametrize(("held_up_s", "is_alone"), [(0.0, False), (9.0, True), (2.0, False)])
def test_who_is_held_up_by_its_disk_as_it_begins_is_not_there_yet(
    stage: Stage, held_up_s: float, is_alone: bool
) -> None:
    stage.observer.sightings.presences += [
        Presence("m0", 1, 0.0), Presence("m1", 1, 0.0, 19.5), Presence("m2", 2, 16.0)
    ]  # fmt: skip
    stage.stalls.append(Stall(15.8, 15.8 + held_up_s, "Store.recover", frozenset({"m2"})))

    assert Eyewitness(stage).alone("m0", 2.0, 27.0) is is_alone


@pytest.mark.parametrize(
    ("asked_s", "is_freed", "is_alone"), [(15.0, True, True), (9.0, True, False), (15.0, False, False)]
)
def test_who_gives_up_for_its_disk_is_there_no_more(
    stage: Stage, asked_s: float, is_freed: bool, is_alone: bool
) -> None:
    """Its process is ended when there is room again; one that has gone on till later was there all along."""
    ended_s = 20.0 if is_freed else 30.0
    stage.observer.sightings.presences += [Presence("m0", 1, 0.0), Presence("m1", 1, 0.0, ended_s)]
    stage.incidents.append(Incident(FULL_DISK, frozenset({"m1"}), 10.0, 20.0, frozenset()))

    assert Eyewitness(stage).alone("m0", 2.0, asked_s) is is_alone


@pytest.mark.parametrize("parts", [True, False])
def test_who_has_said_good_bye_has_left_though_its_process_goes_on(stage: Stage, parts: bool) -> None:
    stays, goes = stage.machines[0], stage.machines[1]
    if parts:
        Eyewitness(stage).parts(goes.name)

    stage.observer.look_for_overlooked(stays, frozenset(m.id for m in stage.machines if m is not goes))

    held = ["m0 had a final certificate at 0.00 s, and m1 was away and had not left in order"]
    assert stage.observer.overlooked == ([] if parts else held)


@pytest.mark.slow
def test_the_last_one_that_has_everything_does_not_die_while_another_begins() -> None:
    """At this rate there are moments in which only one is up, whole, and a second one has just begun."""
    report = Simulation(Options(scenario="churn", seed=14, masters=4, pages=120, hosts=12, rate=6.0)).run()

    assert not report.violations


# -- what scenarios do ------------------------------------------------------------------------


def test_most_pages_of_a_hot_host_are_one_host_s_and_most_links_from_elsewhere_lead_there() -> None:
    web = Web(1, replace(SCENARIOS["hot-host"].web, pages=300, hosts=10))

    hot, *others = web.hosts.values()
    links = [link for host in others for page in host.pages for link in page.links if host.name not in link]

    assert len(hot.pages) > 0.7 * 300
    assert sum(hot.name in link for link in links) > 0.5 * len(links)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["exponential", "weibull"])
def test_deaths_of_churn_wait_until_the_copies_allow_the_next_one(law: str) -> None:
    """Thirty deaths a master and minute are more than any cluster could bear."""
    report = run("churn", rate=30.0, law=law, pages=40)

    figures = report.figures
    assert not report.violations
    assert 0 < figures["deaths"] < figures["deaths_due"]
    assert figures["rate_reached"] < figures["rate_wanted"] == 30.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["partition", "partition-isolated", "partition-bridge", "partition-ring"])
def test_no_page_is_lost_or_asked_for_too_often_in_a_network_that_falls_apart(kind: str) -> None:
    report = run(kind, seed=3)

    assert not [violation for violation in report.violations if violation.checker in OF_PAGES]
    assert [incident["what"] for incident in report.figures["incidents"]] == ["partition", "partition"]


@pytest.mark.slow
def test_who_wakes_and_hears_first_that_the_other_has_left_claims_its_own_buckets_anew() -> None:
    log = StringIO()

    report = Simulation(replace(SMALL, scenario="alone", masters=2), narrate_to=log).run()

    assert not report.violations
    # It hears besides that the other one held it dead, in the same moment.
    assert len(re.findall(r"stood still for [\d.]+ s: all buckets are claimed anew", log.getvalue())) == 1


@pytest.mark.slow
def test_a_machine_without_the_key_achieves_nothing_with_what_it_throws() -> None:
    report = run("hostile-bytes")

    assert not report.violations
    assert [incident["what"] for incident in report.figures["incidents"]] == ["crash"]
    for kind in ("datagrams_of_garbage", "datagrams_heard", "streams", "calls_refused"):
        assert report.figures[kind] > 0, kind


@pytest.mark.slow
def test_a_master_whose_disk_is_full_says_so_in_one_line_and_the_crawl_is_finished_all_the_same() -> None:
    log = StringIO()

    report = Simulation(replace(SMALL, scenario="full-disk"), narrate_to=log).run()

    assert not report.violations
    assert "failed: DiskFullError('the disk that holds m" in log.getvalue()


@pytest.mark.slow
def test_the_owner_of_a_hot_host_crashes_and_every_page_of_it_is_still_crawled() -> None:
    report = run("hot-host")

    assert not report.violations
    assert {len(incident["nodes"]) for incident in report.figures["incidents"]} == {1}


@pytest.mark.slow
def test_a_swarm_of_faults_is_drawn_from_the_seed() -> None:
    one, again, other = (run("swarm", seed=seed) for seed in (1, 1, 2))

    assert one.trace == again.trace != other.trace
    assert one.figures["faults"] == again.figures["faults"]
    assert not one.violations


@pytest.mark.slow
def test_schedule_has_one_job_for_each_minute_though_whoever_begins_them_is_killed() -> None:
    report = run("scheduled", masters=3, pages=40, hosts=8)

    assert not report.violations
    assert len(report.figures["incidents"]) == 10


@pytest.mark.slow
def test_pages_are_visited_in_each_round_though_masters_die_one_by_one_and_all_at_once() -> None:
    report = run("living", masters=3)

    assert report.violations == []
    assert {incident.what for incident in report.incidents} == {"crash"}


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("scenario", ["boards", "reextraction"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_boards_change_and_stored_pages_are_read_as_was_said_though_masters_die(scenario: str, seed: int) -> None:
    report = run(scenario, seed=seed, masters=3, hosts=8)

    assert not report.violations
    assert report.incidents
