"""The rules of jobs: how a job's states follow each other, when it may be called finished, and what its verbs promise.

A job's state has a version, which grows with each change; of two that masters tell each other the greater one counts.
A job is finished when nothing of it is left to do at any master that can be asked, and an end is final only when all
that was ever settled is with those who signed it (docs/cluster.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from .acknowledged import Sight, Tell
from .stores import Key, Stores, phase_of, told

RUNNING: Final = "running"
FINISHED: Final = "finished"
RANKS: Final = {RUNNING: 0, "paused": 1, "incomplete": 2, FINISHED: 3, "cancelled": 4, "deleted": 5}
FINAL: Final = 1 << 62
"""The version of what cannot be changed any more."""
ENDS_FOR_GOOD: Final = ("cancelled", "deleted")
AWAY_S: Final = 25.0
"""Who was away in this time, or is away still, may have work that nobody knows of;"""
COUNTED_S: Final = 5.0
"""but not who was away for less than this, and not before: all count it as one of them."""


class JobRow(NamedTuple):
    """A job as a disk has it."""

    state: str
    reason: str
    version: int
    final: bool = False
    """There is a certificate that says so;"""
    signers: tuple[str, ...] = ()
    """of these masters;"""
    flaw: str = ""
    """what is wrong with it, by what each of them has signed;"""
    certificate: bytes = b""
    """and this is it;"""
    missing: tuple[str, ...] = ()
    """these may know more, as it says."""

    @property
    def rank(self) -> tuple[int, int]:
        """Says which of two counts."""
        return self.version, RANKS.get(self.state, -1)


class Presence(Sight, Protocol):
    """The harness's own knowledge of who can be asked, and of who puts URLs into jobs."""

    def present(self) -> frozenset[str]:
        """Returns the masters that all others count: those that are there, and those that went a moment ago."""

    def injecting(self) -> bool:
        """Tells whether somebody puts URLs into the job."""

    def named(self, ids: Iterable[str]) -> frozenset[str]:
        """Returns the masters of these ids."""

    def departed(self) -> frozenset[str]:
        """Returns the masters that have left in order while nothing was amiss: all have heard of it."""


@dataclass(slots=True)
class Endings:
    """Judges what disks say of jobs, and what people are told of them."""

    stores: Stores
    sight: Presence
    settled: Callable[[int], Iterable[Key]]
    """All that was ever settled of a job."""
    tell: Tell
    jobs: dict[str, dict[int, JobRow]] = field(default_factory=dict)
    """Each master's, by its disk."""
    certified: dict[bytes, float] = field(default_factory=dict)
    """When each certificate was first on any disk."""
    _judged: set[tuple[int, int]] = field(default_factory=set)
    """The ends that were looked at: the job, and the version of its end."""

    def lost(self, node: str) -> None:
        """Takes in that a disk is no more."""
        self.jobs.pop(node, None)

    def found(self, node: str, jobs: dict[int, JobRow]) -> None:
        """Takes in what a disk has when it is opened."""
        self.jobs[node] = jobs

    def stored(self, node: str, job: int, row: JobRow | None) -> None:
        """Judges what a disk says of a job from now on; None: nothing any more."""
        mine = self.jobs.setdefault(node, {})
        before = mine.pop(job, None)
        if row is None:
            return
        mine[job] = row
        if row.certificate and row.certificate not in self.certified:
            self.certified[row.certificate] = self.sight.now_s
            if left := self.sight.departed() & self.sight.named(row.missing):
                self._tell(node, f"has job {job} {row.state}, and misses {told(left)}, which left in order")
        if before is not None and row != before:
            self._follows(node, job, before, row)
        if (row.version >= FINAL) != (row.state in ENDS_FOR_GOOD):
            self._tell(node, f"has job {job} {row.state} under version {row.version}")
        if row.flaw and (before is None or before.flaw != row.flaw):
            self._tell(node, f"has job {job} {row.state} with a certificate that does not hold: {row.flaw}")
        if row.state == FINISHED and not row.reason and (job, row.version) not in self._judged:
            self._judged.add((job, row.version))
            self._is_over(node, job, row)
            if row.final:
                self._is_all_signed(node, job, row)

    def said(self, node: str, job: int, state: str) -> None:
        """Judges the answer to a verb that says how a job stands now."""
        row = self.jobs.get(node, {}).get(job)
        if row is None or row.state != state:
            here = "nothing of it" if row is None else row.state
            self._tell(node, f"told a person that job {job} is {state}, and its disk says {here}")

    def mirrored(self, node: str, job: int, state: str, version: int) -> None:
        """Judges the word of a master that it has a job as another one has told it, or the word of that one."""
        row = self.jobs.get(node, {}).get(job)
        if row is None or row.rank < (version, RANKS.get(state, -1)):
            here = "nothing of it" if row is None else f"{row.state}, version {row.version}"
            self._tell(node, f"says of job {job} {state}, version {version}, and its disk says {here}")

    def runs(self, node: str, job: int) -> bool:
        """Tells whether a job runs, as a disk has it: what is reported of another need not be kept."""
        row = self.jobs.get(node, {}).get(job)
        return row is not None and row.state == RUNNING

    # -- inside --------------------------------------------------------------------------------

    def _follows(self, node: str, job: int, before: JobRow, row: JobRow) -> None:
        """Judges a change of a job on one disk."""
        if row.rank < before.rank:
            after = f"after {before.state}, version {before.version}"
            self._tell(node, f"has job {job} {row.state}, version {row.version}, {after}")
        # What was cancelled has the last version there is, and is deleted under the same.
        if row.state != before.state and row.version == before.version < FINAL:
            others = (those.get(job) for name, those in self.jobs.items() if name != node)
            if not any(other is not None and other.rank == row.rank for other in others):
                self._tell(node, f"changed job {job} from {before.state} to {row.state} under version {row.version}")

    def _is_over(self, node: str, job: int, row: JobRow) -> None:
        """Judges the first word that a job is finished: nothing may be open where anybody can be asked."""
        if self.sight.injecting():
            return
        # Who says so asks itself, too, however lately it came; and whoever signed was asked.
        for key, name in self._open(job, self.sight.present() | {node} | self.sight.named(row.signers)):
            self._tell(node, f"has job {job} finished while {self.sight.name(key)} is queued on the disk of {name}")
            return

    def _open(self, job: int, asked: Collection[str]) -> Iterator[tuple[Key, str]]:
        """Yields what is left of a job by the disks of all that were asked, and the disk that says so."""
        stores = [(name, self.stores.of[name]) for name in sorted(asked) if name in self.stores.of]
        known: dict[Key, tuple[int, str]] = {}
        for name, store in stores:
            for part in store.held, store.records:
                for key, stamp in part.items():
                    if key[2] == job and known.get(key, (-1, ""))[0] < stamp:
                        known[key] = stamp, name
            for key, count in store.spooled.items():
                if count and key[2] == job:
                    known.setdefault(key, (0, name))
        for key, (stamp, name) in known.items():
            if not phase_of(stamp):
                yield key, name

    def _is_all_signed(self, node: str, job: int, row: JobRow) -> None:
        """Judges an end that is said to be final: all that was settled is with those who signed."""
        signers = self.sight.named(row.signers)
        for key in self.settled(job):
            having = set(self.stores.having(key))
            if not having & signers:
                text = f"has a final end of job {job} without {self.sight.name(key)}, which was settled"
                self._tell(node, f"{text} and is with {told(having)}")
                return

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
