"""URLs that a person typed: accepted, or refused with one line that says what to do."""

from __future__ import annotations

import re

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.page.links import normalise

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d+(?:[/?#]|\Z))")
_DOMAIN = re.compile(
    r"(?:[\w-]+\.)+[^\W\d_][\w-]+(?::\d+)?(?:[/?#].*)?\Z|localhost(?::\d+)?(?:[/?#].*)?\Z|[\w.-]+:\d+(?:[/?#].*)?\Z"
)
_BROKEN_HOST = re.compile(r"https?:/*(?:[?#]|\Z)|https?://[^/?#]*\s", re.IGNORECASE)


TYPED_URL_MAX = 16_384
"""Characters of a URL that is given by hand: twice what most web servers take."""


def checked_url(text: str, source: str = "") -> str:
    """Returns the URL, normalised. Raises ConfigurationError for what cannot be fetched."""
    place = f" in {source}" if source else ""
    if not isinstance(text, str):
        raise ConfigurationError(f"a URL is text, not {type(text).__name__}{place}")
    url = text.strip()
    shown = repr(url[:200])
    if not url:
        raise ConfigurationError(f"an empty URL{place}")
    if len(url) > TYPED_URL_MAX:
        raise ConfigurationError(
            f"a URL has at most {TYPED_URL_MAX:,} characters, and that which begins with {shown[:60]}...{place} has "
            f"{len(url):,}"
        )
    if looks_like_domain(url):
        raise ConfigurationError(f"{shown}{place} has no scheme; did you mean https://{url[:200]}?")
    scheme = _SCHEME.match(url)
    if scheme is None:
        raise ConfigurationError(f"{shown}{place} is not a URL; it must begin with http:// or https://")
    if scheme[1].lower() not in ("http", "https"):
        raise ConfigurationError(f"{shown}{place}: {scheme[1]} cannot be fetched, only http and https can")
    found = None if _BROKEN_HOST.match(url) else normalise(url)
    if found is None:
        raise ConfigurationError(f"{shown}{place} is not a valid URL: its host cannot be read")
    return found


def looks_like_domain(text: str) -> bool:
    """Tells whether somebody left out the scheme: ``example.com/page``, ``localhost:8000``."""
    return "://" not in text and bool(_DOMAIN.match(text))
