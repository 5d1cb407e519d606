"""The outcome of a run, and the progress of one that goes on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..checkers import Violation
from ..observe.incidents import Deed, Incident
from ..play.evidence import Coming
from ..play.options import Options
from ..play.series import Series
from ..play.stage import Stage


class Progress(NamedTuple):
    """The progress of a run. As text it is a line for a person."""

    virtual_s: float
    real_s: float
    share: float
    """Of the pages that can be reached: those that have answered."""
    requests: int
    up: int
    what: str

    def __str__(self) -> str:
        return (
            f"{self.virtual_s:8.1f} s  {self.share:6.1%} of the pages, {self.requests:6d} requests, "
            f"{self.up:3d} masters up  ({self.real_s:.0f} s real)  {self.what}".rstrip()
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run. ``trace`` is the same whenever the run is."""

    options: Options
    trace: str
    virtual_s: float
    real_s: float
    figures: dict[str, Any]
    violations: list[Violation]
    command: str = ""
    """What runs this again from a shell; "" when parts of it were made in Python."""
    series: Series = field(default_factory=Series)
    incidents: list[Incident] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    """The results, as the cluster gave them out."""
    deeds: list[Deed] = field(default_factory=list)
    """All that was done to the machines, in order."""
    early: bool = False
    """It was over as soon as anything was amiss."""
    came: list[Coming] = field(default_factory=list)
    """The faults and aims of its plan that have come, in order."""
    visited: frozenset[str] = frozenset()
    """All that was asked for."""

    def plain(self) -> dict[str, Any]:
        """Returns all but the series and the items as data for JSON."""
        return {
            "options": self.options.plain(),
            "replay": self.command,
            "trace": self.trace,
            "virtual_s": round(self.virtual_s, 3),
            "real_s": round(self.real_s, 3),
            **self.figures,
            "violations": [violation._asdict() for violation in self.violations],
        }


def figures(stage: Stage, items: int, series: Series) -> dict[str, Any]:
    """Returns figures of what the run was like, beside its verdict."""
    pages = [visit for visit in stage.web.visits if not visit.is_robots]
    answers = Counter(visit.url for visit in pages if visit.answered)
    traffic = stage.world.network.traffic
    reachable = stage.web.reachable()
    return {
        "reachable": len(reachable),
        "answering": sum(stage.web.answers(url) for url in reachable),
        "requests": len(stage.web.visits),
        "answered": len(answers),
        "refetched": answers.total() - len(answers) + sum(visit.failure == "cut" for visit in pages),
        "items": items,
        "incidents": [
            {"what": i.what, "nodes": sorted(i.nodes), "began_s": round(i.began_s, 3)} for i in stage.incidents
        ],
        **stage.figures,
        "moved": series.samples[-1].moved if series.samples else 0,
        **series.noticed(),
        "datagrams": traffic.datagrams,
        "bytes": traffic.datagram_bytes + traffic.segment_bytes,
        "callbacks": stage.world.loop.executed,
        **stage.figures,
    }
