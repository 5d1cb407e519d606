"""Exporters: what writes items into an open file, one by one, from people's own pipelines.

They are for pipelines that keep files of their own. The outputs of a crawl are written elsewhere, from what the crawl
has made durable.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from pprint import pformat
from typing import IO, Any
from xml.sax.saxutils import XMLGenerator  # nosec B406  # It writes XML, and reads none.
from xml.sax.xmlreader import AttributesImpl  # nosec B406  # It is a mapping.

from p2pcrawl.spiders.items.item_json import is_item

log = logging.getLogger(__name__)

_NO_ATTRIBUTES: AttributesImpl[str] = AttributesImpl({})
_NO_NAME = re.compile(r"[^\w.-]|^[^A-Za-z_]")


class BaseItemExporter:
    """The base of exporters. ``fields_to_export``: names, or a mapping from names to those in the output; none: all
    that an item has. ``export_empty_fields``: declared fields without a value, too.
    """

    def __init__(self, *, dont_fail: bool = False, **options: Any) -> None:
        self._kwargs: dict[str, Any] = options
        self._configure(options, dont_fail=dont_fail)

    def _configure(self, options: dict[str, Any], dont_fail: bool = False) -> None:
        self.encoding: str | None = options.pop("encoding", None)
        self.fields_to_export: Mapping[str, str] | Iterable[str] | None = options.pop("fields_to_export", None)
        self.export_empty_fields: bool = options.pop("export_empty_fields", False)
        self.indent: int | None = options.pop("indent", None)
        if not dont_fail and options:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(options)}")

    def start_exporting(self) -> None:
        """Writes what stands before the items."""

    def export_item(self, item: Any) -> Any:
        """Writes an item."""
        raise NotImplementedError(f"{type(self).__name__}.export_item is not defined")

    def finish_exporting(self) -> None:
        """Writes what stands after the items. The file stays open."""

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        """Returns a value as it is written: what the serializer of its field makes of it."""
        serializer = field.get("serializer")
        return value if serializer is None else serializer(value)

    def get_serialized_fields(
        self, item: Any, default_value: Any = None, include_empty: bool | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Yields the names and the values of an item's fields as they are written."""
        from itemadapter import ItemAdapter

        adapter = ItemAdapter(item)
        empty = self.export_empty_fields if include_empty is None else include_empty
        for name, shown in self._wanted(adapter, empty=empty):
            if name in adapter:
                yield shown, self.serialize_field(adapter.get_field_meta(name), shown, adapter[name])
            else:
                yield shown, default_value

    def _wanted(self, adapter: Any, *, empty: bool) -> list[tuple[str, str]]:
        wanted = self.fields_to_export
        if wanted is None:
            return [(name, name) for name in adapter.field_names() if empty or name in adapter]
        pairs = list(wanted.items()) if isinstance(wanted, Mapping) else [(name, name) for name in wanted]
        if empty and not isinstance(wanted, Mapping):
            return pairs
        return pairs if empty else [(name, shown) for name, shown in pairs if name in adapter]


class JsonLinesItemExporter(BaseItemExporter):
    """Writes a line of JSON for each item. Options of :class:`json.JSONEncoder` may be given."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self.file = file
        self.encoder = _json_encoder(self._kwargs, self.encoding)

    def export_item(self, item: Any) -> None:
        line = self.encoder.encode(dict(self.get_serialized_fields(item)))
        self.file.write(f"{line}\n".encode(self.encoding or "utf-8"))


class JsonItemExporter(BaseItemExporter):
    """Writes one JSON list. ``indent``: each item on lines of its own, by so many spaces."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self.file = file
        if self.indent is not None:
            self._kwargs.setdefault("indent", self.indent if self.indent > 0 else None)
        self.encoder = _json_encoder(self._kwargs, self.encoding)
        self.first_item = True

    def start_exporting(self) -> None:
        self.file.write(b"[" + self._newline())

    def export_item(self, item: Any) -> None:
        # Encoded first: an item that fails leaves nothing behind.
        data = self.encoder.encode(dict(self.get_serialized_fields(item))).encode(self.encoding or "utf-8")
        self.file.write((b"" if self.first_item else b"," + self._newline()) + data)
        self.first_item = False

    def finish_exporting(self) -> None:
        self.file.write(self._newline() + b"]")

    def _newline(self) -> bytes:
        return b"\n" if self.indent is not None else b""


