"""The stats of one crawl in one slave, as people's components count them."""

from __future__ import annotations

from typing import Any


class CrawlStats:
    """Named values. Each slave has its own."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def get_value(self, key: str, default: Any = None, spider: Any = None) -> Any:
        return self._values.get(key, default)

    def get_stats(self, spider: Any = None) -> dict[str, Any]:
        """Returns all of them."""
        return self._values

    def set_value(self, key: str, value: Any, spider: Any = None) -> None:
        self._values[key] = value

    def set_stats(self, stats: dict[str, Any], spider: Any = None) -> None:
        """Puts these in the place of all that are there."""
        self._values = dict(stats)

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: Any = None) -> None:
        """Adds to a number, which begins at ``start``."""
        self._values[key] = self._values.get(key, start) + count

    def max_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Keeps the greater of ``value`` and what is there."""
        self._values[key] = max(self._values.get(key, value), value)

    def min_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Keeps the lesser of ``value`` and what is there."""
        self._values[key] = min(self._values.get(key, value), value)

    def clear_stats(self, spider: Any = None) -> None:
        self._values.clear()
