"""The URLs of imprints: records in which the items of a page wait to hear whether its text was met before."""

from __future__ import annotations

IMPRINT_URL = "p2pcrawl://imprint.localhost/"
"""An imprint is a record like any page, under this prefix, which band and visit it is of, and the URL of its page.
Nobody is asked for it."""
IMPRINT_CALLBACK = "p2pcrawl_imprint"
"""Its callback: no method of a spider."""


def imprint_url(page: str, band: int, visit: int) -> str:
    """Returns the URL of an imprint."""
    return f"{IMPRINT_URL}{band}.{visit}/{page}"


def is_imprint(url: str) -> bool:
    """Tells whether a URL is that of an imprint."""
    return url.startswith(IMPRINT_URL)


def without_imprint(url: str) -> str:
    """Returns the URL of the page that an imprint is of; any other URL as it is."""
    return url.removeprefix(IMPRINT_URL).partition("/")[2] if is_imprint(url) else url
