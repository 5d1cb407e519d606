"""The accounts of masters as they are stored beside the copies; see :mod:`p2pcrawl.core.accounts`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from p2pcrawl.frontier.database.integrity import Nonsense
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId

TABLE = """
CREATE TABLE account (
    job INTEGER, master TEXT, life TEXT, slice TEXT, version INTEGER NOT NULL, figures BLOB NOT NULL,
    PRIMARY KEY (job, master, life, slice)
) WITHOUT ROWID
"""
WITHOUT_SLICES = """
CREATE TABLE account (
    job INTEGER, master TEXT, life TEXT, version INTEGER NOT NULL, figures BLOB NOT NULL,
    PRIMARY KEY (job, master, life)
) WITHOUT ROWID
"""
"""As it was before accounts had slices,"""
SLICED = (
    "ALTER TABLE account RENAME TO account_before",
    TABLE,
    "INSERT INTO account SELECT job, master, life, '', version, figures FROM account_before",
    "DROP TABLE account_before",
)
"""and how it becomes what it is."""


_decoded = msgspec.msgpack.Decoder(dict[str, int]).decode


def write_accounts(db: sqlite3.Connection, accounts: Iterable[Account]) -> None:
    """Puts accounts in the place of those with the same keys."""
    rows = [
        (key.job, key.master, key.life, key.slice, version, msgspec.msgpack.encode(figures))
        for key, version, figures in accounts
    ]
    run_many(db, "INSERT OR REPLACE INTO account (job, master, life, slice, version, figures)", rows)


def drop_accounts(db: sqlite3.Connection, keys: Iterable[AccountKey]) -> None:
    """Deletes accounts."""
    rows = [(key.job, key.master, key.life, key.slice) for key in keys]
    run_many(db, "DELETE FROM account WHERE (job, master, life, slice) IN (", rows, ")")


def read_accounts(db: sqlite3.Connection) -> list[Account]:
    """Returns all accounts. Raises Nonsense for what is none."""
    rows = db.execute("SELECT job, master, life, slice, version, figures FROM account").fetchall()
    try:
        return [
            Account(
                AccountKey(NodeId(master), life, job, name),
                version,
                msgspec.msgpack.decode(figures, type=dict[str, int]),
            )
            for job, master, life, name, version, figures in rows
        ]
    except msgspec.MsgspecError as error:
        raise Nonsense(f"an account cannot be read: {error}") from error
