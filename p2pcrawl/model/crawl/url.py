"""URLs as text: their host, their origin, and the canonical form that identity is built on.

What comes in is already normalised as browsers do (``spiders.links.normalise``): lower-case scheme
and host, no default port, no dot segments. The *canonical* form goes further, for comparison only;
the request is sent with the URL as it was found.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ALREADY_CANONICAL = re.compile(
    r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::(?!80/|443/)[0-9]+)?/[A-Za-z0-9._~!$&'()*+,;=:@/\[\]-]*\Z"
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_HEX = "[0-9A-Fa-f]{2}"
_nothing_to_do = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/?\[\]-]*\Z").match
_not_of_urls = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:@/?%\[\]-]+")
_escape = re.compile(f"%{_HEX}")
_stray = re.compile(f"%(?!{_HEX})").search
_site = re.compile(
    r"(?P<scheme>.*?://|.{0,2})(?:[^/?#]*@)?(?P<authority>(?P<host>\[[^/?#]*?\]|[^/?#:]*)[^/?#]*)", re.DOTALL
).match
"""Matches whatever it is given."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_WRITTEN = {
    f"%{high}{low}": chr(code) if (code := int(high + low, 16)) in _UNRESERVED else f"%{code:02X}"
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}
"""Each escape, and how it is written here."""


def canonical(url: str) -> str:
    """Returns the form that two URLs share when they name the same page.

    Drops the fragment, the host's trailing dot and a default port; sorts the query's fields (blank
    values kept) by name and value, and writes a space there one way, ``+`` or ``%20``. Escapes are written one way as
    RFC 3986 says: those of letters, digits and ``-._~`` are undone, the others get capitals; what may not stand in a
    URL is escaped. A character that separates something somewhere (``/ ; , & : @``...) and its escape stay two things,
    and so do ``%25`` and a ``%`` that begins no escape.
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
    query = _canonical_query(parts.query)
    return f"{scheme}://{netloc}{_rewritten(parts.path) or '/'}{'?' + query if query else ''}"


def _canonical_query(query: str) -> str:
    if not query:
        return ""
    fields = []
    for field in _rewritten(query.replace("+", "%20")).split("&"):
        if not field:
            continue
        name, _, value = field.partition("=")
        fields.append((name, value))
    fields.sort()
    return "&".join([f"{name}={value}" for name, value in fields])


def _rewritten(text: str) -> str:
    """Rewrites a path or a query with its escapes written one way."""
    if _nothing_to_do(text) is not None:
        return text
    text = _not_of_urls.sub(_escaped, text)
    if "%" not in text:
        return text
    if _stray(text) is not None:
        # What is undone behind a stray % might become an escape with it.
        return _escape.sub(_in_capitals, text)
    return _escape.sub(_written, text)


def _escaped(found: re.Match[str]) -> str:
    return "".join([f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")])


def _in_capitals(found: re.Match[str]) -> str:
    return found[0].upper()


def _written(found: re.Match[str]) -> str:
    return _WRITTEN[found[0]]


def host_of(url: str) -> str:
    """Returns the host that politeness is owed to: lower case, no port, no trailing dot, no credentials."""
    found = _site(url)
    assert found is not None
    return found["host"].rstrip(".").lower()


def origin_of(url: str) -> str:
    """Returns scheme and authority, without credentials: what a robots.txt speaks for."""
    found = _site(url)
    assert found is not None
    return (found["scheme"] + found["authority"]).lower()
