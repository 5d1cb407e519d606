"""Coverage tells which lines a run was the first to come to, and keeps the seeds that came to something new."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from p2pcrawl.model.errors import ConfigurationError
from simulations.kernel.moments import LEFT, Moments
from simulations.observe.incidents import Deed
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.reached.blows import Blows
from simulations.reached.corpus import First, Named, read_corpus, read_named, write_corpus
from simulations.reached.protocol_lines import Line, is_of_protocol, protocol_lines
from simulations.reached.traced_lines import FRUITLESS_MAX, LOOKED_AT, TracedLines
from simulations.scenarios import SCENARIOS
from simulations.verbs import covered
from simulations.verbs.verbs import parser
from simulations.whole.plan import Plan


def stepping(number: int) -> int:
    if number > 0:
        return number
    return -number


def lines_of(traced: TracedLines, *numbers: int) -> list[int]:
    """Returns which lines of the function were come to for the first time, counted from its own."""
    with traced.noted():
        for number in numbers:
            stepping(number)
    first = stepping.__code__.co_firstlineno
    return sorted(line - first for _, line in traced.take())


def test_line_is_told_once() -> None:
    traced = TracedLines(lambda code: code is stepping.__code__)

    assert lines_of(traced, 1) == [0, 1, 2]
    assert lines_of(traced, 1) == []
    assert lines_of(traced, 1, -1) == [3]


def test_who_is_sparing_looks_now_and_then_at_what_brings_nothing_new() -> None:
    traced = TracedLines(lambda code: code is stepping.__code__, sparing=True)
    lines_of(traced, *[1] * (FRUITLESS_MAX + 1))

    assert lines_of(traced, *[-1] * LOOKED_AT) == [3]


def test_protocol_is_made_of_the_lines_of_its_functions() -> None:
    lines = protocol_lines().values()
    places = {line.place for line in lines}

    assert "master.buckets.takeover:Takeover._claim" in places
    assert "core.buckets.copy_ledger:Copying._void" in places
    assert [line for line in lines if not line.text] == []
    assert is_of_protocol(covered.run.__code__) is False


def test_what_runs_when_a_module_is_read_and_what_only_says_what_others_do_is_no_line() -> None:
    places = {line.place for line in protocol_lines().values()}

    assert "core.buckets.bitmaps:<listcomp>" not in places
    assert "core.ring.rendezvous:Ring.owners" not in places
    assert "core.ring.rendezvous:Rendezvous.owners" in places


def test_corpus_is_read_as_it_was_written(tmp_path: Path) -> None:
    line = Line("core.control", "steered", 12, "return None")
    path = tmp_path / "corpus.txt"

    write_corpus([First(7, [line], [("Taken", "crash")]), First("living", [], [])], path)

    assert read_corpus(path) == [7, "living"]
    assert "7       1 lines, (core.control:steered), 1 pairs, (Taken/crash)" in path.read_text()


def test_lines_are_named_by_patterns_each_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "named.txt"
    path.write_text("# why\ncore.control:*: return None -- nobody asks\n")

    (named,) = read_named(path)

    assert named == Named("core.control:*: return None", "nobody asks")
    assert named.names(Line("core.control", "steered", 12, "return None"))
    assert not named.names(Line("core.control", "steered", 12, "return 1"))
    path.write_text("core.control:*\n")
    with pytest.raises(ValueError, match="has no reason"):
        read_named(path)


def test_what_is_kept_in_the_repository_can_be_read() -> None:
    every = [f"{line.place}: {line.text}" for line in protocol_lines().values()]

    assert len(read_corpus()) == len(set(read_corpus())) > 0
    stale = [each.pattern for each in read_named() if not any(each.names(line) for line in protocol_lines().values())]
    assert stale == [], f"these name nothing of {len(every)} lines any more"


@pytest.mark.slow
def test_coverage_tells_what_a_seed_was_the_first_to_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = Options(scenario="rolling", masters=2, pages=12, hosts=3)
    monkeypatch.setattr(covered, "drawn", lambda seed: Options(**{**small.plain(), "seed": seed}))
    kept = tmp_path / "kept.txt"

    asked = parser().parse_args(["coverage", "--seeds", "2", "--json", "--keep", str(kept)])
    status = covered.run(asked)

    first, second, whole = map(json.loads, capsys.readouterr().out.splitlines())
    assert status == 0
    assert len(first["lines"]) > 3000 > len(second["lines"])
    assert any("Farewell.complete" in line for line in first["lines"])
    assert whole["reached"] == len(first["lines"]) + len(second["lines"])
    assert whole["reached"] + whole["named"] + len(whole["unreached"]) == whole["lines"]
    assert read_corpus(kept)[0] == 1


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_small_run_of_each_scenario_has_what_the_scenario_needs(name: str) -> None:
    Plan(covered.options_of(name))


def test_corpus_that_is_none_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("these are words\n")
    monkeypatch.setattr(covered, "read_corpus", lambda: read_corpus(path))

    with pytest.raises(ConfigurationError, match=r"corpus\.txt"):
        covered.run(parser().parse_args(["coverage", "--corpus"]))


def test_blow_is_paired_with_what_had_just_left_or_come() -> None:
    clock = SimpleNamespace(now=10.0)
    deeds: list[Deed] = []
    moments = Moments(clock)
    blows = Blows()
    blows.listen(cast(Stage, SimpleNamespace(deeds=deeds, world=SimpleNamespace(moments=moments))))

    moments.happen("m0", "Claim", LEFT, "m1")
    clock.now = 11.0
    moments.happen("m0", "Taken", LEFT, "m1")
    moments.happen("m2", "Beat", LEFT, "s0")
    deeds += [Deed(11.01, "crash", ("m1",)), Deed(11.01, "start", ("m2",))]
    moments.happen("m2", "Beat", LEFT, "s0")

    assert blows.pairs == {("Taken", "crash")}
