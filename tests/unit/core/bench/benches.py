"""A frontier on a plain dict, for tests of the workbench: what the master and its store do, without either."""

from __future__ import annotations

from p2pcrawl.core.bench.candidate import Candidate, rank_of
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Pick, Workbench
from p2pcrawl.core.hosts.politeness import Pace, RobotsEntry
from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Order
from p2pcrawl.model.crawl.settings import Settings

CAPACITY = 1000
"""More than is ever open at once: hosts that have not answered yet are not held back."""


def pace_of(**settings: object) -> Pace:
    return Pace.of(Settings().updated({"robotstxt_obey": False, "download_delay": 0.0} | settings))


def host_name(number: int) -> str:
    return f"h{number}.example"


def candidate(
    record: int, *, host: int = 1, job: int = 1, kind: str = "index", priority: int = 0, order: Order = Order.PRIORITY
) -> Candidate:
    name = host_name(host)
    rank = rank_of(order, record, priority, 0)
    url = f"http://{name}/{record}"
    return Candidate(record, Link(url, b"", priority=priority, kind=kind), job, key_hash(name), 0, *rank)


class Frontier:
    """The order of things in a master: reports, grants, wants, one write, loads, and what follows."""

    def __init__(self, bench: Workbench, now: float = 0.0, capacity: int = CAPACITY) -> None:
        self.bench = bench
        self.capacity = capacity
        self.now = now
        self.disk: dict[tuple[int, int, str], dict[int, Candidate]] = {}
        self.open: dict[int, Pick] = {}
        self.done: list[int] = []
        self.granted: list[int] = []
        self.busy = 0
        """How many hosts of the next rounds find their slave without room."""
        self.resting: set[int] = set()
        """Jobs of which nothing is granted: sweeps pass over them."""
        self._sweeping = False
        self._cursor: tuple[int, int, str] | None = None

    @property
    def queued(self) -> int:
        return sum(map(len, self.disk.values()))

    def cycle(
        self,
        fresh: list[Candidate] = (),
        *,
        done: list[int] = (),
        retried: dict[int, float] | None = None,
        limit: int = 8,
    ) -> list[Pick]:
        """Makes one turn of the master's loop, and returns what was granted."""
        bench, retries = self.bench, []
        for record in done:
            self._end(record)
        for record, delay in (retried or {}).items():
            turn = self._end(record, answered=False)
            retries.append((turn.candidate, self.now + delay))
        bench.lines.unpark(1, limit)
        turns = bench.take(self.now, self._choose, limit, self.capacity)
        for turn in turns:
            if turn.robots_origin:
                continue
            record = turn.candidate.record
            assert record not in self.open, "granted twice"
            assert record not in self.done, "granted after it was done"
            self.open[record] = turn
            self.granted.append(record)
        wants = [*bench.wants(64), *self._sweep()]
        for one in fresh:
            self.disk.setdefault((one.job, one.host, one.link.kind), {})[one.record] = one
        for record in done:
            self.done.append(record)
            for queue in self.disk.values():
                queue.pop(record, None)
        loaded = [(want, self._load(want.job, want.host, want.kind, want.after, want.limit)) for want in wants]
        for record in done:
            bench.forget(record)
        for one, until in retries:
            bench.delay(one, until)
        bench.add(fresh)
        for want, candidates in loaded:
            bench.loaded(want, candidates)
        self._begin_sweep()
        return turns

    def drain(self, cycles: int = 20_000) -> None:
        """Goes on, every page done at once, until nothing is queued."""
        for _ in range(cycles):
            if not self.queued:
                return
            self.cycle(done=list(self.open))
            self.now += 0.25
        raise AssertionError(f"{self.queued} records are on disk and are never asked for")

    def _end(self, record: int, *, answered: bool = True) -> Pick:
        turn = self.open.pop(record)
        turn.seat.host.end(self.now, self.bench.pace(turn.candidate.job), answered=answered)
        self.bench.ended(turn.seat)
        return turn

    def _choose(self, seat: Seat, suspect: bool) -> int:
        if not self.busy:
            return 1
        self.busy -= 1
        return -1

    def _load(self, job: int, host: int, kind: str, after: tuple[int, int], limit: int) -> list[Candidate]:
        queue = self.disk.get((job, host, kind), {})
        return sorted((c for c in queue.values() if c.rank > after), key=lambda c: c.rank)[:limit]

    def _sweep(self) -> list:
        bench = self.bench
        if not self._sweeping or not bench.seating.room:
            return []
        rest = sorted(k for k, queue in self.disk.items() if queue and (self._cursor is None or k > self._cursor))
        found = rest[: bench.seating.room]
        if not found:
            self._sweeping = False
            bench.seating.swept()
            return []
        self._cursor = found[-1]
        return [
            bench.hot.want_all(*key) for key in found if key[0] not in self.resting and not bench.seating.knows(*key)
        ]

    def sweep_all(self) -> None:
        """Looks for queues on disk that the bench does not know, as a master does when a job goes on."""
        self._sweeping, self._cursor, self.bench.seating.dormant = True, None, True
        self.bench.seating.sweeping()

    def _begin_sweep(self) -> None:
        bench = self.bench
        if bench.seating.dormant and bench.seating.make_room() and not self._sweeping:
            self._sweeping, self._cursor = True, None
            bench.seating.sweeping()


def robots_entry(expires_at: float, crawl_delay_s: float = 0.0) -> RobotsEntry:
    return RobotsEntry("rules", b"", "", crawl_delay_s, expires_at)
