"""The verb ``mcp``: serves tools about one cluster on standard input and output."""

from __future__ import annotations

import sys
from pathlib import Path

from p2pcrawl import __version__
from p2pcrawl.cli.mcp.mcp_server import McpServer
from p2pcrawl.cli.mcp.mcp_tools import WARNING, tools_of
from p2pcrawl.cli.screen.terminal import own_standard_output
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
    with own_standard_output() as out:
        server.serve(sys.stdin.buffer, out)
    return 0
