"""The collection that a ``mongodb://`` address names, with what else the address says."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from urllib.parse import unquote

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress

DRIVERS = ("motor", "pymongo")

DATABASE_BYTES_MAX = 63
NAMESPACE_BYTES_MAX = 255 - len(".visits")
"""For "db.collection", and for the collection of visits beside it."""

_ADDRESS = re.compile(r"(mongodb(?:\+srv)?://)((?:[^/?]*@)?)([^/?@]+)(?:/([^?]*))?(?:\?(.*))?", re.DOTALL)
_SECRET_OPTION = re.compile(r"[^=]*password=|authmechanismproperties=.*token", re.IGNORECASE)
_DATABASE_NEVER = re.compile(r'[/\\. "$*<>:|?\0]')
_CERTAIN_WRITES = {"w": {"majority"}, "journal": {"true"}, "j": {"true"}, "retrywrites": {"true"}}
"""Options that can only have these values: others would count items that a dead primary takes along."""


@dataclass(frozen=True, slots=True)
class MongoPlace:
    """One collection, and how it is reached and kept."""

    shown: str
    """Its address without a password."""
    hosts: str
    """Those that the address names, as typed."""
    database: str
    collection: str
    driver_address: SinkAddress
    """An address as drivers want it: it ends with the database."""
    user: str
    history: bool
    driver: str

    @property
    def visits(self) -> str:
        """The collection that has the latest visits of pages that were visited more than once."""
        return f"{self.collection}.visits"

    def has_option(self, name: str) -> bool:
        """Tells whether the address has this option of MongoDB's own."""
        return name.lower() in (pair.partition("=")[0].lower() for pair in _pairs(self.driver_address.url))


def read_mongo_place(address: SinkAddress) -> MongoPlace:
    """Reads an address. Raises ConfigurationError, one line without the password, for what cannot work."""
    found = _ADDRESS.fullmatch(address.url)
    database, dot, collection = unquote(found[4] or "").partition(".") if found else ("", "", "")
    if found is None or not dot or "/" in collection:
        raise ConfigurationError(f"{address.url} names no collection: write mongodb://user@host/database.collection")
    _check_names(address.url, database, collection)
    options = address.options
    place = MongoPlace(
        shown=address.url,
        hosts=found[3],
        database=database,
        collection=collection,
        driver_address=SinkAddress(f"{found[1]}{found[2]}{found[3]}/{database}?{found[5] or ''}", {}, address.secret),
        user=unquote(found[2].removesuffix("@")),
        history=options.get("mode") == "history",
        driver=options.get("driver", "motor"),
    )
    if "item" in options:
        raise ConfigurationError(f"{place.shown}: item= is for tables; documents keep the types of JSON")
    if place.driver not in DRIVERS:
        raise ConfigurationError(f"{place.shown}: there is no driver {place.driver}: it is motor or pymongo")
    _check_options(place)
    return place


def _pairs(url: str) -> list[str]:
    return [pair for pair in url.partition("?")[2].split("&") if pair]


def _check_names(shown: str, database: str, collection: str) -> None:
    if not database or _DATABASE_NEVER.search(database) or len(database.encode()) > DATABASE_BYTES_MAX:
        raise ConfigurationError(f"{shown}: {database!r} is no name of a database in MongoDB")
    wrong = not collection or "$" in collection or "\0" in collection or ".." in collection
    if wrong or collection.startswith((".", "system.")) or collection.endswith("."):
        raise ConfigurationError(f"{shown}: {collection!r} is no name of a collection in MongoDB")
    if len(f"{database}.{collection}".encode()) > NAMESPACE_BYTES_MAX:
        raise ConfigurationError(f"{shown}: the name of the collection is longer than MongoDB takes")


def _check_options(place: MongoPlace) -> None:
    """Looks at MongoDB's own options: the driver knows which there are."""
    for pair in _pairs(place.driver_address.url):
        name, _, value = pair.partition("=")
        if _SECRET_OPTION.match(pair):
            # Options are shown with the address.
            raise ConfigurationError(f"{name} does not belong into the address {place.hosts}/...: it would be shown")
        if value.lower() not in _CERTAIN_WRITES.get(name.lower(), {value.lower()}):
            raise ConfigurationError(f"{place.shown}: leave {name} out: items are written to a majority, with journal")
    if place.user and not place.driver_address.secret and not place.has_option("authMechanism"):
        raise ConfigurationError(
            f"{place.shown} needs a password: set P2PCRAWL_SINK_PASSWORD, or name a file with ?password_file=PATH"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # The driver only warns of options that it does not know.
            MongoClient[dict[str, object]](place.driver_address.with_secret(), connect=False).close()
    except (PyMongoError, ValueError, OSError, UserWarning) as error:
        raise ConfigurationError(f"{place.shown}: {str(error).splitlines()[0]}") from None
