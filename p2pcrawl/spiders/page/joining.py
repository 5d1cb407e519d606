"""Links made absolute as Scrapy's users find them: joined as RFC 3986 says, and escaped in the page's encoding.

Patterns (``allow=``) are written for what comes out of here, so it is what the standard library and w3lib make of a
link, fragment included, and not what browsers do. Most links need neither: joining them is putting a prefix before
them, and one regular expression tells which prefix.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from w3lib.url import safe_url_string

from p2pcrawl.model.http.queries import with_query_in

_CHARS = r"A-Za-z0-9._~!$&()*+,=@%\-"
_PATH = rf"[{_CHARS}:/]*"
_FIRST = r"[A-Za-z0-9_~!$&()*+,=@%-]"
_REST = rf"(?:\?[{_CHARS}:/]+)?(?:#[{_CHARS}:/]+)?\Z"
_PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}"
_plain = re.compile(
    # What begins with a dot may be a step up, and "/." in a path, too; those are looked for apart.
    rf"(https?://[a-z0-9.-]*[a-z0-9-](?::(?:{_PORT}))?/{_PATH}{_REST})"
    rf"|(/(?!/){_PATH}{_REST})|({_FIRST}[{_CHARS}/]*{_REST})|(\?[{_CHARS}:/]+(?:#[{_CHARS}:/]+)?\Z)"
).match
_ABSOLUTE = 1
# The forms that joining puts a prefix before: absolute, to the root, relative, a folder up, a query, a fragment.
_PLACE = rf"{_FIRST}[{_CHARS}]*(?:/[{_CHARS}]+)*/?{_REST}"
_joinable = re.compile(
    rf"(https?://[a-z0-9.-]*[a-z0-9-](?::[0-9]{{1,5}})?/(?:[{_CHARS}:]+/)*[{_CHARS}:]*{_REST})"
    rf"|/((?!/){_PATH}{_REST})|({_PLACE})|\.\./({_PLACE})|\?([{_CHARS}:/]+(?:#[{_CHARS}:/]+)?\Z)|#([{_CHARS}:/]+)\Z"
).match
_has_host = re.compile(r"https?://[^/?#]").match
_elsewhere = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE).match


class LinkBase:
    """The ground that the links of one page stand on: its base URL and its encoding."""

    __slots__ = ("_base", "_encoding", "_joined", "_prefixes")

    def __init__(self, base: str, encoding: str) -> None:
        self._base = base
        self._encoding = _codec(encoding)
        self._prefixes = _prefixes(base)
        self._joined: list[str | None] = []

    def absolute(self, href: str) -> str | None:
        """Returns the absolute URL of a link; None for what is no http(s) URL."""
        hit = _plain(href)
        if hit is not None:
            form = hit.lastindex or 0
            if form == _ABSOLUTE:
                return href
            prefix = self._prefixes[form]
            if prefix is not None and "/." not in href and "//" not in href:
                return prefix + href
        elif _elsewhere(href) is not None:
            return None
        joined = self.joined(href)
        return None if joined is None else self.escaped(joined)

    def join(self, href: str) -> str:
        """Returns the link joined to its page and otherwise left as it is, but for a query that is not ASCII: that is
        escaped in the encoding of the page. Raises ValueError for what cannot be joined.
        """
        hit = _joinable(href)
        if hit is not None and "/." not in href:
            form = hit.lastindex or 0
            prefix = self._before(form)
            if prefix is not None:
                return prefix + hit[form]
        return urljoin(self._base, href if href.isascii() else with_query_in(href, self._encoding))

    def _before(self, form: int) -> str | None:
        """Returns what stands before the links of a form; None where the standard library has to join them."""
        if not self._joined:
            self._joined.extend(_before_forms(self._base, self._prefixes))
        return self._joined[form]

    def joined(self, href: str) -> str | None:
        """Returns the link joined to its page, whatever its scheme is; None for what cannot be joined."""
        try:
            return urljoin(self._base, href)
        except ValueError:
            return None

    def escaped(self, url: str) -> str | None:
        """Returns a URL escaped as requests need it; None for what is no http(s) URL."""
        try:
            whole: str = safe_url_string(url, encoding=self._encoding)
        except ValueError:
            return None
        whole = urljoin(self._base, whole)
        return whole if _has_host(whole) is not None else None


def _before_forms(base: str, prefixes: tuple[str | None, ...]) -> list[str | None]:
    """Returns what joining puts before the links of each form of ``_joinable``, by group; None where it does more."""
    root, folder, page = prefixes[2:]
    if root is None or folder is None or page is None:
        return ["", "", *[None] * 5]
    up = folder if folder == f"{root}/" else folder[: folder.rindex("/", 0, -1) + 1]
    return ["", "", f"{root}/", folder, up, f"{page}?", base.partition("#")[0] + "#"]


@lru_cache(maxsize=64)
def _prefixes(base: str) -> tuple[str | None, ...]:
    """Returns what to put before the forms of a plain link, by group; None where that would not be joining."""
    page = base.partition("#")[0].partition("?")[0]
    parts = urlsplit(page)
    root = f"{parts.scheme}://{parts.netloc}"
    if not _plain(page) or ";" in page:
        return (None,) * 5
    path = page[len(root) :]
    folder = None if "//" in path or "/." in path else page[: page.rindex("/") + 1]
    return None, None, root, folder, page


@lru_cache(maxsize=64)
def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return "utf-8"
