"""URLs as browsers read them, and the links of a page.

:func:`normalise` is the one way in: what it returns is absolute, http or https, without a fragment, and normalising it
again changes nothing. Two thirds of the URLs on real pages are already in that form, so that one regular expression
settles them; the rest goes through ada, the URL parser of a browser's standard (WHATWG), which leaves some steps in a
path ("/a/.b/..") as they are: those are taken here, or one page would have several names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import can_ada
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.crawl.request import PRIORITY_LIMIT, Callback, Kind, Request, callback_name, encoded_body
from p2pcrawl.model.http.cookie_forms import CookiesLike, checked_cookies
from p2pcrawl.model.http.headers import Headers, HeadersLike
from p2pcrawl.model.http.queries import with_query_in
from p2pcrawl.spiders.page import markup

# The characters that ada leaves as they are. What may be a step up (a segment that begins with a dot), an escape (%2e
# is a dot) or a scheme takes the slow road.
_SAFE = r"[A-Za-z0-9._~!$&()*+,;=:@/?-]*"
_RELATIVE = r"[A-Za-z0-9_-][A-Za-z0-9._~!$&()*+,;=@/?-]*"
_REST = r"(?:#.*)?\Z"
_ABSOLUTE = rf"((https?://[a-z0-9.:_-]+)/{_SAFE}){_REST}"

_absolute = re.compile(_ABSOLUTE, re.DOTALL).match
_known_form = re.compile(
    rf"{_ABSOLUTE}|(/(?!/){_SAFE}){_REST}|({_RELATIVE}){_REST}|\.\./({_RELATIVE}){_REST}", re.DOTALL
).match
# Fragments of the page itself, and schemes that lead to no page.
_leads_nowhere = re.compile(r"[\x00-\x20]*(?:#|\Z|(?:javascript|mailto|tel|data|about|blob):)", re.IGNORECASE).match

_HERE, _UP = frozenset({".", "%2e"}), frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
_has_steps = re.compile(r"[^?]*?/(?:\.|%2e){1,2}(?:[/?]|\Z)", re.IGNORECASE).match

_ORIGINS_MAX = 20_000
_origins: set[str] = set()
"""Origins met before that ada leaves as they are."""


def normalise(url: str, base: str = "", encoding: str = "utf-8") -> str | None:
    """Returns ``url`` as a browser standing on ``base`` would request it; None when it is no http(s) URL. Never
    raises. ``encoding``: that of the page, in which its queries are written.
    """
    found = _absolute(url)
    if found is not None:
        whole: str = found[1]
        if "/." not in whole and _is_normal(found[2]):
            return whole
    if encoding != "utf-8":
        url = with_query_in(url, encoding)
    return _by_ada(url, _parsed(base)[0] if base else None)


def page_links(tree: LexborHTMLParser, url: str, encoding: str = "utf-8") -> list[str]:
    """Returns where the ``a`` and ``area`` elements of the page at ``url`` lead: normalised, each once, in order.

    ``<base href>`` counts. Fragments of the page itself and other schemes (``mailto:``, ``javascript:``) are left out.
    """
    hrefs, base = markup.hrefs_of(tree)
    return join_all(hrefs, (normalise(base, url) if base else None) or url, encoding)


def join_all(hrefs: Sequence[str], base: str, encoding: str = "utf-8") -> list[str]:
    """Returns each of ``hrefs`` as :func:`normalise` has it, once, in order; what leads nowhere is left out."""
    if encoding != "utf-8":
        hrefs = [with_query_in(href, encoding) for href in hrefs]
    parsed, prefixes = _parsed(base)
    found: list[str] = []
    add, origins = found.append, _origins
    for href, hit in zip(hrefs, map(_known_form, hrefs), strict=True):
        if hit is None:
            if href[:1] == "#" or _leads_nowhere(href) is not None:
                continue
        else:
            form = hit.lastindex or 0
            url = hit[form]
            if form > 1:
                if prefixes is not None:
                    add(prefixes[form] + url)
                    continue
            elif hit[2] in origins or _is_normal(hit[2]):
                add(url)
                continue
        slow = _by_ada(href, parsed)
        if slow is not None:
            add(slow)
    if "/." in "\n".join(found):
        # One look for all of them, since steps like these are rare; they are absolute by now.
        return list(dict.fromkeys((_by_ada(url, None) or url) if "/." in url else url for url in found))
    return list(dict.fromkeys(found))


def _is_normal(origin: str) -> bool:
    if origin in _origins:
        return True
    if _by_ada(f"{origin}/", None) != f"{origin}/":
        return False
    if len(_origins) >= _ORIGINS_MAX:
        _origins.clear()
    _origins.add(origin)
    return True


@lru_cache(maxsize=64)
def _parsed(base: str) -> tuple[can_ada.URL | None, tuple[str, ...] | None]:
    """Returns a base, and what to put before the forms of ``_known_form``, by group; None where there is none."""
    try:
        url = can_ada.parse(base if base.isascii() else _sound(base))
    except ValueError:
        return None, None
    if url.protocol not in ("http:", "https:"):
        return url, None
    page = url.href.partition("#")[0].partition("?")[0]
    root = page[: page.index("/", 8)]
    folder = page[: page.rindex("/") + 1]
    parent = folder[: folder.rindex("/", 0, -1) + 1] if len(folder) > len(root) + 1 else folder
    return url, ("", "", "", root, folder, parent)


def _by_ada(href: str, base: can_ada.URL | None) -> str | None:
    text = href.partition("#")[0]
    if not text.isascii():
        text = _sound(text)
    try:
        url = can_ada.parse(text) if base is None else base + text
    except ValueError:
        return None
    if url.protocol not in ("http:", "https:"):
        return None
    whole: str = url.href.partition("#")[0]
    return _stepped(whole) if _has_steps(whole) else whole


def _stepped(whole: str) -> str:
    """Returns the URL with the steps in its path (``/./``, ``/../``) taken."""
    rest, mark, query = whole.partition("?")
    start = rest.index("/", rest.index("://") + 3)
    taken: list[str] = []
    *folders, last = rest[start + 1 :].split("/")
    for segment in folders:
        _step(taken, segment)
    if not _step(taken, last):
        taken.append("")
    return f"{rest[:start]}/{'/'.join(taken)}{mark}{query}"


def _step(taken: list[str], segment: str) -> bool:
    """Adds a segment of a path to those ``taken``, or takes the step that it means (``.``, ``..``). Tells whether it
    was added.
    """
    name = segment.lower()
    if name in _UP:
        del taken[-1:]
    elif name not in _HERE:
        taken.append(segment)
        return True
    return False


def _sound(text: str) -> str:
    """Returns a text that has a UTF-8 form: lone surrogates are replaced, as browsers do."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class LinkBatch:
    """Links that share a callback, as plain strings until somebody needs Requests.

    A spider yields it whole; the slave drops what it has seen as strings. Iterating yields Requests, so that
    ``yield from response.follow_all(...)`` means the same.
    """

    __slots__ = (
        "_source",
        "_urls",
        "body",
        "callback",
        "cb_kwargs",
        "cookies",
        "dont_filter",
        "encoding",
        "errback",
        "flags",
        "headers",
        "kind",
        "meta",
        "method",
        "priority",
    )

    def __init__(
        self,
        urls: Iterable[str] | Callable[[], list[str]],
        callback: Callback = None,
        *,
        method: str = "GET",
        headers: HeadersLike | None = None,
        body: bytes | str | None = b"",
        cookies: CookiesLike | None = None,
        meta: Mapping[str, Any] | None = None,
        encoding: str = "utf-8",
        cb_kwargs: Mapping[str, Any] | None = None,
        priority: int = 0,
        dont_filter: bool = False,
        errback: Callback = None,
        flags: Iterable[str] | None = None,
        kind: Kind | str = Kind.INDEX,
    ) -> None:
        """``urls`` are normalised already, or a function that will find them when they are wanted."""
        callback_name(callback)
        callback_name(errback)
        self._source = urls if callable(urls) else None
        self._urls = None if callable(urls) else list(urls)
        self.callback = callback or None
        self.method = method.upper()
        self.headers = Headers(headers)
        self.encoding = encoding
        self.body = encoded_body(body, encoding)
        self.cookies = checked_cookies(cookies)
        self.meta = dict(meta or {})
        self.cb_kwargs = dict(cb_kwargs or {})
        self.priority = max(-PRIORITY_LIMIT, min(PRIORITY_LIMIT, int(priority)))
        self.dont_filter = dont_filter
        self.errback = errback or None
        self.flags = list(flags or ())
        self.kind = Kind(kind)

    @property
    def urls(self) -> list[str]:
        """The links: absolute, normalised, in the order of the page."""
        if self._urls is None:
            self._urls = self._source() if self._source is not None else []
            self._source = None
        return self._urls

    def request(self, url: str) -> Request:
        """Returns the Request for one of the links."""
        return Request(
            url,
            callback=self.callback,
            method=self.method,
            headers=self.headers,
            body=self.body,
            cookies=self.cookies,
            meta=self.meta,
            encoding=self.encoding,
            priority=self.priority,
            dont_filter=self.dont_filter,
            errback=self.errback,
            flags=self.flags,
            cb_kwargs=self.cb_kwargs,
            kind=self.kind,
        )

    def __iter__(self) -> Iterator[Request]:
        for url in self.urls:
            yield self.request(url)

    def __len__(self) -> int:
        return len(self.urls)

    def __bool__(self) -> bool:
        return bool(self.urls)

    def __repr__(self) -> str:
        known = "not counted yet" if self._urls is None else str(len(self._urls))
        return f"<LinkBatch of {known} for {callback_name(self.callback) or 'parse'}>"
