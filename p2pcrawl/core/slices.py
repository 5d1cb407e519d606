"""Slices of accounts: what a master has done for a job in one hour, on one day, and at some of its hosts.

An account is one sum, and is told whole whenever it grows. What lasts for weeks would be too long for that. So it is
cut into slices, each with a version of its own: the hour and the day that are now, and the hosts that were asked
lately, are told anew; an hour that is over never changes again, and is told once. Slices join as accounts do
(:mod:`p2pcrawl.core.accounts`).

All is bounded: so many hours and days, and so many hosts; what comes from others is counted as one more, ``OTHER``. The
hosts are spread over a fixed number of slices by their keys, so that a page makes one small slice news.

It is work that is counted: a page that is fetched again counts again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
HOURS_KEPT: Final = 8 * 24
DAYS_KEPT: Final = 400
HOSTS_MAX: Final = 4_000
"""Hosts of one job at one master that are counted by themselves."""
HOST_SLICES: Final = 64
OTHER: Final = "other"
"""The hosts beyond these. No host is called so: names have a dot, or are ``localhost``, or an address."""

OF_HOSTS: Final = ("pages", "items", "bytes", "failed", "retries")
"""The figures that are counted of each host."""
HOUR, DAY, HOSTS = "h", "d", "s"
_FIGURES: Final = frozenset({"pages", "items", "bytes", "fetches", "failed", "retries"})
_GROUPS: Final = ("failed:", "retries:")


class Slice(NamedTuple):
    """A slice of the work on a job, as it is at a moment."""

    job: int
    name: str
    version: int
    figures: Mapping[str, int]


class _Counted:
    """One slice while it is counted."""

    __slots__ = ("figures", "version")

    def __init__(self) -> None:
        self.version = 0
        self.figures = Counter[str]()


class WorkSlices:
    """Counts the work of one master, by job."""

    def __init__(self) -> None:
        self._jobs: dict[int, dict[str, _Counted]] = {}
        self._hosts: dict[int, set[str]] = {}
        """The hosts of each job that are counted by themselves."""
        self._news: set[tuple[int, str]] = set()

    def load(self, slices: Iterable[Slice]) -> None:
        """Takes up what was counted before; what has been counted since then is added to it."""
        for job, name, version, figures in slices:
            counted = self._jobs.setdefault(job, {}).setdefault(name, _Counted())
            counted.version += version
            counted.figures.update(figures)
            if name.startswith(HOSTS):
                self._hosts.setdefault(job, set()).update(figure.partition(" ")[2] for figure in figures)

    # -- counting -----------------------------------------------------------------------------

    def count_turn(self, tallies: Mapping[int, Mapping[str, int]], at_s: float) -> None:
        """Counts the work of one turn in the hour and the day of a moment, in seconds since 1970."""
        names = f"{HOUR}{int(at_s // HOUR_S)}", f"{DAY}{int(at_s // DAY_S)}"
        for job, tally in tallies.items():
            done = {name: n for name, n in tally.items() if n > 0 and (name in _FIGURES or name.startswith(_GROUPS))}
            if done:
                for name in names:
                    self._counted(job, name).figures.update(done)

    def count_page(self, job: int, key: int, host: str, *, page: bool, items: int, bytes_: int, failure: str) -> None:
        """Counts the end of a fetch at its host, by the host's key and name. ``failure``: "failed" or "retries"."""
        known = self._hosts.get(job)
        if known is None:
            known = self._hosts[job] = set()
        if host not in known:
            if len(known) >= HOSTS_MAX:
                key, host = 0, OTHER
            known.add(host)
        figures = self._counted(job, f"{HOSTS}{key % HOST_SLICES}").figures
        if page:
            figures[f"pages {host}"] += 1
        if items:
            figures[f"items {host}"] += items
        if bytes_:
            figures[f"bytes {host}"] += bytes_
        if failure:
            figures[f"{failure} {host}"] += 1

    def _counted(self, job: int, name: str) -> _Counted:
        slices = self._jobs.get(job)
        if slices is None:
            slices = self._jobs[job] = {}
        counted = slices.get(name)
        if counted is None:
            counted = slices[name] = _Counted()
        counted.version += 1
        self._news.add((job, name))
        return counted

    # -- what was counted ---------------------------------------------------------------------

    def take_news(self) -> list[Slice]:
        """Returns what has changed since the last call."""
        news, self._news = self._news, set()
        found = (self.get(job, name) for job, name in sorted(news))
        return [each for each in found if each is not None]

    def put_back(self, slices: Iterable[Slice]) -> None:
        """Makes these news again: they could not be stored."""
        self._news.update((each.job, each.name) for each in slices)

    def get(self, job: int, name: str) -> Slice | None:
        """Returns a slice as it is now."""
        counted = self._jobs.get(job, {}).get(name)
        return Slice(job, name, counted.version, dict(counted.figures)) if counted is not None else None

    def of_host(self, job: int, key: int, host: str) -> Mapping[str, int]:
        """Returns what was done for a job at one host."""
        counted = self._jobs.get(job, {}).get(f"{HOSTS}{key % HOST_SLICES}")
        if counted is None or host not in self._hosts.get(job, ()):
            return {}
        return {
            figure: counted.figures[f"{figure} {host}"] for figure in ("pages", "items", "bytes", "failed", "retries")
        }

    @property
    def jobs(self) -> Collection[int]:
        """The jobs of which there are slices."""
        return self._jobs.keys()

    @property
    def names(self) -> Iterator[tuple[int, str]]:
        """The jobs and the names of all slices."""
        return ((job, name) for job, slices in self._jobs.items() for name in slices)

    def keep(self, jobs: Collection[int], at_s: float) -> list[tuple[int, str]]:
        """Forgets jobs that are not among these, and hours and days that are too long ago; returns what that was."""
        gone = [(job, name) for job, name in self.names if job not in jobs or outdated(name, at_s)]
        for job, name in gone:
            del self._jobs[job][name]
            self._news.discard((job, name))
            if job not in jobs:
                self._hosts.pop(job, None)
        self._jobs = {job: slices for job, slices in self._jobs.items() if slices}
        return gone


def outdated(name: str, at_s: float) -> bool:
    """Tells whether a slice is of an hour or a day that is too long ago to be kept, at a moment."""
    length_s, kept = {HOUR: (HOUR_S, HOURS_KEPT), DAY: (DAY_S, DAYS_KEPT)}.get(name[:1], (0, 0))
    return bool(length_s) and name[1:].isdigit() and int(name[1:]) <= at_s // length_s - kept


def is_slice(name: str) -> bool:
    """Tells whether a slice can have this name; "" is the account itself."""
    number = name[1:]
    if not name or not (number.isascii() and number.isdigit()) or str(int(number)) != number:
        return not name
    return name[0] in (HOUR, DAY) or (name[0] == HOSTS and int(number) < HOST_SLICES)
