"""The shape of what a sink is brought: which items, which of their fields and under which names, in which batches.

By options of its address (``?fields=title,price:cost&where=price > 10&batch=500``) each sink has a shape of its own.
Items that its filter leaves out leave gaps: the keys of the others are the same with any filter.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Final

import msgspec

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import OPTIONS, SinkAddress
from p2pcrawl.stores.item_filter import ABSENT, ItemTest, item_test, value_at
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, Sink, SinkPage, Written

MODES: Final = ("upsert", "history")
BATCH_MAX: Final = 100_000
BATCH_BYTES_MAX: Final = 64 * 1024 * 1024
LINGER_MAX_S: Final = 3600.0
FIELDS_MAX: Final = 1000

TURN_BYTES: Final = 512 * 1024
"""Items that are shaped in one go, some milliseconds, before others on the loop have their turn."""

Fields = Sequence[tuple[str, str]]
"""The fields that a sink gets, in order: where each stands in an item, and what it is called in the sink."""

_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_plain_fields = msgspec.json.Decoder(dict[str, Any]).decode


class _NoObject(Exception):
    """Raised for an item that is not a JSON object; the message is a reason."""


def check_options(address: SinkAddress, own: frozenset[str] = frozenset(), kept: frozenset[str] = frozenset()) -> None:
    """Raises ConfigurationError for an option that every sink may have and that cannot be read, and for a name in the
    query that is one keystroke away from such an option, or from one of this kind of sink's ``own``. Those that are
    ``kept`` in the address are of its own, too.
    """
    _check_names(address, OPTIONS | own, kept)
    options = address.options
    mode = options.get("mode", MODES[0])
    if mode not in MODES:
        raise ConfigurationError(f"the sink's option ?mode= is {' or '.join(MODES)}, not {mode!r}")
    batch_limits(BatchLimits(), options)
    _shape(options)


def shaped(sink: Sink, options: Mapping[str, str], *, batches: bool = True) -> Sink:
    """Returns the sink behind its filter, its fields and its batch sizes; itself where the options name none. Without
    ``batches`` the sink sees to these itself. Raises ConfigurationError for an option that cannot be read.
    """
    shape = _shape(options)
    sizes = {name: options[name] for name in ("batch", "batch_bytes", "linger") if batches and name in options}
    return ShapedSink(sink, shape, sizes) if shape is not None or sizes else sink


def fields_of(given: str | Sequence[str] | Mapping[str, str]) -> Fields:
    """Reads a choice of fields, in the words of Scrapy's feeds: a list of names, or a mapping from names to those in
    the sink; as text with commas and colons (``title,price:cost``), or either in JSON. Raises ConfigurationError.
    """
    if isinstance(given, str):
        pairs = _fields_typed(given)
    else:
        pairs = list(given.items()) if isinstance(given, Mapping) else [(name, name) for name in given]
    if not all(isinstance(each, str) and each for pair in pairs for each in pair):
        raise ConfigurationError("the fields of a sink are names, or a mapping from names to names")
    if not 0 < len(pairs) <= FIELDS_MAX:
        raise ConfigurationError(f"a sink has from 1 to {FIELDS_MAX} fields, not {len(pairs)}")
    names = [name for _, name in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"the sink's field {twice!r} is given twice")
    return pairs


def batch_limits(own: BatchLimits, options: Mapping[str, str]) -> BatchLimits:
    """Returns the sizes of batches that the options name, and a sink's ``own`` where they name none. Raises
    ConfigurationError.
    """
    return BatchLimits(
        items=_whole(options, "batch", own.items, BATCH_MAX),
        bytes=_whole(options, "batch_bytes", own.bytes, BATCH_BYTES_MAX),
        linger_s=_seconds(options, own.linger_s),
    )


class ShapedSink:
    """A :class:`~p2pcrawl.stores.sink.Sink` in front of another one, which is brought only what it is to have. Refused
    items are those of the pages as they came.
    """

    def __init__(self, sink: Sink, shape: Shape | None, sizes: Mapping[str, str]) -> None:
        self._sink = sink
        self._shape = shape
        self._sizes = sizes
        self.limits = batch_limits(sink.limits, sizes)

    async def open(self, position: Position | None) -> Position:
        opened = await self._sink.open(position)
        self.limits = batch_limits(self._sink.limits, self._sizes)
        return opened

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        if self._shape is None:
            return await self._sink.write(pages)
        refused: list[RefusedItem] = []
        brought, size = [], 0
        for page in pages:
            brought.append(self._shape.page(page, refused))
            size += sum(map(len, page.items))
            if size > TURN_BYTES:
                size = 0
                await asyncio.sleep(0)
        unfit = len(refused)
        written = await self._sink.write(brought)
        # By what they are and not by their names, for parts of one page may be brought as two.
        original = {id(cut): page for cut, page in zip(brought, pages, strict=True)}
        for each in written.refused:
            page = original[id(each.page)]
            refused.append(RefusedItem(page, _place(page, each.page.number_of(each.place)), each.reason))
        left_out = sum(len(page.items) for page in pages) - sum(len(cut.items) for cut in brought) - unfit
        return Written(written.position, refused, written.left_out + left_out)

    async def finish(self) -> None:
        await self._sink.finish()

    async def close(self) -> None:
        await self._sink.close()


class Shape:
    """The fields and the filter of a sink, applied to items as they are: bytes of JSON."""

    def __init__(self, fields: Fields = (), where: ItemTest | None = None) -> None:
        self._fields = [(path, msgspec.json.encode(name) + b":") for path, name in fields]
        self._where = where

    def page(self, page: SinkPage, refused: list[RefusedItem]) -> SinkPage:
        """Returns the page as the sink is brought it; what cannot be shaped at all is added to ``refused``."""
        items, numbers = [], []
        for place, item in enumerate(page.items):
            try:
                cut = self.item(item)
            except _NoObject as error:
                refused.append(RefusedItem(page, place, str(error)))
                continue
            if cut is not None:
                items.append(cut)
                numbers.append(page.number_of(place))
        return replace(page, items=items, numbers=page.numbers if len(items) == len(page.items) else numbers)

    def item(self, item: bytes) -> bytes | None:
        """Returns the item with the fields that the sink gets, None where the filter leaves it out."""
        if self._where is not None and not self._where(_decoded_fields(item)):
            return None
        if not self._fields:
            return item
        found = _split_fields(item)
        parts = [head + value for path, head in self._fields if (value := _value(found, path))]
        return b"{" + b",".join(parts) + b"}"


def _value(found: Mapping[str, msgspec.Raw], path: str) -> bytes:
    """Returns the JSON of a field, and no bytes where there is none."""
    if path in found:
        return bytes(found[path])
    first, dot, rest = path.partition(".")
    if not dot or first not in found:
        return b""
    inner = _loaded(bytes(found[first]))
    value = value_at(inner, rest)
    return b"" if value is ABSENT else json.dumps(value, ensure_ascii=True).encode()


def _split_fields(item: bytes) -> Mapping[str, msgspec.Raw]:
    try:
        return _raw_fields(item)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {name: msgspec.Raw(json.dumps(value).encode()) for name, value in _decoded_fields(item).items()}


def _decoded_fields(item: bytes) -> dict[str, Any]:
    try:
        return _plain_fields(item)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        fields = _loaded(item)
        if not isinstance(fields, dict):
            raise _NoObject("the item is not a JSON object") from None
        return fields


def _loaded(text: bytes) -> Any:
    """Reads JSON as Python does, which also takes NaN and halves of surrogate pairs."""
    try:
        return json.loads(text.decode("utf-8", "replace"))
    except RecursionError:
        raise _NoObject("the item is nested too deeply to be shaped") from None
    except ValueError as error:
        raise _NoObject(f"the item is not JSON: {error}") from None


def _place(page: SinkPage, number: int) -> int:
    return number if page.numbers is None else list(page.numbers).index(number)


def _shape(options: Mapping[str, str]) -> Shape | None:
    fields = fields_of(options["fields"]) if options.get("fields") else ()
    where = item_test(options["where"]) if options.get("where", "").strip() else None
    return Shape(fields, where) if fields or where is not None else None


def _fields_typed(text: str) -> list[tuple[str, str]]:
    if text.lstrip()[:1] in ("[", "{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"the sink's option ?fields= is no JSON: {error}") from None
        return list(found.items()) if isinstance(found, dict) else [(name, name) for name in found]
    names = (part.strip() for part in text.split(",") if part.strip())
    return [(path, name or path) for path, _, name in (each.partition(":") for each in names)]


def _whole(options: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise ConfigurationError(f"the sink's option ?{name}= is a whole number from 1 to {most}, not {text!r}")
    return int(text)


def _seconds(options: Mapping[str, str], default: float) -> float:
    text = options.get("linger")
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not (isfinite(seconds) and 0 <= seconds <= LINGER_MAX_S):
        raise ConfigurationError(
            f"the sink's option ?linger= is a number of seconds from 0 to {LINGER_MAX_S:g}, not {text!r}"
        )
    return seconds


def _check_names(address: SinkAddress, known: frozenset[str], kept: frozenset[str]) -> None:
    """Refuses a typing error, which would go to the destination, and be ignored there or worse."""
    query = address.url.partition("?")[2] if address.scheme else ""
    for pair in query.split("&") if query else ():
        name, equals, _ = pair.partition("=")
        if " " in name or not (equals or "where" not in address.options):
            raise ConfigurationError(
                f"the sink's address has something in it that is no option: '&{name}' "
                "(a filter says and; an & within a value is written %26)"
            )
        if name in kept:
            continue
        near = next((each for each in sorted(known | kept) if _one_keystroke(name.lower(), each)), None)
        if near is not None:
            raise ConfigurationError(
                f"the sink's address has no option {name!r}: did you mean {near}? "
                f"(an option of the destination is written %{ord(name[0]):02x}{name[1:]})"
            )


def _one_keystroke(typed: str, name: str) -> bool:
    """Tells whether one letter was added, left out, exchanged for another one or for its neighbour."""
    if abs(len(typed) - len(name)) > 1:
        return False
    head = next((i for i, (a, b) in enumerate(zip(typed, name, strict=False)) if a != b), min(len(typed), len(name)))
    one, other = typed[head:], name[head:]
    swapped = one[1:2] + one[:1] + one[2:]
    return one[1:] == other or one == other[1:] or one[1:] == other[1:] or swapped == other
