"""URLs as text: their host, their origin, and the canonical form that identity is built on.

What comes in is already normalised as browsers do (``spiders.links.normalise``): lower-case scheme
and host, no default port, no dot segments. The *canonical* form goes further, for comparison only;
the request is sent with the URL as it was found.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes, urlsplit

_ALREADY_CANONICAL = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::(?!80/|443/)[0-9]+)?/[A-Za-z0-9/._~-]*\Z")
_ESCAPED_SLASH = re.compile("%2f", re.IGNORECASE)
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_PATH_SAFE = "/!$&'()*+,;=:@~"
_QUERY_SAFE = "/?!$'()*,;:@~"


def canonical(url: str) -> str:
    """The form two URLs share when they name the same page.

    Drops the fragment, the host's trailing dot and a default port; sorts the query's fields (blank
    values kept) by name and value; writes percent-escapes one way.
    """
    if _ALREADY_CANONICAL.match(url):
        return url
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    credentials, at, authority = parts.netloc.rpartition("@")
    authority = authority.lower()
    host, colon, port = authority, "", ""
    if not authority.endswith("]"):
        host, colon, port = authority.rpartition(":")
        if not colon:
            host, port = authority, ""
    host = host.rstrip(".") or host
    if port == _DEFAULT_PORTS.get(scheme):
        port = ""
    netloc = f"{credentials}{at}{host}:{port}" if port else f"{credentials}{at}{host}"
    # An escaped slash is no separator: it stays escaped.
    path = "%2F".join(quote(unquote_to_bytes(part), safe=_PATH_SAFE) for part in _ESCAPED_SLASH.split(parts.path))
    query = _canonical_query(parts.query)
    return f"{scheme}://{netloc}{path or '/'}{'?' + query if query else ''}"


def _canonical_query(query: str) -> str:
    if not query:
        return ""
    fields = []
    for field in query.split("&"):
        if not field:
            continue
        name, equals, value = field.partition("=")
        fields.append((_canonical_field(name), equals, _canonical_field(value)))
    fields.sort(key=lambda f: (f[0], f[2]))
    return "&".join(name + (equals or "=") + value for name, equals, value in fields)


def _canonical_field(text: str) -> str:
    if text.isalnum() and text.isascii():
        return text
    return quote(unquote_to_bytes(text.replace("+", " ")), safe=_QUERY_SAFE)


def host_of(url: str) -> str:
    """The host that politeness is owed to: lower case, no port, no trailing dot, no credentials."""
    authority = _authority(url, url.find("://") + 3)
    if authority.startswith("["):
        return authority[: authority.find("]") + 1].lower()
    return authority.partition(":")[0].rstrip(".").lower()


def origin_of(url: str) -> str:
    """Scheme and authority, without credentials: what a robots.txt speaks for."""
    start = url.find("://") + 3
    return url[:start].lower() + _authority(url, start).lower()


def _authority(url: str, start: int) -> str:
    """What stands from ``start`` to the path, without credentials."""
    end = len(url)
    for stop in "/?#":
        at = url.find(stop, start, end)
        if at >= 0:
            end = at
    authority = url[start:end]
    return authority.rpartition("@")[2] if "@" in authority else authority
