"""Rows into a table: new ones as they come, those of later visits in the place of earlier ones.

Pages that are brought for the first time, nearly all, are plain inserts, and the database says if one was not new.
Then, and for later visits, the rows that are there are looked at, and locked: what was brought before is left alone,
what an earlier visit gave is changed, added to or removed, and of a page that has a later visit already nothing is
written.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from p2pcrawl.stores.sink import RefusedItem
from p2pcrawl.stores.sql.dialects import Dialect
from p2pcrawl.stores.sql.item_rows import PageRows, TableRow
from p2pcrawl.stores.sql.table_shape import KEY, VISIT, TableShape

PAGES_A_QUERY = 100
KEYS_A_QUERY = 500


class TableWriter:
    """Writes rows to one table by one connection."""

    def __init__(self, dialect: Dialect, connection: AsyncConnection, shape: TableShape, *, history: bool) -> None:
        self._dialect = dialect
        self._connection = connection
        self._shape = shape
        self._history = history

    async def put_new(self, parts: Iterable[Sequence[PageRows]]) -> None:
        """Writes pages of which the table should have no rows, in one transaction. Raises the database's error where it
        has. Each part is made while the database is at the one before.
        """
        async with self._connection.begin():
            inserting: asyncio.Task[None] | None = None
            try:
                for pages in parts:
                    if inserting is not None:
                        await inserting
                    inserting = asyncio.create_task(self._insert([row for each in pages for row in each.rows]))
                    await asyncio.sleep(0)  # So that it is on its way before the next part is made.
                if inserting is not None:
                    await inserting
            finally:
                if inserting is not None and not inserting.done():
                    inserting.cancel()
                    await asyncio.wait([inserting])

    async def put(self, pages: Sequence[PageRows]) -> None:
        """Writes pages, of which the table may have rows. No page may be there twice."""
        async with self._connection.begin():
            await self._merge(pages, whole=True)

    async def put_one_by_one(self, page: PageRows, reason: Callable[[DBAPIError], str]) -> list[RefusedItem]:
        """Writes the rows of one page, each by itself in one transaction; returns those that the database refuses, with
        what ``reason`` says about it.
        """
        refused = []
        async with self._connection.begin():
            for row in page.rows:
                try:
                    async with self._connection.begin_nested():
                        await self._merge([replace(page, rows=[row])], whole=False)
                except DBAPIError as error:
                    said = reason(error)
                    if not said:
                        raise
                    refused.append(RefusedItem(page.page, row.place, said))
        return refused

    async def clear_other_jobs(self, job: str) -> None:
        """Removes the rows of all jobs but one."""
        key, first = self._dialect.quote(KEY), self._dialect.mark(1)
        statement = f"DELETE FROM {self._dialect.table} WHERE {key} < {first} OR {key} >= {self._dialect.mark(2)}"
        async with self._connection.begin():
            await self._connection.exec_driver_sql(statement, (f"{job}-", _after(f"{job}-")))

    async def _insert(self, rows: Sequence[TableRow], *, new_only: bool = False) -> None:
        """Adds rows, those with the same columns by one statement."""
        alike: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
        for row in rows:
            alike[row.columns].append(row.values)
        for names, values in alike.items():
            # In the order of their keys, so that masters who write at once do not wait for each other in a circle.
            values.sort(key=itemgetter(0))
            columns = [self._shape.columns[name] for name in names]
            await self._connection.exec_driver_sql(self._dialect.insertion(columns, new_only=new_only), values)

    async def _merge(self, pages: Sequence[PageRows], *, whole: bool) -> None:
        """Writes pages of which the table may have rows. Unless ``whole``, pages have only some of theirs."""
        there = await self._rows_there(pages)
        added: list[TableRow] = []
        changed: list[TableRow] = []
        gone: list[str] = []
        for each in pages:
            visits = there.get(each.prefix, {})
            new = {row.key: row for row in each.rows}
            newest = max([each.page.visit, *visits.values()])
            if not self._history:
                late = newest > each.page.visit
                kept = set() if late else set(new)
                if whole or late:
                    gone += [key for key, visit in visits.items() if visit < newest and key not in kept]
                if late:
                    continue
                changed += [row for key, row in new.items() if visits.get(key, newest) < newest]
            added += [row for key, row in new.items() if key not in visits]
        await self._delete(gone)
        await self._update(changed)
        if added:
            await self._insert(added, new_only=True)

    async def _rows_there(self, pages: Sequence[PageRows]) -> dict[str, dict[str, int]]:
        """Returns the visits of the rows that the table has of these pages, by the beginning of their keys."""
        key, visit, mark = self._dialect.quote(KEY), self._dialect.quote(VISIT), self._dialect.mark
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for part in _parts(sorted(pages, key=lambda each: each.prefix), PAGES_A_QUERY):
            ranges = " OR ".join(
                f"({key} >= {mark(2 * n + 1)} AND {key} < {mark(2 * n + 2)})" for n in range(len(part))
            )
            statement = f"SELECT {key}, {visit} FROM {self._dialect.table} WHERE {ranges}{self._dialect.locks}"
            ends = tuple(end for each in part for end in (each.prefix, _after(each.prefix)))
            rows: Sequence[Any] = (await self._connection.exec_driver_sql(statement, ends)).all()
            for name, number in rows:
                found["-".join(name.split("-")[:2]) + "-"][name] = number
        return found

    async def _delete(self, keys: Sequence[str]) -> None:
        for part in _parts(sorted(keys), KEYS_A_QUERY):
            marks = self._dialect.marks(len(part))
            statement = f"DELETE FROM {self._dialect.table} WHERE {self._dialect.quote(KEY)} IN ({marks})"
            await self._connection.exec_driver_sql(statement, tuple(part))

    async def _update(self, rows: Sequence[TableRow]) -> None:
        """Changes rows into others under their keys; what these have not becomes NULL where the column has no value of
        its own.
        """
        alike: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
        for row in rows:
            alike[row.columns].append(row.values)
        for columns, values in alike.items():
            missing = [
                name
                for name, column in self._shape.item_columns.items()
                if column.optional and column.kind is not None and name not in columns
            ]
            names = [*columns[1:], *missing]
            settings = ", ".join(
                f"{self._dialect.quote(name)} = {self._dialect.set_mark(n, self._shape.columns[name])}"
                for n, name in enumerate(names, 1)
            )
            where = f"{self._dialect.quote(KEY)} = {self._dialect.mark(len(names) + 1)}"
            nulls = (None,) * len(missing)
            await self._connection.exec_driver_sql(
                f"UPDATE {self._dialect.table} SET {settings} WHERE {where}",
                [(*one[1:], *nulls, one[0]) for one in sorted(values, key=itemgetter(0))],
            )


def _after(prefix: str) -> str:
    """Returns the text that comes after all that begin with ``prefix``, which ends in a hyphen."""
    return prefix[:-1] + "."


def _parts(each: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (each[start : start + size] for start in range(0, len(each), size))
