"""The rules of RFC 9111 for a cache of one user: what is stored, what is used unasked, what in need, what is void.

The cache is *private*: ``s-maxage``, ``proxy-revalidate`` and ``private`` are for shared ones. *Fresh* is what is
younger than its lifetime: what the host says (``max-age``, else ``Expires``), else a tenth of the time since it last
changed, a week at most, else a day for what says that something moved or is gone for good. What is not fresh is
*stale*, and used only after asking whether it is still good; unasked where the request says so (``max-stale``), and in
need, when the host cannot be reached or fails: for as long as ``stale-if-error`` says, where anybody says it.
``must-revalidate`` and ``no-cache`` of the host forbid both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import inf
from typing import Final
from urllib.parse import urljoin, urlsplit

from p2pcrawl.core.caching.directives import Directives, Fields, http_date_of, list_of
from p2pcrawl.core.caching.stored_answer import StoredAnswer

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_METHODS: Final = frozenset({"GET", "HEAD"})
_UNDERSTOOD: Final = frozenset({200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501})
"""Statuses whose rules for caching are kept here, as ``must-understand`` asks: no part of a page is ever stored."""
_BY_DEFAULT: Final = frozenset({200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501})
_FOR_GOOD: Final = frozenset({300, 301, 308, 410})
_CONDITIONS: Final = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range")
_SHARE_OF_AGE: Final = 0.1
HEURISTIC_MAX_S: Final = 7 * 86_400.0
FOR_GOOD_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class CacheRules:
    """The rules as a user wants them. ``always_store``: whatever may not be used unasked is stored all the same, save
    what says ``no-store``. ``ignored``: directives of answers that are passed over.
    """

    always_store: bool = False
    ignored: frozenset[str] = frozenset()

    # -- requests -----------------------------------------------------------------------------

    def covers(self, method: str, fields: Fields) -> bool:
        """Tells whether a stored answer may do for this request, or come of it."""
        return method in _METHODS and not any(name in fields for name in _CONDITIONS)

    def wants_cached_only(self, fields: Fields) -> bool:
        """Tells whether the host is not to be asked, come what may."""
        return "only-if-cached" in Directives(fields)

    def selects(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether the host would have chosen this answer for this request, too."""
        return "*" not in stored.chosen_by and choice_of(stored.chosen_by, fields) == stored.choice

    # -- use ----------------------------------------------------------------------------------

    def may_use(self, stored: StoredAnswer, fields: Fields, now: float) -> bool:
        """Tells whether it may be used without asking."""
        asked, its = Directives(fields), stored.fields
        told = Directives(its, self.ignored)
        if "no-cache" in asked or "no-cache" in told:
            return False
        age_s, lifetime_s = stored.age_s(its, now), self.lifetime_s(stored, its, told)
        if (most_s := asked.seconds("max-age")) is not None and age_s > most_s:
            return False
        if lifetime_s > age_s + (asked.seconds("min-fresh") or 0):
            return True
        if "max-stale" not in asked or "must-revalidate" in told or "min-fresh" in asked:
            return False
        return age_s - lifetime_s <= (inf if asked.is_bare("max-stale") else asked.seconds("max-stale") or 0)

    def may_use_in_need(self, stored: StoredAnswer, fields: Fields, now: float) -> bool:
        """Tells whether it may be used because the host fails."""
        asked, its = Directives(fields), stored.fields
        told = Directives(its, self.ignored)
        if any(name in told for name in ("no-cache", "must-revalidate")) or "no-cache" in asked:
            return False
        limits = [each.seconds("stale-if-error") for each in (asked, told)]
        most_s = max((limit for limit in limits if limit is not None), default=inf)
        return stored.age_s(its, now) - self.lifetime_s(stored, its, told) <= most_s

    def lifetime_s(self, stored: StoredAnswer, its: Fields, told: Directives) -> float:
        """Returns for how long it is fresh from when it was made."""
        if (seconds := told.seconds("max-age")) is not None:
            return seconds
        date = stored.date(its)
        if "expires" in its:
            expires = http_date_of(its, "expires")
            return 0.0 if expires is None else max(0.0, expires - date)
        if stored.status not in _BY_DEFAULT and "public" not in told:
            return 0.0
        if (changed := http_date_of(its, "last-modified")) is not None:
            return min(HEURISTIC_MAX_S, max(0.0, date - changed) * _SHARE_OF_AGE)
        return FOR_GOOD_S if stored.status in _FOR_GOOD else 0.0

    def age_told(self, stored: StoredAnswer, now: float) -> str:
        """Returns what the Age of an answer from the cache is to say."""
        return str(int(stored.age_s(stored.fields, now)))

    def conditions(self, stored: StoredAnswer) -> dict[str, str]:
        """Returns the headers by which the host is asked whether it is still good; none if it cannot tell."""
        its, asks = stored.fields, {}
        if tag := its.get("etag"):
            asks["If-None-Match"] = tag
        if changed := its.get("last-modified"):
            asks["If-Modified-Since"] = changed
        return asks

    def is_of(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether a 304 can be about this answer: it names no other one."""
        ours, theirs = stored.fields.get("etag"), fields.get("etag")
        if theirs is None or ours is None or theirs.startswith("W/"):
            return True
        return ours.removeprefix("W/") == theirs

    # -- storing ------------------------------------------------------------------------------

    def may_store(self, stored: StoredAnswer, fields: Fields) -> bool:
        """Tells whether the answer to a request may be stored, and is of any use then."""
        its = stored.fields
        told = Directives(its, self.ignored)
        understood = stored.status in _UNDERSTOOD
        if "must-understand" in told and not understood:
            return False
        if "no-store" in told and "must-understand" not in told:
            return False
        if "no-store" in Directives(fields) or "*" in stored.chosen_by:
            return False
        if stored.status in (206, 304) or stored.status < 200:
            return False
        if self.always_store:
            return True
        explicit = "expires" in its or any(name in told for name in ("max-age", "public", "private"))
        if not explicit and stored.status not in _BY_DEFAULT:
            return False
        return bool(self.conditions(stored)) or self.lifetime_s(stored, its, told) > 0.0

    def voided(self, method: str, url: str, status: int, fields: Fields) -> list[str]:
        """Returns the URLs of which nothing that is stored may be used any more after this answer."""
        if method in _SAFE or not 200 <= status < 400:
            return []
        named = [_joined(url, fields[name]) for name in ("location", "content-location") if name in fields]
        return [url, *filter(None, named)]


def chosen_by(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the fields of the request that an answer was chosen by, as its own fields tell.

    Credentials are always among them: one user may have several.
    """
    return tuple(sorted({"authorization", *list_of(headers.get("vary", ""))}))


def choice_of(names: Iterable[str], fields: Fields) -> bytes:
    """Returns a digest of these fields of a request: what they hold may be secret."""
    state = blake2b(digest_size=16)
    for name in names:
        value = fields.get(name)
        text = "-" if value is None else "+" + ",".join(part.strip() for part in value.split(","))
        state.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
    return state.digest()


def _joined(base: str, href: str) -> str:
    """Returns the URL that a field of an answer names, if it is of the same origin; "" otherwise."""
    try:
        url = urljoin(base, href)
        one, other = urlsplit(url), urlsplit(base)
    except ValueError:
        return ""
    return url if (one.scheme, one.netloc.lower()) == (other.scheme, other.netloc.lower()) else ""
