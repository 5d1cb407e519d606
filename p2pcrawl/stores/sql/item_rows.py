"""Rows of a table from the pages that a sink is brought: each value in the form of its column, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from p2pcrawl.stores.sink import RefusedItem, SinkPage
from p2pcrawl.stores.sql.item_columns import COLUMNS_MAX, ColumnKind, ItemColumn, columns_seen, name_trouble
from p2pcrawl.stores.sql.stored_columns import Convert, NotHeld, StoredColumn, ValueForm, converter, in_zone
from p2pcrawl.stores.sql.table_shape import KEY, VISIT, TableShape

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True, slots=True)
class TableRow:
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
    rows: Sequence[TableRow]

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


class RowMaker:
    """Makes rows for a table of one shape."""

    def __init__(self, form: ValueForm, shape: TableShape, *, history: bool) -> None:
        self._form = form
        self._shape = shape
        self._history = history
        self._converters: dict[str, Convert] = {n: converter(c, form) for n, c in shape.item_columns.items()}
        self._needed = [name for name, column in shape.item_columns.items() if column.needed]
        self._ours = tuple([KEY, VISIT, *(shape.beside[name] for name in sorted(shape.beside))])
        self._reads: dict[str, Convert] = {
            name: converter(shape.columns[column], form) for name, column in shape.beside.items()
        }

    def rows(self, page: SinkPage, refused: list[RefusedItem]) -> PageRows:
        """Returns the rows of a page; items that have none are added to ``refused``."""
        rows = []
        beside: tuple[Any, ...] | None = None
        for place, item in enumerate(page.items):
            try:
                if beside is None:
                    beside = self._beside(page)
                key = page.key(place, history=self._history)
                rows.append(self._row(place, (key, page.visit, *beside), item))
            except NotHeld as error:
                refused.append(RefusedItem(page, place, str(error)))
        return PageRows(page, rows)

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

    def _beside(self, page: SinkPage) -> tuple[Any, ...]:
        """Returns the values of our own columns, in the order of what they hold."""
        values = []
        for name in sorted(self._shape.beside):
            column = self._shape.columns[self._shape.beside[name]]
            if name == "fetched_at":
                values.append(self._moment(page.fetched_at, column))
            else:
                values.append(self._reads[name](page.url if name == "url" else page.job))
        return tuple(values)

    def _moment(self, seconds: int, column: StoredColumn) -> Any:
        if column.kind is not ColumnKind.DATETIME:
            return self._reads["fetched_at"](seconds)
        return in_zone(datetime.fromtimestamp(max(0, min(seconds, 2**37)), UTC), column, self._form)

    def _row(self, place: int, ours: tuple[Any, ...], item: bytes) -> TableRow:
        fields = _fields(item)
        if fields is None:
            raise NotHeld("it is no JSON object that can be read")
        names, values = list(self._ours), list(ours)
        for name in sorted(fields):
            convert = self._converters.get(name)
            if convert is None:
                raise NotHeld(self._no_column(name))
            value = fields[name]
            if value is None:
                if self._shape.columns[name].needed:
                    raise NotHeld(f"{name}: the column takes no NULL, and the item has no value for it")
                names.append(name)
                values.append(None)
                continue
            names.append(name)
            values.append(convert(value))
        for name in self._needed:
            if name not in fields:
                raise NotHeld(f"{name}: the column takes no NULL, and the item has no value for it")
        return TableRow(place, tuple(names), tuple(values))

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
