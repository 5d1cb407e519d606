"""The command line as a user runs it: real processes, on the demo site."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.parent import ends_with_us

ROOT = Path(__file__).resolve().parent.parent.parent
ENDS_S = 60.0
ALLOWED = ("-s", "ALLOW_PRIVATE_NETWORKS=127.0.0.0/8")
"""The demo site has many hosts, all on this machine."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]


def environment(home: Path | None = None) -> dict[str, str]:
    """``home``: where the user's keys and the peers' presence are kept."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("P2PCRAWL_")}
    if home is not None:
        own |= {"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
    return own | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs ``p2pcrawl`` with arguments in ``tmp_path`` to its end."""

    def run_it(
        *arguments: object, typed: str | None = None, cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "p2pcrawl", *map(str, arguments)],
            cwd=cwd,
            env=environment(tmp_path) | (env or {}),
            input=typed,
            stdin=subprocess.DEVNULL if typed is None else None,
            capture_output=True,
            text=True,
            timeout=ENDS_S,
            preexec_fn=ends_with_us(),
        )

    return run_it


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ``p2pcrawl`` and leaves it running; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_it(*arguments: object, **options: Any) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        command = [sys.executable, "-m", "p2pcrawl", *map(str, arguments)]
        options["env"] = environment(tmp_path) | options.get("env", {})
        options["preexec_fn"] = ends_with_us()
        process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, **options)
        started.append(process)
        return process

    yield start_it
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def site() -> Iterator[dict[str, Any]]:
    """The demo site with 200 pages on 5 hosts, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "p2pcrawl.demo.site", "--pages", "200", "--hosts", "5", "--until-eof"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    ready: dict[str, Any] = json.loads(process.stdout.readline())
    yield ready
    process.stdin.close()
    process.wait(ENDS_S)
    process.stdout.close()


@pytest.fixture
def whole(site: dict[str, Any]) -> list[str]:
    """The arguments that crawl the whole site."""
    return [
        "crawl",
        site["start"],
        "-a",
        f"allowed_domains={','.join(site['hosts'])}",
        *ALLOWED,
        "-s",
        "RETRY_BACKOFF=0.01",
    ]


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for what another process will do."""
    deadline = time.monotonic() + ENDS_S
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def urls_in(path: Path) -> list[str]:
    return [json.loads(line)["url"] for line in path.read_text(encoding="utf-8").splitlines()]
