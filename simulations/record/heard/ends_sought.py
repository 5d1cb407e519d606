"""The record of how ends of jobs are found: who asks whom what is left, what is answered, and who has an end signed."""

from __future__ import annotations

import json
from typing import Any

from ...kernel.moments import COMES, LEAVES, Moment, Moments
from ...model.work.rounds import Rounds, Said
from .requests import Requests, opened


class EndsSought:
    """Has rounds judged, by the moments of a run."""

    def __init__(self, moments: Moments, rounds: Rounds) -> None:
        self._rounds = rounds
        self._asked, self._came = Requests(), Requests()
        """The questions that somebody has put, and those that have come to somebody."""
        for recorder, kind, phase in (
            (self._asks, "Quiet", LEAVES), (self._is_asked, "Quiet", COMES),
            (self._says, "JobAtMaster", LEAVES), (self._hears, "JobAtMaster", COMES), (self._queries, "Query", LEAVES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    def _asks(self, moment: Moment) -> None:
        message = opened(moment.what)
        self._asked.came(moment.peer, moment.node, message.id, moment.at, message.job)
        self._rounds.asks(moment.node, moment.peer, message.job)

    def _is_asked(self, moment: Moment) -> None:
        self._came.came(moment.node, moment.peer, moment.what.id, moment.at, moment.what.job)

    def _says(self, moment: Moment) -> None:
        message = opened(moment.what)
        if (asked := self._came.answered(moment.node, moment.peer, message.id)) is not None:
            self._rounds.says(moment.node, moment.peer, asked[1], _said(message))

    def _hears(self, moment: Moment) -> None:
        if (asked := self._asked.answered(moment.peer, moment.node, moment.what.id)) is not None:
            self._rounds.hears(moment.node, moment.peer, asked[1], asked[0], _said(moment.what))

    def _queries(self, moment: Moment) -> None:
        message = opened(moment.what)
        if message.what == "ask:part":
            self._rounds.signs(moment.node, json.loads(message.arguments)["job"])


def _said(message: Any) -> Said:
    links = message.sent, message.received
    return Said(message.known, message.busy, links, message.view, bool(message.closing), message.opened)
