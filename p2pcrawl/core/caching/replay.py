"""The rules by which a crawl is played again: what was answered once is the answer for ever (Scrapy's dummy policy).

No header is read, so one fetch of a page serves all later ones. What asks to be tried again is not stored, for it would
be tried in vain.
"""

from __future__ import annotations

from dataclasses import dataclass

from p2pcrawl.core.caching.directives import Fields
from p2pcrawl.core.caching.stored_answer import StoredAnswer


@dataclass(frozen=True, slots=True)
class ReplayRules:
    """The rules, with the statuses that are tried again."""

    passing: frozenset[int] = frozenset()

    def covers(self, method: str, fields: Fields) -> bool:
        """Says yes: of every method."""
        return True

    def wants_cached_only(self, fields: Fields) -> bool:
        """Says no."""
        return False

    def selects(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Says yes: there is one for each request."""
        return True

    def may_use(self, stored: StoredAnswer, fields: Fields, now: float) -> bool:
        """Says yes, whatever its age."""
        return True

    def may_use_in_need(self, stored: StoredAnswer, fields: Fields, now: float) -> bool:
        """Says no: what is there is never asked for."""
        return False

    def age_told(self, stored: StoredAnswer, now: float) -> str:
        """Returns "": an answer is as it was."""
        return ""

    def conditions(self, stored: StoredAnswer) -> dict[str, str]:
        """Returns none."""
        return {}

    def is_of(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Says no."""
        return False

    def may_store(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether the status will do."""
        return stored.status not in self.passing

    def voided(self, method: str, url: str, status: int, fields: Fields) -> list[str]:
        """Returns none."""
        return []
