"""Reduction: takes away whatever a failure does not need, for as long as there is time.

First a much smaller web, for what is tried with that costs little; then what happens, by delta debugging, then the web,
the masters, the copies and what else there is, then once more what happens. A smaller web is another web: its moments
are other ones, so a few seeds are tried with it, aims at earlier moments, and faults at earlier times. What fails while
a run goes on is over then, and what has not failed long after that is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ..play.aims import Aim
from ..scenarios import SCENARIOS
from ..whole.outcome import Report
from ..whole.simulation import Simulation
from ..world.pins import real_clock
from .case import Case, Part

PAGES = (3, 6, 10, 15, 20, 30, 45, 60, 90, 120, 180)
SEEDS = 4
"""So many are tried with each smaller web."""
LOSES = frozenset({"wipe", "bury"})
FEW: Final = (10, 30)
"""So many pages are tried before anything else, with two seeds."""
LIMIT_S = 600.0
"""Virtual seconds for one trial: what hangs need not hang for long."""
SLACK_S, SLACK_TIMES = 60.0, 3.0
"""So much later than before it may fail, and so many times as late."""


Play = Callable[[Case], Report]


def simulated(case: Case, checker: str) -> Report:
    """Runs a case, until this checker has told."""
    return Simulation(case.plan, hasty=True, judge=checker).run()


class TimeIsUp(Exception):
    """Raised when the time that was given for it is over."""


class Reduction:
    """One failure on its way to the least that still fails. ``best`` is what it has come to, whenever it is stopped."""

    def __init__(
        self, case: Case, checker: str, seconds: float, tell: Callable[[str], None], play: Play | None = None
    ) -> None:
        self.best = case.smaller(limit_s=min(case.options.limit_s or LIMIT_S, LIMIT_S))
        self.checker = checker
        self.report: Report | None = None
        """Of the best."""
        self.trials = 0
        self._until_s = real_clock() + seconds
        self._tell = tell
        self._play: Play = play or partial(simulated, checker=checker)
        self._tried: dict[str, bool] = {}

    def run(self) -> Case:
        """Reduces, and returns the best. Raises TimeIsUp; ``best`` is right at any time."""
        if not self._take(self.best, *self._whole()):
            return self.best
        self._pages(FEW, 2)
        self._parts()
        self._limits()
        for _ in range(2):
            before = self.best
            self._pages()
            self._cluster()
            self._parts()
            if self.best == before:
                break
        return self.best

    def fails(self, case: Case) -> Report | None:
        """Runs a case; returns its report, if the same checker tells."""
        if real_clock() > self._until_s:
            raise TimeIsUp
        key = repr(case)
        if self._tried.get(key) is False:
            return None
        self.trials += 1
        try:
            report = self._play(self._in_time(case))
        except (OSError, ValueError, LookupError):
            # Without its other parts a fault may be one that cannot be.
            report = None
        failed = report is not None and any(v.checker == self.checker for v in report.violations)
        self._tried[key] = failed
        return report if failed else None

    def _in_time(self, case: Case) -> Case:
        """Returns a case with the time that it has to fail, if the best failed while it went on."""
        if self.report is None or not self.report.early:
            return case
        limit_s = SLACK_S + SLACK_TIMES * self.report.virtual_s
        return case.smaller(limit_s=min(case.options.limit_s or LIMIT_S, limit_s))

    def _take(self, *candidates: Case) -> bool:
        """Takes the first of these that still fails as the best."""
        for case in candidates:
            if case != self.best or self.report is None:
                report = self.fails(case)
                if report is not None:
                    self.best, self.report = case, report
                    self._tell(f"{self.checker} with {case.size} (trial {self.trials})")
                    return True
        return False

    def _parts(self) -> None:
        """Takes away parts: all, then halves, quarters and so on, at last one by one."""
        if not self.best.parts or self._take(*self._seeded(replace(self.best, parts=()))):
            return
        pieces = 2
        while len(self.best.parts) > 1:
            parts = self.best.parts
            size = -(-len(parts) // pieces)
            cuts = [(*parts[:at], *parts[at + size :]) for at in range(0, len(parts), size)]
            keeps = [parts[at : at + size] for at in range(0, len(parts), size)] if pieces == 2 else []
            if self._take(*(replace(self.best, parts=tuple(left)) for left in (*keeps, *cuts) if left)):
                pieces = max(2, pieces - 1)
            elif size == 1:
                return
            else:
                pieces = min(2 * pieces, len(parts))

    def _limits(self) -> None:
        """Makes limits as large as they are: all of them, else halves, else one after the other."""
        names = list(self.best.limits)
        if names and not self._take(replace(self.best, limits={})):
            size = -(-len(names) // 2)
            while size:
                for at in range(0, len(names), size):
                    kept = {n: v for n, v in self.best.limits.items() if n not in names[at : at + size]}
                    if len(kept) < len(self.best.limits):
                        self._take(replace(self.best, limits=kept))
                names = list(self.best.limits)
                size = min(size, len(names)) // 2

    def _whole(self) -> Iterator[Case]:
        """Yields the case as its scenario plays it, if that is more than the faults that it was seen to do."""
        name = self.best.options.scenario
        if name in SCENARIOS and SCENARIOS[name].parts is None:
            yield replace(self.best, parts=self.best.beside, own=True)

    def _pages(self, numbers: Sequence[int] = PAGES, seeds: int = SEEDS) -> None:
        for pages in numbers:
            if pages >= self.best.web.pages:
                return
            smaller = self.best.smaller(pages=pages)
            earlier = replace(smaller, parts=tuple(_earlier(p, pages / self.best.web.pages) for p in smaller.parts))
            if self._take(*self._seeded(smaller, seeds), *(self._seeded(earlier, seeds) if earlier != smaller else ())):
                return

    def _cluster(self) -> None:
        options = self.best.options
        least = SCENARIOS[options.scenario] if self.best.own else SCENARIOS["steady"]
        for name, fewest in (("slaves", least.slaves_min), ("sinks", least.sinks_min), ("buckets", 0), ("private", 0)):
            if getattr(options, name) > fewest:
                self._take(self.best.smaller(**{name: fewest}))
        for masters in range(max(2, least.masters_min), options.masters):
            if masters >= options.replicas and self._take(*self._seeded(self.best.smaller(masters=masters))):
                break
        # With fewer copies a lost disk would be a loss that nobody promises to bear, and another failure.
        loses = self.best.own or any(part.do in LOSES or _also_loses(part) for part in self.best.parts)
        fewest = options.replicas if loses else 1
        for replicas in range(fewest, options.replicas):
            if self._take(*self._seeded(self.best.smaller(replicas=replicas))):
                break

    def _seeded(self, case: Case, seeds: int = SEEDS) -> Iterator[Case]:
        """Yields a case with its own seed, and with some others."""
        yield case
        for more in range(1, seeds):
            yield case.smaller(seed=case.options.seed + more)


def _also_loses(part: Part) -> bool:
    return isinstance(part, Aim) and bool({part.peer_do, part.then} & LOSES)


def _earlier(part: Part, share: float) -> Part:
    if isinstance(part, Aim):
        return replace(part, nth=max(1, round(part.nth * share)))
    return part if part.at_s is None else replace(part, at_s=part.at_s * share)