class XmlItemExporter(BaseItemExporter):
    """Writes an XML document: an element for each item, in it one for each field; what is in a list is a ``value``."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        self.item_element: str = options.pop("item_element", "item")
        self.root_element: str = options.pop("root_element", "items")
        super().__init__(**options)
        self.encoding = self.encoding or "utf-8"
        self.xg = XMLGenerator(file, encoding=self.encoding)

    def start_exporting(self) -> None:
        self.xg.startDocument()
        self.xg.startElement(self.root_element, _NO_ATTRIBUTES)
        self._line(always=True)

    def export_item(self, item: Any) -> None:
        self._space(1)
        self.xg.startElement(self.item_element, _NO_ATTRIBUTES)
        self._line()
        for name, value in self.get_serialized_fields(item, default_value=""):
            self._element(name, value, 2)
        self._space(1)
        self.xg.endElement(self.item_element)
        self._line(always=True)

    def finish_exporting(self) -> None:
        self.xg.endElement(self.root_element)
        self.xg.endDocument()

    def _element(self, name: str, value: Any, depth: int) -> None:
        name = _NO_NAME.sub("_", str(name)) or "_"
        self._space(depth)
        self.xg.startElement(name, _NO_ATTRIBUTES)
        inner = _inner(value)
        if inner is None:
            self.xg.characters(str(value))
        else:
            self._line()
            for each_name, each in inner:
                self._element(each_name, each, depth + 1)
            self._space(depth)
        self.xg.endElement(name)
        self._line()

    def _line(self, *, always: bool = False) -> None:
        if self.indent or (always and self.indent is not None):
            self.xg.characters("\n")

    def _space(self, depth: int) -> None:
        if self.indent:
            self.xg.characters(" " * self.indent * depth)


class CsvItemExporter(BaseItemExporter):
    """Writes CSV. Without ``fields_to_export`` the columns are the fields of the first item. Options of
    :func:`csv.writer` may be given.
    """

    def __init__(
        self,
        file: IO[bytes],
        include_headers_line: bool = True,
        join_multivalued: str = ",",
        errors: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(dont_fail=True, **options)
        self.encoding = self.encoding or "utf-8"
        self.include_headers_line = include_headers_line
        self.stream = _Encoding(file, self.encoding, errors or "strict")
        self.csv_writer = csv.writer(self.stream, **self._kwargs)
        self._headers_not_written = True
        self._told = False
        self._join_multivalued = join_multivalued

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        serializer = field.get("serializer", self._joined)
        return serializer(value)

    def export_item(self, item: Any) -> None:
        if self._headers_not_written:
            self._headers_not_written = False
            self._write_headers(item)
        elif not self._told:
            self._tell_of_others(item)
        fields = self.get_serialized_fields(item, default_value="", include_empty=True)
        self.csv_writer.writerow([_cell(value) for _, value in fields])

    def _write_headers(self, item: Any) -> None:
        if self.fields_to_export is None:
            from itemadapter import ItemAdapter

            self.fields_to_export = list(ItemAdapter(item).field_names())
        wanted = self.fields_to_export
        if self.include_headers_line:
            self.csv_writer.writerow(list(wanted.values() if isinstance(wanted, Mapping) else wanted))

    def _tell_of_others(self, item: Any) -> None:
        """Tells once of values that have no column."""
        from itemadapter import ItemAdapter

        if others := [name for name in ItemAdapter(item) if name not in (self.fields_to_export or ())]:
            self._told = True
            log.warning("no column for %s: name the fields of a CSV file by fields_to_export", ", ".join(others))

    def _joined(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            try:
                return self._join_multivalued.join(value)
            except TypeError:  # Not all of it is text.
                return value
        return value


class PprintItemExporter(BaseItemExporter):
    """Writes items as Python shows them, for people to read."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(**options)
        self.file = file

    def export_item(self, item: Any) -> None:
        self.file.write(f"{pformat(dict(self.get_serialized_fields(item)))}\n".encode())


class PythonItemExporter(BaseItemExporter):
    """Writes nothing: ``export_item`` returns an item as a dict of plain data."""

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        serializer = field.get("serializer", self._plain)
        return serializer(value)

    def export_item(self, item: Any) -> dict[str, Any]:
        return dict(self.get_serialized_fields(item))

    def _plain(self, value: Any) -> Any:
        if is_item(value):
            return self.export_item(value)
        if isinstance(value, list | tuple | set | frozenset):
            return [self._plain(each) for each in value]
        if isinstance(value, bytes):
            return value.decode(self.encoding or "utf-8")
        return value


class _Encoding:
    """A file of bytes, as one to write text into."""

    def __init__(self, file: IO[bytes], encoding: str, errors: str) -> None:
        self._file, self._encoding, self._errors = file, encoding, errors

    def write(self, text: str) -> int:
        return self._file.write(text.encode(self._encoding, self._errors))


def _json_encoder(options: dict[str, Any], encoding: str | None) -> json.JSONEncoder:
    options.setdefault("ensure_ascii", not encoding)
    options.setdefault("default", _json_value)
    return json.JSONEncoder(**options)


def _json_value(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, set | frozenset):
        return list(value)
    if is_item(value):
        from itemadapter import ItemAdapter

        return ItemAdapter(value).asdict()
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _inner(value: Any) -> list[tuple[str, Any]] | None:
    """Returns what is in a value that has something in it; None for one that has not."""
    if is_item(value):
        from itemadapter import ItemAdapter

        return list(ItemAdapter(value).items())
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [("value", each) for each in value]
    return None


def _cell(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
