"""Following a URL, and a death, through the code: what counts as seen, and what recordings and docs/journey.md tell."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec
import pytest

from p2pcrawl.model.crawl.fingerprint import fingerprint, halves
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.page.links import LinkBatch
from simulations.__main__ import main
from simulations.journey.death import DeathJourney
from simulations.journey.page import PageJourney
from simulations.journey.recorder import Entry, FirstEntries, Place, Recorder
from simulations.journey.sight import Sight
from simulations.journey.verb import SEED
from simulations.whole.outcome import Report

URL = "http://h3.web.test/"
OWN = fingerprint(URL)


@pytest.fixture(scope="module")
def played() -> tuple[PageJourney, Report]:
    journey = PageJourney(SEED)
    return journey, journey.play()


@pytest.fixture(scope="module")
def death() -> DeathJourney:
    journey = DeathJourney(SEED)
    assert journey.play().violations == []
    return journey


class Letter(msgspec.Struct):
    text: str


class Bag(msgspec.Struct):
    letters: list[Letter]


@dataclass(slots=True)
class Desk:
    known: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Numbered:
    record: int
    fingerprint: bytes


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(URL, id="text"),
        pytest.param(f'{{"url": "{URL}"}}\n'.encode(), id="line-of-json"),
        pytest.param(b"\x93" + OWN + b"\x00", id="fingerprint-in-a-message"),
        pytest.param((halves(OWN)[0], 7), id="half-of-it-in-a-row"),
        pytest.param({"links": deque([["nothing"], [URL]])}, id="deep-in-containers"),
        pytest.param(Request(URL), id="what-spiders-see"),
    ],
)
def test_url_is_seen_wherever_it_is_data(value: object) -> None:
    assert Sight(URL).sees([value])


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(f"{URL}p/7", id="longer-url"),
        pytest.param(f"<!doctype html><a href={URL}>".encode(), id="page-with-the-link"),
        pytest.param(Desk({URL: "known"}), id="memory-of-what-changes"),
        pytest.param(Numbered(5, b"another"), id="another-record"),
        pytest.param(object(), id="object-that-is-no-data"),
    ],
)
def test_url_is_not_seen_where_it_is_not_carried(value: object) -> None:
    assert not Sight(URL, __name__).sees([value])


def test_carriers_are_told_apart_by_whether_they_hold_it_themselves() -> None:
    sight = Sight(URL, __name__)

    sight.sees([Bag([Letter("nothing"), Letter(URL)])])

    assert sight.carriers == {Letter: True, Bag: False}


def test_record_is_known_by_its_number_once_it_was_seen_with_its_fingerprint() -> None:
    sight = Sight(URL, __name__)

    sight.sees([Numbered(5, OWN)])

    assert sight.sees([Numbered(5, b"")]) and not sight.sees([Numbered(6, b"")])


def test_functions_of_p2pcrawl_are_recorded_with_what_is_written_inside_them() -> None:
    recorder = FirstEntries(lambda: 1.5)

    with recorder.recording():
        fingerprint("http://a.test/")

    names = [str(entry.place) for entry in recorder.seen.values()]
    assert names[:2] == ["model/crawl/fingerprint.py fingerprint", "model/crawl/url.py canonical"]
    assert not [name for name in names if "<" in name]


def test_generator_that_goes_on_is_no_new_frame() -> None:
    class Every(Recorder):
        def __init__(self) -> None:
            super().__init__(lambda: 0.0)
            self.firsts: list[bool] = []

        def entered(self, entry: Entry, frame: FrameType) -> None:
            if entry.place.function == "LinkBatch.__iter__":
                self.firsts.append(entry.first)

    recorder = Every()
    with recorder.recording():
        list(LinkBatch(["http://a.test/"]))

    assert recorder.firsts == [True, False]


@pytest.mark.slow
def test_url_is_followed_from_a_slave_of_its_finder_to_the_copy_of_what_came_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["journey", "--json"])

    told = json.loads(capsys.readouterr().out)
    assert status == 0 and told["violations"] == [] and told["finder"] != told["owner"]
    assert told["functions"][0].startswith("slave/") and told["figures"]["functions"] == len(told["functions"])
    assert "p2pcrawl.core.bench.candidate.Candidate" in told["carriers"]


@pytest.mark.slow
def test_death_is_followed_until_others_serve_what_was_left(death: DeathJourney) -> None:
    assert death.died_s + 6 < death.view_s <= death.serving_s <= death.served_s < death.died_s + 9
    assert death.masters[0].moment_s > death.died_s
    assert any(entry.place.function == "Orphanage.attach" for entry in death.slaves)


@pytest.mark.slow
def test_recording_changes_nothing_of_a_run(
    played: tuple[PageJourney, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.setprofile", lambda hook: None)

    assert PageJourney(SEED).play().trace == played[1].trace


LONGEST = {"functions": 178, "carriers": 28, "carriers_themselves": 11, "encodings": 12}
"""A little above what it is: who makes the way of a URL longer should know, and say why. Some thirty of these
functions are of the components and hooks that every crawl has, each of which people may take out or replace, and twelve
ask what the end of a visit means for the next one, and whether the page's text was met before. One waits in a
slave till a page may be begun, so that it can be given back; one sends ends that may have waited for links, one asks
whether what ended is the imprint of a text, and one counts copies that are on their way to the disk."""


@pytest.mark.slow
def test_way_of_a_url_does_not_grow_unnoticed(played: tuple[PageJourney, Report]) -> None:
    figures = played[0].figures()

    assert {name: figures[name] for name, most in LONGEST.items() if figures[name] > most} == {}


# -- the page that tells of it

PAGE = Path(__file__).resolve().parents[2] / "docs" / "journey.md"
NAMED = re.compile(r"\[`([\w.]+)`\](?!:)")
WHERE = re.compile(r"^\[`([\w.]+)`\]: \.\./p2pcrawl/([\w/]+\.py)$", re.MULTILINE)
"""At the end of the page: where each function is that it names."""
STATION = re.compile(r"^### (.+)$", re.MULTILINE)


class Named(NamedTuple):
    """A function that the page names, and at which of its stations."""

    station: str
    function: str
    file: str

    def is_at(self, place: Place) -> bool:
        """A method is called by its class, a function by its module."""
        module = place.file.rpartition("/")[2].removesuffix("py")
        return place.file == self.file and self.function in (place.function, module + place.function)


def named(section: str) -> list[Named]:
    """Returns the functions that one section of the page names, in its order."""
    page = PAGE.read_text()
    text, files = page.split(f"\n## {section}\n")[1].split("\n## ")[0], dict(WHERE.findall(page))
    _, *parts = STATION.split(text)
    stations = zip(parts[::2], parts[1::2], strict=True)
    return [Named(title, name, files.get(name, "?")) for title, part in stations for name in NAMED.findall(part)]


def out_of_order(names: Iterable[Named], way: Iterable[Entry]) -> list[str]:
    """Returns what was not entered behind the one named before it, on the machine that its station speaks of."""
    missing, ahead = [], list(way)
    for name in names:
        machine = re.search(r"\bm\d\b", name.station)
        for number, entry in enumerate(ahead):
            if name.is_at(entry.place) and (machine is None or machine[0] == entry.node):
                ahead = ahead[number:]
                break
        else:
            missing.append(f"{name.function} ({name.file}) at station {name.station!r}")
    return missing


@pytest.mark.slow
def test_page_follows_the_url_as_it_went(played: tuple[PageJourney, Report]) -> None:
    names = named("One URL")

    assert len(names) > 40 and {name.station.partition(".")[0] for name in names} >= {str(n) for n in range(1, 15)}
    assert "\n".join(out_of_order(names, played[0].way)) == ""


@pytest.mark.slow
def test_page_follows_the_death_as_it_went(death: DeathJourney) -> None:
    names = named("One death")
    of_slaves = [name for name in names if "slaves" in name.station]
    of_masters = [name for name in names if name not in of_slaves]

    assert len(of_masters) > 20 and of_slaves
    assert "\n".join(out_of_order(of_masters, death.masters)) == ""
    assert "\n".join(out_of_order(of_slaves, death.slaves)) == ""


@pytest.mark.slow
def test_page_tells_the_times_of_the_death_as_they_were(death: DeathJourney) -> None:
    told = {name.station: name for name in reversed(named("One death")) if re.search(r"\(\d+\.\d s\)", name.station)}

    for station, first in told.items():
        entered_s = next(entry.moment_s for entry in death.masters if first.is_at(entry.place)) - death.died_s
        assert float(station.rpartition("(")[2].removesuffix(" s)")) == pytest.approx(entered_s, abs=0.3), station
    assert len(told) >= 4


def test_page_names_no_function_that_is_not_looked_for() -> None:
    """What reads like a function but is no link would not be held against the code."""
    page = PAGE.read_text()

    assert re.findall(r"(?<!\[)`[A-Za-z_]+\.(?!db|py)[a-z_]+`", page) == []
    assert sorted(dict(WHERE.findall(page))) == sorted(set(NAMED.findall(page)))
