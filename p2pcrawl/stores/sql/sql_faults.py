"""The errors of databases, told apart by who can act: wait, mend the address, or refuse the item."""

from __future__ import annotations

import re
import socket
from enum import Enum, auto

from sqlalchemy.exc import DBAPIError

from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.stores.sink import SinkAway
from p2pcrawl.stores.sql.sql_place import SqlPlace

LINE_MAX = 300


class Fault(Enum):
    """The kinds of errors of a database."""

    AWAY = auto()
    """It may pass: not there, starting, stepping down, full, busy."""
    AGAIN = auto()
    """Another one was in the way: what was undone for it works when tried again."""
    NO_RIGHT = auto()
    """The password, the database, the table or a right is not there: somebody has to act."""
    UNFIT = auto()
    """It is the fault of a value."""


_MYSQL = {
    Fault.AGAIN: {1205, 1213, 1020, 1412},
    Fault.NO_RIGHT: {
        1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698, 1370, 1410, 1419, 1820, 1862, 1873, 2059, 2061, 3118, 1524,
        4151,
    },
    Fault.UNFIT: {
        1048, 1062, 1063, 1105, 1118, 1138, 1153, 1171, 1216, 1217, 1264, 1265, 1292, 1300, 1301, 1364, 1365, 1366,
        1367, 1406, 1411, 1416, 1441, 1451, 1452, 1526, 1557, 1586, 1644, 1690, 1761, 1762, 1906, 3140, 3141, 3146,
        3156, 3157, 3158, 3819, 3854, 4025, 4038, 4042,
    },
}  # fmt: skip
"""By number."""

_POSTGRESQL = (
    (Fault.AGAIN, ("40", "55P03")),
    (Fault.NO_RIGHT, ("28", "3D", "3F", "42501", "0L", "0P")),
    (Fault.UNFIT, ("22", "23", "54", "44", "P0001", "2200")),
)
"""By the beginning of the state."""

_SQLITE_UNFIT = ("IntegrityError", "DataError", "OverflowError", "InterfaceError")
_SQLITE_NO_RIGHT = re.compile(
    r"unable to open database file|readonly database|not a database|malformed|authorization denied", re.IGNORECASE
)


def fault_of(family: str, error: BaseException) -> Fault:
    """Tells what kind of error one of the driver's is."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    match family:
        case "postgresql":
            return _of_postgresql(cause)
        case "mysql":
            return _of_mysql(cause)
    return _of_sqlite(cause)


def _of_postgresql(cause: BaseException | None) -> Fault:
    state = getattr(cause, "sqlstate", None) or getattr(getattr(cause, "__cause__", None), "sqlstate", None)
    if state is None:
        inner = getattr(cause, "__cause__", None) or cause
        # The driver could not encode a value; what it sent was undone.
        unfit = isinstance(inner, ValueError | OverflowError) and "argument" in str(inner)
        return Fault.UNFIT if unfit else Fault.AWAY
    return next((fault for fault, begins in _POSTGRESQL if str(state).startswith(begins)), Fault.AWAY)


def _of_mysql(cause: BaseException | None) -> Fault:
    number = cause.args[0] if cause is not None and cause.args else None
    if isinstance(cause, UnicodeError):
        return Fault.UNFIT
    return next((fault for fault, numbers in _MYSQL.items() if number in numbers), Fault.AWAY)


def _of_sqlite(cause: BaseException | None) -> Fault:
    text = str(cause)
    if type(cause).__name__ in _SQLITE_UNFIT or isinstance(cause, UnicodeError) or "too big" in text:
        return Fault.UNFIT
    return Fault.NO_RIGHT if _SQLITE_NO_RIGHT.search(text) else Fault.AWAY


def reason_of(error: BaseException) -> str:
    """Returns what the database said, as one short line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = getattr(cause, "__cause__", None) or cause
    text = str(said.args[1]) if said is not None and len(said.args) > 1 and isinstance(said.args[0], int) else str(said)
    detail = getattr(said, "detail", None)
    text = " ".join(on_one_line(f"{text}{f' ({detail})' if detail else ''}").split()) or type(said).__name__
    return text if len(text) <= LINE_MAX else text[: LINE_MAX - 3] + "..."


def database_away(place: SqlPlace, error: BaseException) -> SinkAway:
    """Makes the error for whoever waits until the database is back."""
    said = "no answer in time" if isinstance(error, TimeoutError) else reason_of(error)
    return SinkAway(f"the database at {place.where}: {said}")


def options_refused(place: SqlPlace, error: BaseException) -> ConfigurationError:
    """Makes the error for options in an address that the database's driver does not know, or cannot read."""
    return ConfigurationError(f"{place.shown}: the database's driver does not take these options: {reason_of(error)}")


def opening_fault(place: SqlPlace, error: BaseException, *, known: bool) -> P2PCrawlError:
    """Returns the error that one of the driver's becomes while a sink is opened: SinkAway, or ConfigurationError for
    what no waiting mends. ``known``: this address has worked before, so its host exists.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    chain = (cause, getattr(cause, "__cause__", None), getattr(cause, "__context__", None))
    if not known and _is_unknown_host(chain):
        return ConfigurationError(f"{place.shown}: there is no host of that name: {place.url.host}")
    if fault_of(place.family, error) in (Fault.NO_RIGHT, Fault.UNFIT):
        return ConfigurationError(f"{place.shown}: {reason_of(error)}")
    return database_away(place, error)


def _is_unknown_host(chain: tuple[BaseException | None, ...]) -> bool:
    never = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
    if any(isinstance(each, socket.gaierror) and each.errno in never for each in chain):
        return True
    return any("Name or service not known" in str(each) for each in chain if each is not None)
