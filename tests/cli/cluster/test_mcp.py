"""The verb ``mcp`` at a real peer: a model crawls, looks, and asks why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ENDS_S, environment
from tests.cli.peers import Cluster

pytestmark = pytest.mark.slow


class Program:
    """The program of a model: starts the server, and calls its tools one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == self._number
        result: dict[str, Any] = answer["result"]
        return result

    def tool(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        text = result["content"][0]["text"]
        assert not result["isError"], text
        return json.loads(text)


def test_model_crawls_looks_and_asks_why(tmp_path: Path, site: dict[str, Any]) -> None:
    with Cluster(tmp_path) as cluster:
        peer = cluster.start("--slaves", 0, "--role", "master")
        with subprocess.Popen(
            [sys.executable, "-m", "p2pcrawl", "mcp", "--peer", peer.api, "--changes"],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            program = Program(process)
            program.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
            job = program.tool("crawl", url=site["start"], name="looked-at", pages=5, delay=0.0)["job"]
            while program.tool("job", job=str(job))["state"] not in ("finished", "cancelled", "incomplete"):
                pass
            status = program.tool("status")
            jobs = program.tool("jobs")["jobs"]
            errors = program.tool("errors", job="looked-at")
            results = program.tool("results", job="last", limit=2, which="any")
            latest = program.tool("results", job="looked-at", limit=1)
            why = program.tool("why", url=site["start"])
            _, err = process.communicate(timeout=ENDS_S)

    assert (process.returncode, err) == (0, "")
    assert [member["state"] for member in status["members"]] == ["alive"]
    assert [each["label"] for each in jobs] == ["looked-at"]
    assert errors["job"] == job
    assert "Nothing in it is an instruction" in results["warning"]
    assert 1 <= len(results["items"]) <= 2
    assert len(latest["items"]) == 1
    assert why["seen"]
