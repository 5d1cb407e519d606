"""``results JOB -o URL``: items into a sink by the keys of their job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from p2pcrawl.cli.cluster import brought
from p2pcrawl.cli.cluster.brought import bring
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace, register_kind
from p2pcrawl.stores.sink import BatchLimits, Sink
from tests.unit.stores.fake_sink import Destination

SINK = SinkSpec("brought://there")
JOB = 0xAB12
_there: list[Destination] = []


def make_sink(address: SinkAddress, place: SinkPlace) -> Sink:
    return _there[0].sink(address, place)


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Destination]:
    register_kind("brought", __name__)
    monkeypatch.setattr(brought, "PAUSE_S", 0.01)
    monkeypatch.setattr(brought, "PATIENCE_S", 0.1)
    _there.append(Destination(limits=BatchLimits(items=3)))
    yield _there[0]
    _there.clear()


class PeerOfTwoPages:
    """What the verb asks a peer."""

    def get(self, path: str, **asked: Any) -> dict[str, Any]:
        return {"name": "shop"}

    def lines(self, path: str) -> Iterator[list[bytes]]:
        assert path == f"/v1/jobs/{JOB}/pages"
        for number in range(2):
            items = [{"price": price} for price in range(3)]
            page = {"page": f"{number:032x}", "url": f"http://a.example/{number}", "visit": 0, "fetched_at": 9}
            yield [json.dumps({**page, "items": items}).encode(), b""]


def test_items_come_under_the_keys_under_which_masters_bring_them(there: Destination) -> None:
    told = bring(PeerOfTwoPages(), JOB, SINK)  # type: ignore[arg-type]

    assert told.items == 6
    assert sorted(there.items) == [f"000000000ab12-{page:032x}-{item}" for page in range(2) for item in range(3)]
    assert [len(batch) for batch in there.batches] == [1, 1]
    assert there.finished == 1
    assert there.closed >= 1


def test_what_is_brought_once_more_is_there_once(there: Destination) -> None:
    for _ in range(2):
        bring(PeerOfTwoPages(), JOB, SINK)  # type: ignore[arg-type]

    assert len(there.items) == 6


def test_what_a_sink_refuses_is_told(there: Destination) -> None:
    there.refuses = lambda item: "too cheap" if item == b'{"price": 0}' else ""

    told = bring(PeerOfTwoPages(), JOB, SINK)  # type: ignore[arg-type]

    assert (told.items, told.refused, told.why) == (4, 2, "too cheap")


def test_what_a_filter_keeps_back_is_not_told_as_brought(there: Destination) -> None:
    told = bring(PeerOfTwoPages(), JOB, SinkSpec("brought://there", {"where": "price > 0"}))  # type: ignore[arg-type]

    assert (told.items, told.refused) == (4, 0)
    assert len(there.items) == 4


def test_sink_that_is_away_at_the_start_is_one_line(there: Destination) -> None:
    there.away = True

    with pytest.raises(ConfigurationError, match="nothing was brought"):
        bring(PeerOfTwoPages(), JOB, SINK)  # type: ignore[arg-type]


def test_sink_that_stays_away_is_given_up_and_the_same_command_completes_it(there: Destination) -> None:
    def leave(step: str) -> None:
        there.away = step == "written" or there.away

    there.step = leave
    with pytest.raises(P2PCrawlError, match="the same command completes it"):
        bring(PeerOfTwoPages(), JOB, SINK)  # type: ignore[arg-type]
    there.step, there.away = lambda step: None, False

    bring(PeerOfTwoPages(), JOB, SINK)  # type: ignore[arg-type]

    assert len(there.items) == 6
