"""The record of who may ask hosts: what masters let go of, take and lend, and what slaves hear of their sessions."""

from __future__ import annotations

from ..kernel.moments import COMES, LEAVES, Moment, Moments
from ..model.permissions import Permissions
from .requests import Requests, opened


class Askings:
    """Takes down, by the moments of a run, what decides who may ask which host."""

    def __init__(self, moments: Moments, permissions: Permissions) -> None:
        self._permissions = permissions
        self._requests = Requests()
        for recorder, kind, phase in (
            (self._borrow, "Borrow", COMES), (self._lent, "Lent", LEAVES), (self._hello, "Hello", LEAVES),
            (self._welcome, "Welcome", COMES), (self._beat, "Beat", LEAVES), (self._renewed, "Renewed", COMES),
            (self._halt, "Halt", COMES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    def _borrow(self, moment: Moment) -> None:
        self._requests.came(moment.node, moment.peer, moment.what.id, moment.at, moment.what.host)

    def _lent(self, moment: Moment) -> None:
        answer = opened(moment.what)
        asked = self._requests.answered(moment.node, moment.peer, answer.id)
        if asked is not None and answer.granted:
            self._permissions.lent(moment.node, moment.peer, asked[1], moment.at, answer.term_s)

    def _hello(self, moment: Moment) -> None:
        self._permissions.greets(moment.node, moment.at)

    def _welcome(self, moment: Moment) -> None:
        self._permissions.welcomed(moment.node, moment.what.fence_s, moment.at)

    def _beat(self, moment: Moment) -> None:
        self._permissions.beats(moment.node, opened(moment.what).number, moment.at)

    def _renewed(self, moment: Moment) -> None:
        self._permissions.renewed(moment.node, moment.what.beat, moment.at)

    def _halt(self, moment: Moment) -> None:
        self._permissions.halted(moment.node, moment.at)
