"""Proxies as people and lists write them, one a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from yarl import URL

from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.fetch.connection.socks import SOCKS_SCHEMES

SCHEMES: Final = frozenset({"http", "https"}) | SOCKS_SCHEMES
LINE_MAX: Final = 500
PER_ADDRESS_MAX: Final = 10
"""Of a list that others write: so that it cannot have one machine asked at all of its ports."""


_URL: Final = re.compile(
    r"(?:([a-z0-9]+)://)?(?:([^@/\s]*)@)?(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)(?::([0-9]{1,5}))?/?\Z",
    re.IGNORECASE | re.ASCII,
).match
_FOUR_PARTS: Final = re.compile(r"([^:@/\s]+):([0-9]{1,5}):([^:@/\s]+):([^:@/\s]+)\Z").match
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


def proxy_of(line: str) -> str:
    """Returns the URL of the proxy that a line names, "" for none: ``scheme://user:password@host:port``, without
    scheme (``http`` then), or ``host:port:user:password``.
    """
    if len(line) > LINE_MAX:
        return ""
    text = line.partition(" #")[0].strip()
    if parts := _FOUR_PARTS(text):
        text = f"{parts[3]}:{parts[4]}@{parts[1]}:{parts[2]}"
    match = _URL(text)
    if match is None:
        return ""
    scheme = (match[1] or "http").lower()
    port = match[4] or (_DEFAULT_PORTS.get(scheme, "") if match[1] else "")
    if scheme not in SCHEMES or not port or not 0 < int(port) < 65536:
        return ""
    user = f"{match[2]}@" if match[2] else ""
    return f"{scheme}://{user}{match[3].lower()}:{int(port)}"


def foreign_proxies(lines: Iterable[str], networks: Networks) -> Iterator[str]:
    """Yields the proxies of a list that others write: those that are given by an address, and one that this crawl may
    reach. What a name leads to only its owner knows, and can change.
    """
    seen: dict[str, int] = {}
    for line in lines:
        if not (text := proxy_of(line)):
            continue
        url = URL(text)
        address = url.raw_host or ""
        try:
            networks.check(address, port=url.port)
        except Blocked:
            continue
        seen[address] = seen.get(address, 0) + 1
        if seen[address] <= PER_ADDRESS_MAX:
            yield text
