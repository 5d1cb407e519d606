"""The kinds of sinks, by what their addresses begin with, and the one door by which sinks are made.

A kind's module is imported when an address asks for it, so that nobody needs a driver that he does not use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress, parse_sink, scheme_of
from p2pcrawl.stores.shaping import check_options, shaped
from p2pcrawl.stores.sink import Sink


@dataclass(frozen=True, slots=True)
class SinkPlace:
    """The surroundings of a sink, as it is told of them when it is made."""

    job_name: str
    """The name of the spider, for those that put it into names and columns."""
    writer: str = ""
    """A name of this master's store, in hex: the same at every restart, and nobody else's."""
    replace: bool = False
    """What the destination holds already of earlier jobs goes when the job begins."""
    job: str = ""
    """A name of the job that no other job in the world has (``SinkPage.job``), where other masters bring items of it,
    too; "" where nobody else does."""
    settings: Settings = field(default_factory=Settings)
    """Those of the job."""


MakeSink = Callable[[SinkAddress, SinkPlace], Sink]
"""Makes a sink without touching its destination. Raises ConfigurationError for an address that can be seen not to
work, and where a package is missing, with the extra to install."""


@dataclass(frozen=True, slots=True)
class _SinkKind:
    module: str
    extra: str
    """The extra of p2pcrawl that installs the packages it needs; "" where there are none."""
    make: str = "make_sink"
    options: frozenset[str] = frozenset()
    """Its own options in an address, beside those of all kinds."""
    cuts: bool = False
    """It cuts its batches itself from what it is brought, as its address says."""
    kept: frozenset[str] = frozenset()
    """Further ones that stay in the address, for they tell one destination from another."""
    local: bool = False
    """Its destinations are files of one machine."""
    settle: str = ""
    """``module:function`` that makes of an address, where it was typed, one that says the same on other machines."""


_FILE = _SinkKind("p2pcrawl.stores.files.in_thread", "", "make_file_sink", local=True)
_WEBHOOK = _SinkKind("p2pcrawl.stores.webhooks.webhook_sink", "", "WebhookSink", options=frozenset({"auth"}), cuts=True)
_MONGO = _SinkKind("p2pcrawl.stores.mongo.mongo_sink", "", "make_mongo_sink")
_PARTS = "p2pcrawl.stores.parts"
_PART_OPTIONS = frozenset({"beside", "types"})
_OBJECTS = _SinkKind(
    f"{_PARTS}.object_store", "objects", "make_object_sink", _PART_OPTIONS, kept=frozenset({"endpoint", "region"})
)
_SQL = _SinkKind(
    "p2pcrawl.stores.sql.sql_sink",
    "sql",
    "make_sql_sink",
    frozenset({"columns", "add_columns"}),
    kept=frozenset({"table"}),
    settle="p2pcrawl.stores.sql.typed_address:settle_address",
)
_SQLITE = replace(_SQL, local=True)
_KINDS: dict[str, _SinkKind] = {
    "": _FILE,
    "az": replace(_OBJECTS, kept=frozenset({"endpoint"})),
    "file": _SinkKind(f"{_PARTS}.folder_store", "", "make_folder_sink", _PART_OPTIONS),
    "ftp": _SinkKind(f"{_PARTS}.ftp_store", "", "make_ftp_sink", _PART_OPTIONS),
    "gs": _OBJECTS,
    "http": _WEBHOOK,
    "https": _WEBHOOK,
    "mariadb": _SQL,
    "mariadb+asyncmy": _SQL,
    "mongodb": _MONGO,
    "mongodb+srv": _MONGO,
    "mysql": _SQL,
    "mysql+asyncmy": _SQL,
    "postgres": _SQL,
    "postgresql": _SQL,
    "postgresql+asyncpg": _SQL,
    "s3": replace(_OBJECTS, kept=frozenset({"endpoint", "region"})),
    "sftp": _SinkKind(f"{_PARTS}.sftp_store", "sftp", "make_sftp_sink", _PART_OPTIONS),
    "sqlite": _SQLITE,
    "sqlite+aiosqlite": _SQLITE,
}
"""By scheme; a path has none."""


def register_kind(scheme: str, module: str, *, options: frozenset[str] = frozenset()) -> None:
    """Makes addresses of another scheme known: the sinks that they name are made by ``make_sink`` of a module of one's
    own. In a cluster every master has to know it.
    """
    _KINDS[scheme.lower()] = _SinkKind(module, "", options=options)


def own_options(scheme: str) -> frozenset[str]:
    """Returns the options that the kind of sink with this scheme has beside those of all kinds."""
    kind = _KINDS.get(scheme)
    return kind.options if kind is not None else frozenset()


def is_local(url: str) -> bool:
    """Tells whether an address names a file of one machine, into which masters on several cannot write."""
    kind = _KINDS.get(scheme_of(url))
    return kind is not None and kind.local


def kept_options(scheme: str) -> frozenset[str]:
    """Returns the options of this kind of sink that stay in the address."""
    kind = _KINDS.get(scheme)
    return kind.kept if kind is not None else frozenset()


def read_sink(typed: str, *, replace: bool = False) -> SinkSpec:
    """Reads a destination as typed after -o or -O. Raises ConfigurationError, which never shows the password."""
    address = parse_sink(typed, own_options(scheme_of(typed)))
    kind = _KINDS.get(address.scheme)
    if kind is not None and kind.settle:
        module, _, function = kind.settle.partition(":")
        address = getattr(import_module(module), function)(address)
    return SinkSpec(address.url, address.options, replace, address.secret)


def address_of(spec: SinkSpec) -> SinkAddress:
    """Returns the address of a sink that has travelled with its job."""
    return SinkAddress(spec.url, dict(spec.options), spec.secret)


def make_sink(address: SinkAddress, place: SinkPlace) -> Sink:
    """Makes the sink that an address names, shaped as its options say, without touching its destination. Raises
    ConfigurationError.
    """
    kind = _KINDS.get(address.scheme)
    if kind is None:
        known = ", ".join(f"{scheme}://" for scheme in sorted(_KINDS) if scheme)
        raise ConfigurationError(f"no sink has addresses that begin with {address.scheme}://: there are {known}")
    try:
        make: MakeSink = getattr(import_module(kind.module), kind.make)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("p2pcrawl"):
            raise
        raise ConfigurationError(
            f"{address.url} needs the package {error.name}: pip install 'p2pcrawl[{kind.extra}]'"
        ) from None
    address = _with_fields(address, place.settings.feed_export_fields)
    check_options(address, kind.options, kind.kept)
    return shaped(make(address, place), address.options, batches=not kind.cuts)


def _with_fields(address: SinkAddress, fields: Mapping[str, str]) -> SinkAddress:
    """Returns the address with the fields of the job's settings, where it names none itself."""
    if not fields or address.options.get("fields"):
        return address
    return replace(address, options={**address.options, "fields": json.dumps(fields)})
