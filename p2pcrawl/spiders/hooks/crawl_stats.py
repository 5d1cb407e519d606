"""The stats of one crawl in one slave, as people's components count them, and what of them is news for the job.

Whole numbers go to the job: what :meth:`CrawlStats.inc_value` adds is added up over all slaves and masters, of
``max_value`` and ``min_value`` the extremes are kept, of ``set_value`` the last. They travel with the end of the next
page, and count as that counts. Everything else, and what a slave counts of itself, is the slave's own.
"""

from __future__ import annotations

from typing import Any, Final

NEWS_MAX: Final = 200
"""Stats that one page's end can carry; the rest waits for the next."""
NAMES_MAX: Final = 1_000
"""Names of which the job hears from one slave."""
NAME_MAX: Final = 200
NUMBER_MAX: Final = 1 << 53

LISTENING: Final = "!idle"
ADD, MOST, LEAST, LAST = "+", ">", "<", "="
"""Marks before the names of news: how they are put together."""


class CrawlStats:
    """Named values of one slave."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._news: dict[str, int] = {}
        self._names: set[str] = set()

    def get_value(self, key: str, default: Any = None, spider: Any = None) -> Any:
        return self._values.get(key, default)

    def get_stats(self, spider: Any = None) -> dict[str, Any]:
        """Returns all of them, as they are in this slave."""
        return self._values

    def set_value(self, key: str, value: Any, spider: Any = None) -> None:
        self._values[key] = value
        self._tell(LAST, key, value)

    def set_stats(self, stats: dict[str, Any], spider: Any = None) -> None:
        """Puts these in the place of all that are in this slave."""
        self._values = dict(stats)

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: Any = None) -> None:
        """Adds to a number, which begins at ``start``."""
        self._values[key] = self._values.get(key, start) + count
        self._tell(ADD, key, self._news.get(ADD + key, 0) + count)

    def max_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Keeps the greater of ``value`` and what is there."""
        self._values[key] = kept = max(self._values.get(key, value), value)
        self._tell(MOST, key, kept)

    def min_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Keeps the lesser of ``value`` and what is there."""
        self._values[key] = kept = min(self._values.get(key, value), value)
        self._tell(LEAST, key, kept)

    def clear_stats(self, spider: Any = None) -> None:
        """Forgets those of this slave; the job keeps what it has heard."""
        self._values.clear()

    def count_here(self, key: str, count: int = 1) -> None:
        """Adds to a number that is this slave's own."""
        self._values[key] = self._values.get(key, 0) + count

    def set_here(self, key: str, value: Any) -> None:
        """Sets a value that is this slave's own."""
        self._values[key] = value

    def tell_listening(self) -> None:
        """Has the job hear that somebody in this slave wants to know when it is idle."""
        self._news[LISTENING] = 1

    def take_news(self) -> dict[str, int]:
        """Takes what the job has not heard of, by marked names."""
        news = self._news
        if len(news) <= NEWS_MAX:
            self._news = {}
            return news
        taken = dict(list(news.items())[:NEWS_MAX])
        self._news = {name: value for name, value in news.items() if name not in taken}
        return taken

    def _tell(self, mark: str, key: str, value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > NUMBER_MAX:
            return
        if key not in self._names:
            if len(self._names) >= NAMES_MAX or len(key) > NAME_MAX or not key:
                return
            self._names.add(key)
        self._news[mark + key] = value
