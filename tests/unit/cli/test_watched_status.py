"""``status --watch``: again and again, through the absences of the peer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from p2pcrawl.cli.cluster.watched_status import watch_status
from p2pcrawl.model.errors import P2PCrawlError

STATUS = {
    "cluster": "mine", "view": "2a", "directory": "0", "members": [], "jobs": {}, "warnings": [], "missing": {},
    "copies": {"asked": 2, "moving": 0, "unsynced": 0, "uncopied": 0, "spooled": 0},
    "peer": {"role": "master", "address": "10.0.0.1:7117", "api": "10.0.0.1:7180"},
}  # fmt: skip


class Peer:
    """Answers as it is told to, and interrupts whoever asks more often."""

    def __init__(self, *answers: dict[str, Any] | Exception) -> None:
        self._answers: Iterator[dict[str, Any] | Exception] = iter(answers)

    def get(self, path: str) -> Any:
        answer = next(self._answers, None)
        if answer is None:
            raise KeyboardInterrupt
        if isinstance(answer, Exception):
            raise answer
        return answer


def watched(*answers: dict[str, Any] | Exception, as_json: bool = False) -> None:
    with pytest.raises(KeyboardInterrupt):
        watch_status(Peer(*answers), 1.0, as_json=as_json, pause=lambda _: None)


def test_status_is_printed_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    watched(STATUS, STATUS, STATUS)

    assert capsys.readouterr().out.count("cluster mine") == 3


def test_json_is_one_object_on_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    watched(STATUS, STATUS, as_json=True)

    assert [json.loads(line)["cluster"] for line in capsys.readouterr().out.splitlines()] == ["mine", "mine"]


def test_peer_that_is_away_for_a_while_is_told_and_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    watched(STATUS, P2PCrawlError("no peer answers"), STATUS)

    said = capsys.readouterr()
    assert said.out.count("cluster mine") == 2
    assert said.err == "p2pcrawl: no peer answers\n"


def test_peer_that_never_answered_is_an_error() -> None:
    with pytest.raises(P2PCrawlError, match="no peer answers"):
        watch_status(Peer(P2PCrawlError("no peer answers")), 1.0, as_json=False, pause=lambda _: None)
