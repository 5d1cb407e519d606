"""The verdict on the other jobs of a run: what must hold of a job holds of each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..checkers import CHECKERS, Evidence, Violation
from ..observe.contents import read_contents
from ..observe.folders import read_folder
from ..play.other_jobs import CLOSES
from ..play.spiders import Fruitless
from ..play.stage import Stage

JUDGES: Final = ("coverage", "items", "fetches", "conservation", "copies", "contents", "finish", "closed")
"""The checkers that look at one job only."""
JUDGES_OF_FRUITLESS: Final = tuple(name for name in JUDGES if name not in ("items", "contents"))
FRUITLESS: Final = frozenset(name for name, close in CLOSES.items() if close.spider is Fruitless)
"""Jobs that bring no items."""


def violations_of_others(
    stage: Stage, evidence: Evidence, items: Mapping[str, list[dict[str, Any]]]
) -> Iterator[Violation]:
    """Yields what is amiss with each job that came to its end."""
    for label, found in items.items():
        job = stage.others[label]
        there = [machine for machine in stage.staying if machine.name in evidence.folders]
        own = replace(
            evidence,
            folders={machine.name: read_folder(machine.folder, job.number) for machine in there},
            items=Counter(str(item.get("url")) for item in found),
            results=found,
            held={machine.name: read_contents(machine.folder, job.number) for machine in there},
            one_each=job.closed_by not in FRUITLESS,
            sinks={},
            states={machine.name: job.state(machine) for machine in stage.up},
            # Who knew what of this job when something happened was not looked at.
            incidents=[replace(each, through=frozenset(), everywhere=True) for each in evidence.incidents],
            claims=[],
            overlooked=[],
            bucket_of=stage.observer.reckoning.buckets(job.number),
            label=label,
            crawl=job.crawl,
            closed_by=job.closed_by,
            reasons={machine.name: job.reason(machine) for machine in stage.up},
            settings={},
        )
        for name in JUDGES if job.closed_by not in FRUITLESS else JUDGES_OF_FRUITLESS:
            for what in CHECKERS[name](own):
                yield Violation(name, f"of job {label}: {what}")
