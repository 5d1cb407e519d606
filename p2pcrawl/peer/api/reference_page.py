"""The page at ``/docs``: its files, and the headers under which a browser gets them.

Nothing of it comes from elsewhere, and nothing else can run in it, whatever the document says.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Final

from aiohttp import web

from p2pcrawl.peer.api.listener import Handler

_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "/docs": ("index.html", "text/html"),
    "/docs/reference.js": ("reference.js", "text/javascript"),
    "/docs/reference.css": ("reference.css", "text/css"),
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def reference_routes() -> list[web.RouteDef]:
    """Makes the routes of the page."""
    folder = files("p2pcrawl.peer.api.reference")
    return [web.get(path, _serving((folder / name).read_bytes(), kind)) for path, (name, kind) in _FILES.items()]


def _serving(body: bytes, kind: str) -> Handler:
    headers = {
        "Content-Security-Policy": _POLICY,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
        "ETag": f'"{sha256(body).hexdigest()[:24]}"',
    }

    async def serve(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)

    return serve
