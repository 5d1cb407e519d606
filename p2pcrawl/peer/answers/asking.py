"""A question to all other masters at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.json import Decoder

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.peers import Peers

T = TypeVar("T")

ASK_S = 5.0


async def ask_others(
    peers: Peers, what: str, arguments: Mapping[str, object], due: Decoder[T]
) -> tuple[dict[NodeId, T], list[NodeId]]:
    """Asks each other member a question. Returns what each answers, and who does not."""
    others = [member.id for member in peers.others()]
    calls = (peers.query(node, f"ask:{what}", arguments, due, ASK_S) for node in others)
    answers = zip(others, await asyncio.gather(*calls, return_exceptions=True), strict=True)
    told = {node: answer for node, answer in answers if not isinstance(answer, BaseException)}
    return told, [node for node in others if node not in told]


def whole_number(arguments: Mapping[str, Any], name: str, otherwise: int, most: int) -> int:
    """Reads a number of 1 or more that a person may have typed. Raises ConfigurationError for what is none."""
    value = arguments.get(name, otherwise)
    text = str(value)
    if isinstance(value, bool | float) or not (text.isascii() and text.isdigit()) or not 0 < len(text) < 10:
        raise ConfigurationError(f"{name} is a whole number of 1 or more, not {text!r:.40}")
    if not 1 <= int(text) <= most:
        raise ConfigurationError(f"{name} is 1 to {most:,}, not {text}")
    return int(text)
