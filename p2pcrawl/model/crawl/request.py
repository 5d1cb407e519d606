"""Requests, as spiders make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import ModuleType
from typing import Any

from p2pcrawl.model.errors import ConfigurationError

PRIORITY_LIMIT = 1 << 30


class Kind(StrEnum):
    """The queue of its host, of two, that a request waits in."""

    INDEX = "index"
    """Pages that lead on."""
    DETAIL = "detail"
    """Pages that hold the data."""


Callback = Callable[..., Any] | str | None


class Request:
    """One page to fetch, and the method of the spider that gets the answer.

    Callbacks travel by name between machines, so they must be methods of the spider: a lambda or a
    free function is refused here. ``meta`` and ``cb_kwargs`` hold plain data.
    """

    __slots__ = (
        "body",
        "callback",
        "cb_kwargs",
        "cookies",
        "dont_filter",
        "errback",
        "headers",
        "kind",
        "meta",
        "method",
        "priority",
        "url",
    )

    def __init__(
        self,
        url: str,
        callback: Callback = None,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        cookies: Mapping[str, str] | None = None,
        meta: Mapping[str, Any] | None = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        priority: int = 0,
        dont_filter: bool = False,
        errback: Callback = None,
        kind: Kind | str = Kind.INDEX,
    ) -> None:
        if not isinstance(url, str):
            raise TypeError(f"a request's url is text, not {type(url).__name__}")
        scheme, separator, rest = url.partition("://")
        if not separator or scheme.lower() not in ("http", "https") or not rest:
            raise ConfigurationError(f"not a URL that can be fetched: {url!r} (it must begin with http:// or https://)")
        self.url = url
        self.callback = callback_name(callback)
        self.method = method.upper()
        self.headers = dict(headers or {})
        self.body = body.encode() if isinstance(body, str) else bytes(body)
        self.cookies = dict(cookies or {})
        self.meta = dict(meta or {})
        self.cb_kwargs = dict(cb_kwargs or {})
        self.priority = max(-PRIORITY_LIMIT, min(PRIORITY_LIMIT, int(priority)))
        self.dont_filter = dont_filter
        self.errback = callback_name(errback)
        self.kind = Kind(kind)

    def replace(self, **changes: Any) -> Request:
        """Returns a copy with some fields changed."""
        fields = {name: getattr(self, name) for name in Request.__slots__}
        fields.update(changes)
        return Request(**fields)

    def copy(self) -> Request:
        return self.replace()

    def __repr__(self) -> str:
        return f"<{self.method} {self.url}>"


def callback_name(callback: Callback) -> str:
    """Returns the method's name; "" for the default. Raises ConfigurationError for what cannot travel."""
    if callback is None or callback == "":
        return ""
    if isinstance(callback, str):
        if not callback.isidentifier():
            raise ConfigurationError(f"not the name of a callback: {callback!r}")
        return callback
    name = getattr(callback, "__name__", "")
    owner = getattr(callback, "__self__", None)
    if owner is None or isinstance(owner, ModuleType) or not name.isidentifier():
        raise ConfigurationError(
            f"callback {callback!r} cannot travel to another machine: pass a method of the spider, such as self.parse"
        )
    return name
