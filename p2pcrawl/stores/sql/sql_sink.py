"""Sink of items in a table: opened, brought pages, and told apart what a database says about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkAway, SinkPage, Written
from p2pcrawl.stores.sql.dialects import Dialect, dialect_for
from p2pcrawl.stores.sql.item_columns import ItemColumn
from p2pcrawl.stores.sql.item_rows import PageRows, RowMaker, newest_visits
from p2pcrawl.stores.sql.sql_faults import (
    Fault,
    database_away,
    fault_of,
    opening_fault,
    options_refused,
    reason_of,
)
from p2pcrawl.stores.sql.sql_place import SqlPlace, read_sql_place
from p2pcrawl.stores.sql.table_shape import (
    KEY,
    VISIT,
    TableShape,
    add_statements,
    beside_columns,
    create_statement,
    misfits,
    read_shape,
)
from p2pcrawl.stores.sql.table_writer import TableWriter

OPEN_S = 30.0
WRITE_S = 120.0
CLOSE_S = 3.0
PART_PAGES = 200
"""Turned into rows at once, while the database is at those before."""
TRIES = 3
"""How often what another writer was in the way of is tried, and what another master may just have done itself."""
_ERRORS = (SQLAlchemyError, OSError, TimeoutError, UnicodeError)
"""Raised by SQLAlchemy and the drivers below it."""


def make_sql_sink(address: SinkAddress, place: SinkPlace) -> SqlSink:
    """Makes the sink of a table. Raises ConfigurationError for an address that can be seen not to work."""
    return SqlSink(read_sql_place(address, place.job_name), place)


class SqlSink:
    """A :class:`~p2pcrawl.stores.sink.Sink`: each item one row under its key."""

    limits = BatchLimits()

    def __init__(self, place: SqlPlace, around: SinkPlace) -> None:
        self._place = place
        self._around = around
        self._dialect: Dialect = dialect_for(place)
        self._connection: AsyncConnection | None = None
        self._shape = TableShape({}, {})
        self._fresh = False
        """Whether the table waits for its first items to know its columns."""
        self._clears = False
        """Whether what earlier jobs left is still to be removed."""
        self._was_open = False

    async def open(self, position: Position | None) -> Position:
        await self.close()
        replaced = not self._around.replace or bool((position or {}).get("replaced"))
        self._clears = not replaced
        try:
            async with asyncio.timeout(OPEN_S):
                self._connection = await self._connected()
                await self._dialect.prepare(self._connection)
                await self._open_table(self._connection)
                await self._try_rights(self._connection)
        except ConfigurationError:
            await self.close()
            raise
        except _ERRORS as error:
            await self.close()
            raise opening_fault(self._place, error, known=self._was_open) from error
        self._was_open = True
        return {"replaced": True} if self._around.replace and replaced else {}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        if self._connection is None:
            raise SinkAway(f"the database at {self._place.where} is not open")
        refused: list[RefusedItem] = []
        async with self._told_apart():
            await self._add_columns(self._connection, pages)
            maker = RowMaker(self._dialect.form, self._shape, history=self._place.history)
            writer = TableWriter(self._dialect, self._connection, self._shape, history=self._place.history)
            if self._clears and pages:
                await writer.clear_other_jobs(pages[0].job)
                self._clears = False
            await self._bring(writer, maker, pages, refused)
        order = {id(page): number for number, page in enumerate(pages)}
        refused.sort(key=lambda item: (order[id(item.page)], item.place))
        return Written({"replaced": True} if self._around.replace else {}, refused)

    async def finish(self) -> None:
        """Removes what earlier jobs left, if no page has come to do so; else each batch is whole by itself."""
        if self._clears and self._connection is not None:
            async with self._told_apart():
                writer = TableWriter(self._dialect, self._connection, self._shape, history=self._place.history)
                await writer.clear_other_jobs(self._around.job)
                self._clears = False

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        # A database that says nothing any more must not be waited for.
        with suppress(*_ERRORS):
            async with asyncio.timeout(CLOSE_S):
                if connection is not None:
                    await connection.close()
                await self._dialect.engine.dispose()

    @asynccontextmanager
    async def _told_apart(self) -> AsyncIterator[None]:
        """Turns the errors of a write into SinkAway, and lets go of a connection that may be in any state."""
        try:
            async with asyncio.timeout(WRITE_S):
                yield
        except _ERRORS as error:
            await self.close()
            raise database_away(self._place, error) from error
        except BaseException:
            await self.close()
            raise

    async def _connected(self) -> AsyncConnection:
        """Connects. Raises ConfigurationError for options in the address that are none of the driver's."""
        try:
            return await self._dialect.engine.connect()
        except UnicodeError:
            raise
        except (TypeError, ValueError) as error:
            if not self._place.url.query:
                raise
            raise options_refused(self._place, error) from error

    # -- the table ----------------------------------------------------------------------------

    async def _open_table(self, connection: AsyncConnection) -> None:
        """Looks at the table, and makes it if there is none. Raises ConfigurationError for one that does not fit."""
        shape = await self._read_shape(connection)
        if shape is None:
            await self._define(connection, [create_statement(self._dialect, self._place, self._place.columns)])
            shape = await self._read_shape(connection)
        if shape is None:
            raise ConfigurationError(f"{self._place.shown}: the table {self._place.table} was made, and is not there")
        if found := misfits(shape, self._place.columns, will_add=self._place.add_columns):
            raise ConfigurationError(
                f"{self._place.shown}: the table {self._place.table} does not fit: {'; '.join(found)}"
            )
        self._shape = shape
        self._fresh = set(shape.columns) <= {KEY, VISIT} and not self._place.columns
        if missing := [each for each in self._place.columns if each.name not in shape.item_columns]:
            await self._add(connection, missing)

    async def _read_shape(self, connection: AsyncConnection) -> TableShape | None:
        async with connection.begin():
            json_columns = await self._dialect.json_columns(connection, self._place)
            fields = [each.name for each in self._place.columns]
            return await connection.run_sync(read_shape, self._place, json_columns, fields)

    async def _define(self, connection: AsyncConnection, statements: Sequence[str]) -> None:
        """Changes the table's definition. What another master does at the same moment is left to the reader of the
        result to see.
        """
        try:
            async with connection.begin():
                for statement in statements:
                    await connection.exec_driver_sql(statement)
        except DBAPIError as error:
            if fault_of(self._place.family, error) is Fault.NO_RIGHT or error.connection_invalidated:
                raise
            if await self._read_shape(connection) is None:
                raise

    async def _try_rights(self, connection: AsyncConnection) -> None:
        """Tries to add, change and remove no row at all, as rights are asked for even so."""
        table, key = self._dialect.table, self._dialect.quote(KEY)
        needed = [name for name, column in self._shape.item_columns.items() if column.needed]
        names = (KEY, VISIT, *self._shape.beside.values(), *needed)
        columns = ", ".join(map(self._dialect.quote, names))
        async with connection.begin():
            await connection.exec_driver_sql(
                f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE 1 = 0"
            )
            if not self._place.history:
                await connection.exec_driver_sql(f"UPDATE {table} SET {key} = {key} WHERE 1 = 0")
                await connection.exec_driver_sql(f"DELETE FROM {table} WHERE 1 = 0")

    async def _add_columns(self, connection: AsyncConnection, pages: Sequence[SinkPage]) -> None:
        """Adds the columns that the items of a batch need, where the table is new or that is wanted."""
        if not (self._fresh or self._place.add_columns):
            return
        maker = RowMaker(self._dialect.form, self._shape, history=self._place.history)
        wanted = maker.unknown_columns(pages)
        if not wanted:
            return
        await self._add(connection, [*wanted, *beside_columns(wanted)] if self._fresh else wanted)
        self._fresh = False

    async def _add(self, connection: AsyncConnection, wanted: Sequence[ItemColumn]) -> None:
        """Adds columns, without those that another master has added meanwhile."""
        for attempt in range(TRIES):
            have = {name.lower() for name in self._shape.columns}
            missing = [each for each in wanted if each.name.lower() not in have]
            if not missing:
                return
            try:
                await self._define(connection, add_statements(self._dialect, missing))
            except DBAPIError:
                if attempt == TRIES - 1:
                    raise
            self._shape = await self._read_shape(connection) or self._shape

    # -- rows ---------------------------------------------------------------------------------

    async def _bring(
        self, writer: TableWriter, maker: RowMaker, pages: Sequence[SinkPage], refused: list[RefusedItem]
    ) -> None:
        """Writes the pages of a batch: as new ones, and if that cannot be, by looking at what is there."""
        rows: list[PageRows] = []
        # In one order, so that masters who write at once do not wait for each other in a circle.
        ahead = sorted(pages if self._place.history else newest_visits(pages), key=lambda page: page.fingerprint)
        parts = iter([ahead[start : start + PART_PAGES] for start in range(0, len(ahead), PART_PAGES)])

        def made() -> Iterator[Sequence[PageRows]]:
            for part in parts:
                rows.extend(more := maker.rows(part, refused))
                yield more

        if self._place.history or all(page.visit == 0 for page in ahead):
            try:
                await writer.put_new(made())
                return
            except DBAPIError as error:
                if fault_of(self._place.family, error) not in (Fault.UNFIT, Fault.AGAIN):
                    raise
        for _ in made():
            pass
        await self._merge(writer, rows, refused)

    async def _merge(self, writer: TableWriter, rows: Sequence[PageRows], refused: list[RefusedItem]) -> None:
        """Writes pages together; where one item is in the way, in halves, until that one is found."""
        try:
            await self._tried(writer, rows)
            return
        except DBAPIError as error:
            if fault_of(self._place.family, error) is not Fault.UNFIT:
                raise
            reason = reason_of(error)
        if len(rows) > 1:
            half = len(rows) // 2
            await self._merge(writer, rows[:half], refused)
            await self._merge(writer, rows[half:], refused)
            return
        try:
            refused += await writer.put_one_by_one(rows[0], self._reason)
        except DBAPIError as error:
            if fault_of(self._place.family, error) is not Fault.UNFIT:
                raise
            refused += [RefusedItem(rows[0].page, row.place, reason) for row in rows[0].rows]

    async def _tried(self, writer: TableWriter, rows: Sequence[PageRows]) -> None:
        """Writes pages in one transaction, again where another writer was in the way of it."""
        for attempt in range(TRIES):
            try:
                await writer.put(rows)
                return
            except DBAPIError as error:
                if fault_of(self._place.family, error) is not Fault.AGAIN or attempt == TRIES - 1:
                    raise

    def _reason(self, error: DBAPIError) -> str:
        """Returns why the database refuses a row; "" where it is not the row's fault."""
        return reason_of(error) if fault_of(self._place.family, error) is Fault.UNFIT else ""
