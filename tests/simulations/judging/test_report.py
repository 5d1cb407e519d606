"""A report is one page that needs nothing else, and shows what the run was like over time."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from math import inf
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simulations.__main__ import main
from simulations.checkers import Violation
from simulations.observe.incidents import Incident
from simulations.play.options import Options
from simulations.play.series import SAMPLES_MAX, Absence, Detection, Sample, Series
from simulations.report.axes import lasting, number, round_up, ticks, time_ticks, top_of, volume
from simulations.report.page import page
from simulations.whole.outcome import Report

MASTERS = ["m0", "m1"]


def sample(now_s: float, share: float = 0.5, **counts: int) -> Sample:
    usual = {"up": 2, "requests": int(10 * now_s), "refetched": 0, "datagrams": 0, "bytes": 0, "moved": 0}
    return Sample(now_s=now_s, share=share, pages=(3, 4), **{**usual, **counts})


def report(series: Series | None = None, **more: object) -> Report:
    figures = {
        "reachable": 100, "answering": 96, "requests": 130, "answered": 96, "refetched": 7, "items": 90, "moved": 812,
        "absences": 1, "noticed": 1, "noticed_s_median": 8.5, "noticed_s_max": 8.5, "datagrams": 960, "bytes": 96_000,
    }  # fmt: skip
    fields = {
        "options": Options(scenario="churn", seed=7, masters=2), "trace": "f00d", "virtual_s": 20.0, "real_s": 2.0,
        "figures": figures, "violations": [], "command": "python -m simulations run churn --seed 7 --masters 2",
        "series": series or eventful(),
    }  # fmt: skip
    return Report(**{**fields, **more})  # type: ignore[arg-type]


def eventful() -> Series:
    """Makes a series in which one master is away from 5 s to 9 s, and its bucket with it."""
    series = Series(pages=dict.fromkeys(MASTERS, 10))
    for second in range(21):
        series.add(sample(float(second), second / 20, moved=812 * (second > 6), refetched=7 * (second > 7)))
    series.absences = [Absence("m1", "down", 5.0, 9.0)]
    series.detections = [Detection("m1", 5.0, 1.5, 3.0)]
    series.marks = [(1.0, "the job begins"), (18.0, "nothing is left to do")]
    return series


class Outside(HTMLParser):
    """A parser that collects what a page loads from elsewhere, and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe"):
            self.found.append(tag)
        self.found += [f"{name}={value}" for name, value in attrs if name in ("src", "href", "xlink:href")]


