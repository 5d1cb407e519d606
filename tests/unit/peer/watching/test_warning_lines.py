"""The last warnings of all masters."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.peer.watching.warning_lines import KEPT, TEXT_MAX, WarningHere, WarningLines, WarningsHere
from p2pcrawl.wire.messages.ask import Answered
from tests.peers import FakePeers, member

A, B = NodeId("a" * 40), NodeId("b" * 40)
log = logging.getLogger("p2pcrawl.tested")


async def others(node: NodeId, request: Any) -> Answered:
    line = WarningHere(5.0, "ERROR", "p2pcrawl.there", "the other's")
    return Answered(0, msgspec.json.encode(WarningsHere([line])))


@pytest.fixture
def lines() -> Iterator[WarningLines]:
    kept = WarningLines(FakePeers(A, [member(A), member(B)], others))
    kept.open()
    yield kept
    kept.close()


async def test_warnings_of_all_masters_are_told_in_their_order(lines: WarningLines) -> None:
    log.info("nothing to see")
    log.warning("%d pages failed", 3)

    told = (await lines.answer({}))["warnings"]

    assert [(each["peer"], each["level"], each["logger"], each["text"]) for each in told] == [
        (B, "ERROR", "p2pcrawl.there", "the other's"),
        (A, "WARNING", "p2pcrawl.tested", "3 pages failed"),
    ]


async def test_last_ones_are_told_where_not_all_are_asked_for(lines: WarningLines) -> None:
    log.warning("first")
    log.warning("last")

    assert [each["text"] for each in (await lines.answer({"limit": 1}))["warnings"]] == ["last"]


async def test_what_is_kept_is_bounded_harmless_and_without_passwords(lines: WarningLines) -> None:
    for _ in range(KEPT):
        log.warning("x" * 10 * TEXT_MAX)
    log.warning("mongodb://ada:secret@db is away\n\x1b[2Jgone")

    told = lines.here().lines

    assert len(told) == KEPT and len(told[0].text) == TEXT_MAX
    assert told[-1].text == "mongodb://ada:***@db is away\\n\\u001b[2Jgone"


def test_nothing_is_kept_any_more_when_it_is_closed(lines: WarningLines) -> None:
    lines.close()

    log.warning("late")

    assert lines.here().lines == []
