"""The port between a cache and the rules by which it keeps answers and uses them."""

from __future__ import annotations

from typing import Protocol

from p2pcrawl.core.caching.directives import Fields
from p2pcrawl.core.caching.replay import ReplayRules
from p2pcrawl.core.caching.rules import CacheRules
from p2pcrawl.core.caching.stored_answer import StoredAnswer
from p2pcrawl.model.crawl.cache_policy import CachePolicy
from p2pcrawl.model.crawl.settings import Settings


class Rules(Protocol):
    """Decides what a cache does. ``fields`` are those of the request; all is judged at the time ``now``."""

    def covers(self, method: str, fields: Fields) -> bool:
        """Tells whether a stored answer may do for this request, or come of it."""

    def wants_cached_only(self, fields: Fields) -> bool:
        """Tells whether the host is not to be asked, come what may."""

    def selects(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether the host would have chosen this answer for this request, too."""

    def may_use(self, stored: StoredAnswer, fields: Fields, now: float) -> bool:
        """Tells whether it may be used without asking."""

    def may_use_in_need(self, stored: StoredAnswer, fields: Fields, now: float) -> bool:
        """Tells whether it may be used because the host fails."""

    def age_told(self, stored: StoredAnswer, now: float) -> str:
        """Returns what the Age of an answer from the cache is to say; "": nothing."""

    def conditions(self, stored: StoredAnswer) -> dict[str, str]:
        """Returns the headers by which the host is asked whether it is still good; none if it cannot tell."""

    def is_of(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether a 304 with these fields can be about this answer."""

    def may_store(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether the answer to a request may be stored, and is of any use then."""

    def voided(self, method: str, url: str, status: int, fields: Fields) -> list[str]:
        """Returns the URLs of which nothing that is stored may be used any more after an answer with these fields."""


def rules_of(settings: Settings) -> Rules:
    """Returns the rules that a user wants."""
    if settings.httpcache_policy is not CachePolicy.RFC9111:
        return ReplayRules(frozenset(settings.retry_http_codes if settings.retry_enabled else ()))
    ignored = frozenset(name.lower() for name in settings.httpcache_ignore_response_cache_controls)
    return CacheRules(settings.httpcache_always_store, ignored)
