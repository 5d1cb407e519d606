"""Many rows in one statement: all of them, once, in few statements."""

from __future__ import annotations

import sqlite3

import pytest

from p2pcrawl.frontier.database.statements import run_many


@pytest.fixture
def db():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE pair (a INTEGER, b TEXT)")
    yield connection
    connection.close()


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 600])
def test_all_rows_are_written_once_and_in_their_order(db: sqlite3.Connection, count: int) -> None:
    rows = [(n, str(n)) for n in range(count)]

    run_many(db, "INSERT INTO pair", rows)

    assert db.execute("SELECT a, b FROM pair ORDER BY rowid").fetchall() == rows


@pytest.mark.parametrize("count", [1, 8, 9, 300])
def test_every_row_asked_for_is_answered(db: sqlite3.Connection, count: int) -> None:
    run_many(db, "INSERT INTO pair", [(n, str(n)) for n in range(2 * count)])

    found = run_many(db, "SELECT b FROM pair WHERE a IN (", [(2 * n,) for n in range(count)], ")")

    assert sorted(int(b) for (b,) in found) == [2 * n for n in range(count)]


@pytest.mark.parametrize("count", range(1, 9))
def test_what_most_commits_have_is_one_statement(db: sqlite3.Connection, count: int) -> None:
    statements: list[str] = []
    db.set_trace_callback(statements.append)

    run_many(db, "INSERT INTO pair", [(n, "") for n in range(count)])

    assert len(statements) == 1
