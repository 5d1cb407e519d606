"""Requests made of dicts, and small facts of requests under the names that people import."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.finding.objects import load_object


def request_from_dict(fields: Mapping[str, Any], *, spider: Any = None) -> Request:
    """Makes the request that ``Request.to_dict`` was asked of. With a ``spider``, its methods are meant by their names.

    Raises ValueError for a method that the spider does not have, and for a class that is no request's.
    """
    fields = dict(fields)
    kind = load_object(path) if (path := fields.pop("_class", None)) else Request
    if not (isinstance(kind, type) and issubclass(kind, Request)):
        raise ValueError(f"{path} is no class of requests")
    for part in ("callback", "errback"):
        if spider is not None and isinstance(fields.get(part), str) and fields[part]:
            method = getattr(spider, fields[part], None)
            if method is None:
                raise ValueError(f"spider {spider!r} has no method {fields[part]!r}")
            fields[part] = method
    return kind(**fields)


def request_to_curl(request: Request) -> str:
    """Returns a command for curl that makes the same request."""
    return request.to_curl()


def request_httprepr(request: Request) -> bytes:
    """Returns a request roughly as HTTP/1.1 has it, to look at."""
    parts = urlsplit(request.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{request.method} {path} HTTP/1.1", f"Host: {parts.hostname or ''}"]
    lines.extend(f"{name}: {value}" for name, value in request.headers.lines)
    return "\r\n".join([*lines, "", ""]).encode() + request.body


def referer_str(request: Request) -> str | None:
    """Returns the Referer of a request."""
    value = request.headers.get("Referer")
    return None if value is None else str(value)


def request_authenticate(request: Request, username: str, password: str) -> None:
    """Sets the header of basic authentication."""
    request.headers["Authorization"] = "Basic " + b64encode(f"{username}:{password}".encode()).decode()
