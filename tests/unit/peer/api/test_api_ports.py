"""The port of a peer's API: the one that it had last, a fixed one, or the next that nobody has."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.cluster.node import API_PORT, Address, parse_address
from p2pcrawl.peer.api.last_port import keep_port, last_port
from p2pcrawl.peer.api.routes import Api
from p2pcrawl.peer.config import PeerConfig
from tests.unit.peer.api.test_api import TOKEN, Desk


def made(folder: Path) -> Api:
    return Api(Desk(), TOKEN, folder / "token")


async def test_port_that_is_taken_gives_way_to_the_next(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path)
    try:
        _, taken = parse_address(await first.open("127.0.0.1", [0]))

        _, port = parse_address(await second.open("127.0.0.1", [taken, 0]))

        assert port not in (0, taken)
    finally:
        await first.close()
        await second.close()


def test_fixed_port_is_tried_first_and_any_that_is_free_last() -> None:
    host, ports = PeerConfig().api_on()

    assert (host, ports[0], ports[-1]) == ("127.0.0.1", API_PORT, 0)


def test_port_of_an_earlier_start_comes_before_the_fixed_one() -> None:
    assert list(PeerConfig().api_on(7183)[1])[:2] == [7183, API_PORT]


def test_port_that_was_named_is_the_only_one() -> None:
    assert PeerConfig(api="127.0.0.1:8000").api_on(7183) == ("127.0.0.1", [8000])


def test_port_is_kept_for_the_next_start(tmp_path: Path) -> None:
    keep_port(tmp_path, Address("127.0.0.1:7185"))

    assert last_port(tmp_path) == 7185


@pytest.mark.parametrize("text", ["", "no port", "0", "70000", "9" * 40])
def test_what_is_no_port_is_no_earlier_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "api-port").write_text(text)

    assert last_port(tmp_path) is None
