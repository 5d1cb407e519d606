"""From an address to a sink of part files: ``s3://bucket/shop/items.jsonl.gz?beside=url``.

The last word names the folder, and by its ending the format: parts of that address lie in ``shop/items.jsonl.gz/``.
So two formats of one name do not share a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


def sink_of_parts(address: SinkAddress, place: SinkPlace, opened: Callable[[PartAddress], PartStore]) -> PartSink:
    """Makes the sink of an address, in the place that ``opened`` makes of its pieces. Raises ConfigurationError."""
    if address.options.get("mode", "history") != "history":
        raise ConfigurationError(
            f"{address.url}: nothing in a part can be replaced, so mode={address.options['mode']} cannot be kept: "
            "leave it out, and tell visits by ?beside=url,visit"
        )
    split = split_address(address)
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


def split_address(address: SinkAddress) -> PartAddress:
    """Splits the address of parts. Raises ConfigurationError for one without a file's name."""
    place, _, query = address.url.partition("://")[2].partition("?")
    if query:
        name = query.partition("&")[0].partition("=")[0]
        raise ConfigurationError(f"{address.url}: part files know no option ?{name}=")
    server, _, path = place.partition("/")
    user, at, host = server.rpartition("@")
    stem, ending = split_ending(path.rpartition("/")[2])
    if not stem or not ending:
        raise ConfigurationError(f"{address.url} does not say how to name the parts: end it in NAME and {ENDINGS}")
    return PartAddress(unquote(user) if at else "", host, unquote(path.strip("/")), ending)
