"""Crawls of real masters into MongoDB, whose servers and masters are killed with -9, or that is away all the while."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.kit.measure import Claims, Overdue, peak_rss_bytes, until
from benchmarks.masters.trial import Plan, Trial
from benchmarks.sinks.mongod import Mongod, ReplicaSet, direct_client, replica_set

DELIVERED_S = 120.0
"""How long the last items may take when the job is over: sinks that were away are left alone for up to 30 s."""
AWAY_S = 30.0
DOWN_S = 2.0
KILLS = ((0.15, "server"), (0.3, "master"), (0.5, "server"), (0.65, "master"))
"""Who dies when this part of the pages is fetched."""
AWAY_MEMORY_MAX = 1.15
"""The peak memory of masters whose sink is away, at most, in parts of that of masters whose sink is there."""


class Servers(Protocol):
    """One MongoDB, however many servers it has."""

    def url(self) -> str:
        """Returns the address of the collection."""
        ...

    def fall(self) -> None:
        """Kills the server that matters."""
        ...

    def rise(self) -> None:
        """Starts it again."""
        ...

    def documents(self) -> list[dict[str, Any]]:
        """Reads the collection."""
        ...


@dataclass
class Alone:
    """One server."""

    server: Mongod

    def url(self) -> str:
        return f"mongodb://{self.server.host}/bench.pages"

    def fall(self) -> None:
        self.server.kill()

    def rise(self) -> None:
        self.server.start()

    def documents(self) -> list[dict[str, Any]]:
        return _documents(self.server)


@dataclass
class Together:
    """A replica set, whose primary dies each time."""

    members: ReplicaSet
    fallen: Mongod | None = None

    def url(self) -> str:
        return f"mongodb://{self.members.hosts}/bench.pages?replicaSet={self.members.name}"

    def fall(self) -> None:
        self.fallen = self.members.wait_for_primary()
        self.fallen.kill()

    def rise(self) -> None:
        assert self.fallen is not None
        self.fallen.start()
        self.members.wait_until_whole()

    def documents(self) -> list[dict[str, Any]]:
        return _documents(self.members.wait_for_primary())


def _documents(server: Mongod) -> list[dict[str, Any]]:
    with direct_client(server.host) as client:
        return list(client["bench"]["pages"].find({}, {"url": 1}))


@contextlib.contextmanager
def mongo_servers(how: str) -> Iterator[Servers]:
    """Starts what is asked for: "alone" or "together"."""
    if how == "alone":
        with Mongod() as server:
            yield Alone(server)
    else:
        with replica_set(3) as members:
            yield Together(members)


def kill_all(folder: Path, plan: Plan, how: str) -> Claims:
    """Kills servers and masters in mid-crawl: there is one document for each page in the end."""
    with (
        mongo_servers(how) as servers,
        Trial(folder, f"MongoDB {how}, its server and a master killed twice", plan, [servers.url()]) as trial,
    ):
        for part, who in KILLS:
            trial.until_fetched(int(part * plan.pages))
            if who == "server":
                servers.fall()
                trial.say("killed the server")
                trial.wait(DOWN_S)
                servers.rise()
                trial.say("the server is back")
            else:
                victim = trial.peers.living[-1]
                trial.kill([victim])
                trial.start(victim.data)
        trial.claims.note("pages fetched after the last kill", plan.pages - trial.fetched)
        trial.conclude()
        _claim_documents(trial, servers)
    return trial.claims


def stay_away(folder: Path, plan: Plan) -> Claims:
    """Kills the server when the job is accepted, and brings it back when the crawl is over; and the same crawl with the
    server there, whose memory is compared.
    """
    peaks = {}
    claims = Claims(f"MongoDB away for the whole crawl: {plan}")
    for away in (False, True):
        with (
            mongo_servers("alone") as servers,
            Trial(folder / ("away" if away else "there"), "", plan, [servers.url()]) as trial,
        ):
            if away:
                servers.fall()
            trial.peers.until_over(trial.job, 120 + 4 * plan.crawl_s)
            peaks[away] = max(peak_rss_bytes([peer.pid]) for peer in trial.peers.living) / 2**20
            if away:
                sink = _away_sink(trial)
                # On a busy machine some pages are through before the server has fallen.
                claims.claim("items that wait", sink["waiting"], sink["waiting"] >= 0.5 * plan.pages, "most")
                claims.note("at so many masters", len(sink["away_at"]))
                servers.rise()
            trial.claims = claims
            _claim_documents(trial, servers)
    value = f"{peaks[True]:.0f} MiB, there {peaks[False]:.0f} MiB"
    claims.claim(
        "peak of a master, away", value, peaks[True] <= AWAY_MEMORY_MAX * peaks[False], f"<= {AWAY_MEMORY_MAX}"
    )
    return claims


def _away_sink(trial: Trial) -> dict[str, Any]:
    """Returns how the sink stands, as soon as a master has noticed that it is away. Raises Overdue."""
    found: dict[str, Any] = {}

    def noticed() -> bool:
        found.update(trial.peers.job(trial.job)["sinks"][0])
        return found["away_since"] is not None

    until(noticed, AWAY_S, "a master tells that its sink is away", every_s=0.2)
    return found


def _claim_documents(trial: Trial, servers: Servers) -> None:
    pages = trial.plan.pages
    with contextlib.suppress(Overdue):
        until(lambda: len(servers.documents()) >= pages, DELIVERED_S, every_s=1.0)
    found = Counter(each["url"] for each in servers.documents())
    missing = set(trial.site.ask("/_urls")) - set(found)
    twice = sum(n - 1 for n in found.values())
    trial.claims.claim("documents", found.total(), found.total() == pages, f"{pages}")
    trial.claims.claim("documents twice", twice, twice == 0, "none")
    trial.claims.claim("pages without a document", len(missing), not missing, "none")
