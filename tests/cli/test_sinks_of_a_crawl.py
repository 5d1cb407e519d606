"""A crawl whose items go to a server: refused at once where there is none, waited for where it went away."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.cli.conftest import ALLOWED, Run, Start, urls_in

pytestmark = pytest.mark.slow


class Receiver:
    """A server that takes what is posted to it, and can go away and come back."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.port = 0
        self.begin()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/items"

    def begin(self) -> None:
        keys = self.keys

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                keys.extend(each["key"] for each in told["data"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def known_of(process: int) -> bytes:
    """What everybody, and what its user, can see of a process."""
    return Path(f"/proc/{process}/cmdline").read_bytes() + Path(f"/proc/{process}/environ").read_bytes()


def slaves_of(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    there = Receiver()
    yield there
    there.end()


@pytest.fixture
def whole(site: dict[str, Any]) -> list[str]:
    domains = ",".join(site["hosts"])
    return ["crawl", site["start"], "-a", f"allowed_domains={domains}", *ALLOWED, "--slaves", "1"]


def test_address_where_nobody_answers_is_refused_before_anything_is_fetched(
    run: Run, receiver: Receiver, whole: list[str], tmp_path: Path
) -> None:
    receiver.end()

    result = run(*whole, "-o", receiver.url, "-O", "out.jsonl")
    receiver.begin()

    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert receiver.url in line and "nothing was begun" in line
    assert not (tmp_path / "out.jsonl").exists()


def test_items_for_a_server_that_went_away_are_kept_and_delivered_by_the_next_run(
    start: Start, run: Run, receiver: Receiver, whole: list[str], site: Any, tmp_path: Path
) -> None:
    """With a password, which is shown nowhere."""
    receiver_url = receiver.url.replace("://", "://ada:sesame@")
    command = [*whole, "-o", receiver_url, "-o", "out.jsonl"]
    process = start(*command, "-s", "DOWNLOAD_DELAY=0.01", "-s", "LOGSTATS_INTERVAL=0.2", env={"TMPDIR": str(tmp_path)})
    assert process.stderr is not None
    for line in process.stderr:
        if " pages " in line:
            receiver.end()
            break
    shown = known_of(process.pid) + b"".join(map(known_of, slaves_of(process.pid)))
    for line in process.stderr:
        if "waiting for http" in line and "Ctrl-C" in line:
            break
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    folder = said.partition("--data ")[2].split()[0]
    receiver.begin()

    again = run(*command, "--data", folder, "--json")

    assert b"ada:***@" in shown
    assert b"sesame" not in shown + b"".join(path.read_bytes() for path in Path(folder).iterdir() if path.is_file())
    assert "sesame" not in said + again.stderr + again.stdout
    assert process.wait() == 130
    assert "not delivered yet" in said
    assert again.returncode == 0, again.stderr
    certificate = json.loads(again.stdout)
    assert [(sink["delivered"], sink["waiting"]) for sink in certificate["sinks"]] == [(site["pages"], 0)] * 2
    assert len(receiver.keys) >= len(set(receiver.keys)) == site["pages"]
    assert len(urls_in(tmp_path / "out.jsonl")) == site["pages"]
