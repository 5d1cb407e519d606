"""The counters of jobs, as they are stored, and what a record stands for in them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping

from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import PAGES, NoPage


def write(db: sqlite3.Connection, tallies: Mapping[int, Counter[str]]) -> None:
    """Adds to the counters of each job."""
    rows = [(job, name, n) for job, counter in tallies.items() for name, n in counter.items() if n]
    run_many(db, "INSERT INTO tally", rows, "ON CONFLICT (job, name) DO UPDATE SET count = count + excluded.count")


def count(tally: Counter[str], phase: int, reason: str, by: int) -> None:
    """Counts a record of this phase in, or with ``by`` -1 out."""
    name = Phase(phase).name.lower()
    tally[name] += by
    if phase in (Phase.FAILED, Phase.DROPPED):
        tally[f"{name}:{reason}"] += by
    elif phase == Phase.DONE and reason in PAGES:
        tally["pages"] += by
    elif phase == Phase.DONE and reason == NoPage.REDIRECT:
        tally["redirects"] += by
