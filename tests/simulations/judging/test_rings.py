"""What the ring promises, over drawn memberships, and the command that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simulations.__main__ import main
from simulations.verbs.ring_contenders import CONTENDERS
from simulations.verbs.rings import measure

BY_NAME = {contender.name: contender for contender in CONTENDERS}


@pytest.mark.slow
def test_join_and_leave_of_ten_equal_members_move_what_they_must() -> None:
    shown = measure(BY_NAME["rendezvous"], nodes=10, draws=100, copies=1, weights=(1,), seed=1)

    for moved in (shown.join, shown.leave):
        assert 0.85 <= moved.least <= moved.greatest <= 1.15
        assert moved.mean == pytest.approx(1, abs=0.01)
    assert shown.between_stayers == 0
    assert shown.largest.greatest <= 1.25


@pytest.mark.slow
@pytest.mark.parametrize(("copies", "draws"), [(1, 100), (2, 25), (3, 25)])
def test_shares_follow_weights_for_owners_and_for_copies(copies: int, draws: int) -> None:
    shown = measure(BY_NAME["rendezvous"], nodes=10, draws=draws, copies=copies, weights=(1, 2, 4), seed=2)

    for share in shown.shares.values():
        assert share.mean == pytest.approx(1, abs=0.02)
        assert 0.75 <= share.least <= share.greatest <= 1.25
    assert shown.between_stayers == 0
    assert shown.heirs > 0.93


def test_plain_rendezvous_gives_small_members_too_many_copies() -> None:
    shown = measure(BY_NAME["plain rendezvous"], nodes=10, draws=5, copies=3, weights=(1, 2, 4), seed=1)

    assert shown.shares[1].mean > 1.05


@pytest.mark.parametrize("name", ["modulo", "two-level", "host-bucket"])
def test_algorithms_of_the_papers_move_keys_between_those_that_stay(name: str) -> None:
    shown = measure(BY_NAME[name], nodes=10, draws=2, copies=1, weights=(1,), seed=1)

    assert shown.between_stayers > 0.3


def test_same_seed_gives_the_same_figures() -> None:
    first, second = (
        measure(BY_NAME["rendezvous"], nodes=4, draws=3, copies=2, weights=(1, 2), seed=9) for _ in range(2)
    )

    assert first == second


def test_command_prints_a_table_and_draws_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "rings.svg"

    status = main(["rings", "--nodes", "3", "--draws", "2", "--picture", str(picture)])

    printed = capsys.readouterr().out
    assert status == 0
    assert all(f"| {contender.name} |" in printed for contender in CONTENDERS)
    assert ElementTree.fromstring(picture.read_text()).tag.endswith("svg")


def test_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rings", "--nodes", "2", "--draws", "2", "--json"])

    shown = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in shown["equal"]} == set(BY_NAME)
    assert {row["name"] for row in shown["costs"]} == set(BY_NAME)


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["rings", "--nodes", "1"]])
def test_wrong_arguments_are_refused_with_a_usage_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)

    assert refused.value.code == 2
    assert "usage: python -m simulations" in capsys.readouterr().err
