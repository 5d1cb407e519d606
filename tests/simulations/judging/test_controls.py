"""Negative controls: each mistake that is put into the peers is found, and by the checker that is there for it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from p2pcrawl.core.ring.rendezvous import Rendezvous
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.slave.link.fence import Fence
from simulations.checkers import CHECKERS
from simulations.controls import Control, control_of
from simulations.controls.making.swaps import put_in, swap
from simulations.controls.registry import CONTROLS
from simulations.play.options import Options
from simulations.verbs.control_trial import tried
from simulations.verbs.controls import run

ROOT = Path(__file__).parents[3]
NOTHING = Control("nothing is broken", "coverage", Options(masters=1, replicas=1, pages=3, hosts=1), ())


def for_each_checker() -> set[str]:
    """Returns the smallest control of each checker; the others are left to ``make soak``."""
    found: dict[str, str] = {}
    for name in sorted(CONTROLS, key=lambda name: CONTROLS[name].options.masters * CONTROLS[name].options.pages):
        found.setdefault(CONTROLS[name].checker, name)
    return set(found.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in for_each_checker() else pytest.param(name, marks=pytest.mark.soak) for name in CONTROLS],
)
def test_what_a_control_breaks_is_told_by_its_checker(name: str) -> None:
    trial = tried(name, twice=False)

    assert trial.said, f"{trial.checker} says nothing of {trial.options.command()}"


def test_every_checker_has_a_control_that_makes_it_fail() -> None:
    assert {control.checker for control in CONTROLS.values()} == set(CHECKERS)


@pytest.mark.slow
def test_a_control_that_passes_unnoticed_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CONTROLS, "nothing", NOTHING)

    status = run(argparse.Namespace(names=["nothing"], jobs=1))

    assert status == 1
    assert "NOTHING" in capsys.readouterr().out


def test_a_control_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no control 'fence'.* fencing-off"):
        control_of("fence")
    with pytest.raises(ConfigurationError, match="no control 'fence'"):
        run(argparse.Namespace(names=["fence"], jobs=1))


def test_the_command_of_a_run_names_its_control() -> None:
    assert Options(control="fencing-off").command() == "python -m simulations run steady --seed 1 --control fencing-off"


def test_real_pieces_are_back_after_a_run_however_it_ended() -> None:
    swaps = [swap for control in CONTROLS.values() for swap in control.swaps]
    before = [vars(swap.home)[swap.name] for swap in swaps]

    for control in CONTROLS.values():
        with pytest.raises(RuntimeError, match="the run broke"), put_in(control.swaps):
            assert all(vars(each.home)[each.name] is each.broken for each in control.swaps)
            raise RuntimeError("the run broke")

    assert [vars(swap.home)[swap.name] for swap in swaps] == before


def test_a_piece_that_takes_something_else_cannot_be_put_in() -> None:
    def table(self: Rendezvous[str]) -> list[tuple[str, ...]]:
        return []

    with pytest.raises(TypeError, match=r"Rendezvous\.table"):
        swap(Rendezvous.table, table)  # type: ignore[arg-type]


def test_a_piece_that_is_not_where_it_was_defined_cannot_be_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Rendezvous.table
    monkeypatch.delattr(Rendezvous, "table")

    with pytest.raises(LookupError, match=r"Rendezvous\.table"):
        swap(real, real)


def test_one_piece_is_not_swapped_twice() -> None:
    never = swap(Fence.passed, lambda self: False)

    with put_in([never]), pytest.raises(LookupError, match=r"Fence\.passed"), put_in([never]):
        pass


def test_the_docs_list_every_control_with_its_checker() -> None:
    page = (ROOT / "docs/simulation.md").read_text()

    assert [
        name
        for name, control in CONTROLS.items()
        if f"| `{name}` | {control.summary} | `{control.checker}` |" not in page
    ] == []
