"""The differences between the databases: how they are reached, what their types are called, how rows go in.

Statements are written here and sent to the driver as they are: SQLAlchemy's own way through compiled statements costs
several times what the drivers do. Names are quoted by SQLAlchemy's rules, values travel beside the statements.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Date,
    DateTime,
    Double,
    LargeBinary,
    Numeric,
    String,
    Text,
    event,
    types,
)
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.exc import SAWarning, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from p2pcrawl.stores.sql.item_columns import ColumnKind, ItemColumn
from p2pcrawl.stores.sql.sql_faults import options_refused
from p2pcrawl.stores.sql.sql_place import SqlPlace
from p2pcrawl.stores.sql.stored_columns import StoredColumn, ValueForm

CONNECT_S = 10.0
KEY_LENGTH = 190
"""The longest key that MySQL can index in any row format, in characters."""
# A connection that cannot be ended in order, because its server is gone, is told by whoever used it: in one line, and
# not as a traceback of SQLAlchemy's.
logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)


class Dialect:
    """One family of databases. Used by one sink."""

    form = ValueForm()
    locks = " FOR UPDATE"
    """At the end of a SELECT of rows that will be changed."""

    def __init__(self, place: SqlPlace) -> None:
        self.engine = self._engine(place)
        quote = self.engine.dialect.identifier_preparer.quote_identifier
        self.quote = quote
        self.table = f"{quote(place.schema)}.{quote(place.table)}" if place.schema else quote(place.table)

    def _engine(self, place: SqlPlace) -> AsyncEngine:
        """Makes what connects. Raises ConfigurationError for options in the address that are none of the driver's."""
        try:
            with warnings.catch_warnings():
                # It warns of some that it leaves out.
                warnings.simplefilter("error", SAWarning)
                return create_async_engine(place.url, poolclass=NullPool, hide_parameters=True, **self._arguments())
        except (TypeError, ValueError, SAWarning, SQLAlchemyError) as error:
            raise options_refused(place, error) from error

    def _arguments(self) -> dict[str, Any]:
        return {}

    async def prepare(self, connection: AsyncConnection) -> None:
        """Sets up a new session."""

    def mark(self, number: int) -> str:
        """Returns the sign for the value of this number, counted from 1."""
        return "?"

    def set_mark(self, number: int, column: StoredColumn) -> str:
        """Returns the sign for the value of this number where a column is set to it."""
        return self.mark(number)

    def marks(self, count: int) -> str:
        """Returns the signs for so many values."""
        return ", ".join(self.mark(number + 1) for number in range(count))

    def key_type(self) -> types.TypeEngine[Any]:
        """Returns the type of the column of keys: compared byte by byte, whatever the database's language is."""
        return String(KEY_LENGTH)

    def type_for(self, column: ItemColumn) -> types.TypeEngine[Any]:
        """Returns the type of a new column."""
        match column.kind:
            case ColumnKind.TEXT:
                return String(column.size) if column.size else self._text()
            case ColumnKind.INTEGER:
                return BigInteger()
            case ColumnKind.FLOAT:
                return Double()
            case ColumnKind.DECIMAL:
                return self._decimal(column)
            case ColumnKind.BOOLEAN:
                return Boolean()
            case ColumnKind.DATETIME:
                return self._datetime()
            case ColumnKind.DATE:
                return Date()
            case ColumnKind.BYTES:
                return self._bytes()
            case ColumnKind.JSON:
                return self._json()

    def _text(self) -> types.TypeEngine[Any]:
        return Text()

    def _decimal(self, column: ItemColumn) -> types.TypeEngine[Any]:
        return Numeric(column.size, column.places)

    def _datetime(self) -> types.TypeEngine[Any]:
        return DateTime(timezone=True)

    def _bytes(self) -> types.TypeEngine[Any]:
        return LargeBinary()

    def _json(self) -> types.TypeEngine[Any]:
        return JSON()

    async def json_columns(self, connection: AsyncConnection, place: SqlPlace) -> set[str]:
        """Returns the columns that hold JSON, where their type does not say so."""
        return set()

    def insertion(self, columns: Sequence[StoredColumn], *, new_only: bool) -> str:
        """Returns the statement that adds a row; the first column is the key. With ``new_only`` one whose key is there
        already is left out, where the database can tell it from one that equals another in another unique column.
        """
        names = ", ".join(self.quote(column.name) for column in columns)
        marks = ", ".join(self.set_mark(number, column) for number, column in enumerate(columns, 1))
        otherwise = f" ON CONFLICT ({self.quote(columns[0].name)}) DO NOTHING" if new_only else ""
        return f"INSERT INTO {self.table} ({names}) VALUES ({marks}){otherwise}"


