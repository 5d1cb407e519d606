"""Parts on an SFTP server. Skipped where paramiko and asyncssh are not installed: their licences keep them out of the
packages that the tests ask for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import Sink, SinkAway
from tests.servers.file_servers import sftp_server
from tests.unit.stores.parts.test_part_sink import pages

pytest.importorskip("paramiko")
pytest.importorskip("asyncssh")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, Path]]:
    """The port, the folder, and a home in which the server's key is known."""
    folder, home = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("home")
    (home / ".ssh").mkdir()
    with sftp_server(folder, home / ".ssh" / "known_hosts") as port:
        yield port, folder, home


def made(port: int, password: str = "secret", writer: str = "a1") -> Sink:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("P2PCRAWL_SINK_PASSWORD", password)
        spec = read_sink(f"sftp://ada@127.0.0.1:{port}/shop/items.jsonl")
    return make_sink(address_of(spec), SinkPlace("books", writer=writer))


async def test_parts_are_there_once(served: tuple[int, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    port, folder, home = served
    monkeypatch.setenv("HOME", str(home))
    sink = made(port)
    position = await sink.open(None)
    await sink.write(pages(range(5)))
    await sink.close()
    again = made(port)
    await again.open(position)
    await again.write(pages(range(7)))
    await again.finish()
    await again.close()

    lines = [line for part in (folder / "shop/items.jsonl").glob("part-*") for line in part.read_text().splitlines()]
    assert sorted(json.loads(line)["n"] for line in lines) == list(range(7))


async def test_wrong_password_is_one_line(served: tuple[int, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(served[2]))

    with pytest.raises(ConfigurationError, match="the user, the password or the key is wrong"):
        await made(served[0], "wrong").open(None)


async def test_server_whose_key_is_not_known_is_not_logged_in_to(
    served: tuple[int, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(ConfigurationError, match="its key is not the known one: ssh to it once"):
        await made(served[0]).open(None)


async def test_server_that_cannot_be_reached_is_away() -> None:
    with pytest.raises(SinkAway, match="it cannot be reached"):
        await made(9).open(None)
