"""The rows of a CSV file, as dicts."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from p2pcrawl.spiders.page.response import Response

log = logging.getLogger(__name__)


def csviter(
    obj: Response | str | bytes,
    delimiter: str | None = None,
    headers: Sequence[str] | None = None,
    encoding: str | None = None,
    quotechar: str | None = None,
) -> Iterator[dict[str, str]]:
    """Yields each row as a dict, by ``headers``, or by the first row where none are given.

    A row that has more or fewer fields is left out, and the first one is told of. ``encoding`` is that of bytes
    (utf-8); a response has its own.
    """
    text = _text_of(obj, encoding or "utf-8")
    dialect: dict[str, Any] = {}
    if delimiter:
        dialect["delimiter"] = delimiter
    if quotechar:
        dialect["quotechar"] = quotechar
    rows = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), **dialect)
    names = list(headers) if headers else next(rows, [])
    level = logging.WARNING
    for row in rows:
        if len(row) == len(names):
            yield dict(zip(names, row, strict=True))
        elif row:
            told = "row in line %d has %d fields, not %d: it is left out; others like it are told at level DEBUG"
            log.log(level, told, rows.line_num, len(row), len(names))
            level = logging.DEBUG


def _text_of(source: Response | str | bytes, encoding: str) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, Response):
        return source.text if source.is_text else source.body.decode(encoding, "replace")
    if isinstance(source, bytes):
        return source.decode(encoding)
    raise TypeError(f"rows are read from a Response or str or bytes, not {type(source).__name__}")
