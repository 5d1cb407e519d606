"""The table that an address such as ``postgresql://ada@db.example/shop?table=books`` names, with what else it says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.sql.item_columns import ItemColumn, columns_from_text, name_trouble
from p2pcrawl.stores.sql.typed_address import settle_address

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "mysql": "mysql+asyncmy"}
"""By family: the drivers, as SQLAlchemy calls them."""
_FAMILIES = {"postgres": "postgresql", "mariadb": "mysql"}
_SECRET_OPTION = re.compile(r"password|token|secret", re.IGNORECASE)
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class SqlPlace:
    """One table, and how it is reached and kept."""

    shown: str
    """Its address without a password."""
    where: str
    """The machine or the file, for messages."""
    url: URL = field(repr=False)
    family: str
    table: str
    schema: str | None
    columns: tuple[ItemColumn, ...]
    """The columns that items need; none where they are to be taken from what comes."""
    add_columns: bool
    history: bool


def family_of(scheme: str) -> str:
    """Returns the family of databases that a scheme is of: ``mariadb+asyncmy`` is of ``mysql``."""
    name = scheme.partition("+")[0]
    return _FAMILIES.get(name, name)


def read_sql_place(address: SinkAddress, job_name: str) -> SqlPlace:
    """Reads an address; a table without a name is called like the job. Raises ConfigurationError, one line without the
    password.
    """
    shown = address.url
    base, named = _without_table(shown)
    address = settle_address(replace(address, url=base))
    family = family_of(address.scheme)
    url = _driver_url(address, shown, family)
    schema, table = _table(named or re.sub(r"\W+", "_", job_name) or "items", shown, family)
    options = address.options
    return SqlPlace(
        shown=shown,
        where=str(url.database) if family == "sqlite" else f"{url.host}{f':{url.port}' if url.port else ''}",
        url=url,
        family=family,
        table=table,
        schema=schema or None,
        columns=columns_from_text(options["columns"]) if options.get("columns") else (),
        add_columns=_truth("add_columns", options.get("add_columns", "false"), shown),
        history=options.get("mode") == "history",
    )


def _without_table(shown: str) -> tuple[str, str]:
    """Returns the address without the name of its table, and the name; the rest of the query is the driver's."""
    base, _, query = shown.partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    for name in (pair.partition("=")[0] for pair in pairs):
        if _SECRET_OPTION.search(name):
            raise ConfigurationError(f"{name} does not belong into the address {base}: it would be shown")
    named = [unquote(pair.partition("=")[2]) for pair in pairs if pair.startswith("table=")]
    rest = "&".join(pair for pair in pairs if not pair.startswith("table="))
    return f"{base}{'?' + rest if rest else ''}", named[-1] if named else ""


def _driver_url(address: SinkAddress, shown: str, family: str) -> URL:
    try:
        url = make_url(address.with_secret())
    except (ArgumentError, ValueError):
        # Neither says more, and both might show the password.
        raise ConfigurationError(f"{shown} is no address of a database: write {family}://user@host/database") from None
    if family != "sqlite" and not (url.database and url.host):
        missing = "database" if url.host else "host"
        raise ConfigurationError(f"{shown} names no {missing}: write {family}://user@host/database")
    if url.port is not None and not 0 < url.port < 2**16:
        # Some drivers take what is left of it in 16 bits, and with that another server.
        raise ConfigurationError(f"{shown} has a port that there is not: {url.port}")
    return url.set(drivername=DRIVERS[family])


def _table(named: str, shown: str, family: str) -> tuple[str, str]:
    """Returns the schema and the table that a name means."""
    schema, dot, table = named.rpartition(".")
    for name in (schema, table) if dot else (table,):
        if trouble := name_trouble(name):
            raise ConfigurationError(f"{shown}: {name!r} is no name of a table: {trouble}")
    if schema and family == "sqlite":
        raise ConfigurationError(f"{shown}: SQLite has no schemas: write ?table={table}")
    return schema, table


def _truth(name: str, value: str, shown: str) -> bool:
    if value.lower() not in _TRUTHS:
        raise ConfigurationError(f"{shown}: {name}={value} is neither true nor false")
    return _TRUTHS[value.lower()]
