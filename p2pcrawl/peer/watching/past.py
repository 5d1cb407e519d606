"""The past hours of a crawl, for charts: each master keeps its own figures over time, and whoever is asked adds up all
of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta, Struct
from msgspec.json import Decoder

from p2pcrawl.core.meters.histogram import quantile
from p2pcrawl.core.meters.meters import ERRORS, FETCH_BOUNDS_S, Meters
from p2pcrawl.core.meters.series import COARSE_KEPT, COARSE_S, FINE_KEPT, FINE_S, Series, SeriesStep, added_up
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.peer.answers.asking import ask_others, whole_number

COUNTED: Final = (
    "pages", "items", "bytes", "errors",
    "status_1xx", "status_2xx", "status_3xx", "status_4xx", "status_5xx", "status_other",
)  # fmt: skip
LEVELS: Final = ("frontier", "in_flight")
MINUTES: Final = 180
MINUTES_MAX: Final = COARSE_KEPT * COARSE_S // 60
FINE_MINUTES: Final = FINE_KEPT * FINE_S // 60
BEFORE_S: Final = 0.25
_COUNTS = len(COUNTED) + len(FETCH_BOUNDS_S) + 1

Figure = Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
Line = list[int | None]


class PastHere(Struct):
    """A master's own steps: each its number, its counts, and its levels."""

    steps: Annotated[
        list[
            tuple[
                Figure,
                Annotated[list[Figure], Meta(min_length=_COUNTS, max_length=_COUNTS)],
                Annotated[list[Figure], Meta(min_length=len(LEVELS), max_length=len(LEVELS))],
            ]
        ],
        Meta(max_length=COARSE_KEPT),
    ]


class PastSeries(TypedDict):
    """A value for each step, None where no master counted. ``errors`` are fetches that went wrong, also those that are
    tried again; the first group counts what happened in a step, the last two are as they were at its end."""

    pages: Line
    items: Line
    bytes: Line
    errors: Line
    status_1xx: Line
    status_2xx: Line
    status_3xx: Line
    status_4xx: Line
    status_5xx: Line
    status_other: Line
    latency_p50_ms: list[float | None]
    latency_p95_ms: list[float | None]
    frontier: Line
    in_flight: Line


# `from` is a word of Python's.
HistoryAnswer = TypedDict("HistoryAnswer", {"step_s": int, "from": int, "series": PastSeries})

_HERE = Decoder(PastHere)


class Past:
    """Keeps the figures of one master over time."""

    def __init__(self, peers: Peers, meters: Meters, jobs: KnownJobs) -> None:
        self._peers = peers
        self._meters = meters
        self._jobs = jobs
        self._series = Series(FINE_S, FINE_KEPT), Series(COARSE_S, COARSE_KEPT)
        self._before = self._counts()

    async def run(self) -> None:
        """Counts at the end of each step, for ever."""
        while True:
            # A moment before its end, so that what is counted is counted into it.
            await asyncio.sleep(max(1.0, FINE_S - time.time() % FINE_S - BEFORE_S))
            self.count(time.time())
            await asyncio.sleep(2 * BEFORE_S)

    def count(self, at: float) -> None:
        """Counts what happened since the last time."""
        now = self._counts()
        news = [after - before for after, before in zip(now, self._before, strict=True)]
        self._before = now
        shown = self._jobs.shown
        levels = sum(job.queued for job in shown), sum(job.leased for job in shown)
        for series in self._series:
            series.add(at, news, levels)

    def here(self, arguments: Mapping[str, Any]) -> PastHere:
        """Answers with this master's own steps of a length, from a number on."""
        step_s, first = int(arguments["step_s"]), int(arguments["first"])
        (series,) = [each for each in self._series if each.step_s == step_s] or self._series[1:]
        return PastHere([(step.number, list(step.counts), list(step.levels)) for step in series.since(first)])

    async def answer(self, arguments: Mapping[str, Any]) -> HistoryAnswer:
        """Answers for the last ``minutes``, in fine steps where these are kept for so long. Raises ConfigurationError
        for what is no number of minutes.
        """
        minutes = whole_number(arguments, "minutes", MINUTES, MINUTES_MAX)
        step_s = FINE_S if minutes <= FINE_MINUTES else COARSE_S
        # The step that is not over yet would look like a fall.
        end = int(time.time() // step_s)
        first = end - minutes * 60 // step_s
        asked = {"step_s": step_s, "first": first}
        told, _ = await ask_others(self._peers, "history-here", asked, _HERE)
        parts = [_steps(part) for part in (self.here(asked), *told.values())]
        return history_of(added_up(parts), first, end, step_s)

    def _counts(self) -> list[int]:
        whole = self._meters.whole
        errors = sum(whole[name] for name in ERRORS)
        counted = [errors if name == "errors" else whole[name] for name in COUNTED]
        return [*counted, *self._meters.answers_s.counts]


def history_of(steps: Mapping[int, SeriesStep], first: int, end: int, step_s: int) -> HistoryAnswer:
    """Returns the series of these steps, up to ``end``, which is left out."""
    rows = [steps.get(number) for number in range(first, end)]
    series: dict[str, Any] = {
        name: [row.counts[place] if row is not None else None for row in rows] for place, name in enumerate(COUNTED)
    }
    for name, share in (("latency_p50_ms", 0.5), ("latency_p95_ms", 0.95)):
        series[name] = [_within_ms(row, share) for row in rows]
    for place, name in enumerate(LEVELS):
        series[name] = [row.levels[place] if row is not None else None for row in rows]
    return {"step_s": step_s, "from": first * step_s, "series": PastSeries(**series)}  # type: ignore[typeddict-item]


def _within_ms(step: SeriesStep | None, share: float) -> float | None:
    """Returns within which time this share of the answers came; None where none did."""
    if step is None:
        return None
    seconds = quantile(FETCH_BOUNDS_S, step.counts[len(COUNTED) :], share)
    return None if seconds is None else round(1000 * seconds, 1)


def _steps(told: PastHere) -> Sequence[SeriesStep]:
    return [SeriesStep(number, tuple(counts), tuple(levels)) for number, counts, levels in told.steps]
