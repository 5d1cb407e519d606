"""What a page costs clusters of several sizes, and the command that shows it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simulations.__main__ import main
from simulations.verbs.growth import IDLE_S, Count, Size, measure


@pytest.mark.soak
def test_page_costs_a_larger_cluster_hardly_more() -> None:
    small, large = measure(3, seed=1), measure(9, seed=1)

    assert not small.violations and not large.violations
    assert large.pages > 2 * small.pages
    assert large.per_page < 1.6 * small.per_page
    # Gossip, beats, and a look at copies now and then.
    assert small.idle_per_s < large.idle_per_s < 10
    assert small.idle.virtual_s == pytest.approx(IDLE_S)


def size_of(masters: int) -> Size:
    counted = Count(10.0, 2.0, 20, 10, 70, 9_000)
    return Size(masters, 10 * masters, counted, counted, counted, 0)


def test_command_shows_and_draws_what_was_kept_without_running_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, drawn = tmp_path / "growth.json", tmp_path / "growth.svg"
    kept.write_text(json.dumps([asdict(size_of(masters)) for masters in (5, 10_000)]))

    status = main(["growth", "--masters", "5", "10000", "--kept", str(kept), "-o", str(drawn)])

    assert status == 0
    printed = capsys.readouterr().out.splitlines()
    assert "| masters | 5 | 10,000 |" in printed
    assert "| messages for a page and master | 0.40 | 0.00 |" in printed
    assert "| simulated: virtual seconds in a CPU second | 5.0 | 5.0 |" in printed
    words = [text.text for text in ElementTree.parse(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("5 masters") == words.count("10000 masters") == 4


@pytest.mark.parametrize("text", ["nothing", "[[]]", '{"masters": 5}', '[{"masters": 5}]'])
def test_figures_that_were_kept_by_something_else_are_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "growth.json"
    kept.write_text(text)

    assert main(["growth", "--masters", "0", "--kept", str(kept)]) == 2

    assert capsys.readouterr().err == f"simulations: {kept}: has no figures that were kept by this verb\n"
    assert kept.read_text() == text


def test_size_that_cannot_be_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["growth", "--masters", "0"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
