"""Rows of a table from the pages that a sink is brought: each value in the form of its column, or a reason why not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from p2pcrawl.stores.sink import RefusedItem, SinkPage
from p2pcrawl.stores.sql.item_columns import COLUMNS_MAX, ColumnKind, ItemColumn, columns_seen, name_trouble
from p2pcrawl.stores.sql.stored_columns import NotHeld, StoredColumn, ValueForm, column_converter, in_zone
from p2pcrawl.stores.sql.table_shape import KEY, VISIT, TableShape

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class TableRow(NamedTuple):
    """One item as the values of some columns, named in the same order: first the key, then the visit."""

    place: int
    columns: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def key(self) -> str:
        """The row's key."""
        return str(self.values[0])


@dataclass(frozen=True, slots=True)
class PageRows:
    """One page with the rows of its items."""

    page: SinkPage
    rows: list[TableRow]

    @property
    def prefix(self) -> str:
        """Begins the keys of all the page's items."""
        return f"{self.page.job}-{self.page.fingerprint}-"


def newest_visits(pages: Iterable[SinkPage]) -> list[SinkPage]:
    """Returns the pages, each with its latest visit only: what earlier ones gave would be replaced anyway."""
    newest: dict[tuple[str, str], SinkPage] = {}
    for page in pages:
        known = newest.get((page.job, page.fingerprint))
        if known is None or known.visit <= page.visit:
            newest[page.job, page.fingerprint] = page
    return list(newest.values())


class _Read(NamedTuple):
    """One item that could be read, with where it is from."""

    page: SinkPage
    place: int
    rows: list[TableRow]
    """Those of its page."""
    fields: dict[str, Any]


class RowMaker:
    """Makes rows for a table of one shape.

    Items with the same fields are turned into rows together, column by column, as nearly all fit as they are; only
    where one does not, each is looked at by itself.
    """

    def __init__(self, form: ValueForm, shape: TableShape, *, history: bool) -> None:
        self._form = form
        self._shape = shape
        self._history = history
        self._columns = shape.item_columns
        self._converters = {name: column_converter(column, form) for name, column in shape.columns.items()}
        self._needed = {name for name, column in self._columns.items() if column.needed}
        self._beside = tuple(sorted(shape.beside))
        self._ours = (KEY, VISIT, *(shape.beside[name] for name in self._beside))

    def rows(self, pages: Iterable[SinkPage], refused: list[RefusedItem]) -> list[PageRows]:
        """Returns the rows of pages; items that have none are added to ``refused``."""
        made = [PageRows(page, []) for page in pages]
        alike: dict[tuple[str, ...], list[_Read]] = defaultdict(list)
        for each in made:
            page, rows = each.page, each.rows
            for place, item in enumerate(page.items):
                try:
                    fields = _decode(item)
                except _UNREADABLE:
                    refused.append(RefusedItem(page, place, "it is no JSON object that can be read"))
                    continue
                alike[tuple(fields)].append(_Read(page, place, rows, fields))
        for names, items in alike.items():
            if reason := self._names_trouble(names):
                refused += [RefusedItem(item.page, item.place, reason) for item in items]
            else:
                self._add(names, items, refused)
        return made

    def _names_trouble(self, names: tuple[str, ...]) -> str:
        """Tells why no item with these fields can be a row; "" if one can."""
        for name in names:
            if name not in self._columns:
                return self._no_column(name)
        missing = sorted(self._needed.difference(names))
        return f"{missing[0]}: the column takes no NULL, and the item has no value for it" if missing else ""

    def _add(self, names: tuple[str, ...], items: Sequence[_Read], refused: list[RefusedItem]) -> None:
        """Adds the rows of items with the same fields to those of their pages."""
        columns = (*self._ours, *names)
        try:
            converted = self._converted(names, items)
        except NotHeld as error:
            if len(items) == 1:
                refused.append(RefusedItem(items[0].page, items[0].place, str(error)))
                return
            for item in items:
                self._add(names, [item], refused)
            return
        for item, values in zip(items, zip(*converted, strict=True), strict=True):
            item.rows.append(TableRow(item.place, columns, values))

    def _converted(self, names: tuple[str, ...], items: Sequence[_Read]) -> list[Sequence[Any]]:
        """Returns the values of all columns. Raises NotHeld where one does not fit."""
        found: list[Sequence[Any]] = [
            [item.page.key(item.place, history=self._history) for item in items],
            [item.page.visit for item in items],
        ]
        for name in self._beside:
            column = self._shape.beside[name]
            if name == "fetched_at" and self._shape.columns[column].kind is ColumnKind.DATETIME:
                moments = {item.page.fetched_at for item in items}
                known = {each: self._moment(each, self._shape.columns[column]) for each in moments}
                found.append([known[item.page.fetched_at] for item in items])
            else:
                found.append(self._converters[column]([getattr(item.page, name) for item in items]))
        found += [self._converters[name]([item.fields[name] for item in items]) for name in names]
        return found

    def unknown_columns(self, pages: Iterable[SinkPage]) -> tuple[ItemColumn, ...]:
        """Returns the columns that items of these pages need and the table has not: as many as a table may have."""
        known = {name.lower() for name in self._shape.columns}
        unknown: dict[str, ItemColumn] = {}
        for column in columns_seen(filter(None, map(_fields, (item for page in pages for item in page.items)))):
            lowered = column.name.lower()
            if lowered not in known and not name_trouble(column.name) and lowered not in (KEY, VISIT):
                unknown.setdefault(lowered, column)
        room = max(0, COLUMNS_MAX - len(self._shape.columns))
        return tuple(unknown.values())[:room]

    def _moment(self, seconds: int, column: StoredColumn) -> Any:
        return in_zone(datetime.fromtimestamp(max(0, min(seconds, 2**37)), UTC), column, self._form)

    def _no_column(self, name: str) -> str:
        if trouble := name_trouble(name):
            return f"{name[:80]!r}: {trouble}"
        if name in (KEY, VISIT):
            return f"{name}: the table keeps what is ours in a column of that name: call the field otherwise"
        if name in self._shape.beside.values():
            return f"{name}: the column has that of the page; for the item's own, call this one _{name} in the table"
        return f"{name[:80]}: the table has no such column (?add_columns=true adds it)"


def _fields(item: bytes) -> Mapping[str, Any] | None:
    try:
        return _decode(item)
    except _UNREADABLE:
        return None
