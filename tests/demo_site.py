"""The demo's site in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cli.forks import ENDS_S, ROOT, environment


@contextmanager
def demo_site(pages: int, hosts: int) -> Iterator[dict[str, Any]]:
    """Serves the site until left, and says where: its first page and its hosts."""
    process = subprocess.Popen(
        [sys.executable, "-m", "p2pcrawl.demo.site", "--pages", str(pages), "--hosts", str(hosts), "--until-eof"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    ready: dict[str, Any] = json.loads(process.stdout.readline())
    try:
        yield ready
    finally:
        process.stdin.close()
        process.wait(ENDS_S)
        process.stdout.close()
