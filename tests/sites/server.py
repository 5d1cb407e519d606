"""What the sites of the tests share: the server that ships with the package, re-exported, and JSON control pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from p2pcrawl.demo.process import run_site, site_parser, site_process
from p2pcrawl.demo.server import Asked, Handler, Server, Stream, TimedReply, Wire, head, loopback_addresses, site_answer

__all__ = [
    "CONTROL",
    "Asked",
    "Handler",
    "Server",
    "Stream",
    "TimedReply",
    "Wire",
    "control_reply",
    "head",
    "loopback_addresses",
    "run_site",
    "site_answer",
    "site_parser",
    "site_process",
]

CONTROL = "127.0.0.1"
"""The address that answers for the site itself; no page of a crawl is there."""


def control_reply(asked: Asked, pages: Mapping[str, Callable[[], Any]]) -> TimedReply:
    """The JSON of one of the control pages, 404 for another path."""
    tell = pages.get(asked.path)
    if tell is None:
        return TimedReply(site_answer("no such page", 404))
    return TimedReply(site_answer(json.dumps(tell()), content_type="application/json"))
