"""The evidence that a round is judged by, as plain data: it can be kept, looked at, and falsified to try the judge."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A request, as the site tells of it; its end is when it was answered, or its client was gone."""

    host: str
    target: str
    begin_s: float
    end_s: float | None
    client: str


@dataclass(slots=True)
class Cut:
    """A time in which the machines of ``island`` (by the addresses that the site sees) could not reach the others."""

    at_s: float
    healed_s: float
    island: list[str]
    agreed_s: float = float("inf")


@dataclass(slots=True)
class Evidence:
    """A round's evidence. Times are those of the system's monotonic clock, which the site reads, too."""

    copies: int
    delay_s: float
    partition: str
    hosts: int
    loses_more: bool
    strikes: int = 0
    """How many came."""
    lost_disks: int = 0
    urls: list[str] = field(default_factory=list)
    """The pages of the site: each can be reached."""
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    cuts: list[Cut] = field(default_factory=list)
    thawed_s: list[float] = field(default_factory=list)
    items: dict[str, list[str]] = field(default_factory=dict)
    """The URLs of the items, by where they were brought."""
    job: dict[str, Any] = field(default_factory=dict)
    """How the job stood in the end, its certificate among it."""
    final_s: float = float("inf")
    """When somebody had said that it is over and final, while everybody was up."""
    overdue: list[str] = field(default_factory=list)
    """What had not come about in its time."""
    records: int = -1
    """On the disks, all together; -1 when nobody looked."""
    few: int = 0
    """Of them, on fewer disks than there are to be copies."""
    astray: int = 0
    """Of them, in no master's frontier, or in several."""
    logs: dict[str, list[str]] = field(default_factory=dict)
    """Lines that no log may have."""
    ends: list[tuple[str, int, str]] = field(default_factory=list)
    """Peers that ended otherwise than they were told to."""
    left_over: list[str] = field(default_factory=list)


def evidence_of(told: dict[str, Any]) -> Evidence:
    """Makes evidence of what ``plain_evidence`` gave."""
    made = Evidence(**told)
    made.asked = [Asked(*each) for each in told["asked"]]
    made.cuts = [Cut(**each) for each in told["cuts"]]
    made.ends = [(str(name), int(code), str(what)) for name, code, what in told["ends"]]
    return made


def plain_evidence(evidence: Evidence) -> dict[str, Any]:
    """Returns the evidence as plain data."""
    return asdict(evidence)
