"""The words for how far a job is that visits pages again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from p2pcrawl.cli.screen.words import counted


def revisit_lines(job: dict[str, Any]) -> Iterator[str]:
    """Says what came of revisits, and how far behind its periods a job is. Nothing of a job that makes none."""
    visits, again = job.get("revisits", 0), job.get("again", 0)
    if visits:
        results = sorted(job["revisits_by_result"].items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{name} {count:,}" for name, count in results)
        on_time = 1 - job["revisits_late"] / visits
        yield f"visited again: {visits:,} times ({told}), {on_time:.1%} on time"
    if again:
        late, oldest = job.get("overdue", 0), job.get("oldest_due", 0)
        since = f", the oldest for {max(0, round(time.time() - oldest)):,} s" if oldest else ""
        behind = f"; {late:,} overdue{since}" if late else ""
        yield f"{counted(again, 'page')} to be visited again{behind}"
