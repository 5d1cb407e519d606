"""The rules of consent: who stands by which view, and who may serve because most do (docs/majority.md).

A voter that agrees acts in the view that it is asked about, and stands by no other view till its promise is over, or
whoever has it has come to the other view, too, or is through; it agrees with nobody who counts by an older electorate
than it knows of. A master serves for as long as most voters, by the seats that they were let in with, have agreed to
questions that it sent a moment ago; what it has gained it serves when most have agreed to the view in which it did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..permissions import Asked
from .ballots import Version, Voters

PROMISED_S: Final = 6.2 / 1.02
"""A promise lasts so long, by whatever clock;"""
UNKNOWING_S: Final = 5.5
"""for so long after its start, at least, a voter does not know what it has promised."""
GRANTED_S: Final = 4.0 / 0.98
"""Consent counts for so long after the question, by whatever clock;"""
GIVEN_UP_S: Final = 1.0
HALTED_S: Final = GIVEN_UP_S / 0.98 + 0.2
"""what is open when it ends has ended so much later, if most do not agree again by then."""
LOOKED_S: Final = 0.02


class Question(NamedTuple):
    """A question for consent: to a view, by those who vote in a version; view 0: whoever asks is through."""

    number: int
    view: int
    version: Version
    seat: bytes


class Answer(NamedTuple):
    """A voter's answer."""

    number: int
    agrees: bool
    version: Version
    seat: bytes


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def owned(self, master: str) -> frozenset[int]:
        """Returns the buckets that are a master's own in its view."""

    def stood_still(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether a machine stood still at any time between two moments."""


class Electorates(Protocol):
    """The interface that knows who votes."""

    def __call__(self, master: str, version: Version) -> Iterable[Voters]:
        """Returns those by which a master may count, which says that it counts by this version."""

    def counts_by(self, master: str, version: Version, now_s: float) -> None:
        """Has a version judged by which a master says that it counts."""


class _Promise(NamedTuple):
    view: int
    at_s: float


@dataclass(slots=True)
class _Asker:
    """The questions of one master, in one life, and what it has heard of them."""

    view: int = 0
    version: Version = (0, 0)
    seat: bytes = b""
    through: bool = False
    sent: dict[int, tuple[float, Question]] = field(default_factory=dict)
    agreed: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    """From which seat each has agreed to this view, and when the question was sent."""
    before_s: float = -inf
    """Until when what was agreed to in the views before counts."""
    stood_s: float = -inf
    """When it was last seen to have the consent of most: by whom that is counted may be another electorate since."""
    owned: frozenset[int] = frozenset()
    """The buckets that are its own in this view,"""
    gained: frozenset[int] = frozenset()
    """and those that became so in views that most have not agreed to."""


@dataclass(slots=True)
class Consents:
    """Judges what voters agree to, and who serves."""

    sight: Sight
    tell: Tell
    electorates: Electorates
    ids: Mapping[str, str]
    """The masters' ids, by which voters are named, by their names."""
    lapsed: Callable[[str, float], None] = lambda master, over_s: None
    """Is told whose consent is over, and since when."""
    _promises: dict[bytes, dict[str, _Promise]] = field(default_factory=lambda: defaultdict(dict))
    """What each seat has promised to whom."""
    _known: dict[bytes, Version] = field(default_factory=dict)
    """The last version that each seat has spoken of."""
    _used: dict[bytes, float] = field(default_factory=dict)
    """The seats from which something was said, and in which life: when that began."""
    _started_s: dict[str, float] = field(default_factory=dict)
    _askers: dict[str, _Asker] = field(default_factory=lambda: defaultdict(_Asker))
    _lapses: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """When each master's consent was over,"""
    _regained: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """and when it was first there again."""

    def started(self, master: str) -> None:
        """Takes in that a master begins anew."""
        self._started_s[master] = self.sight.now_s
        self._askers.pop(master, None)

    # -- what is asked and answered ------------------------------------------------------------

    def asks(self, master: str, question: Question) -> None:
        """Takes in a question, as it is made; whoever asks answers it itself."""
        asker, now_s = self._askers[master], self.sight.now_s
        if question.view and asker.through:
            self._tell(master, "asks for consent again, and has said that it is through")
        if question.view != asker.view:
            until_s = self._until_s(master, asker)
            asker.before_s = max(asker.before_s, until_s) if question.view else -inf
            asker.view, owned = question.view, self.sight.owned(master)
            gained = owned - asker.owned
            asker.gained = owned & (gained | asker.gained)
            asker.owned = owned
            asker.agreed.clear()
        asker.through = not question.view
        if asker.version != question.version:
            self.electorates.counts_by(master, question.version, now_s)
        asker.version, asker.seat = question.version, question.seat
        asker.sent[question.number] = now_s, question
        for number in [n for n, (sent_s, _) in asker.sent.items() if sent_s < now_s - GRANTED_S - 1.0]:
            del asker.sent[number]
        self._comes_over(question.seat, master, master, question)
        if question.view and self._other_promise(question.seat, master, question.view) is None:
            self._promises[question.seat][master] = _Promise(question.view, now_s)
            asker.agreed[self.ids[master]] = question.seat, now_s
            self._confirms(master, asker)

    def answers(self, voter: str, asker: str, question: Question, answer: Answer) -> None:
        """Judges an answer as it is made."""
        now_s, seat = self.sight.now_s, answer.seat
        self._comes_over(seat, voter, asker, question)
        known = self._known.get(seat, answer.version)
        if answer.version[0] == known[0] and answer.version < known:
            self._tell(voter, f"has spoken of electorate {known[1]}, and now of {answer.version[1]}")
        self._known[seat] = answer.version
        began_s = self._started_s.get(voter, 0.0)
        first_s = self._used.setdefault(seat, began_s)
        if not answer.agrees:
            return
        text = f"agrees with {asker} to view {question.view:016x}"
        if question.view != self.sight.view(voter):
            self._tell(voter, f"{text}, and acts in another one")
        if question.version < answer.version:
            self._tell(voter, f"{text}, which counts by electorate {question.version[1]}, not {answer.version[1]}")
        if first_s < began_s and now_s < began_s + UNKNOWING_S:
            self._tell(voter, f"{text} {now_s - began_s:.2f} s after its start, and does not know what it promised")
        if (other := self._other_promise(seat, asker, question.view)) is not None:
            name, promise = other
            self._tell(voter, f"{text}, and has promised {name} {now_s - promise.at_s:.2f} s ago to stand by another")
        self._promises[seat][asker] = _Promise(question.view, now_s)

    def hears(self, master: str, voter_id: str, answer: Answer) -> None:
        """Takes in an answer, as whoever asked hears of it."""
        asker = self._askers[master]
        sent_s, question = asker.sent.get(answer.number, (-inf, None))
        if question is not None and answer.agrees and question.view == asker.view:
            _, before_s = asker.agreed.get(voter_id, (b"", -inf))
            if sent_s > before_s:
                asker.agreed[voter_id] = answer.seat, sent_s
                self._confirms(master, asker)

    # -- who serves ----------------------------------------------------------------------------

    def look(self, served: Mapping[str, Collection[int]]) -> list[str]:
        """Judges what masters serve at this moment; returns those whose consent has ended since the last look."""
        now_s, lapsed = self.sight.now_s, []
        for master, buckets in served.items():
            asker = self._askers[master]
            until_s = self._confirms(master, asker)
            over_s = max(until_s, asker.before_s)
            if buckets and now_s > over_s + LOOKED_S:
                what = f"since {over_s:.2f} s" if over_s > -inf else "yet"
                self._tell(master, f"serves {len(buckets)} buckets, and has not the consent of most {what}")
            if gained := asker.gained.intersection(buckets):
                text = f"serves {len(gained)} buckets that it has gained, such as {min(gained)}"
                self._tell(master, f"{text}, and most have not agreed to a view in which they are its own")
            over_s = max(over_s, asker.stood_s)
            if -inf < over_s < now_s and over_s not in self._lapses[master][-1:]:
                self._lapses[master].append(over_s)
                self.lapsed(master, over_s)
                lapsed.append(master)
        return lapsed

    def broken_by(self, asked: Asked) -> str | None:
        """Returns what is wrong with a request: it went on when its master had no consent for long."""
        if asked.node != asked.master:
            return None  # A slave that is not told ends by itself, with its session.
        for over_s in self._lapses.get(asked.master, ()):
            is_late = asked.began_s < over_s < asked.ended_s - HALTED_S and not self._is_soon_back(asked.master, over_s)
            if is_late and not self.sight.stood_still(asked.node, over_s, asked.ended_s):
                return (
                    f"{asked.node} asked for {asked.url} from {asked.began_s:.3f} s to {asked.ended_s:.3f} s, and had"
                    f" the consent of most till {over_s:.3f} s"
                )
        return None

    # -- inside --------------------------------------------------------------------------------

    def _is_soon_back(self, master: str, over_s: float) -> bool:
        """Tells whether most agree again before what is open is given up: their promises have outlasted that."""
        return any(over_s <= at_s <= over_s + GIVEN_UP_S for at_s in self._regained.get(master, ()))

    def _comes_over(self, seat: bytes, voter: str, asker: str, question: Question) -> None:
        """Takes in what voids a promise: both have come to another view, or whoever has it is through."""
        held = self._promises[seat].get(asker)
        if held is not None and (not question.view or held.view != question.view == self.sight.view(voter)):
            del self._promises[seat][asker]

    def _other_promise(self, seat: bytes, asker: str, view: int) -> tuple[str, _Promise] | None:
        since_s = self.sight.now_s - PROMISED_S + LOOKED_S
        for name, promise in self._promises[seat].items():
            if name != asker and promise.view != view and promise.at_s > since_s:
                return name, promise
        return None

    def _confirms(self, master: str, asker: _Asker) -> float:
        """Takes in that most may agree to what a master has gained; returns until when they do to its view."""
        until_s = self._until_s(master, asker)
        if until_s > self.sight.now_s:
            asker.gained, asker.stood_s = frozenset(), self.sight.now_s
            lapses, regained = self._lapses[master], self._regained[master]
            if lapses and (not regained or regained[-1] < lapses[-1]):
                regained.append(self.sight.now_s)
        return until_s

    def _until_s(self, master: str, asker: _Asker) -> float:
        """Returns until when most have agreed to the view in which a master acts."""
        until_s = -inf
        for voters in self.electorates(master, asker.version):
            times = sorted((at for node, (seat, at) in asker.agreed.items() if voters.get(node) == seat), reverse=True)
            needed = len(voters) // 2 + 1
            if len(times) >= needed:
                until_s = max(until_s, times[needed - 1] + GRANTED_S)
        return until_s

    def _tell(self, master: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {master} {what}")
