"""Following a URL, and a death, through the code: what counts as seen, and what recordings tell."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from types import FrameType

import msgspec
import pytest

from p2pcrawl.model.fingerprint import fingerprint, halves
from p2pcrawl.model.request import Request
from p2pcrawl.spiders.links import LinkBatch
from simulations.__main__ import main
from simulations.journey.death import DeathJourney
from simulations.journey.page import PageJourney
from simulations.journey.recorder import Entry, FirstEntries, Recorder
from simulations.journey.sight import Sight
from simulations.journey.verb import SEED

URL = "http://h3.web.test/"
OWN = fingerprint(URL)


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
    assert names[:2] == ["model/fingerprint.py fingerprint", "model/url.py canonical"]
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
    assert "p2pcrawl.core.candidate.Candidate" in told["carriers"]


@pytest.mark.slow
def test_death_is_followed_until_others_serve_what_was_left(death: DeathJourney) -> None:
    assert death.died_s + 6 < death.view_s <= death.serving_s <= death.served_s < death.died_s + 9
    assert death.masters[0].moment_s > death.died_s
    assert any(entry.place.function == "Orphanage.attach" for entry in death.slaves)


@pytest.mark.slow
def test_recording_changes_nothing_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = PageJourney(SEED).play()
    monkeypatch.setattr("sys.setprofile", lambda hook: None)

    assert PageJourney(SEED).play().trace == recorded.trace
