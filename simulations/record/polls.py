"""The record of ballots: who was asked for a vote, what he said, and what his disk said at that moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..kernel.moments import COMES, LEAVES, Moment, Moments
from ..model.members.ballots import Ballots, Poll, Roll, Version, Vote, Voters
from .heard.requests import Requests, opened

FILE: Final = "electorate.json"


class Polls:
    """Has votes judged, by the moments of a run. ``folder`` returns where a master's disk is; ``is_safe`` tells whether
    a file there outlives a loss of power.
    """

    def __init__(
        self,
        moments: Moments,
        ballots: Ballots,
        folder: Callable[[str], Path],
        is_safe: Callable[[str, str], bool],
        now_s: Callable[[], float],
    ) -> None:
        self._ballots = ballots
        self._now_s = now_s
        self._folder = folder
        self._is_safe = is_safe
        self._asked, self._asking = Requests(), Requests()
        self._read: dict[str, tuple[tuple[int, int], tuple[Version, Voters]]] = {}
        """What was read last of each disk, and which writing that was of."""
        for recorder, kind, phase in (
            (self._is_asked, "Canvassed", COMES), (self._asks, "Canvassed", LEAVES), (self._votes, "Voted", LEAVES),
            (self._hears, "Voted", COMES), (self._elected, "Elected", LEAVES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    def _is_asked(self, moment: Moment) -> None:
        self._asked.came(moment.node, moment.peer, moment.what.id, moment.at, _poll_of(moment.what))

    def _asks(self, moment: Moment) -> None:
        message = opened(moment.what)
        poll = _poll_of(message)
        self._asking.came(moment.peer, moment.node, message.id, moment.at, poll)
        self._ballots.opens(moment.node, poll, self._roll(moment.node), moment.at)
        self._ballots.puts(moment.node, poll, moment.at)

    def _votes(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._asked.answered(moment.node, moment.peer, message.id)
        if asked is not None:
            self._ballots.votes(moment.node, asked[1], _vote_of(message), self._roll(moment.node), moment.at)

    def _hears(self, moment: Moment) -> None:
        asked = self._asking.answered(moment.peer, moment.node, moment.what.id)
        if asked is not None:
            self._ballots.hears(moment.node, asked[1], _vote_of(moment.what))

    def _elected(self, moment: Moment) -> None:
        message = opened(moment.what)
        self._ballots.elected(moment.node, (message.founded, message.number), message.voters, moment.at)

    def _roll(self, node: str) -> Roll | None:
        """Reads what a disk says of votes; nothing if it says none, or may not say it after a loss of power."""
        try:
            if not self._is_safe(node, FILE):
                return None
            row: dict[str, Any] = json.loads((self._folder(node) / FILE).read_text())
        except (FileNotFoundError, ValueError):
            return None
        ballot, accepted_in = row["ballot"], row["accepted_in"]
        version = row["founded"], row["version"]
        return Roll(version, (ballot[0], ballot[1]), (accepted_in[0], accepted_in[1]))

    def electorate(self, node: str) -> tuple[Version, Voters] | None:
        """Returns who votes, as a disk has it, and which version that is; None if it says nothing."""
        try:
            status = (path := self._folder(node) / FILE).stat()
        except FileNotFoundError:
            return None
        stamp = status.st_mtime_ns, status.st_ino
        if node not in self._read or self._read[node][0] != stamp:
            try:
                row: dict[str, Any] = json.loads(path.read_text())
            except ValueError:
                return None
            voters = {name: bytes.fromhex(seat) for name, seat in row["voters"].items()}
            version = row["founded"], row["version"]
            self._read[node] = stamp, (version, voters)
            self._ballots.learnt(node, version, self._now_s())
        return self._read[node][1]


def _poll_of(message: Any) -> Poll:
    return Poll((message.founded, message.number), (message.round, message.opener), message.voters)


def _vote_of(message: Any) -> Vote:
    accepted_in = message.accepted_round, message.accepted_opener
    return Vote(message.seat, message.given, accepted_in, message.accepted)
