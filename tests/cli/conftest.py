"""The command line as a user runs it: real processes, on the demo site."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.parent import ends_with_us
from tests.cli.forks import ENDS_S, FORKS, environment, run_verb
from tests.demo_site import demo_site

ALLOWED = ("-s", "ALLOW_PRIVATE_NETWORKS=127.0.0.0/8")
"""The demo site has many hosts, all on this machine."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[None]:
    """Starts what forks commands, in the thread of the tests, and ends it with them."""
    FORKS.begin()
    yield
    FORKS.end()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs ``p2pcrawl`` with arguments in ``tmp_path`` to its end; with ``env`` in an interpreter of its own."""

    def run_it(
        *arguments: object, typed: str | None = None, cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run_verb(arguments, home=tmp_path, typed=typed, cwd=cwd, env=env)

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
    with demo_site(pages=200, hosts=5) as ready:
        yield ready


@pytest.fixture(scope="session")
def whole(site: dict[str, Any]) -> list[str]:
    """The arguments that crawl the whole site in one process; tests of slaves say how many they want."""
    return [
        "crawl",
        site["start"],
        "--slaves",
        "0",
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
