"""A campaign's report: one object for programs, and a short table for people."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.chaos.draws import DrawnRound
from benchmarks.chaos.evidence import Evidence
from benchmarks.chaos.judge import Broken, asked_again
from benchmarks.kit.measure import ROOT


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A round that is through, in figures."""

    drawn: DrawnRound
    seconds: float
    fetched: int
    again: int
    items: Mapping[str, int]
    state: str
    strikes: int
    lost_disks: int
    said: Sequence[str]
    broken: Sequence[Broken]


@dataclass(slots=True)
class Campaign:
    """A campaign so far. ``lacking`` says what this machine cannot do, and why."""

    seed: int
    commit: str
    lacking: dict[str, str]
    rounds: list[PlayedRound] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def broken(self) -> int:
        return sum(1 for each in self.rounds if each.broken)

    def plain(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {"rounds_broken": self.broken, **asdict(self)}

    def table(self) -> str:
        """Writes a line for each round, and one for all."""
        lines = ["round     s  masters  R  disk    network     strikes  lost  pages  again  verdict"]
        for each in self.rounds:
            d = each.drawn
            laws = ", ".join(dict.fromkeys(broken.law for broken in each.broken))
            lines.append(
                f"{d.number:5} {each.seconds:5.0f}  {d.masters:7}  {d.copies}  {d.disk:6}  {d.network:10}  "
                f"{each.strikes:7}  {each.lost_disks:4}  {each.fetched:5}  {each.again:5}  "
                f"{'BROKEN: ' + laws if laws else each.state}"
            )
        pages, strikes = sum(each.fetched for each in self.rounds), sum(each.strikes for each in self.rounds)
        lines.append(
            f"{len(self.rounds)} rounds, {strikes} strikes, {pages} pages in {self.seconds / 60:.0f} min, "
            f"seed {self.seed} at {self.commit}: {self.broken} broken"
        )
        return "\n".join(lines)


def figures(
    drawn: DrawnRound, seconds: float, evidence: Evidence, said: Sequence[str], broken: Sequence[Broken]
) -> PlayedRound:
    """Makes a round's figures of its evidence."""
    pages = set(evidence.urls)
    asked = {f"http://{each.host}:{evidence.port}{each.target}" for each in evidence.asked}
    return PlayedRound(
        drawn=drawn,
        seconds=seconds,
        fetched=len(asked & pages),
        again=sum(asked_again(evidence).values()),
        items={name: len(got) for name, got in evidence.items.items()},
        state=str(evidence.job.get("state")),
        strikes=evidence.strikes,
        lost_disks=evidence.lost_disks,
        said=said,
        broken=broken,
    )


def commit_here() -> str:
    """Returns the commit that is tried; "unknown" outside of a checkout."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*command[:3], "status", "--porcelain"], capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told + (" with changes" if changed else "")
