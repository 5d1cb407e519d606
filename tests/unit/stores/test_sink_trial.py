"""The trial of sinks before a job is accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores import sink_trial
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace, register_kind
from p2pcrawl.stores.sink import BatchLimits, Position, SinkAway, SinkPage, Written
from p2pcrawl.stores.sink_trial import empty_sinks, try_sinks

CLOSED: list[str] = []
EMPTIED: list[tuple[str, list[bytes]]] = []


class TriedSink:
    """Behaves as its address says."""

    limits = BatchLimits()

    def __init__(self, address: SinkAddress, replace: bool) -> None:
        self._address = address
        self._replace = replace

    async def open(self, position: Position | None) -> Position:
        match self._address.url:
            case "tried://away":
                raise SinkAway("tried://away does not answer")
            case "tried://wrong":
                raise ConfigurationError(f"tried://wrong refuses the password {self._address.secret}")
            case "tried://silent":
                await asyncio.Event().wait()
        return {}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        assert self._replace, "nothing is brought to a sink that is only tried"
        EMPTIED.extend((page.job, list(page.items)) for page in pages)
        return Written()

    async def finish(self) -> None:
        assert self._replace, "nothing ends with a trial"

    async def close(self) -> None:
        CLOSED.append(self._address.url)


def make_sink(address: SinkAddress, place: SinkPlace) -> TriedSink:
    return TriedSink(address, place.replace)


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch) -> None:
    register_kind("tried", __name__)
    monkeypatch.setattr(sink_trial, "TRIAL_S", 0.05)
    CLOSED.clear()
    EMPTIED.clear()


@pytest.mark.parametrize("url", ["tried://away", "tried://wrong", "tried://silent"])
async def test_sink_that_cannot_be_used_now_refuses_the_job_in_one_line_without_its_password(url: str) -> None:
    sinks = [SinkSpec("tried://good"), SinkSpec(url, secret="pa55word")]

    with pytest.raises(ConfigurationError, match=url) as refused:
        await try_sinks(sinks, SinkPlace("shop"))

    assert "pa55word" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(CLOSED) == sorted(["tried://good", url])


async def test_sinks_that_can_be_used_are_left_as_they_are() -> None:
    await try_sinks([SinkSpec("tried://good"), SinkSpec("tried://fine")], SinkPlace("shop"))

    assert sorted(CLOSED) == ["tried://fine", "tried://good"]


async def test_address_of_no_kind_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="nobody"):
        await try_sinks([SinkSpec("nobody://knows")], SinkPlace("shop"))


async def test_what_earlier_jobs_left_goes_by_a_page_that_brings_nothing() -> None:
    await empty_sinks([SinkSpec("tried://good", replace=True)], SinkPlace("shop", replace=True, job="ab12"))

    assert EMPTIED == [("ab12", [])]
    assert CLOSED == ["tried://good"]
