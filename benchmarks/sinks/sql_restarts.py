"""A crawl of real masters into PostgreSQL and MariaDB at once, which are killed and restarted, as a master is."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kit.measure import Claims, Overdue, until
from benchmarks.masters.trial import Plan, Trial
from benchmarks.sinks.sql_servers import PASSWORD, MariadbServer, PostgresqlServer, SqlServer

DELIVERED_S = 120.0
"""How long the last items may take when the job is over: sinks that were away are left alone for up to 30 s."""
DOWN_S = 2.0
VARIABLE = "BENCH_SQL_PASSWORD"
EVENTS = ((0.15, "kill"), (0.3, "stop"), (0.5, "master"), (0.65, "kill"))
"""Who goes when this part of the pages is fetched, both servers or a master, and how."""


def restart_all(folder: Path, plan: Plan) -> Claims:
    """Kills and restarts servers and a master in mid-crawl: there is one row for each page in each table in the end."""
    os.environ[VARIABLE] = PASSWORD
    with PostgresqlServer() as postgresql, MariadbServer() as mariadb:
        servers = (postgresql, mariadb)
        for server in servers:
            server.ask("CREATE DATABASE bench")
        urls = [server.url("bench", "pages", options=f"password_env={VARIABLE}") for server in servers]
        with Trial(folder, "PostgreSQL and MariaDB, restarted, and a master killed", plan, urls) as trial:
            for part, what in EVENTS:
                trial.until_fetched(int(part * plan.pages))
                if what == "master":
                    victim = trial.peers.living[-1]
                    trial.kill([victim])
                    trial.start(victim.data)
                else:
                    _restart(trial, servers, what)
            trial.claims.note("pages fetched after the last event", plan.pages - trial.fetched)
            trial.conclude()
            for server in servers:
                _claim_rows(trial, server)
    return trial.claims


def _restart(trial: Trial, servers: Sequence[SqlServer], how: str) -> None:
    for server in servers:
        (server.kill if how == "kill" else server.stop)()
    trial.say(f"servers are gone ({how})")
    trial.wait(DOWN_S)
    for server in servers:
        server.start()
    trial.say("servers are back")


def _rows(server: SqlServer) -> list[str]:
    return [url for (url,) in server.ask("SELECT url FROM pages", "bench")]


def _claim_rows(trial: Trial, server: SqlServer) -> None:
    pages = trial.plan.pages
    with contextlib.suppress(Overdue):
        until(lambda: len(_rows(server)) >= pages, DELIVERED_S, every_s=1.0)
    found = Counter(_rows(server))
    missing = set(trial.site.ask("/_urls")) - set(found)
    twice = sum(n - 1 for n in found.values())
    trial.claims.claim(f"{server.package}: rows", found.total(), found.total() == pages, f"{pages}")
    trial.claims.claim(f"{server.package}: rows twice", twice, twice == 0, "none")
    trial.claims.claim(f"{server.package}: pages without a row", len(missing), not missing, "none")
