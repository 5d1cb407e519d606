"""Settings of a job that are changed while it runs: which may be, and which change counts when masters tell different
ones.

Each name has a version of its own, and the greatest one counts; of two with the same version, made on both sides of a
partition, the one whose value is greater as it is written. So what masters have heard merges per name, in any order, to
the same everywhere, and two people who change different settings at the same time do not undo each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError

TUNABLE: Final = frozenset(
    {
        *("download_delay", "concurrent_requests_per_domain"),
        *("autothrottle_enabled", "autothrottle_start_delay", "autothrottle_max_delay"),
        "autothrottle_target_concurrency",
        *("retry_after_max", "crawl_delay_max", "host_down_after"),
        "depth_limit",
        *("closespider_pagecount", "closespider_itemcount", "closespider_errorcount", "closespider_timeout"),
    }
)
"""The settings that masters act by, or slaves look up for each page. All others are read when a spider is opened."""
VERSION_MAX: Final = 1 << 62

Tuned = Mapping[str, tuple[int, Any]]
"""The settings that were changed, each with the version of its change."""


def merged_tuning(one: Tuned, other: Tuned) -> dict[str, tuple[int, Any]]:
    """Returns what counts of two."""
    return {
        name: max((each[name] for each in (one, other) if name in each), key=_rank) for name in sorted({*one, *other})
    }


def retuned(now: Tuned, changes: Mapping[str, Any]) -> dict[str, tuple[int, Any]]:
    """Returns a tuning with some settings changed, each under the next version."""
    return merged_tuning(now, {name: (now.get(name, (0, None))[0] + 1, value) for name, value in changes.items()})


def values_of(tuned: Tuned) -> dict[str, Any]:
    """Returns the settings by their names."""
    return {name: value for name, (_, value) in tuned.items()}


def check_tuned(tuned: Tuned) -> None:
    """Raises ConfigurationError for what nobody can have changed so."""
    for name, (version, _) in tuned.items():
        if name not in TUNABLE or not 0 < version <= VERSION_MAX:
            raise ConfigurationError(f"{name!r:.60} is no setting that changes while a job runs")
    Settings().updated(values_of(tuned))


def read_changes(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the changes that a person wants, by the fields' names. Raises ConfigurationError, with what can be
    changed.
    """
    wanted = {name.lower(): value for name, value in typed.items()}
    if others := sorted(wanted.keys() - TUNABLE):
        can = ", ".join(sorted(TUNABLE)).upper()
        raise ConfigurationError(f"{others[0].upper()} cannot be changed while a job runs; these can: {can}")
    if not wanted:
        raise ConfigurationError("say what to change, as DOWNLOAD_DELAY=2")
    settings = Settings().updated(wanted)
    return {name: getattr(settings, name) for name in wanted}


def _rank(each: tuple[int, Any]) -> tuple[int, str]:
    version, value = each
    return version, json.dumps(value, sort_keys=True)
