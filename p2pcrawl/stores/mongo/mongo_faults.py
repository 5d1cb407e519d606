"""The errors of a MongoDB driver, told apart by who can act: wait, mend the address, or refuse the item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bson.errors import BSONError
from pymongo import errors

from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.stores.mongo.mongo_place import MongoPlace
from p2pcrawl.stores.sink import SinkAway

LINE_MAX = 300
DUPLICATE_KEY = 11000
UNAUTHORIZED = 13

PASSING = frozenset(
    {
        6, 7, 13, 24, 46, 50, 64, 84, 89, 91, 95, 100, 112, 117, 133, 134, 136, 189, 202, 234, 262, 290, 314, 317, 358,
        384, 391, 402, 6000, 8000, 9001, 10058, 10107, 11600, 11601, 11602, 13388, 13435, 13436, 14031, 16500, 50001,
    }
)  # fmt: skip
"""Codes of what is no fault of an item: no primary, stepping down, shutting down, no majority in time, locks,
interrupted, full disk, quota or rate of a hosted service, a shard that moved, rights that were taken away."""

UNFIT = (BSONError, OverflowError, RecursionError, UnicodeError)
"""Raised by the driver for a document that it cannot encode, before it has sent it."""

_REFUSED_USER = frozenset({11, 18, 8000})
_NO_SUCH_NAME = re.compile(r"\[Errno (-2|-5|8|11001)\]|name does not exist|does not contain an answer", re.IGNORECASE)
_TIMES = re.compile(r" ?\(configured timeouts:[^)]*\)|, Timeout: .*|, full error: .*", re.DOTALL)


def line_of(error: BaseException | str) -> str:
    """Returns what an error says, as one short line."""
    text = " ".join(_TIMES.sub("", str(error)).split()) or type(error).__name__
    return text if len(text) <= LINE_MAX else text[: LINE_MAX - 3] + "..."


def passes(code: Any, labels: Any = ()) -> bool:
    """Tells whether an error with this code has nothing to do with what was written, and may pass."""
    return code in PASSING or "RetryableWriteError" in (labels or ())


def is_answer(error: errors.PyMongoError) -> bool:
    """Tells whether the server refused a command, for a reason that will not pass."""
    return (
        isinstance(error, errors.OperationFailure)
        and not isinstance(error, errors.ExecutionTimeout | errors.WTimeoutError)
        and not passes(error.code, _labels(error.details))
    )


def mongo_away(place: MongoPlace, error: BaseException | str) -> SinkAway:
    """Makes the error for whoever waits."""
    said = "no answer in time" if isinstance(error, TimeoutError) else line_of(error)
    return SinkAway(f"MongoDB at {place.hosts}: {said}")


def fault_at_opening(place: MongoPlace, error: errors.PyMongoError) -> P2PCrawlError:
    """Returns the error that one of the driver's becomes while a sink is opened: SinkAway, or ConfigurationError for
    what no waiting mends.
    """
    if isinstance(error, errors.OperationFailure) and error.code in _REFUSED_USER:
        who = f"user {place.user}" if place.user else "us"
        hint = (
            ""
            if place.has_option("authSource")
            else f" of database {place.database} (if of another: ?authSource=admin)"
        )
        return ConfigurationError(f"MongoDB at {place.hosts} refuses {who}{hint}: {_said(error)}")
    if isinstance(error, errors.OperationFailure) and error.code == UNAUTHORIZED:
        return ConfigurationError(f"{place.shown}: {place.user or 'nobody'} may not write there: {_said(error)}")
    if isinstance(error, errors.ServerSelectionTimeoutError):
        each = [line for line in line_of(error).split(",") if "Errno" in line]
        return (
            _unknown_host(place, error) if each and all(map(_NO_SUCH_NAME.search, each)) else mongo_away(place, error)
        )
    if isinstance(error, errors.ConfigurationError) and _NO_SUCH_NAME.search(str(error)):
        return _unknown_host(place, error)
    if isinstance(error, errors.ConfigurationError | errors.InvalidName | errors.InvalidOperation) or is_answer(error):
        return ConfigurationError(f"{place.shown}: {_said(error)}")
    return mongo_away(place, error)


def _unknown_host(place: MongoPlace, error: errors.PyMongoError) -> ConfigurationError:
    return ConfigurationError(f"{place.shown}: there is no host of that name: {line_of(error)}")


def _said(error: errors.PyMongoError) -> str:
    details = error.details if isinstance(error, errors.OperationFailure) else None
    return line_of((details or {}).get("errmsg") or error)


def _labels(details: Mapping[str, Any] | None) -> Any:
    return (details or {}).get("errorLabels")
