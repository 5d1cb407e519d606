"""What Prometheus itself makes of the metrics, the alert rules and the board.

It comes from the system's packages (Debian: `apt-get install prometheus`). Where it is not installed these tests are
skipped, unless P2PCRAWL_TEST_PROMETHEUS says that it must be.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from benchmarks.kit.parent import ends_with_us
from p2pcrawl.peer.peer import Peer
from tests.unit.peer.test_peer import PAGES, peer, site_of, spider

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "monitoring"
WANTED = "P2PCRAWL_TEST_PROMETHEUS"
LIMIT_S = 45.0
OF_PROMETHEUS = {"up"}

pytestmark = [
    pytest.mark.usefixtures("own_folders"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None and os.environ.get(WANTED):
        pytest.fail(f"{name} is not installed, and {WANTED} is set")
    if found is None:
        pytest.skip(f"NOT TESTED against Prometheus: {name} is not installed (apt-get install prometheus)")
    return found


async def ran(*command: str, typed: bytes = b"") -> str:
    """Runs a program that must not find anything amiss, and returns what it said."""
    done = await asyncio.to_thread(
        subprocess.run, command, input=typed, capture_output=True, timeout=LIMIT_S, preexec_fn=ends_with_us()
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


@asynccontextmanager
async def crawled(folder: Path) -> AsyncIterator[Peer]:
    """A peer that has crawled a small site."""
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(folder, site))
        async with asyncio.timeout(LIMIT_S):
            await job.wait()
        yield one


async def get(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.text()


def names_in(metrics: str) -> set[str]:
    """The names of all samples, as Prometheus keeps them."""
    return set(re.findall(r"^([a-z0-9_]+)(?:\{| )", metrics, re.MULTILINE))


def asked_for(expressions: list[str]) -> set[str]:
    """The metrics that expressions read."""
    plain = [re.sub(r'"[^"]*"', "", text) for text in expressions]
    return {name for text in plain for name in re.findall(r"\b(?:p2pcrawl|process)_[a-z0-9_]+\b|\bup\b", text)}


async def test_metrics_of_a_crawl_are_as_prometheus_wants_them(tmp_path: Path) -> None:
    promtool = program("promtool")
    async with crawled(tmp_path) as one:
        metrics = await get(f"http://{one.api}/metrics")

        said = await ran(promtool, "check", "metrics", typed=metrics.encode())

    assert said == ""
    assert re.search(rf'^p2pcrawl_pages_total{{job="\d+"}} {PAGES}\.0$', metrics, re.MULTILINE)
    assert re.search(rf"^p2pcrawl_fetch_seconds_count {PAGES}\.0$", metrics, re.MULTILINE)
    assert 'p2pcrawl_members{state="alive"} 1.0' in metrics


async def test_board_and_rules_read_only_what_there_is(tmp_path: Path) -> None:
    board = json.loads((EXAMPLES / "grafana.json").read_text())
    rules = (EXAMPLES / "alerts.yml").read_text()
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    async with crawled(tmp_path) as one:
        there = names_in(await get(f"http://{one.api}/metrics"))

    assert asked_for(expressions) - there == set()
    assert asked_for(re.findall(r"expr: (?:\|\n)?(.*(?:\n {12}.*)*)", rules)) - there == OF_PROMETHEUS


async def test_page_names_every_metric(tmp_path: Path) -> None:
    page = (EXAMPLES.parents[1] / "docs" / "monitoring.md").read_text()
    async with crawled(tmp_path) as one:
        there = names_in(await get(f"http://{one.api}/metrics"))

    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in there if name.startswith("p2pcrawl_")}
    assert ours - set(re.findall(r"`(p2pcrawl_[a-z_]+)`", page)) == set()


async def test_prometheus_finds_nothing_amiss_in_the_examples() -> None:
    promtool = program("promtool")

    rules = await ran(promtool, "check", "rules", str(EXAMPLES / "alerts.yml"))
    await ran(promtool, "check", "config", str(EXAMPLES / "prometheus.yml"))

    assert "10 rules found" in rules


async def test_real_prometheus_reads_a_peer_and_evaluates_all_rules(tmp_path: Path) -> None:
    prometheus = program("prometheus")
    async with crawled(tmp_path) as one, asking(prometheus, tmp_path, one.api) as url:
        async with asyncio.timeout(LIMIT_S):
            while not evaluated(rules := await asked(url, "rules")):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            while not (up := await asked(url, "query?query=sum(p2pcrawl_pages_total)"))["result"]:  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    states = {rule["name"]: (rule["health"], rule["state"]) for group in rules["groups"] for rule in group["rules"]}
    assert {health for health, _ in states.values()} == {"ok"}
    assert [name for name, (_, state) in states.items() if state == "firing"] == []
    assert float(up["result"][0]["value"][1]) == PAGES


def evaluated(rules: dict[str, Any]) -> bool:
    told = [rule["health"] for group in rules["groups"] for rule in group["rules"]]
    return bool(told) and "unknown" not in told


async def asked(url: str, question: str) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(await get(f"{url}/api/v1/{question}"))["data"]
    except (aiohttp.ClientError, AssertionError):
        return {"groups": [], "result": []}
    return told


@asynccontextmanager
async def asking(prometheus: str, folder: Path, api: str) -> AsyncIterator[str]:
    """A Prometheus with the example's configuration, which asks this peer, every second."""
    config = (EXAMPLES / "prometheus.yml").read_text().replace("127.0.0.1:7180", api).replace("15s", "1s")
    (folder / "prometheus.yml").write_text(config)
    shutil.copy(EXAMPLES / "alerts.yml", folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    with (folder / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, f"--web.listen-address=127.0.0.1:{port}", stdout=log, stderr=log, preexec_fn=ends_with_us()
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            await process.wait()
