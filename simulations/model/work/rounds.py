"""The rules of the two rounds by which a job is found to be finished (docs/cluster.md).

Whoever has an end signed has asked all others twice, the second time when all had answered the first, and heard both
times that nothing is left, that as many links went out and came in as before, of the same hosts, in the view in which
it asked. And whoever says that it has nothing left has nothing left, by its own disk and by those of whom it copies to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..stores import Key, Stores, phase_of

COUNTED_S: Final = 3.0
"""What has come to a disk is counted so much later at most,"""
BEGUN_S: Final = 6.0
"""and what lay on it when a life began, so long after that."""
HEARD_S: Final = 60.0
"""So long after a disk was lost somebody may not have heard of it."""
REPEATED_S: Final = 15.0
"""A question is said again for so long, if need be, before it is given up."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of whom they count."""

    @property
    def now_s(self) -> float: ...

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def owned(self, master: str) -> frozenset[int]:
        """Returns the buckets that are a master's own in its view."""

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def closes_early(self, job: int) -> bool:
        """Tells whether something closes a job before its queue is empty."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


class Said(NamedTuple):
    """The word of a master on a job."""

    known: bool
    busy: int
    links: tuple[int, int]
    """That went out, and came in."""
    view: int
    closing: bool
    opened: bytes


class _Question(NamedTuple):
    """A question, and what was answered when."""

    asked_s: float
    view: int
    fellows: frozenset[str]
    answered_s: float = 0.0
    said: Said | None = None


@dataclass(slots=True)
class Rounds:
    """Judges who has a job's end signed, and who says that nothing is left of one."""

    stores: Stores
    sight: Sight
    tell: Tell
    _asked: dict[tuple[str, int], dict[str, list[_Question]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """The last questions of each master on each job, by whom it asked."""
    _begun: dict[str, float] = field(default_factory=dict)
    _signing: tuple[str, int, float] = ("", 0, 0.0)

    def started(self, master: str) -> None:
        """Takes in that a master begins anew."""
        self._begun[master] = self.sight.now_s
        for place in [place for place in self._asked if place[0] == master]:
            del self._asked[place]

    # -- who asks ------------------------------------------------------------------------------

    def asks(self, master: str, other: str, job: int) -> None:
        """Takes in that a master asks another how a job stands there."""
        asked = self._asked[master, job][other]
        asked.append(_Question(self.sight.now_s, self.sight.view(master), self.sight.fellows(master)))
        del asked[:-2]

    def hears(self, master: str, other: str, job: int, asked_s: float, said: Said) -> None:
        """Takes in the answer to the question of that moment."""
        for place, question in enumerate(asked := self._asked[master, job][other]):
            if question.asked_s == asked_s:
                asked[place] = question._replace(answered_s=self.sight.now_s, said=said)

    def signs(self, master: str, job: int) -> None:
        """Judges a master that has others sign the end of a job: it has found nothing left, in two rounds."""
        if (signing := (master, job, self.sight.now_s)) == self._signing:
            return
        self._signing = signing
        asked = self._asked.get((master, job), {})
        if what := next(self._amiss(asked), ""):
            self._tell(master, f"has the end of job {job} signed, {what}")
        elif self.sight.closes_early(job):
            # What it leaves undone is judged in the end, by what closes it.
            return
        elif self._is_in_view(master, asked) and (what := next(self._left(master, job), "")):
            self._tell(master, f"has the end of job {job} signed, and {what}")

    # -- who answers ---------------------------------------------------------------------------

    def says(self, master: str, asker: str, job: int, said: Said) -> None:
        """Judges the word of a master on what is left of a job there."""
        if said.known and not said.busy and not said.closing and (what := next(self._left(master, job), "")):
            self._tell(master, f"told {asker} that nothing is left of job {job} there, and {what}")

    # -- inside --------------------------------------------------------------------------------

    def _is_in_view(self, master: str, asked: dict[str, list[_Question]]) -> bool:
        """Tells whether a master acts in the view in which it has asked. One that does not hears in its next view what
        nobody signs: no certificate is of two views.
        """
        last = max((questions[-1] for questions in asked.values()), key=lambda question: question.asked_s)
        return last.view == self.sight.view(master)

    def _amiss(self, asked: dict[str, list[_Question]]) -> Iterator[str]:
        """Yields what is wrong with the last two rounds."""
        if not asked:
            yield "and has asked nobody"
            return
        last_s = max(questions[-1].asked_s for questions in asked.values())
        began_s, fellows = next((q[-1].asked_s, q[-1].fellows) for q in asked.values() if q[-1].asked_s == last_s)
        rounds: list[dict[str, _Question]] = [{}, {}]
        for name in sorted(fellows):
            if len(questions := asked.get(name, [])) < 2 or questions[0].asked_s < began_s - REPEATED_S:
                yield f"and has not asked {name} twice"
                return
            rounds[0][name], rounds[1][name] = questions
        for name in fellows:
            yield from _unfit(name, rounds[0][name], rounds[1][name])
        yield from _unlike(*rounds)

    def _left(self, master: str, job: int) -> Iterator[str]:
        """Yields what is left of a job at a master."""
        now_s, store = self.sight.now_s, self.stores.store(master)
        if now_s < self._begun.get(master, 0.0) + BEGUN_S or self.sight.deleted(job):
            return
        for bucket in sorted(self.sight.owned(master)):
            if not self.sight.serves(master, bucket):
                yield f"does not serve its bucket {bucket} yet"
                break
        away = self.sight.away_since(now_s - BEGUN_S)
        for link in dict.fromkeys(store.spool.values()):
            owner = next(iter(self.sight.holders(master, self.stores.bucket_of.get(link, 0))), master)
            is_known = link[2] != job or owner == master or self.stores.store(owner).stamp(link) >= 0
            in_one_view = self.sight.view(owner) == self.sight.view(master)
            if (
                not is_known
                and in_one_view
                and link in self.stores.bucket_of
                and not self._is_excused(owner, link, away)
            ):
                yield f"it keeps {self.sight.name(link)} for {owner}, which has it not"
        for key, stamp in store.records.items():
            if key[2] != job or store.changed.get(key, 0.0) > now_s - COUNTED_S:
                continue
            if not phase_of(stamp):
                yield f"{self.sight.name(key)} is queued there"
            for holder in self.sight.holders(master, self.stores.bucket_of[key])[1:]:
                there = self.stores.store(holder)
                if there.stamp(key) < stamp and not self._is_excused(holder, key, away):
                    yield f"{holder} has no copy of how far {self.sight.name(key)} is"

    def _is_excused(self, holder: str, key: Key, away: frozenset[str]) -> bool:
        lost = self.stores.lately_lost(key, self.sight.now_s - HEARD_S)
        return holder in away or holder in lost or self.sight.set_back(holder)

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")


def _unfit(name: str, *questions: _Question) -> Iterator[str]:
    """Yields what is wrong with the answers of one master."""
    for question in questions:
        if question.said is None:
            yield f"and {name} has not answered whether anything is left"
        elif not question.said.known:
            yield f"of which {name} has not heard"
        elif question.said.busy:
            yield f"and {name} had something left when it was asked"


def _unlike(first: Mapping[str, _Question], second: Mapping[str, _Question]) -> Iterator[str]:
    """Yields in what two rounds, or the masters in them, differ."""
    said = [[q.said for q in each.values() if q.said is not None] for each in (first, second)]
    if first and max(q.answered_s for q in first.values()) > min(q.asked_s for q in second.values()):
        yield "and has begun to ask for the second time when not all had answered the first"
    views = {question.view for each in (first, second) for question in each.values()}
    if views.symmetric_difference(each.view for part in said for each in part):
        yield "and others acted in another view when they were asked"
    if len({each.opened for each in said[1]}) > 1:
        yield "and others know of other open hosts than each other"
    sums = [tuple(map(sum, zip(*(each.links for each in part), strict=True))) for part in said]
    if sums[0] != sums[1]:
        yield f"and links went between masters from one round to the next ({sums[0]}, {sums[1]})"
