"""Mutants: each of the catalogue fits the code, is in force for one run, and is hunted until a checker notices it."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from types import coroutine
from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from simulations import Options, Simulation
from simulations.mutants import Mutant, Slip, mutants
from simulations.mutants.hunting.hunt import ENDED, HUNG, Amiss, Fate, Hunt, Run
from simulations.mutants.hunting.known_runs import KnownRuns
from simulations.mutants.hunting.lone_runs import Found, hunted
from simulations.mutants.hunting.reach import Reach
from simulations.mutants.making.edits import NotApplicable, edit_of
from simulations.scenarios import SCENARIOS
from simulations.verbs import mutants as verb
from simulations.verbs.verbs import parser

ROOT = Path(__file__).parents[3]
MODULE_LINES_MAX = 250
FEWEST = 340


# -- the catalogue --------------------------------------------------------------------------------


def test_every_mutant_of_the_catalogue_fits_the_code() -> None:
    misfits = []
    for each in mutants().values():
        try:
            edit_of(each)
        except NotApplicable as error:
            misfits.append(str(error))

    assert misfits == []


def test_catalogue_is_large_and_says_of_each_what_it_does() -> None:
    kinds = Counter(mutant.kind for mutant in mutants().values())

    assert len(mutants()) >= FEWEST
    assert set(kinds) == set(Slip)
    assert [m.name for m in mutants().values() if not m.harm.endswith(".") or len(m.harm) < 30] == []
    assert [m.name for m in mutants().values() if m.equivalent and not m.equivalent.endswith(".")] == []


def test_no_two_mutants_are_the_same_edit() -> None:
    edits = Counter((m.where, m.old, m.new) for m in mutants().values())

    assert [edit for edit, count in edits.items() if count > 1] == []


def test_modules_of_the_catalogue_can_be_read_at_a_sitting() -> None:
    areas = (ROOT / "simulations/mutants/catalogue").rglob("of_*.py")

    assert [path.name for path in areas if len(path.read_text().splitlines()) > MODULE_LINES_MAX] == []


def test_docs_tell_how_many_mutants_there_are_of_each_kind() -> None:
    page = (ROOT / "docs/simulation.md").read_text()
    kinds = Counter(mutant.kind for mutant in mutants().values())

    assert f" has {len(mutants())} of them" in page
    assert [kind for kind, count in kinds.items() if f"| `{kind}` | {count} |" not in page] == []


# -- edits of running code ------------------------------------------------------------------------


def doubling(function: Callable[[int], int]) -> Callable[[int], int]:
    @wraps(function)
    def doubled(number: int) -> int:
        return 2 * function(number)

    return doubled


@doubling
def decorated(number: int) -> int:
    return number + 100


@contextmanager
def opened() -> Iterator[str]:
    yield "one hundred"


async def awaited() -> int:
    return 100


@coroutine
def stepped() -> Iterator[Any]:
    yield
    return 100


async def steps() -> int:
    return int(await stepped())


def outer(number: int) -> int:
    def inner() -> int:
        return number + 100

    return inner()


@dataclass(frozen=True, slots=True)
class Toy:
    size: int = 1

    def method(self, extra: int = 7) -> int:
        return self.size + extra + 100

    @property
    def shown(self) -> int:
        return self.size + 100

    @staticmethod
    def fixed() -> int:
        return 100

    @classmethod
    def made(cls) -> int:
        return cls().size + 100


def branching(number: int) -> int:
    if number < 5:
        return number + 100
    return number - 100


class Kept:
    @cached_property
    def once(self) -> int:
        return 100


def mutant(path: str, old: str = "100", new: str = "200", name: str = "toy") -> Mutant:
    return Mutant(name=name, kind=Slip.EDGE, where=f"{__name__}:{path}", old=old, new=new, harm="It is larger.")


def run_to_end(work: Any) -> Any:
    with pytest.raises(StopIteration) as stopped:
        while True:
            work.send(None)
    return stopped.value.value


@pytest.mark.parametrize(
    ("path", "call", "sound", "broken"),
    [
        ("decorated", lambda: decorated(1), 202, 402),
        ("awaited", lambda: run_to_end(awaited()), 100, 200),
        ("stepped", lambda: run_to_end(steps()), 100, 200),
        ("outer.inner", lambda: outer(1), 101, 201),
        ("Toy.method", lambda: Toy().method(), 108, 208),
        ("Toy.shown", lambda: Toy().shown, 101, 201),
        ("Toy.fixed", Toy.fixed, 100, 200),
        ("Toy.made", Toy.made, 101, 201),
        ("Kept.once", lambda: Kept().once, 100, 200),
    ],
)
def test_function_of_any_sort_is_edited_in_place_and_put_back(
    path: str, call: Callable[[], int], sound: int, broken: int
) -> None:
    before = Toy.method

    with edit_of(mutant(path)).put_in():
        inside = call()

    assert (inside, call()) == (broken, sound)
    assert Toy.method is before


def test_what_wraps_a_generator_is_kept() -> None:
    with edit_of(mutant("opened", "one hundred", "two hundred")).put_in(), opened() as said:
        assert said == "two hundred"


def test_function_is_put_back_however_the_run_ended() -> None:
    with pytest.raises(RuntimeError, match="the run broke"), edit_of(mutant("Toy.fixed")).put_in():
        raise RuntimeError("the run broke")

    assert Toy.fixed() == 100


def test_one_function_is_not_edited_twice() -> None:
    with edit_of(mutant("Toy.fixed")).put_in(), pytest.raises(NotApplicable, match="edited already"):
        edit_of(mutant("Toy.fixed", new="300")).put_in().__enter__()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (mutant("Toy.gone"), "there is no"),
        (mutant("Toy.fixed", "101"), "occurs 0 times"),
        (mutant("Toy.method", "self"), "occurs 2 times"),
        (mutant("Toy.fixed", "100", "1 +"), "does not compile"),
        (mutant("Toy.fixed", "100", "100  # as it is"), "changes nothing"),
        (mutant("Toy.method", "extra: int = 7", "more: int, extra: int = 7"), "other arguments"),
    ],
)
def test_mutant_that_does_not_fit_is_an_error(wrong: Mutant, why: str) -> None:
    with pytest.raises(NotApplicable, match=why):
        edit_of(wrong)


# -- the hunt -------------------------------------------------------------------------------------


def hunt_of(name: str = "toy", seeds: int = 3, sound: dict[int, Amiss] | None = None) -> Hunt:
    return Hunt(name, iter(range(1, 1 + seeds)), {} if sound is None else sound)


def through(hunt: Hunt, work: Callable[[Run], dict[str, str]]) -> list[Run]:
    """Runs a hunt to its end in this process, and returns what it asked for with a mutant in it."""
    runs = []
    while (run := hunt.next_run()) is not None:
        runs += [run] if run.mutant else []
        hunt.take(run, Amiss(work(run), 1.0, trace=f"{run.mutant}{run.seed}"))
    return runs


def test_hunt_ends_at_the_first_seed_that_is_amiss_with_the_mutant_only() -> None:
    hunt = hunt_of()

    runs = through(hunt, lambda run: {"coverage": "lost"} if run == Run("toy", 2) else {})

    assert runs == [Run("toy", 1), Run("toy", 2)]
    assert (hunt.caught_in, hunt.caught_by, hunt.tried) == (2, {"coverage": "lost"}, 2)
    assert hunt.fate is Fate.CAUGHT


def test_seed_that_fails_without_the_mutant_too_proves_nothing() -> None:
    hunt = hunt_of()

    through(hunt, lambda run: {"coverage": "lost"} if run.seed == 1 else {})

    assert (hunt.caught_in, hunt.passed_over, hunt.tried) == (None, [1], 3)


def test_sound_run_of_a_seed_is_made_once_for_all_hunts() -> None:
    sound: dict[int, Amiss] = {}
    asked = []

    for name in "one", "two":
        through(hunt_of(name, 1, sound), lambda run: asked.append(run) or {})

    assert asked == [Run("", 1), Run("one", 1), Run("two", 1)]


def test_seed_that_never_comes_to_the_mutants_place_is_not_run_with_it() -> None:
    reached = {1: {}, 2: {"toy": 7}, 3: {}}
    hunt = hunt_of(sound={seed: Amiss({}, 1.0, there) for seed, there in reached.items()})

    runs = through(hunt, lambda run: {})

    assert runs == [Run("toy", 2)]
    assert (hunt.tried, hunt.never_there) == (3, 2)


def test_hunt_makes_no_more_runs_than_it_may() -> None:
    hunt = hunt_of(sound={1: Amiss({}, 1.0, {}), 2: Amiss({}, 1.0, {"toy": 1}), 3: Amiss({}, 1.0, {"toy": 1})})
    hunt.runs_max = 1

    assert through(hunt, lambda run: {}) == [Run("toy", 2)]


@pytest.mark.parametrize(
    ("reached", "trace", "fate"),
    [({}, "as ever", Fate.UNREACHED), ({"toy": 1}, "as ever", Fate.NO_DIFFERENCE), ({"toy": 1}, "new", Fate.UNTOLD)],
)
def test_survivor_is_one_that_no_run_reached_or_that_changed_none_or_that_nobody_told_of(
    reached: dict[str, int], trace: str, fate: Fate
) -> None:
    hunt = hunt_of(seeds=1, sound={1: Amiss({}, 1.0, reached, "as ever")})

    while (run := hunt.next_run()) is not None:
        hunt.take(run, Amiss({}, 1.0, trace=trace))

    assert hunt.fate is fate


def test_what_came_of_a_seed_is_known_again_by_who_has_the_same_code(tmp_path: Path) -> None:
    found = Amiss({"items": "missing"}, 2.5, {"toy": 3}, "1f")

    KnownRuns(tmp_path).keep(7, found)

    assert KnownRuns(tmp_path).seeds == [7]
    assert KnownRuns(tmp_path).read(7) == found
    assert KnownRuns(tmp_path).read(8) is None


def test_seeds_that_come_to_the_place_often_and_for_little_are_tried_first(tmp_path: Path) -> None:
    known = KnownRuns(tmp_path)
    for seed, cpu_s, times in (1, 4.0, 0), (2, 4.0, 1), (3, 4.0, 9), (4, 1.0, 9):
        known.keep(seed, Amiss({}, cpu_s, {"toy": times} if times else {}, "1f"))

    assert KnownRuns(tmp_path).best_first(range(1, 6), "toy") == [4, 3, 2, 5, 1]


def test_hasty_run_is_over_as_soon_as_anything_is_amiss() -> None:
    options = Options(scenario="steady", masters=3, pages=30, hosts=5, control="settled-at-once")

    report = Simulation(options, hasty=True).run()

    assert {each.checker for each in report.violations} == {"acknowledged"}
    assert report.figures["answered"] < report.figures["reachable"]


@pytest.mark.parametrize(("number", "there"), [(0, {"in the first branch"}), (7, {"in the second branch", "in both"})])
def test_run_tells_which_places_it_came_to(number: int, there: set[str]) -> None:
    first = mutant("branching", "number + 100", "number + 200", name="in the first branch")
    second = mutant("branching", "number - 100", "number - 200", name="in the second branch")
    both = mutant("branching", "    return number - 100", "    return 0", name="in both")
    reach = Reach([first, second, both])

    with reach.noted():
        branching(number)

    assert reach.reached == dict.fromkeys(there, 1)


def test_what_is_put_in_between_two_lines_is_reached_from_the_one_before() -> None:
    last = mutant("branching", "number + 100\n", "number + 100\n    number = 0\n", name="behind")
    reach = Reach([last])

    with reach.noted():
        branching(0)

    assert reach.reached == {"behind": 1}


def work_of_all_sorts(run: Run) -> Found:
    match run.mutant:
        case "loops":
            time.sleep(60)
        case "dies":
            os._exit(1)
        case "found":
            return Found({"items": "missing"} if run.seed == 2 else {})
    return Found({})


def test_each_run_has_a_process_that_may_hang_or_die() -> None:
    hunts = [hunt_of(name) for name in ("found", "dies", "loops", "harmless")]

    over = {hunt.mutant: hunt for hunt in hunted(hunts, 2, work_of_all_sorts, 2.0)}

    assert {name: (list(hunt.caught_by), hunt.caught_in) for name, hunt in over.items()} == {
        "found": (["items"], 2),
        "dies": ([ENDED], 1),
        "loops": ([HUNG], 1),
        "harmless": ([], None),
    }


# -- the verb -------------------------------------------------------------------------------------


def asked(*words: str) -> argparse.Namespace:
    return parser().parse_args(["mutants", *words])


def test_mutant_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean paused-serves"):
        verb.run(asked("--only", "pause-serves"))


def test_list_says_where_and_what_harm(capsys: pytest.CaptureFixture[str]) -> None:
    status = verb.run(asked("--list", "--kind", "quorum"))

    said = capsys.readouterr().out
    assert status == 0
    assert [m.name for m in mutants().values() if (m.harm in said) != (m.kind is Slip.QUORUM)] == []


def test_hard_seeds_are_of_scenarios_that_there_are() -> None:
    assert set(SCENARIOS) >= verb.HARD


def test_survivor_makes_the_status_one_and_is_named_in_the_score(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def half(hunts: list[Hunt], jobs: int, work: object, keep: object) -> Iterator[Hunt]:
        for place, hunt in enumerate(hunts):
            hunt.tried = hunt.never_there = 1
            if place:
                hunt.caught_by, hunt.caught_in = {"coverage": "a page is lost"}, 4
            yield hunt

    monkeypatch.setattr(verb, "hunted", half)
    both = ["--only", "paused-serves", "lost-still-served"]

    assert [verb.run(asked(*both)), verb.run(asked(*both[::2]))] == [1, 1]
    said = capsys.readouterr()
    assert "caught by coverage in seed 4" in said.out
    assert "no seed came: paused-serves" in said.err
