"""The pace of a master: what its slaves reported by moments of the last minutes, to be compared with now.

A sample is taken every ten seconds, whether anybody looks or not, for whoever looks wants to see at once how fast it
goes. It costs some dozen additions for each running job.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

STEP_S: Final = 10.0
"""Between two samples."""
KEPT: Final = 31
"""Samples that are kept: five minutes of them."""
LATELY_S: Final = 10.0
"""What a speed is the average of, at least."""
MINUTES_S: Final = 120.0
"""What a pace is the average of, once so much has passed: for the estimate of what is left."""


class JobWork(NamedTuple):
    """The work on a job at a moment, since the master started; ``discovered`` counts its records."""

    pages: int = 0
    ended: int = 0
    discovered: int = 0


@dataclass(frozen=True, slots=True)
class PaceSample:
    """The figures of one moment, ``at`` a time that only rises."""

    at: float
    whole: Mapping[str, int]
    jobs: Mapping[int, JobWork]
    cpu_s: Mapping[int, float]
    """What each process had computed: that of the master under 0, slaves' under the numbers of their sessions."""


class PaceRecord:
    """Keeps the samples of the last minutes."""

    def __init__(self) -> None:
        self._samples: deque[PaceSample] = deque(maxlen=KEPT)

    def add(self, sample: PaceSample) -> None:
        self._samples.append(sample)

    def before(self, now: float, age_s: float) -> PaceSample | None:
        """Returns the newest sample that is so old, or the oldest of them; None while there is none before now."""
        found = None
        for sample in reversed(self._samples):
            if sample.at < now:
                found = sample
                if now - sample.at >= age_s:
                    break
        return found


def speeds(before: PaceSample | None, now: PaceSample, *names: str) -> list[float]:
    """Returns how much a second there was more of each of these figures."""
    if before is None:
        return [0.0] * len(names)
    passed_s = now.at - before.at
    return [max(0, now.whole.get(name, 0) - before.whole.get(name, 0)) / passed_s for name in names]


def job_speeds(before: PaceSample | None, now: PaceSample, job: int) -> tuple[float, float, float]:
    """Returns how many pages of a job came in a second, how many URLs ended, and how many were discovered: fewer than
    none when records went to another master. A job that was not there before began with nothing.
    """
    work = now.jobs.get(job)
    if before is None or work is None:
        return 0.0, 0.0, 0.0
    passed_s, then = now.at - before.at, before.jobs.get(job, JobWork())
    return (
        (work.pages - then.pages) / passed_s,
        (work.ended - then.ended) / passed_s,
        (work.discovered - then.discovered) / passed_s,
    )


def cpu_shares(before: PaceSample | None, now: PaceSample) -> dict[int, float]:
    """Returns how much of a core each process took: 1.0 is one core. One that is new has none yet."""
    if before is None:
        return dict.fromkeys(now.cpu_s, 0.0)
    passed_s = now.at - before.at
    return {
        process: max(0.0, cpu_s - before.cpu_s[process]) / passed_s if process in before.cpu_s else 0.0
        for process, cpu_s in now.cpu_s.items()
    }