class Sqlite(Dialect):
    """A file of SQLite. Types are those that its tables say, though it would take anything into any column."""

    form = ValueForm(moments_as_text=True, decimals_as_text=True, decimal_digits=15)
    locks = ""

    def _engine(self, place: SqlPlace) -> AsyncEngine:
        engine = super()._engine(place)

        @event.listens_for(engine.sync_engine, "begin")
        def begin(connection: Any) -> None:
            # Python's own transactions begin with the first change, too late for what was read before it.
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        return engine

    def _arguments(self) -> dict[str, Any]:
        return {"connect_args": {"isolation_level": None, "timeout": 5.0}}

    def key_type(self) -> types.TypeEngine[Any]:
        return Text()


class Postgresql(Dialect):
    """PostgreSQL, and what speaks as it does."""

    form = ValueForm(nul_in_text=False)

    def _arguments(self) -> dict[str, Any]:
        return {"connect_args": {"timeout": CONNECT_S, "server_settings": {"timezone": "UTC"}}}

    def mark(self, number: int) -> str:
        return f"${number}"

    def set_mark(self, number: int, column: StoredColumn) -> str:
        # A text first: the driver takes values of the types that it is told.
        return f"${number}::{_value_type(column)}{'::' + column.cast if column.cast else ''}"

    def key_type(self) -> types.TypeEngine[Any]:
        return Text(collation="C")

    def _json(self) -> types.TypeEngine[Any]:
        return postgresql.JSONB()


def _value_type(column: StoredColumn) -> str:
    match column.kind:
        case ColumnKind.INTEGER:
            return "bigint"
        case ColumnKind.FLOAT:
            return "float8"
        case ColumnKind.DECIMAL:
            return "numeric"
        case ColumnKind.BOOLEAN:
            return "boolean"
        case ColumnKind.DATETIME:
            return "timestamptz" if column.zoned else "timestamp"
        case ColumnKind.DATE:
            return "date"
        case ColumnKind.BYTES:
            return "bytea"
    return "text"


class Mysql(Dialect):
    """MySQL and MariaDB."""

    form = ValueForm(moments_as_text=True)
    _MODE = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

    def _arguments(self) -> dict[str, Any]:
        return {"connect_args": {"connect_timeout": int(CONNECT_S), "charset": "utf8mb4"}}

    async def prepare(self, connection: AsyncConnection) -> None:
        # Without it values are cut to what a column holds, and nobody is told.
        await connection.exec_driver_sql(f"SET SESSION sql_mode = '{self._MODE}', time_zone = '+00:00'")
        # Several masters write at once: without it they lock the gaps between each other's keys.
        await connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        await connection.commit()

    def mark(self, number: int) -> str:
        return "%s"

    def key_type(self) -> types.TypeEngine[Any]:
        return mysql.VARCHAR(KEY_LENGTH, charset="ascii", collation="ascii_bin")

    def _text(self) -> types.TypeEngine[Any]:
        return mysql.LONGTEXT()

    def _decimal(self, column: ItemColumn) -> types.TypeEngine[Any]:
        # Without a size it would be one without digits behind the point.
        return Numeric(column.size, column.places) if column.size else Numeric(38, 10)

    def _datetime(self) -> types.TypeEngine[Any]:
        return mysql.DATETIME(fsp=6)

    def _bytes(self) -> types.TypeEngine[Any]:
        return mysql.LONGBLOB()

    async def json_columns(self, connection: AsyncConnection, place: SqlPlace) -> set[str]:
        """Returns the columns that MariaDB checks to be JSON: their type is a long text."""
        if not getattr(connection.dialect, "is_mariadb", False):
            return set()
        statement = (
            "SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS "
            "WHERE CONSTRAINT_SCHEMA = COALESCE(%s, DATABASE()) AND TABLE_NAME = %s"
        )
        found: Sequence[Any] = (await connection.exec_driver_sql(statement, (place.schema, place.table))).all()
        return {row[0] for row in found if row[1] == f"json_valid({self.quote(row[0])})"}

    def insertion(self, columns: Sequence[StoredColumn], *, new_only: bool) -> str:
        # Neither INSERT IGNORE, which cuts values, nor ON DUPLICATE KEY, which is about any unique column.
        return super().insertion(columns, new_only=False)


_DIALECTS: dict[str, type[Dialect]] = {"sqlite": Sqlite, "postgresql": Postgresql, "mysql": Mysql}


def dialect_for(place: SqlPlace) -> Dialect:
    """Makes the dialect of a place, with its engine; nothing is connected yet."""
    return _DIALECTS[place.family](place)
