"""A failure is reduced to the least that still fails, and what is left can be read as a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.__main__ import main
from simulations.checkers import Violation
from simulations.kernel.moments import LEFT
from simulations.kernel.paths import Law
from simulations.observe.incidents import Deed
from simulations.play.aims import Aim
from simulations.play.evidence import Coming
from simulations.play.faults import Fault
from simulations.play.options import Options
from simulations.play.series import Series
from simulations.scenarios import SCENARIOS
from simulations.scenarios.aimed import drawn_aims, drawn_faults
from simulations.shrink.case import Case, case_of, recorded, text_of
from simulations.shrink.deeds import LONG_S, faults_of
from simulations.shrink.failures import failure_of
from simulations.shrink.least import least, numbers_told
from simulations.shrink.reduction import Reduction, TimeIsUp
from simulations.shrink.timing import early, timed
from simulations.whole.outcome import Report
from simulations.whole.plan import Plan
from simulations.whole.plan_file import read_plan
from simulations.world.web import WebPlan, numbers_in

OPTIONS = Options(
    scenario="aimed", seed=4, masters=5, replicas=3, pages=120, hosts=10, slaves=1, sinks=1, limit_s=500.0
)


def failing(needs: Callable[[Case], bool], told: list[str], seconds: float = 60.0) -> Reduction:
    """A reduction of a case that fails as long as it has what it needs."""

    def play(case: Case) -> Report:
        found = [Violation("quiet", "it broke")] if needs(case) else [Violation("items", "something else")]
        return Report(case.options, "", 0.0, 0.0, {}, found)

    return Reduction(case_of(Plan(OPTIONS)), failure_of(Violation("quiet", "it broke")), seconds, told.append, play)


def test_what_is_not_needed_is_taken_away() -> None:
    told: list[str] = []
    parts = case_of(Plan(OPTIONS)).parts
    needed = {parts[1].place, parts[-1].place}

    best = failing(lambda c: needed <= {p.place for p in c.parts} and 77 in c.numbers and c.options.masters > 2, told)
    best.run()

    assert {part.place for part in best.best.parts} == needed
    assert (best.best.numbers, best.best.options.masters, best.best.options.replicas) == ((0, 77), 3, 1)
    assert (best.best.options.slaves, best.best.options.sinks) == (0, 0)
    assert "2 faults and aims, 3 masters" in told[-1]


def test_a_failure_without_any_fault_is_left_without_one() -> None:
    reduction = failing(lambda case: True, [])

    assert reduction.run().parts == ()


@pytest.mark.parametrize("name", ["aimed", "lying-disks"])
def test_what_a_scenario_draws_beforehand_is_taken_apart_as_it_was_drawn(name: str) -> None:
    parts = SCENARIOS[name].parts
    assert parts is not None
    options = replace(OPTIONS, scenario=name)

    assert case_of(Plan(options)).parts == tuple(parts(options))


def test_a_scenario_whose_spider_needs_people_is_left_to_its_code() -> None:
    """In a plan nobody would bring the URLs, and most pages be unknown: another failure."""
    first = case_of(Plan(Options(scenario="inject", masters=4, pages=60, hosts=10)))

    seen = recorded(first, [Deed(5.0, "wipe", ("m1",))], 1.0)

    assert seen.own and seen.parts == ()


def test_what_only_the_code_of_a_scenario_does_is_left_to_it_and_the_rest_made_smaller() -> None:
    def play(case: Case) -> Report:
        found = [Violation("items", "a lie")] if case.own else []
        return Report(case.options, "", 0.0, 0.0, {}, found)

    first = case_of(Plan(Options(scenario="slaves-lie", masters=4, slaves=3, pages=60, hosts=10)))
    best = Reduction(first, failure_of(Violation("items", "a lie")), 60.0, lambda line: None, play).run()

    assert best.plan.command == ""
    assert 'scenario = "slaves-lie"' in text_of(best) and 'only = "0"' in text_of(best)
    assert best.size == "all of slaves-lie, 2 masters, 2 copies, 1 pages on 1 hosts"


def test_what_came_is_told_by_its_time_and_what_did_not_is_gone() -> None:
    aim, late = Aim(kind="Copy", phase=LEFT, do="crash", nth=7), Aim(kind="Copied", phase=LEFT, do="crash")
    share = Fault(place="", do="crash", at_share=0.5, who=("m1",))
    case = Case(OPTIONS, WebPlan(pages=30), Law(), (share, aim, late))
    report = Report(
        OPTIONS, "", 30.0, 0.0, {}, [], series=Series(marks=[(2.0, "the job begins")]),
        came=[Coming(aim, 12.0, "m3", 2), Coming(share, 14.5)],
    )  # fmt: skip

    crash, again = timed(case, report).parts

    assert isinstance(crash, Fault) and (crash.at_s, crash.at_share, crash.for_s) == (12.5, None, LONG_S)
    assert isinstance(again, Aim) and (again.of, again.nth, again.after_s) == (
        "m3",
        2,
        pytest.approx(9.999999, abs=1e-9),
    )
    assert early(case, report).parts == (share, aim)


def test_another_failure_of_the_same_law_is_another_failure() -> None:
    def said(what: str, checker: str = "rumours") -> Report:
        return Report(OPTIONS, "", 1.0, 0.0, {}, [Violation(checker, what)])

    failure = failure_of(Violation("rumours", "at 44.1 s m0 counts m2 again, and does not tell it (1, 2)"))

    assert failure.came_in(said("at 7 s m10 counts m0 again, and does not tell it (3)"))
    assert not failure.came_in(said("at 7 s m10 suspects m0, which has answered"))
    assert not failure.came_in(said("at 44.1 s m0 counts m2 again, and does not tell it (1, 2)", "handovers"))


@given(st.lists(st.integers(0, 40), unique=True), st.sets(st.integers(0, 40), max_size=4))
def test_what_is_left_is_what_is_needed(things: list[int], needed: set[int]) -> None:
    needed &= set(things)

    assert set(least(things, lambda some: needed <= set(some))) == needed


def test_what_fails_with_one_of_two_things_is_left_with_one() -> None:
    asked: list[tuple[int, ...]] = []

    def fails(some: tuple[int, ...]) -> bool:
        asked.append(some)
        return bool({3, 9} & set(some))

    assert least(range(16), fails) == (3,)
    assert asked[:2] == [(), tuple(range(8))]


@given(st.sets(st.integers(0, 60)))
def test_numbers_of_pages_are_read_as_they_are_written(numbers: set[int]) -> None:
    assert numbers_in(numbers_told(sorted(numbers))) == numbers


def test_when_the_time_is_up_what_was_found_by_then_is_kept() -> None:
    reduction = failing(lambda case: True, [], seconds=0.0)

    with pytest.raises(TimeIsUp):
        reduction.run()

    assert reduction.report is None
    assert reduction.best.parts == case_of(Plan(OPTIONS)).parts


def test_a_case_is_written_as_the_plan_that_it_is(tmp_path: Path) -> None:
    case = Case(
        replace(OPTIONS, control="never-dropped", mutant="condemned-untold"),
        WebPlan(pages=20, hosts=5, zipf=2.0, only="0-3 7"), Law(loss=0.1),
        (*drawn_faults(OPTIONS), *drawn_aims(OPTIONS), Aim(kind="Copy", phase=LEFT, do="crash", after_s=2.5),
         Fault(place="", do="split", at_s=2.5, for_s=4.0, groups=(("m0",), ("m1", "m2")))),
    )  # fmt: skip
    path = tmp_path / "least.toml"

    path.write_text(text_of(case, ["It broke.", '"so"']))
    again = case_of(read_plan(path))

    assert [replace(part, place="") for part in again.parts] == [
        *(replace(part, place="") for part in case.parts if isinstance(part, Fault)),
        *(replace(part, place="") for part in case.parts if isinstance(part, Aim)),
    ]
    assert (again.web, again.law) == (case.web, case.law)
    assert replace(again.options, scenario="", latency_s=1.0) == replace(
        case.options, scenario="", latency_s=1.0, pages=20, hosts=5
    )


def test_what_a_scenario_did_becomes_faults_of_a_plan_at_the_same_times() -> None:
    deeds = [
        Deed(0.5, "start", ("m0",)),
        Deed(3.0, "power-loss", ("m1",)),
        Deed(3.0, "wipe", ("m1",)),
        Deed(4.0, "split", (), (("m0",), ("m2",))),
        Deed(6.0, "join"),
        Deed(6.5, "silence", (), (("m0",), ("m1", "m2"))),
        Deed(7.0, "join"),
        Deed(7.2, "ring"),
        Deed(7.7, "join"),
        Deed(8.0, "start", ("m1",)),
        Deed(9.0, "freeze", ("m2",)),
    ]

    faults = list(faults_of(deeds, 1.0))

    assert [(f.do, f.at_s, f.for_s, f.who, f.groups) for f in faults] == [
        ("wipe", 2.0, 5.0, ("m1",), ()),
        ("split", 3.0, 2.0, (), (("m0",), ("m2",))),
        ("silence", 5.5, 0.5, ("m0",), ()),
        ("ring", 6.2, 0.5, (), ()),
        ("freeze", 8.0, LONG_S, ("m2",), ()),
    ]
    assert faults[2].change == {"unheard_by": ["m1", "m2"]}


def test_parts_that_name_masters_that_are_gone_name_others() -> None:
    case = Case(OPTIONS, WebPlan(pages=30), Law(), (
        Fault(place="", do="crash", at_s=1.0, who=("m4",)), Aim(kind="Copy", phase=LEFT, do="crash", of="m3"),
    ))  # fmt: skip

    crash, aim = case.smaller(masters=2, replicas=2).parts

    assert isinstance(crash, Fault) and isinstance(aim, Aim)
    assert (crash.who, aim.of) == (("m0",), "m1")


@pytest.mark.slow
def test_a_mistake_that_was_put_in_is_shrunk_to_a_plan_that_still_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "least.toml"
    put_in = ["steady", "--masters", "3", "--pages", "30", "--control", "news-counted-twice"]

    assert main(["shrink", *put_in, "-o", str(path)]) == 1
    printed = capsys.readouterr().out
    again = main(["run", str(path)])

    assert again == 1
    assert "statements tells:" in printed
    assert "0 faults and aims, 2 masters, 1 copies, 1 pages" in printed


@pytest.mark.slow
def test_a_failure_that_a_mutant_makes_is_shrunk_and_ends_when_it_is_amiss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "least.toml"

    assert main(["shrink", "5", "--mutant", "condemned-untold", "-o", str(path)]) == 1
    printed = capsys.readouterr().out
    assert main(["run", str(path)]) == 1

    assert "1 faults and aims, 2 masters, 1 copies" in printed
    assert "without condemned-untold rumours tells it, too" not in printed


def test_a_mutant_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "5", "--mutant", "nonsense"]) == 2

    assert "there is no mutant 'nonsense'" in capsys.readouterr().err
