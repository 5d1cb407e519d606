"""What the README says of a cluster, typed as it stands there."""

from __future__ import annotations

import asyncio
import csv
import os
import re
import select
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from p2pcrawl.model.cluster.node import DEFAULT_PORT
from tests.cli.conftest import ENDS_S, Start, until
from tests.cli.conftest import start as start
from tests.cli.forks import ROOT, environment
from tests.sites.quotes import QuotesSite

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text()
ALONE = "P2PCRAWL_TEST_ALONE"
"""Set where nobody else is on the machine: then it is a failure if the ports are taken."""


def typed() -> list[list[str]]:
    """The commands of the block that begins with a peer, without their comments."""
    block = re.search(r"(?m)(^    p2pcrawl peer .*\n)(^    p2pcrawl .*\n)+", README)
    assert block is not None
    return [shlex.split(line, comments=True)[1:] for line in block[0].splitlines()]


def spider(start: str) -> str:
    """The spider of the README, slow enough to be paused, on another site."""
    text = README.split("```python")[1].split("```")[0].replace("https://quotes.toscrape.com/", start)
    return text.replace('name = "quotes"', 'name = "quotes"\n    custom_settings = {"DOWNLOAD_DELAY": 2}')


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _lacking(what: str) -> None:
    if os.environ.get(ALONE):
        pytest.fail(what)
    pytest.skip(what)


async def test_cluster_on_one_machine_is_started_and_used_as_the_readme_says(start: Start, tmp_path: Path) -> None:
    # Those that it names. For its API a peer takes another port than 7180 where that is taken, and the verbs find it.
    taken = [port for port in (DEFAULT_PORT, DEFAULT_PORT + 1) if not is_free(port)]
    if taken:
        _lacking(f"the README's cluster is not tried: somebody else has its ports here, {taken}")
    site = QuotesSite()
    url = await site.start()
    (tmp_path / "quotes.py").write_text(spider(f"{url}/"))
    try:
        said = await asyncio.to_thread(type_all, start, tmp_path)
    finally:
        await site.stop()

    assert "2 masters" in said["status"]
    assert "(quotes) is paused" in said["pause"] and "(quotes) is running" in said["resume"]
    assert set(rows(tmp_path)[0]) == {"text", "author"}


def type_all(start: Start, folder: Path) -> dict[str, str]:
    """Types the block, and returns what each verb that ends has said."""
    said = {}
    for arguments in typed():
        if arguments[0] == "peer":
            peer = start(*arguments, "--slaves", "1", stderr=subprocess.DEVNULL)
            assert peer.stdout is not None
            assert select.select([peer.stdout], [], [], ENDS_S)[0], "the peer is ready"
            assert "API at 127.0.0.1:" in peer.stdout.readline()
            continue
        said[arguments[0]] = type_one(arguments, folder)
    # There was nothing yet, perhaps.
    until(lambda: type_one(typed()[-1], folder) is not None and len(rows(folder)) > 0, "items")
    return said


def type_one(arguments: list[str], folder: Path) -> str:
    command = [sys.executable, "-m", "p2pcrawl", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=ENDS_S)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "quotes.csv").read_text().splitlines()))
