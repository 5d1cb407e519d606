"""Reduction: takes away whatever a failure does not need, for as long as there is time.

A run is over as soon as it has failed. What had not come by then goes first, for nothing, and what had come is told by
the time at which it came, so that it comes there, too, when other things are gone. Pages for which nobody had asked are
left out of the web, which is otherwise the same; then parts, pages, masters and what else there is, by delta debugging.
Where that leaves too much, smaller webs of other seeds are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from ..play.aims import Aim
from ..scenarios import SCENARIOS
from ..whole.outcome import Report
from ..whole.simulation import Simulation
from ..world.pins import real_clock
from .case import Case, Part
from .failures import Failure
from .least import least
from .simpler import simpler
from .timing import early, timed

ROUNDS: Final = 3
FAULTS_MAX, PAGES_MAX = 3, 20
"""More than these are too much for a person, and worth trying other webs."""
SMALL_WEBS: Final = (20, 10, 30, 6, 45, 90)
SEEDS: Final = 4
"""So many are tried with each smaller web."""
LOSES = frozenset({"wipe", "bury"})
LIMIT_S = 600.0
"""Virtual seconds for one trial: what hangs need not hang for long."""
SLACK_S, SLACK_TIMES = 12.0, 1.25
"""So much later than before it may fail, and so many times as late,"""
REDRAWN_S, REDRAWN_TIMES = 60.0, 3.0
"""and in another web."""

Play = Callable[[Case], Report]
T = TypeVar("T")


def simulated(case: Case, checker: str) -> Report:
    """Runs a case, until this checker has told."""
    return Simulation(case.plan, hasty=True, judge=checker).run()


class TimeIsUp(Exception):
    """Raised when the time that was given for it is over."""


class Reduction:
    """One failure on its way to the least that still fails. ``best`` is what it has come to, whenever it is stopped."""

    def __init__(
        self, case: Case, failure: Failure, seconds: float, tell: Callable[[str], None], play: Play | None = None
    ) -> None:
        self.best = self._first = case.smaller(limit_s=min(case.options.limit_s or LIMIT_S, LIMIT_S))
        self.failure = failure
        self.report: Report | None = None
        """Of the best."""
        self.trials = 0
        self._until_s = real_clock() + seconds
        self._tell = tell
        self._play: Play = play or partial(simulated, checker=failure.checker)
        self._tried: set[str] = set()
        """What has not failed."""
        self._slack = SLACK_S, SLACK_TIMES

    def run(self) -> Case:
        """Reduces, and returns the best. Raises TimeIsUp; ``best`` is right at any time."""
        if self._take(self.best, *self._whole()):
            self._reduce()
            if self._is_much and self._redrawn():
                self._reduce()
        return self.best

    def _reduce(self) -> None:
        for _ in range(ROUNDS):
            before = self.best
            self._hurry()
            self._parts()
            self._cluster()
            self._pages()
            self._simplify()
            if self.best == before or not self._is_much:
                return

    def fails(self, case: Case) -> Report | None:
        """Runs a case; returns its report, if it fails the same way."""
        if real_clock() > self._until_s:
            raise TimeIsUp
        key = repr(case)
        if key in self._tried:
            return None
        self.trials += 1
        report = self._played(case)
        if report is None:
            self._tried.add(key)
        return report

    def is_mutants(self) -> bool:
        """Runs the best without its mutant; returns whether nothing fails then."""
        return self._played(self.best.smaller(mutant="")) is None

    def _played(self, case: Case) -> Report | None:
        try:
            report = self._play(self._in_time(case))
        except (OSError, ValueError, LookupError):
            # Without its other parts a fault may be one that cannot be.
            return None
        # What has to fail while it goes on, and is given up for its time, has failed in another way.
        in_time = self.report is None or report.early or not self.report.early
        return report if in_time and self.failure.came_in(report) else None

    @property
    def _is_much(self) -> bool:
        return len(self.best.parts) > FAULTS_MAX or len(self.best.numbers) > PAGES_MAX

    def _in_time(self, case: Case) -> Case:
        """Returns a case with the time that it has to fail, if the best failed while it went on."""
        if self.report is None or not self.report.early:
            return case
        more_s, times = self._slack
        return case.smaller(limit_s=min(case.options.limit_s or LIMIT_S, more_s + times * self.report.virtual_s))

    def _take(self, *candidates: Case) -> bool:
        """Takes the first of these that still fails as the best."""
        for case in candidates:
            if case != self.best or self.report is None:
                report = self.fails(case)
                if report is not None:
                    self.best, self.report = case, report
                    self._tell(f"{self.failure.checker} at {report.virtual_s:.0f} s with {case.size} ({self.trials})")
                    return True
        return False

    def _whole(self) -> Iterator[Case]:
        """Yields the case as its scenario plays it, if that is more than the faults that it was seen to do."""
        name = self.best.options.scenario
        if name in SCENARIOS and SCENARIOS[name].parts is None:
            yield replace(self.best, parts=self.best.beside, own=True)

    def _hurry(self) -> None:
        """Takes away what never came and was never asked for, and tells the rest by its time."""
        report = self.report
        if report is None or not report.visited:
            return
        there, then = early(self.best, report), timed(self.best, report)
        few = [number for number, url in enumerate(self.best.urls) if url in report.visited]
        self._take(then.of_pages(few), then, there.of_pages(few), there, self.best.of_pages(few))

    def _parts(self) -> None:
        self._least(self.best.parts, lambda parts: replace(self.best, parts=parts))

    def _pages(self) -> None:
        self._least(self.best.numbers, lambda numbers: self.best.of_pages(numbers))

    def _least(self, things: Sequence[T], case: Callable[[tuple[T, ...]], Case]) -> None:
        """Takes the fewest of these with which the case that they make still fails."""
        least(things, lambda some: self._take(case(some)))

    def _cluster(self) -> None:
        options = self.best.options
        least_of = SCENARIOS[options.scenario] if self.best.own else SCENARIOS["steady"]
        for name, fewest in (("slaves", least_of.slaves_min), ("sinks", least_of.sinks_min), ("buckets", 0)):
            if getattr(options, name) > fewest:
                self._take(self.best.smaller(**{name: fewest}))
        for masters in range(max(2, least_of.masters_min, options.replicas), options.masters):
            if self._take(self.best.smaller(masters=masters)):
                break
        # With fewer copies a lost disk would be a loss that nobody promises to bear, and another failure.
        loses = self.best.own or any(part.do in LOSES or _also_loses(part) for part in self.best.parts)
        for replicas in range(options.replicas if loses else 1, options.replicas):
            if self._take(self.best.smaller(replicas=replicas)):
                break

    def _simplify(self) -> None:
        """Takes away what is unusual: limits, odd webs and networks, lengths and ends of faults."""
        self._least(tuple(self.best.limits), lambda names: self.best.limited_by(names))
        self._least(tuple(self.best.settings), lambda names: self.best.set_to(names))
        for case in simpler(self.best):
            self._take(case(self.best))

    def _redrawn(self) -> bool:
        """Takes a smaller web that is drawn anew, also of other seeds, in which the same fails."""
        self._slack = REDRAWN_S, REDRAWN_TIMES
        places = {part.place for part in self.best.parts}
        as_drawn = tuple(part for part in self._first.parts if part.place in places)
        try:
            for pages in SMALL_WEBS:
                if pages < len(self.best.numbers) and self._take(*self._webs(pages, self.best.parts, as_drawn)):
                    return True
            return False
        finally:
            self._slack = SLACK_S, SLACK_TIMES

    def _webs(self, pages: int, *choices: Iterable[Part]) -> Iterator[Case]:
        """Yields the best with another web of so many pages, of its own seed and of others."""
        share = pages / len(self.best.numbers)
        for more in range(SEEDS):
            smaller = self.best.smaller(pages=pages, seed=self.best.options.seed + more)
            for parts in choices:
                yield replace(smaller, parts=tuple(parts))
                yield replace(smaller, parts=tuple(_earlier(part, share) for part in parts))


def _also_loses(part: Part) -> bool:
    return isinstance(part, Aim) and bool({part.peer_do, part.then} & LOSES)


def _earlier(part: Part, share: float) -> Part:
    if isinstance(part, Aim):
        return replace(part, nth=max(1, round(part.nth * share)), after_s=part.after_s * share)
    return part if part.at_s is None else replace(part, at_s=part.at_s * share)
