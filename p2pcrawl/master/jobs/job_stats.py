"""Counters of a job that components keep in slaves.

Each end of a page brings what is new, under marked names, and is counted in the transaction that ends the page: what a
slave had counted and not yet reported is lost with it, and nothing is counted twice. Across masters sums are added up,
of the greatest and the least the extremes are kept, and of values that were set that of the last master in order.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, Final

NAMES_MAX: Final = 2_000
"""Names of stats that a job has at a master: no spider may fill its disk with them."""
LISTENS: Final = "idle:listens"
"""How often slaves have said that a component wants to hear when the job is idle."""
LISTENS_NEWS: Final = "!idle"
_GROUPS: Final = {"+": "stats", ">": "stats_max", "<": "stats_min", "=": "stats_last"}


def count_news(news: Mapping[str, int], tally: MutableMapping[str, int], counts: Mapping[str, int]) -> None:
    """Counts a slave's news. ``tally`` is what this turn adds to ``counts``."""
    room: int | None = None
    for marked, value in news.items():
        if marked == LISTENS_NEWS:
            tally[LISTENS] = tally.get(LISTENS, 0) + (value > 0)
            continue
        group = _GROUPS.get(marked[:1])
        if group is None:
            continue
        key = f"{group}:{marked[1:]}"
        known = key in counts or key in tally
        if not known:
            if room is None:
                room = NAMES_MAX - sum(each.startswith("stats") for each in counts.keys() | tally.keys())
            if room <= 0:
                continue
            room -= 1
        if group == "stats":
            tally[key] = tally.get(key, 0) + value
            continue
        now = counts.get(key, 0) + tally.get(key, 0)
        if not known or group == "stats_last" or (value > now if group == "stats_max" else value < now):
            tally[key] = tally.get(key, 0) + value - now


def put_together(group: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what two masters know of a group that is not added up."""
    whole = dict(one)
    for name, value in other.items():
        if name not in whole or group == "stats_last":
            whole[name] = value
        else:
            whole[name] = max(whole[name], value) if group == "stats_max" else min(whole[name], value)
    return dict(sorted(whole.items()))
