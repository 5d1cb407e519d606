"""Of pages that say the same one comes out, whichever masters die with what they had found out."""

from __future__ import annotations

import pytest

from p2pcrawl.frontier.texts.imprint_table import ImprintTable
from simulations import Options, Plan, Simulation
from simulations.play.spiders import Marker, Repeater
from simulations.whole.outcome import Report
from simulations.world.web import WebPlan

pytestmark = pytest.mark.slow
TEXTS = 12


def run(scenario: str, seed: int = 1, slaves: int = 0, key: str = "host") -> Report:
    options = Options(scenario=scenario, seed=seed, masters=4, slaves=slaves, pages=80, hosts=12, key=key)
    web = WebPlan(pages=80, hosts=12, texts=TEXTS, across=0.5)
    return Simulation(Plan(options, spider=Repeater, web=web)).run()


@pytest.mark.parametrize(
    ("scenario", "slaves", "key"),
    [
        ("massacre", 0, "url"),
        pytest.param("repeated", 0, "host", marks=pytest.mark.soak),
        pytest.param("slaves-die", 2, "host", marks=pytest.mark.soak),
        pytest.param("partition", 0, "domain", marks=pytest.mark.soak),
    ],
)
def test_each_text_comes_out_whoever_dies_and_whatever_the_job_shards_by(scenario: str, slaves: int, key: str) -> None:
    report = run(scenario, slaves=slaves, key=key)

    assert report.violations == []
    assert len(report.items) >= TEXTS


@pytest.mark.parametrize("seed", [18, pytest.param(4, marks=pytest.mark.soak)])
def test_each_page_has_its_item_where_duplicates_are_marked(seed: int) -> None:
    options = Options(scenario="repeated", seed=seed, masters=4, pages=120, hosts=20)

    assert Simulation(Plan(options, spider=Marker)).run().violations == []


def test_checker_notices_texts_that_come_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImprintTable, "learn", lambda *_: None)
    options = Options(scenario="repeated", seed=2, masters=3, pages=120, hosts=20, limit_s=150)

    assert {violation.checker for violation in Simulation(Plan(options)).run().violations} == {"duplicates"}
