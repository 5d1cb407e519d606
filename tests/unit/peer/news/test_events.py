"""Events of several masters, read at any of them: in order, each once, and nothing lost in silence."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from p2pcrawl.core.journal import KEPT, Journal
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.errors import ConfigurationError, LinkError, P2PCrawlError
from p2pcrawl.peer.news.cursor import ReadPlace, cursor_text, read_cursor
from p2pcrawl.peer.news.event_stream import LISTENERS_MAX, Listeners, server_sent
from p2pcrawl.peer.news.events import Events
from p2pcrawl.wire.messages.ask import Answered
from tests.peers import FakePeers, member

NAMES = ("a", "b", "c")


class Town:
    """Masters that note things, one after the other, each of which can be asked for the events of all."""

    def __init__(self) -> None:
        self.now = 0.0
        self.silent: set[str] = set()
        self.here: dict[str, Events] = {}
        self.journals: dict[str, Journal] = {}
        for name in NAMES:
            self.start(name)

    def start(self, name: str, life: int = 1) -> None:
        """Lets a master begin, with nothing in its journal."""
        peers = FakePeers(id_of(name), [member(id_of(each)) for each in NAMES], self._answer)
        self.journals[name] = Journal(lambda: self.now)
        self.here[name] = Events(peers, self.journals[name], bytes([life] * 8))

    def note(self, name: str, job: int) -> None:
        self.now += 1.0
        self.journals[name].note(Notable.JOB_STATE, job=job)

    async def read(self, name: str, after: str = "", limit: int = 100) -> tuple[list[Any], str]:
        """Returns the jobs of the events that are read there, or their kinds where they have none, and the place."""
        told = await self.here[name].answer({"after": after, "limit": limit})
        return [line["fields"].get("job", line["kind"]) for line in told["events"]], told["cursor"]

    async def _answer(self, node: NodeId, request: Any) -> Answered:
        if node[0] in self.silent:
            raise LinkError(f"{node[:8]} does not answer")
        return Answered(0, msgspec.json.encode(self.here[node[0]].here(msgspec.json.decode(request.arguments))))


def id_of(name: str) -> NodeId:
    return NodeId(name * 40)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.news.events.FRESH_S", 0.0)


async def test_events_of_all_masters_come_in_their_order_at_any_of_them() -> None:
    town = Town()
    for job, name in enumerate("abcacb"):
        town.note(name, job)

    assert [(await town.read(name))[0] for name in NAMES] == [[0, 1, 2, 3, 4, 5]] * 3


async def test_reader_goes_on_at_another_peer_where_it_was() -> None:
    town = Town()
    for job, name in enumerate("abc"):
        town.note(name, job)
    first, place = await town.read("a")
    for job, name in enumerate("cab", start=3):
        town.note(name, job)

    then, place = await town.read("b", place)
    rest, _ = await town.read("c", place)

    assert (first, then, rest) == ([0, 1, 2], [3, 4, 5], [])


async def test_every_event_names_the_place_that_it_leads_to() -> None:
    town = Town()
    for job, name in enumerate("abcabc"):
        town.note(name, job)
    told = await town.here["a"].answer({})

    rests = [(await town.read("b", line["id"]))[0] for line in told["events"]]

    assert rests == [list(range(job + 1, 6)) for job in range(6)]


async def test_last_events_are_told_when_no_place_is_given() -> None:
    town = Town()
    for job, name in enumerate("abcabc"):
        town.note(name, job)

    shown, place = await town.read("b", limit=2)
    again, _ = await town.read("c", place)

    assert (shown, again) == ([4, 5], [])


async def test_reader_that_asks_for_few_at_a_time_misses_none() -> None:
    town = Town()
    for job, name in enumerate("abcabc" * 5):
        town.note(name, job)
    read, place = [], cursor_text({name * 8: ReadPlace("01010101", 0) for name in NAMES})
    while (found := await town.read("a", place, limit=4))[0]:
        read += found[0]
        place = found[1]

    assert read == list(range(30))


async def test_what_fell_out_of_a_journal_is_told_as_a_gap() -> None:
    town = Town()
    town.note("b", 0)
    _, place = await town.read("a")
    for job in range(1, KEPT + 11):
        town.note("b", job)

    told = await town.here["c"].answer({"after": place, "limit": 3})

    assert [line["kind"] for line in told["events"]] == ["gap", "job-state", "job-state"]
    assert told["events"][0]["fields"] == {"lost": 10}
    assert told["events"][1]["fields"]["job"] == 11


async def test_master_that_began_anew_has_lost_what_it_knew() -> None:
    town = Town()
    town.note("b", 0)
    _, place = await town.read("a")
    town.start("b", life=2)
    town.note("b", 1)

    read, place = await town.read("a", place)

    assert read == ["gap", 1]
    assert (await town.read("c", place))[0] == []


async def test_master_that_is_silent_for_a_while_is_read_later() -> None:
    town = Town()
    town.note("a", 0)
    _, place = await town.read("a")
    town.silent.add("b")
    town.note("b", 1)
    town.note("c", 2)

    without, place = await town.read("a", place)
    town.silent.clear()
    later, _ = await town.read("a", place)

    assert (without, later) == ([2], [1])


@pytest.mark.parametrize(
    "text", ["x", "1-2", "aaaaaaaa.01010101.-1", "aaaaaaaa.01010101." + "9" * 19, "-", "a" * 200_000]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_cursor(text)


def test_place_is_read_as_it_was_written() -> None:
    cursor = {"aaaaaaaa": ReadPlace("01010101", 7), "bbbbbbbb": ReadPlace("02020202", 0)}

    assert read_cursor(cursor_text(cursor)) == cursor


# -- as they happen -------------------------------------------------------------------------------


async def test_listener_hears_what_happens_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.news.event_stream.EVERY_S", 0.0)
    town = Town()
    town.note("a", 0)

    async def ask(what: str, arguments: dict[str, Any]) -> Any:
        return await town.here["a"].answer(arguments)

    stream = Listeners(ask).stream("")
    first = await anext(stream)
    town.note("b", 1)
    second = await anext(stream)

    assert first == b"id: aaaaaaaa.01010101.1-bbbbbbbb.01010101.0-cccccccc.01010101.0\n\n"
    assert second.startswith(
        b"id: aaaaaaaa.01010101.1-bbbbbbbb.01010101.1-cccccccc.01010101.0\nevent: job-state\ndata: {"
    )
    await stream.aclose()


async def test_stream_shows_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.news.event_stream.EVERY_S", 0.001)
    monkeypatch.setattr("p2pcrawl.peer.news.event_stream.QUIET_S", 0.002)
    town = Town()
    town.note("a", 0)

    async def ask(what: str, arguments: dict[str, Any]) -> Any:
        return await town.here["a"].answer(arguments)

    stream = Listeners(ask).stream("")
    await anext(stream)

    assert (await anext(stream)).startswith(b": ")
    await stream.aclose()


async def test_too_many_listeners_are_refused_and_one_that_goes_makes_room() -> None:
    async def ask(what: str, arguments: dict[str, Any]) -> Any:
        return {"events": [], "cursor": "aaaaaaaa.01010101.1"}

    listeners = Listeners(ask)
    streams = [listeners.stream("aaaaaaaa.01010101.1") for _ in range(LISTENERS_MAX)]
    for stream in streams:
        await anext(stream)

    with pytest.raises(P2PCrawlError, match="ask another one"):
        await anext(listeners.stream(""))
    await streams.pop().aclose()

    assert await anext(listeners.stream("")) is not None
    await asyncio.gather(*(stream.aclose() for stream in streams))


def test_password_in_an_event_is_not_sent() -> None:
    line = {"id": "x", "at": 1.0, "kind": "sink-away", "peer": "a", "fields": {"sink": "postgresql://ada:secret@db/x"}}

    assert "secret" not in server_sent(line)  # type: ignore[arg-type]
