"""The table as it is: its columns, which of them are ours, and whether it is right for what items need.

Ours are ``_key`` and ``_visit``, which a table must have, and ``url``, ``job`` and ``fetched_at``, which it may have.
Where an item has a field of such a name, the column is the item's, and ours is called with an underscore before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, Table, inspect, types
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.schema import CreateTable

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sql.dialects import Dialect
from p2pcrawl.stores.sql.item_columns import ColumnKind, ItemColumn
from p2pcrawl.stores.sql.sql_place import SqlPlace
from p2pcrawl.stores.sql.stored_columns import StoredColumn

KEY, VISIT = "_key", "_visit"
BESIDE = {"url": ColumnKind.TEXT, "job": ColumnKind.TEXT, "fetched_at": ColumnKind.DATETIME}
"""Columns of ours that people query, by the names that they have if no item's field is called so."""
_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INTEGER": 32, "INT": 32, "INT4": 32, "INT2": 16}


@dataclass(frozen=True, slots=True)
class TableShape:
    """The columns of a table that is there."""

    columns: dict[str, StoredColumn]
    beside: dict[str, str]
    """The columns of ours that it has, by what they hold: ``{"url": "_url"}``."""

    @property
    def item_columns(self) -> dict[str, StoredColumn]:
        """The columns that items fill."""
        ours = {KEY, VISIT, *self.beside.values()}
        return {name: column for name, column in self.columns.items() if name not in ours}


def beside_names(fields: Iterable[str]) -> dict[str, str]:
    """Returns what our columns are called beside an item's fields."""
    taken = {name.lower() for name in fields}
    return {name: f"_{name}" if name in taken else name for name in BESIDE}


def read_shape(
    connection: Connection, place: SqlPlace, json_columns: Iterable[str], fields: Iterable[str] = ()
) -> TableShape | None:
    """Reads the columns of a table, None where there is no such table. ``fields``: what items are known to have."""
    inspector = inspect(connection)
    try:
        found = inspector.get_columns(place.table, schema=place.schema)
        computed = {each["name"] for each in found if each.get("computed")}
    except NoSuchTableError:
        return None
    json_names = set(json_columns)
    columns = {each["name"]: _stored(each, place.family, json_names) for each in found if each["name"] not in computed}
    if KEY in columns and not _is_unique(inspector, place):
        raise ConfigurationError(f"{place.shown}: the column {KEY} must be the primary key, or unique")
    wanted = beside_names(fields)
    beside = {
        name: next(each for each in (f"_{name}", wanted[name]) if each in columns)
        for name in BESIDE
        if f"_{name}" in columns or wanted[name] in columns
    }
    return TableShape(columns, beside)


def _is_unique(inspector: Any, place: SqlPlace) -> bool:
    at = {"schema": place.schema}
    primary = inspector.get_pk_constraint(place.table, **at)["constrained_columns"]
    unique = [each["column_names"] for each in inspector.get_unique_constraints(place.table, **at)]
    indexes = [
        each["column_names"]
        for each in inspector.get_indexes(place.table, **at)
        if each["unique"] and not (each.get("dialect_options") or {}).get("postgresql_where")
    ]
    return [KEY] in [primary, *unique, *indexes]


def _stored(found: Any, family: str, json_names: set[str]) -> StoredColumn:
    name, kind_of_type = found["name"], found["type"]
    kind = ColumnKind.JSON if name in json_names else _kind(kind_of_type)
    generated = found.get("autoincrement") is True or found.get("identity") is not None
    has_default = found.get("default") is not None or generated
    low, high = _range(kind_of_type, family)
    length = getattr(kind_of_type, "length", None)
    return StoredColumn(
        name=name,
        kind=kind,
        type_name=_type_name(kind_of_type, kind),
        needed=not found["nullable"] and not has_default,
        optional=bool(found["nullable"]) and not has_default,
        low=low,
        high=high,
        size=_size(kind, kind_of_type, length),
        places=(kind_of_type.scale or 0) if kind is ColumnKind.DECIMAL and kind_of_type.precision else None,
        zoned=bool(getattr(kind_of_type, "timezone", False)) or family == "mysql",
        whole_seconds=_keeps_whole_seconds(kind_of_type, family),
        cast=_cast(kind_of_type, kind) if family == "postgresql" else "",
    )


def _size(kind: ColumnKind | None, kind_of_type: Any, length: int | None) -> int | None:
    if kind is ColumnKind.DECIMAL:
        return kind_of_type.precision or None
    return length if kind in (ColumnKind.TEXT, ColumnKind.BYTES) and isinstance(length, int) else None


def _type_name(kind_of_type: Any, kind: ColumnKind | None) -> str:
    try:
        return str(kind_of_type.compile(dialect=None)) if kind is None else str(kind_of_type)
    except Exception:  # A type without a name in general SQL.
        return type(kind_of_type).__name__


