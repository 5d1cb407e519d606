"""The orders about hosts as they are stored beside the copies; see :mod:`p2pcrawl.core.hosts.orders`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.model.cluster.host_order import HostOrder

ORDERS_TABLE = """
CREATE TABLE host_order (
    host TEXT PRIMARY KEY, delay_version INTEGER NOT NULL, delay REAL, pause_version INTEGER NOT NULL,
    paused INTEGER NOT NULL
) WITHOUT ROWID
"""


def write_orders(db: sqlite3.Connection, orders: Iterable[HostOrder]) -> None:
    """Puts orders in the place of those about the same hosts."""
    run_many(
        db,
        "INSERT OR REPLACE INTO host_order (host, delay_version, delay, pause_version, paused)",
        [tuple(order) for order in orders],
    )


def read_orders(db: sqlite3.Connection) -> list[HostOrder]:
    """Returns all orders."""
    rows = db.execute("SELECT host, delay_version, delay, pause_version, paused FROM host_order").fetchall()
    return [
        HostOrder(host, version, delay_s, pause_version, bool(paused))
        for host, version, delay_s, pause_version, paused in rows
    ]
