"""Lines of a CDXJ index: under which key a page is looked up, and where its record stands.

The key is the URL in SURT form, with the host turned round, as the tools for replay make it (the package ``surt`` that
pywb and cdxj-indexer use): two spellings of a URL that they take for one must have one key here, too.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import json

REVISIT: Final = "warc/revisit"

_SAFE: Final = bytes(set(range(0x21, 0x7F)) - set(b"#%"))
_PARTS: Final = re.compile(
    r"([a-zA-Z]+)://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^:/?#]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?"
).match
_PLAIN_PATH: Final = re.compile(r"(?:/[a-z0-9_~-]+(?:\.[a-z0-9]+)*)*/?\Z").match
"""No escapes, capitals, dots by themselves or doubled slashes: all of it stays but for a slash at the end."""
_PORTS: Final = {"http": "80", "https": "443"}
_WWW: Final = re.compile(rb"www\d*\.").match
_NO_DASHES: Final = str.maketrans("", "", "-:TZ")
_MIME_END: Final = re.compile(r"[;\s]")
_PATH_SESSIONS: Final = (
    re.compile(rb"(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)\Z", re.I).match,
    re.compile(rb"(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)\Z", re.I).match,
)
_QUERY_SESSIONS: Final = tuple(
    re.compile(rb"(.*)(?:" + session + rb")(?:&(.*))?\Z", re.I).match
    for session in (
        rb"jsessionid=[0-9a-z]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
        rb"cfid=[^&]+&cftoken=[^&]+",
    )
)


def index_line(
    url: str, date: str, *, mime: str, status: str, digest: str, offset: int, length: int, filename: str
) -> bytes:
    """Makes the line of one record. Lines of bytes sort as the index is to be sorted. An answer without a type has no
    ``mime``.
    """
    fields = {
        "url": url,
        **({"mime": mime} if mime else {}),
        "status": status,
        "digest": digest,
        "length": str(length),
        "offset": str(offset),
        "filename": filename,
    }
    when = date[:19].translate(_NO_DASHES)
    return b"%b %b %b\n" % (search_key(url).encode(), when.encode(), json.encode(fields))


def mime_of(content_type: str) -> str:
    """Returns a Content-Type without its parameters, as an index has it; "?" is for what is not ASCII."""
    return _MIME_END.split(content_type.strip(), maxsplit=1)[0].encode("ascii", "replace").decode()


def search_key(url: str) -> str:
    """Returns the key of an absolute http(s) URL."""
    parts = _PARTS(url)
    if parts is None:
        return url
    scheme, host, port, path, query = parts.groups()
    where = ",".join(reversed(_host(host).split(".")))
    if port and port != _PORTS.get(scheme.lower()):
        where += f":{port}"
    key = f"{where})" + (path.rstrip("/") or "/" if _PLAIN_PATH(path) else _path(path))
    return f"{key}?{_query(query)}" if query and _query(query) else key


def _host(host: str) -> str:
    raw = _unescaped(host.strip("[]")).lower()
    if not raw.isascii():
        with suppress(UnicodeError):
            raw = raw.decode("utf-8", "ignore").encode("idna")
    raw = raw.replace(b"..", b".").strip(b".")
    www = _WWW(raw)
    return quote_from_bytes(raw[www.end() :] if www else raw, _SAFE)


def _path(path: str) -> str:
    kept: list[bytes] = []
    steps = _unescaped(path).split(b"/")[1:]
    for step in steps:
        if step == b"..":
            kept = kept[:-1] if kept else [step]
        elif step != b".":
            kept.append(step)
    # Doubled slashes count as one; what comes after the last one stays, be it nothing.
    tidy = b"/" + b"".join(step + b"/" for step in kept[:-1] if step) + b"".join(kept[-1:])
    raw = quote_from_bytes(tidy, _SAFE).lower().encode()
    for session in _PATH_SESSIONS:
        if found := session(raw):
            raw = found[1] + found[2]
    if len(raw) > 1 and raw.endswith(b"/"):
        raw = raw[:-1]
    return raw.decode()


def _query(query: str) -> str:
    raw = quote_from_bytes(_unescaped(query), _SAFE).encode()
    for session in _QUERY_SESSIONS:
        if found := session(raw):
            raw = found[1] + (found[2] or b"")
    arguments = [tuple(argument.split(b"=", 1)) for argument in raw.lower().split(b"&")]
    return b"&".join(b"=".join(argument) for argument in sorted(arguments)).decode()


def _unescaped(text: str) -> bytes:
    """Undoes percent escapes, and those that come out of them."""
    raw = text.encode()
    while (once := unquote_to_bytes(raw)) != raw:
        raw = once
    return raw