def drawings(html: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg .*?</svg>", html, re.DOTALL)]


def drawing(html: str, label: str) -> ElementTree.Element:
    return next(each for each in drawings(html) if each.get("aria-label") == label)


def titles(element: ElementTree.Element) -> list[str]:
    return [title.text or "" for title in element.iter("title")]


def test_the_page_loads_nothing_from_elsewhere() -> None:
    html = page([report(), report()])
    parser = Outside()

    parser.feed(html)

    assert parser.found == []
    assert "url(" not in html and "@import" not in html


def test_every_picture_is_well_formed_and_has_a_name() -> None:
    found = drawings(page([report()]))

    assert {each.get("aria-label") for each in found} == {
        "coverage over time", "when each master was there", "requests per second", "refetches over time",
        "pages per master", "pages per master over time", "buckets moved over time", "detection times",
        "datagrams per second", "bytes per second",
    }  # fmt: skip
    assert not any(word in ElementTree.tostring(each, "unicode") for each in found for word in ("nan", "inf,", "inf "))


def test_incidents_lie_behind_the_coverage_where_they_were() -> None:
    band = next(each for each in drawing(page([report()]), "coverage over time") if "band" in each.get("class", ""))

    left, wide = float(band.attrib["x"]), float(band.attrib["width"])
    assert titles(band) == ["m1 down"]
    assert wide / (1240 - 52 - 14) == pytest.approx(4 / 20, abs=0.001)
    assert (left - 52) / (1240 - 52 - 14) == pytest.approx(5 / 20, abs=0.001)


def test_moves_and_detections_can_be_read_off_their_pictures() -> None:
    html = page([report()])

    assert titles(drawing(html, "buckets moved over time")) == ["7 s: 812"]
    assert titles(drawing(html, "detection times")) == [
        "m1 went away at 5 s; the first noticed after 1.5 s, the last after 3 s"
    ]


def test_the_page_says_the_verdict_the_command_and_the_violations() -> None:
    broken = report(violations=[Violation("coverage", "1 page is <lost>")])

    html = page([broken])

    assert "python -m simulations run churn --seed 7 --masters 2" in html
    assert "1 violation" in html and "1 page is &lt;lost&gt;" in html
    assert "nothing is amiss" in page([report()])


def test_the_table_of_incidents_tells_when_each_was_over_and_who_noticed() -> None:
    crash = Incident("crash", frozenset({"m1"}), 5.0, 5.0, frozenset(), settled_s=12.0)
    cut = Incident("partition", frozenset(MASTERS), 14.0, 15.0, frozenset())

    rows = re.findall(r"<tr>(.*?)</tr>", page([report(incidents=[crash, cut])]))

    cells = [re.findall(r"<td>(.*?)</td>", row) for row in rows]
    assert ["5.0 s", "crash", "m1", "at 9 s", "1.5 s to 3 s", "7 s"] in cells
    assert ["14.0 s", "partition", "m0, m1", "at 15 s", "", "not"] in cells


def test_several_runs_share_one_picture_of_their_coverage() -> None:
    html = page([report(options=Options(scenario=name, masters=2)) for name in ("steady", "churn", "massacre")])

    curves = [e for e in drawing(html, "coverage of all runs over time") if e.tag == "polyline"]
    assert [curve.get("class") for curve in curves] == ["line c1", "line c2", "line c3"]
    assert "3 simulations side by side" in html


def test_a_run_without_incidents_of_a_hundred_masters_that_never_began_has_a_page() -> None:
    empty = Series(pages={f"m{place}": 0 for place in range(100)})

    html = page([report(empty, options=Options(masters=100), virtual_s=0.0)])

    assert "never" in html
    assert len(drawing(html, "pages per master").findall("rect")) == 100


def test_a_series_keeps_its_length_bounded_and_its_ends() -> None:
    series = Series()

    for second in range(10 * SAMPLES_MAX):
        series.add(sample(float(second)))

    assert SAMPLES_MAX / 4 < len(series.samples) <= SAMPLES_MAX
    assert series.samples[0].now_s == 0.0
    assert series.samples[-1].now_s > 9.5 * SAMPLES_MAX


def test_rates_are_per_second_whatever_the_time_between_two_samples() -> None:
    series = Series([sample(0.0), sample(1.0), sample(5.0, requests=50)])

    assert series.rates("requests") == [(1.0, 10.0), (5.0, 10.0)]


def test_an_absence_that_nobody_noticed_counts_for_no_time() -> None:
    series = Series(absences=[Absence("m1", "down", 1.0)], detections=[Detection("m1", 1.0, 2.0, inf)])

    assert series.noticed() == {"absences": 1, "noticed": 0, "noticed_s_median": None, "noticed_s_max": None}


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (lasting, 0.25, "0.25 s"), (lasting, 59, "59 s"), (lasting, 60, "1 min"), (lasting, 95, "1:35 min"),
        (lasting, 7200, "2 h"), (number, 12345.0, "12\u202f345"), (number, 2.5, "2.5"), (volume, 999, "999 B"),
        (volume, 12_340, "12.3 kB"), (volume, 5_000_000, "5 MB"),
    ],
)  # fmt: skip
def test_values_are_written_short(form: Callable[[float], str], value: float, text: str) -> None:
    assert form(value) == text


def test_axes_have_round_values() -> None:
    assert [round_up(value) for value in (0.3, 1.0, 3.0, 21.0, 600.0)] == [0.5, 1.0, 5.0, 25.0, 1000.0]
    assert ticks(100.0) == [0.0, 25.0, 50.0, 75.0, 100.0]
    assert top_of([0.0]) == 1.0 and top_of([97.0]) == 100.0
    assert time_ticks(130.0) == [0, 20, 40, 60, 80, 100, 120]


@pytest.mark.slow
def test_report_writes_the_page_of_several_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "report.html"

    status = main(["report", "steady", "churn", "--masters", "3", "--pages", "40", "--hosts", "6", "-o", str(output)])

    assert status == 0
    html = output.read_text()
    assert "steady, seed 1" in html and "churn, seed 1" in html
    coverage = [each for each in drawings(html) if each.get("aria-label") == "coverage over time"]
    assert len(coverage) == 2
    for each in coverage:
        points = next(e.attrib["points"] for e in each if e.tag == "polyline").split()
        heights = [float(point.split(",")[1]) for point in points]
        assert len(points) > 20 and heights == sorted(heights, reverse=True) and heights[0] > heights[-1]
    assert "written to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "flag"),
    [(["report", "steady"], "-o"), (["run", "steady"], "--log"), (["growth"], "-o"), (["growth"], "--kept"),
     (["rings"], "--picture")],
    ids=" ".join,
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    command: list[str], flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, why in (tmp_path / "no" / "file", "No such file or directory"), (tmp_path, "Is a directory"):
        assert main([*command, flag, str(path)]) == 2

        assert capsys.readouterr() == ("", f"simulations: {path}: {why}\n")


def test_options_of_scenarios_are_refused_beside_a_seed_of_a_swarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "13", "--masters", "3", "-o", str(tmp_path / "report.html")]) == 2

    assert capsys.readouterr() == ("", "simulations: --masters is for scenarios; seed 13 says it itself\n")
