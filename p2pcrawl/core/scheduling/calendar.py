"""The moments of a cron expression in a time zone.

A moment is a point in time, told in milliseconds since 1970, so it is the same for all who evaluate the expression,
whatever their clocks say. Where clocks are changed a fixed time of day is met once: what falls into the hour that is
left out is due at its end, and what falls into the hour that comes twice is due in the first of them. Expressions with
a star for the hour, and those with seconds, go by the time that passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from p2pcrawl.model.cluster.schedule import CRON_CHARS_MAX, ZONE_CHARS_MAX
from p2pcrawl.model.errors import ConfigurationError

_SHORTHANDS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}

_OF_MACHINES: Final = ("localtime", "posixrules")
"""Zones that are another one on each machine: masters would not agree on the moments."""

_AGAIN_MAX: Final = 60 * 60
"""Moments in the hour that comes twice, at most."""


class Calendar:
    """The moments of one expression. Raises ConfigurationError for what is none, and for a zone that there is not."""

    def __init__(self, cron: str, zone: str) -> None:
        if len(cron) > CRON_CHARS_MAX:
            raise ConfigurationError(f"a cron expression has at most {CRON_CHARS_MAX} characters")
        self._cron = _SHORTHANDS.get(cron.strip(), cron)
        self._zone = _zone(zone)
        try:
            CronSim(self._cron, datetime(2000, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            raise ConfigurationError(
                f"{cron!r:.80} is no cron expression ({error}): it has five fields, as '*/5 * * * *', or "
                "six, the first of them for seconds"
            ) from None

    def after(self, moment: int) -> int | None:
        """Returns the first moment behind this one; None where there is none in fifty years."""
        return next(self._forth(moment), None)

    def between(self, after: int, until: int, limit: int) -> list[int]:
        """Returns the moments behind the first up to the second one, so many at most: the first of them."""
        found: list[int] = []
        for moment in self._forth(after):
            if moment > until or len(found) == limit:
                break
            found.append(moment)
        return found

    def last(self, until: int) -> int | None:
        """Returns the last moment up to this one; None where there is none in fifty years."""
        # A second more: going back, too, the beginning is left out.
        begin = _local(until + 1_000, self._zone)
        back = (_moment(each) for each in CronSim(self._cron, begin, reverse=True))
        found = next((moment for moment in back if moment <= until), None)
        if found is not None:
            # In the hour that comes twice the hands are behind: there may be one between.
            found = max(self.between(found, until, _AGAIN_MAX), default=found)
        return found

    def _forth(self, after: int) -> Iterator[int]:
        for each in CronSim(self._cron, _local(after, self._zone)):
            # A fixed time of day is sought by the hands of the clock, which in the hour that comes twice are behind.
            if (moment := _moment(each)) > after:
                # Several may fall into an hour that is left out: all are due at its end, as one.
                after = moment
                yield moment


def _zone(name: str) -> ZoneInfo:
    try:
        if not name or len(name) > ZONE_CHARS_MAX or name in _OF_MACHINES:
            raise ValueError
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(f"there is no time zone {name!r:.80}: name one as Europe/Berlin, or UTC") from None


def _local(moment: int, zone: ZoneInfo) -> datetime:
    if zone.key == "UTC":
        return datetime.fromtimestamp(moment // 1_000, UTC)
    return datetime.fromtimestamp(moment // 1_000, zone)


def _moment(local: datetime) -> int:
    return int(local.timestamp()) * 1_000
