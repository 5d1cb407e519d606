"""From an address to a sink of part files: ``s3://bucket/shop/items.jsonl.gz?beside=url``.

The last word names the folder, and by its ending the format: parts of that address lie in ``shop/items.jsonl.gz/``.
So two formats of one name do not share a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.parts.part_formats import ENDINGS, part_format, split_ending
from p2pcrawl.stores.parts.part_sink import PartPlan, PartSink
from p2pcrawl.stores.parts.part_store import PartStore
from p2pcrawl.stores.parts.told_beside import Beside
from p2pcrawl.stores.tables.column_types import read_types


@dataclass(frozen=True, slots=True)
class PartAddress:
    """An address of parts in its pieces."""

    user: str
    host: str
    """Or the bucket."""
    folder: str
    """Without a slash at either end."""
    ending: str
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the destination: they belong to the address as the folder does."""


def sink_of_parts(
    address: SinkAddress,
    place: SinkPlace,
    opened: Callable[[PartAddress], PartStore],
    options: Collection[str] = (),
) -> PartSink:
    """Makes the sink of an address, in the place that ``opened`` makes of its pieces; ``options``: those that such a
    place has. Raises ConfigurationError.
    """
    if address.options.get("mode", "history") != "history":
        raise ConfigurationError(
            f"{address.url}: nothing in a part can be replaced, so mode={address.options['mode']} cannot be kept: "
            "leave it out, and tell visits by ?beside=url,visit"
        )
    split = split_address(address, options)
    plan = PartPlan(
        where=f"{address.scheme}://{split.host}/{split.folder}",
        ending=split.ending.lower(),
        format=part_format(split.ending, address.url, csv_safe=place.settings.feed_csv_safe),
        beside=Beside(address.options.get("beside", "")),
        types=read_types(address.options.get("types", "")),
        job=place.job,
        store=place.writer,
        replace=place.replace,
    )
    return PartSink(opened(split), plan)


def split_address(address: SinkAddress, options: Collection[str] = ()) -> PartAddress:
    """Splits the address of parts. Raises ConfigurationError for one without a file's name, and for an option that is
    none of these.
    """
    folder = split_folder(address, options)
    stem, ending = split_ending(address.url.partition("?")[0].rpartition("/")[2])
    if not stem or not ending:
        raise ConfigurationError(f"{address.url} does not say how to name the parts: end it in NAME and {ENDINGS}")
    return replace(folder, ending=ending)


def split_folder(address: SinkAddress, options: Collection[str] = ()) -> PartAddress:
    """Splits the address of a folder, of which the ending says nothing. Raises ConfigurationError for an option that is
    none of these.
    """
    place, _, query = address.url.partition("://")[2].partition("?")
    given = {name: unquote(value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)}
    if unknown := [name for name in given if name not in options]:
        raise ConfigurationError(f"{address.url}: part files there know no option ?{unknown[0]}=")
    server, _, path = place.partition("/")
    user, at, host = server.rpartition("@")
    return PartAddress(unquote(user) if at else "", host, unquote(path.strip("/")), "", given)
