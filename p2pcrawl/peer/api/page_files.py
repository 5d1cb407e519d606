"""The files of the dashboard, and the headers under which a browser gets them.

Nothing that a crawl found can run in the page: only this peer's own files are scripts and styles, none stands in the
HTML, and nobody else may show the page in a frame. The page speaks to this peer alone; of others it only tries whether
they answer, when this one is gone, so their addresses are the one addition to the policy.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Final, NamedTuple

from p2pcrawl.model.cluster.node import Address

INDEX: Final = "index.html"
OTHERS_MAX: Final = 32
"""Addresses that the policy names; a header has its limits."""

_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_PLAIN: Final = re.compile(r"(?:[0-9.]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}\Z")


class PageFile(NamedTuple):
    """A file that browsers are given, also packed by gzip, with the name of its content."""

    body: bytes
    packed: bytes
    content_type: str
    etag: str


def page_files() -> dict[str, PageFile]:
    """Reads the files of the dashboard, by their names. A browser gets these, and no path leads to others."""
    found = {}
    for file in files("p2pcrawl.dashboard").iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None and file.is_file():
            body = file.read_bytes()
            found[file.name] = PageFile(body, gzip.compress(body, mtime=0), kind, f'"{sha256(body).hexdigest()[:24]}"')
    return found


def page_headers(file: PageFile, others: Iterable[Address] = ()) -> dict[str, str]:
    """Returns the headers of a file; ``others`` are the addresses of the APIs of the other members."""
    return {
        "Content-Type": file.content_type,
        "Content-Security-Policy": content_policy(others),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
        "ETag": file.etag,
    }


def content_policy(others: Iterable[Address] = ()) -> str:
    """Returns the Content-Security-Policy of the page. An address that is none is left out: others tell them."""
    named = sorted({f"http://{address}" for address in others if _PLAIN.match(address)})[:OTHERS_MAX]
    reached = " ".join(["'self'", *named])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src {reached}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
