"""The names of jobs, as people call them: a number or how it begins, a label, a spider, or the last one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.crawl.job import LABEL_MAX
from p2pcrawl.model.errors import ConfigurationError, NotThere

LAST: Final = "last"
"""The job that was submitted last."""
BEGINNING_MIN: Final = 4
"""Digits of a number by which a job may be called."""
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SHOWN = 5


def check_label(label: str) -> None:
    """Raises ConfigurationError for what cannot be the label of a job."""
    if not _LABEL.fullmatch(label) or len(label) > LABEL_MAX or label == LAST:
        raise ConfigurationError(
            f"a job cannot be called {label!r:.80}: a name begins with a letter, and has letters, digits and ._- "
            f"({LABEL_MAX} at most); {LAST!r} is taken"
        )


def job_called(jobs: Iterable[Job], text: str) -> Job:
    """Returns the job that is meant. Raises ConfigurationError, with what could be typed, when none or several are."""
    every = sorted(jobs, key=lambda job: (job.spec.submitted, job.id))
    if any(job.is_deleted and str(job.id) == text for job in every):
        raise NotThere(f"job {text} was deleted")
    known = [job for job in every if not job.is_deleted]
    if not text:
        # A variable that is not set would mean any job without a label, and the verb might be `delete`.
        raise ConfigurationError("no job is named: give its number or its name, or --last")
    if text == LAST:
        if not known:
            raise NotThere("there is no job yet; `p2pcrawl submit TARGET` makes one")
        return known[-1]
    return _numbered(known, text) if text.isascii() and text.isdigit() else _named(known, every, text)


def _named(known: list[Job], every: list[Job], text: str) -> Job:
    # Whole names only: once `news` is deleted, `delete news` is not to mean `news-2024`.
    # Of those that were called so one after the other, the newest one.
    if labelled := [job for job in known if job.spec.label == text]:
        return labelled[-1]
    found = [job for job in known if not job.spec.label and job.spec.name == text]
    if not found and any(job.spec.label == text for job in every):
        raise NotThere(f"job {text:.80} was deleted")
    return _only(found, text)


def _numbered(known: list[Job], text: str) -> Job:
    for job in known:
        if str(job.id) == text:
            return job
    return _only([job for job in known if len(text) >= BEGINNING_MIN and str(job.id).startswith(text)], text)


def _only(found: list[Job], text: str) -> Job:
    if not found:
        raise NotThere(f"there is no job {text:.80}; `p2pcrawl jobs` lists them")
    if len(found) > 1:
        shown = ", ".join(f"{job.id} ({job.state})" for job in found[: -_SHOWN - 1 : -1])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ConfigurationError(
            f"{text:.80} may be one of {len(found)} jobs: {shown}{more}; give its number, or --last"
        )
    return found[0]
