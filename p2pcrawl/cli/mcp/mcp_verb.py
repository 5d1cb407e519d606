"""The verb ``mcp``: serves tools about one cluster on standard input and output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from p2pcrawl import __version__
from p2pcrawl.cli.mcp.mcp_server import McpServer
from p2pcrawl.cli.mcp.mcp_tools import WARNING, tools_of
from p2pcrawl.client.remote import Remote


def run_mcp(peer: str | None, token_file: Path | None, *, changes: bool) -> int:
    """Serves until standard input ends."""
    remote = Remote.find(peer, token_file)
    told = "You may begin crawls and steer them." if changes else "You may look, and change nothing."
    server = McpServer(
        tools_of(remote, changes=changes),
        __version__,
        f"A cluster of web crawlers at {remote.address}. {told} {WARNING}",
    )
    # Whatever libraries print, the program at the other end finds messages there and nothing else.
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        server.serve(sys.stdin.buffer, out)
    return 0
