"""Scrapy's FEEDS setting, in its own words: addresses, each with a mapping of options, become destinations of ours.

What a feed asks for and no destination here can do is refused by its name, with what to write instead; nothing is left
out silently. Beside Scrapy's options a feed may have ours: ``where``, ``mode``, ``batch``, ``password_file`` and those
of its kind of sink.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import quote, unquote

from p2pcrawl.model.choosing.feed_encoding import is_kept_to, is_marked
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import OPTIONS, scheme_of
from p2pcrawl.stores.files.opening import STANDARD_OUTPUT, ending_of
from p2pcrawl.stores.kinds import kept_options, own_options, read_sink
from p2pcrawl.stores.shaping import fields_of

FORMATS: Final = {
    **{"json": "json", "jsonlines": "jsonl", "jsonl": "jsonl", "jl": "jsonl", "csv": "csv", "xml": "xml"},
    "parquet": "parquet",
}
"""Formats of files by Scrapy's names, one of ours beside them, and their endings."""
_ENDINGS: Final = {"jl": "jsonl", "ndjson": "jsonl"}
_PARAMETER: Final = re.compile(r"%\((\w+)\)(0?\d*[sd])")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\+|%2B)00-00")
_GZIP: Final = "GzipPlugin"

WORDS: Final = frozenset(
    {
        *("format", "fields", "overwrite", "encoding", "indent", "batch_item_count", "item_filter", "item_classes"),
        *("store_empty", "uri_params", "postprocessing", "item_export_kwargs"),
    }
)
"""The options of feeds that are Scrapy's."""
_INSTEAD: Final = {
    "item_filter": "write what passes as 'where': 'price > 10 and not sold'",
    "item_classes": "items have no class on their way: write what passes as 'where': 'price > 10'",
    "item_export_kwargs": "leave it out",
    "uri_params": "write %(name)s, %(time)s, or the name of a spider's argument as %(category)s into the address",
    "gzip_compresslevel": "leave it out: all is compressed at level 6",
    "gzip_mtime": "leave it out",
    "gzip_filename": "leave it out",
}


def feed_sinks(feeds: Mapping[str, Any], spider: str, arguments: Mapping[str, Any], now: datetime) -> list[SinkSpec]:
    """Reads a FEEDS setting, in which ``%(time)s`` stands for ``now``. Raises ConfigurationError."""
    told = {name: str(value) for name, value in arguments.items()}
    given = {**told, "name": spider, "time": now.astimezone(UTC).replace(microsecond=0).isoformat()}
    given["time"] = given["time"].replace(":", "-")
    return [_Feed(address, options, given).spec() for address, options in feeds.items()]


def tells_time(address: str) -> bool:
    """Tells whether a feed has another address at each start."""
    return any(name == "time" for name, _ in _PARAMETER.findall(address))


def same_but_for_time(address: str, other: str) -> bool:
    """Tells whether two addresses of feeds differ in nothing but the times that ``%(time)s`` stood for."""
    return _TIME.sub("", address) == _TIME.sub("", other)


