"""What submit says of a job that is in the cluster, when it does not stay until its end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from p2pcrawl.cli.cluster import submit
from p2pcrawl.model.errors import P2PCrawlError


class Peer:
    """Answers how the job stands, one answer after the other; the last one again and again."""

    def __init__(self, *states: dict[str, Any] | None) -> None:
        self.states = list(states)

    def get(self, path: str, **query: object) -> dict[str, Any]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if state is None:
            raise P2PCrawlError("no peer answers")
        return {"name": "quotes", "done": 0, "failed": 0, "reason": "", **state}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "LOOK_S", 0.0)
    monkeypatch.setattr(submit, "BEGINS_S", 0.05)


def test_spider_that_cannot_be_opened_is_told_with_the_reason_and_1(capsys: pytest.CaptureFixture[str]) -> None:
    peer = Peer({"state": "running"}, {"state": "cancelled", "reason": "No module named 'lxml2'"})

    assert submit.tell_begun(peer, 7, "", as_json=False) == 1  # type: ignore[arg-type]

    said = capsys.readouterr()
    assert said.out == "job 7\n"
    assert said.err == "p2pcrawl: quotes cannot be run: No module named 'lxml2'\n"


@pytest.mark.parametrize(
    "states",
    [
        [{"state": "running"}, {"state": "running", "done": 1}],
        [{"state": "finished", "done": 1}],
        [{"state": "running"}],
        [None],
    ],
    ids=["begun", "over", "nobody-has-taken-it-yet", "nobody-answers"],
)
def test_job_that_is_in_the_cluster_is_told_with_0(
    states: list[dict[str, Any] | None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert submit.tell_begun(Peer(*states), 7, "", as_json=True) == 0  # type: ignore[arg-type]

    said = capsys.readouterr()
    assert json.loads(said.out) == {"job": 7} and not said.err
