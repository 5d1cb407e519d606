"""What the command line gives away to whoever answers: nothing that would be good for another call."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from p2pcrawl.client.peer_access import TOKEN_VARIABLE
from p2pcrawl.client.remote import Remote
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.peer.api.tokens import Doorkeeper, load_or_make_token
from p2pcrawl.private.presence import Presence, peers_here, presence_folder, token_file_of


class Impostor(BaseHTTPRequestHandler):
    """Answers as a peer would, names whatever file it likes, and keeps all that it is sent."""

    token_file = ""
    doorkeeper: Doorkeeper | None = None
    heard: list[str]

    def do_GET(self) -> None:
        self.heard.append(f"{self.requestline}\n{self.headers}")
        nonce = self.doorkeeper.nonce() if self.doorkeeper else "0" * 80
        self._answer({"p2pcrawl": 1, "token_file": self.token_file, "nonce": nonce})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.heard.append(f"{self.requestline}\n{self.headers}\n{body}")
        self._answer({})

    def _answer(self, what: object) -> None:
        data = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def impostor(token_file: Path, doorkeeper: Doorkeeper | None = None) -> Iterator[tuple[Address, list[str]]]:
    heard: list[str] = []
    kind = type("One", (Impostor,), {"token_file": str(token_file), "heard": heard, "doorkeeper": doorkeeper})
    server = HTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Address(f"127.0.0.1:{server.server_port}"), heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)


def test_file_that_the_other_end_names_is_not_even_opened(tmp_path: Path) -> None:
    token = load_or_make_token(tmp_path)
    with impostor(tmp_path / "token") as (address, heard):
        with pytest.raises(ConfigurationError, match="none that you run on this machine"):
            Remote(address).post("/v1/jobs/1/pause", {})

        assert heard
        assert token not in "".join(heard)
        assert not any(said.startswith("POST") for said in heard)


def test_path_that_the_other_end_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    with impostor(Path("/tmp/\x1b]0;owned\x07token")) as (address, _), pytest.raises(ConfigurationError) as error:
        Remote(address).post("/v1/jobs/1/pause", {})

    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("by", ["file", "variable"])
def test_token_that_the_user_gave_is_not_sent_but_signed_with(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = load_or_make_token(tmp_path)
    door = Doorkeeper(token)
    if by == "variable":
        monkeypatch.setenv(TOKEN_VARIABLE, token)
    with impostor(tmp_path / "nonsense", door) as (address, heard):
        Remote(address, tmp_path / "token" if by == "file" else None).post("/v1/jobs/1/pause", {})

        assert token not in "".join(heard)
        said = next(line for line in heard[-1].splitlines() if line.startswith("Authorization: "))
        said = said.removeprefix("Authorization: ")
        # What an impostor can do with it: hand on this very call, once.
        assert door.admits(said, "POST", "/v1/jobs/1/cancel") is None
        assert door.admits(said, "POST", "/v1/jobs/1/pause") is not None
        assert door.admits(said, "POST", "/v1/jobs/1/pause") is None


def test_token_of_a_peer_of_this_user_is_found_by_what_that_peer_noted(tmp_path: Path) -> None:
    token = load_or_make_token(tmp_path)
    door, presence = Doorkeeper(token), Presence()
    with impostor(tmp_path / "nonsense", door) as (address, heard):
        presence.open(address, tmp_path / "token")
        try:
            Remote(address).post("/v1/drain", {})
            port = address.rpartition(":")[2]
            assert token_file_of(Address(f"localhost:{port}")) == tmp_path / "token"
            assert token_file_of(Address(f"10.0.0.1:{port}")) is None
            assert token_file_of(Address(f"127.0.0.1:{int(port) % 65000 + 1}")) is None
        finally:
            presence.close()

        assert token not in "".join(heard)
        assert any(line.startswith("Authorization: P2PCrawl ") for line in heard[-1].splitlines())
        with pytest.raises(ConfigurationError, match="none that you run"):
            Remote(address).post("/v1/drain", {})


def test_port_alone_is_on_this_machine_as_where_peers_join() -> None:
    assert Remote.find(":7180").address == "127.0.0.1:7180"


def test_peer_that_listens_everywhere_is_found_on_this_machine(tmp_path: Path) -> None:
    presence = Presence()
    presence.open(Address("0.0.0.0:7118"), tmp_path / "token")
    try:
        assert token_file_of(Address("127.0.0.1:7118")) == tmp_path / "token"
        assert token_file_of(Address("localhost:7118")) == tmp_path / "token"
        assert token_file_of(Address("192.0.2.1:7118")) is None
    finally:
        presence.close()


@pytest.mark.parametrize("how", ["a link", "a pipe", "somebody else's", "writable"])
def test_note_of_a_peer_that_another_user_may_have_planted_names_no_token(tmp_path: Path, how: str) -> None:
    presence = Presence()
    presence.open(Address("127.0.0.1:7118"), tmp_path / "token")
    [note] = presence_folder().glob("*.json")
    try:
        match how:
            case "a link":
                note.rename(tmp_path / "note")
                note.symlink_to(tmp_path / "note")
            case "a pipe":
                note.unlink()
                os.mkfifo(note)
            case "somebody else's":
                if os.geteuid():
                    pytest.skip("only root can give files away")
                os.chown(note, 12345, -1)
            case "writable":
                note.chmod(0o666)

        assert token_file_of(Address("127.0.0.1:7118")) is None
    finally:
        presence.close()


def test_notes_are_for_their_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    presence = Presence()
    try:
        presence.open(Address("127.0.0.1:7118"), tmp_path / "token")
    finally:
        os.umask(before)
    [note] = presence_folder().glob("*.json")

    assert note.stat().st_mode & 0o777 == 0o600
    assert presence_folder().stat().st_mode & 0o777 == 0o700
    assert peers_here() == ["127.0.0.1:7118"]
    presence.close()


def test_what_is_no_peer_is_told_in_one_line(tmp_path: Path) -> None:
    class Other(Impostor):
        heard = []  # noqa: RUF012

        def do_GET(self) -> None:
            self._answer([1])

    server = HTTPServer(("127.0.0.1", 0), Other)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        with pytest.raises(P2PCrawlError, match="no peer's API"):
            Remote(Address(f"127.0.0.1:{server.server_port}"), tmp_path / "t").post("/v1/drain", {})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>It works!</html>", b"\xff\xfe\x00", b"[]", b"null", b'"x"', b"[" * 100_000, b'{"a":' * 100_000],
    ids=["nothing", "html", "binary", "list", "null", "text", "deep list", "deep object"],
)
def test_whatever_a_web_server_answers_is_one_clear_line(body: bytes, tmp_path: Path) -> None:
    with answering(body) as address:
        remote = Remote(address, tmp_path / "t")

        for call in (lambda: remote.get("/v1/jobs"), lambda: remote.post("/v1/drain", {})):
            with pytest.raises(ConfigurationError, match="no peer's API"):
                call()


def test_answer_without_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.client.remote.ANSWER_MAX", 1 << 20)
    with answering(bytes(1 << 24)) as address:
        remote = Remote(address, tmp_path / "t")

        with pytest.raises(ConfigurationError, match="no peer's API"):
            remote.get("/v1/jobs")
        with pytest.raises(P2PCrawlError):
            list(remote.lines("/v1/jobs/1/items"))


@contextmanager
def answering(body: bytes) -> Iterator[Address]:
    class Other(Impostor):
        heard = []  # noqa: RUF012

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # The other end has heard enough.
                self.wfile.write(body)

    server = HTTPServer(("127.0.0.1", 0), Other)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Address(f"127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