class _Feed:
    """One feed, being read. Its options are taken out one by one, so that what is left was not understood."""

    def __init__(self, address: str, options: Any, given: Mapping[str, str]) -> None:
        self._shown = f"FEEDS: {re.sub(r'(?<=://).*@', '***@', address).partition('?')[0]}"
        if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
            raise self._wrong("a feed is a mapping from options to values, as {'format': 'json'}")
        self._left = {name: value for name, value in options.items() if value is not None}
        self._given = given
        self._parts = self._whole("batch_item_count")
        if scheme_of(address) == "file" and not self._parts:
            # To Scrapy it names one file; a folder of parts it is only where parts are asked for.
            address = unquote(address.partition("://")[2].removeprefix("localhost"))
        self._local = not scheme_of(address)
        if address == "stdout:":
            address = STANDARD_OUTPUT
        self._address = _PARAMETER.sub(self._filled, address)

    def spec(self) -> SinkSpec:
        """Returns the destination that it asks for."""
        self._refuse_words()
        replace = self._flag("overwrite", False)
        encoding = self._encoding()
        if self._flag("store_empty", True) is False and self._local:
            raise self._wrong("an output without items is there, and empty: 'store_empty': False cannot be kept")
        options = {}
        if fields := self._taken("fields"):
            options["fields"] = json.dumps(self._fields(fields))
        if encoding and self._local:
            options["encoding"] = encoding
        if self._local:
            return self._local_spec(options, replace)
        return self._remote_spec(options, replace)

    def _local_spec(self, options: dict[str, str], replace: bool) -> SinkSpec:
        if self._parts:
            raise self._wrong(
                "one file is not cut into batches: name a folder of parts instead, as file:///absolute/folder/items.jsonl"
            )
        ending, packing = ending_of(self._address)
        named = _ENDINGS.get(ending, ending)
        format, wanted = self._format() or named, self._packing(packing)
        if self._address == STANDARD_OUTPUT and (format not in ("", "jsonl") or wanted):
            raise self._wrong("standard output is in JSON Lines only: 'format': 'jsonlines'")
        if self._address != STANDARD_OUTPUT and (format, wanted) != (named, packing):
            options["format"] = format + wanted
        if format == "parquet" and wanted:
            raise self._wrong(
                f"what is in Parquet is compressed already: leave out {_GZIP}, and endings behind .parquet"
            )
        if "indent" in self._left:
            indent = self._whole("indent")
            if format == "json":
                options["indent"] = str(indent)
            elif format == "xml" and indent:
                raise self._wrong("XML is not indented: leave out 'indent', or set it to 0")
        options |= self._ours(OPTIONS - {"mode", "password_env", "password_file", "driver", "item"})
        return SinkSpec(self._address, options, replace)

    def _remote_spec(self, options: dict[str, str], replace: bool) -> SinkSpec:
        self._check_ending()
        self._whole("indent")
        if self._parts:
            options["batch"] = str(self._parts)
        scheme = scheme_of(self._address)
        options |= self._ours(OPTIONS | own_options(scheme) | kept_options(scheme))
        added = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
        joint = ("&" if "?" in self._address else "?") if added else ""
        return read_sink(self._address + joint + added, replace=replace)

    # -- single options -----------------------------------------------------------------------

    def _refuse_words(self) -> None:
        for name, instead in _INSTEAD.items():
            if self._taken(name):
                raise self._wrong(f"{name!r} is not known here: {instead}")

    def _format(self) -> str:
        format = self._taken("format")
        if format is None:
            return ""
        if not isinstance(format, str) or format not in FORMATS:
            instead = ": 'jsonlines' keeps all that they do" if format in ("pickle", "marshal") else ""
            raise self._wrong(f"there is no format {format!r}, but {', '.join(FORMATS)}{instead}")
        return FORMATS[format]

    def _check_ending(self) -> None:
        """Refuses a format that is not that of the address's ending. To a database neither says anything."""
        ending, packing = ending_of(self._address.partition("?")[0])
        wanted = self._packing(packing)
        format = self._taken("format")
        if not ending:
            return
        if format is not None and FORMATS.get(str(format)) != _ENDINGS.get(ending, ending):
            raise self._wrong(f"the address ends in .{ending}, and that is its format: leave out 'format': {format!r}")
        if wanted != packing:
            raise self._wrong(f"to have it compressed, end the address in .{ending}.gz")

    def _packing(self, told: str) -> str:
        """Returns the ending of what is compressed as asked for: by a plugin, else as the address tells."""
        plugins = self._taken("postprocessing") or ()
        if not isinstance(plugins, list | tuple):
            raise self._wrong(f"'postprocessing' is a list of plugins, not {plugins!r}")
        names = [str(getattr(each, "__qualname__", each)) for each in plugins]
        if other := [name for name in names if name.rpartition(".")[2] != _GZIP]:
            raise self._wrong(f"there is no plugin {other[0]} here, only scrapy.extensions.postprocessing.{_GZIP}")
        if names and told == ".zst":
            raise self._wrong(f"the address says zstd, and {_GZIP} gzip: leave one of them out")
        return ".gz" if names else told

    def _encoding(self) -> str:
        """Returns the encoding that was asked for, where it is not that of all outputs."""
        encoding = str(self._taken("encoding") or "")
        if not is_kept_to(encoding):
            raise self._wrong(f"all is written in UTF-8: 'encoding': {encoding!r} cannot be kept")
        return encoding if is_marked(encoding) else ""

    def _fields(self, fields: Any) -> Any:
        if isinstance(fields, str) or not isinstance(fields, Mapping | list | tuple):
            raise self._wrong("'fields' is a list of names, or a mapping from names to those in the output")
        try:
            fields_of(fields)
        except ConfigurationError as error:
            raise self._wrong(str(error)) from None
        return fields

    def _ours(self, known: frozenset[str]) -> dict[str, str]:
        """Returns the options that are no words of Scrapy's; there must be no others."""
        for name in self._left:
            if name not in known:
                near = get_close_matches(name, known | WORDS, n=1, cutoff=0.6)
                raise self._wrong(f"it has no option {name!r}{f': did you mean {near[0]!r}?' if near else ''}")
        for name, value in self._left.items():
            if not isinstance(value, str | int | float):
                raise self._wrong(f"{name!r} is a text or a number, not {value!r}")
        return {name: str(value) for name, value in self._left.items()}

    # -- values -------------------------------------------------------------------------------

    def _taken(self, name: str) -> Any:
        return self._left.pop(name, None)

    def _flag(self, name: str, default: bool) -> bool:
        value = self._taken(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong(f"{name!r} is True or False, not {value!r}")
        return value

    def _whole(self, name: str) -> int:
        value = self._taken(name)
        if value is None:
            return 0
        if not isinstance(value, int) or isinstance(value, bool) or value > 100_000:
            raise self._wrong(f"{name!r} is a whole number, not {value!r}")
        return max(0, value)

    def _filled(self, found: re.Match[str]) -> str:
        name = found[1]
        if name in ("batch_id", "batch_time"):
            raise self._wrong(f"parts have names of their own: leave %({name})s out of the address")
        if name not in self._given:
            raise self._wrong(
                f"%({name})s is not known: there are {', '.join(f'%({n})s' for n in sorted(self._given))}"
            )
        write: Callable[[str], str] = str if self._local else lambda text: quote(text, safe="")
        return write(str(self._given[name]))

    def _wrong(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self._shown}: {what}")