def _kind(kind_of_type: Any) -> ColumnKind | None:
    if isinstance(kind_of_type, types.Boolean) or (
        isinstance(kind_of_type, mysql.TINYINT) and kind_of_type.display_width == 1
    ):
        return ColumnKind.BOOLEAN
    pairs: tuple[tuple[Any, ColumnKind], ...] = (
        (types.JSON, ColumnKind.JSON),
        (types.Uuid, ColumnKind.TEXT),
        (types.Integer, ColumnKind.INTEGER),
        (types.Float, ColumnKind.FLOAT),
        (types.Numeric, ColumnKind.DECIMAL),
        (types.DateTime, ColumnKind.DATETIME),
        (types.Date, ColumnKind.DATE),
        ((types.String, types.Enum), ColumnKind.TEXT),
        (types.LargeBinary, ColumnKind.BYTES),
        ((types.BINARY, types.VARBINARY, mysql.LONGBLOB), ColumnKind.BYTES),
    )
    return next((kind for type_class, kind in pairs if isinstance(kind_of_type, type_class)), None)


def _range(kind_of_type: Any, family: str) -> tuple[int, int]:
    name = type(kind_of_type).__name__.upper()
    bits = 64 if family == "sqlite" else _INTEGER_BITS.get(name, 64)
    if getattr(kind_of_type, "unsigned", False):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _keeps_whole_seconds(kind_of_type: Any, family: str) -> bool:
    if family == "mysql":
        return isinstance(kind_of_type, mysql.DATETIME | mysql.TIMESTAMP) and not kind_of_type.fsp
    return isinstance(kind_of_type, postgresql.TIMESTAMP) and kind_of_type.precision == 0


def _cast(kind_of_type: Any, kind: ColumnKind | None) -> str:
    """Returns the type that PostgreSQL does not turn a text into by itself."""
    if kind is ColumnKind.JSON:
        return "jsonb" if isinstance(kind_of_type, postgresql.JSONB) else "json"
    if isinstance(kind_of_type, types.Uuid):
        return "uuid"
    if isinstance(kind_of_type, postgresql.ENUM):
        return str(kind_of_type.compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    return ""


def create_statement(dialect: Dialect, place: SqlPlace, columns: Iterable[ItemColumn]) -> str:
    """Returns the statement that makes a table with our columns and those of the items; without any of these, with only
    those of ours that it must have: the rest is added when it is known.
    """
    known = list(columns)
    ours = [Column(KEY, dialect.key_type(), primary_key=True, nullable=False), Column(VISIT, Integer(), nullable=False)]
    rest = [*known, *beside_columns(known)] if known else []
    table = Table(
        place.table,
        MetaData(),
        *ours,
        *(Column(each.name, dialect.type_for(each), nullable=not each.required) for each in rest),
        schema=place.schema,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
    )
    return str(CreateTable(table, if_not_exists=True).compile(dialect=dialect.engine.dialect))


def beside_columns(items: Iterable[ItemColumn]) -> list[ItemColumn]:
    """Returns our columns beside an item's."""
    names = beside_names(each.name for each in items)
    return [ItemColumn(names[name], kind) for name, kind in BESIDE.items()]


def add_statements(dialect: Dialect, columns: Iterable[ItemColumn]) -> list[str]:
    """Returns the statements that add columns to a table: one for all of them where the database has such."""
    compiler = dialect.engine.dialect.ddl_compiler(dialect.engine.dialect, None)  # type: ignore[arg-type]
    parts = []
    for each in columns:
        column = Column(each.name, dialect.type_for(each), nullable=True)
        Table("t", MetaData(), column)
        parts.append(f"ADD COLUMN {compiler.get_column_specification(column)}")
    if dialect.engine.dialect.name == "sqlite":
        return [f"ALTER TABLE {dialect.table} {part}" for part in parts]
    return [f"ALTER TABLE {dialect.table} {', '.join(parts)}"] if parts else []


def misfits(shape: TableShape, columns: Iterable[ItemColumn], *, will_add: bool) -> list[str]:
    """Returns what is wrong with a table, each in words; empty if it is right for what items need."""
    found = [
        f"it has no column {name} ({what})"
        for name, what in ((KEY, "the primary key, a text of 190 characters"), (VISIT, "an integer"))
        if name not in shape.columns
    ]
    wanted = {each.name: each for each in columns}
    have = shape.item_columns
    for name, column in wanted.items():
        if name not in have:
            if not will_add:
                found.append(f"it has no column {name} ({column.kind}; ?add_columns=true adds it)")
        elif not have[name].takes(column):
            found.append(f"its column {name} is {have[name].type_name}, and items have {column.kind} there")
    if wanted:
        needed = [each.name for each in have.values() if each.needed and each.name not in wanted]
        found += [
            f"its column {name} takes no NULL and has no default, and items have no such field" for name in needed
        ]
    return found
