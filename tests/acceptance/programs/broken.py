"""p2pcrawl with a promise broken on purpose, to show that the checks would notice: ``broken.py HOW crawl ...``."""

from __future__ import annotations

import sys
from typing import Any

from p2pcrawl.cli import main
from p2pcrawl.frontier.records.batch import Batch, ItemRow
from p2pcrawl.frontier.records.store import Store

HELD_COMMITS = 40


def items_after_done() -> None:
    """A page is done before its items are durable."""
    commit, held = Store.commit, []  # type: ignore[var-annotated]

    def late(store: Store, batch: Batch) -> Any:
        rows: list[ItemRow] = batch.items
        held.append(rows)
        batch.items = [row for rows in held for row in rows] if len(held) >= HELD_COMMITS else []
        if len(held) >= HELD_COMMITS:
            held.clear()
        return commit(store, batch)

    Store.commit = late  # type: ignore[method-assign]


def leases_unwritten() -> None:
    """A page is granted before its lease is durable."""
    commit = Store.commit

    def without(store: Store, batch: Batch) -> Any:
        batch.leases = []
        return commit(store, batch)

    Store.commit = without  # type: ignore[method-assign]


def deliveries_forgotten() -> None:
    """Makes a restart forget how far an output came, while the file is kept."""
    sinks = Store.sinks

    def forgetful(store: Store, job: int) -> Any:
        return [(path, spec, 0, position) for path, spec, _, position in sinks(store, job)]

    Store.sinks = forgetful  # type: ignore[method-assign]


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    main(sys.argv[2:])
