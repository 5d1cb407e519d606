"""Rows of statistics, made of slices: by hour, by day, by host or by kind of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from heapq import nlargest

from p2pcrawl.core.slices import DAY, DAY_S, HOSTS, HOUR, HOUR_S, OTHER

Rows = dict[str, Counter[str]]
"""Figures by the start of an hour or a day (in seconds since 1970), the name of a host, or a kind of failure."""


class StatisticsBy(StrEnum):
    """The meaning of the rows of statistics."""

    HOUR = "hour"
    DAY = "day"
    HOST = "host"
    ERROR = "error"


def slice_rows(slices: Iterable[tuple[str, Mapping[str, int]]], by: StatisticsBy) -> Rows:
    """Adds up slices, each given by its name and figures; those of several masters, lives and jobs among them."""
    rows: Rows = {}
    for name, figures in slices:
        kind = name[:1]
        if by is StatisticsBy.HOST and kind == HOSTS:
            for figure, count in figures.items():
                what, _, host = figure.partition(" ")
                rows.setdefault(host, Counter())[what] += count
        elif by is StatisticsBy.ERROR and kind == DAY:
            for figure, count in figures.items():
                what, colon, error = figure.partition(":")
                if colon:
                    rows.setdefault(error, Counter())[what] += count
        elif (by is StatisticsBy.HOUR and kind == HOUR) or (by is StatisticsBy.DAY and kind == DAY):
            start_s = int(name[1:]) * (HOUR_S if kind == HOUR else DAY_S)
            rows.setdefault(str(start_s), Counter()).update(figures)
    return rows


def first_rows(rows: Mapping[str, Counter[str]], by: StatisticsBy, limit: int) -> Rows:
    """Returns the rows that are shown first: the latest hours or days, the hosts with most pages, the kinds of which
    there are most. Hosts beyond the limit are added to ``OTHER``.
    """
    if by in (StatisticsBy.HOUR, StatisticsBy.DAY):
        return {start: rows[start] for start in sorted(rows, key=int)[-limit:]}
    named = {name: row for name, row in rows.items() if name != OTHER}
    shown = dict(nlargest(limit, named.items(), key=lambda each: (_weight(each[1]), each[0])))
    if by is StatisticsBy.HOST:
        rest = Counter(rows.get(OTHER, ()))
        for name, row in named.items():
            if name not in shown:
                rest.update(row)
        if rest:
            shown[OTHER] = rest
    return shown


def added_rows(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Rows:
    """Adds up the rows of several masters."""
    rows: Rows = {}
    for part in parts:
        for name, figures in part.items():
            rows.setdefault(name, Counter()).update(figures)
    return rows


def _weight(row: Mapping[str, int]) -> int:
    return row.get("pages", 0) + row.get("failed", 0) + row.get("retries", 0)
