"""Requests, as spiders make them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar, overload

from p2pcrawl.model.errors import BadRequest
from p2pcrawl.model.http.cookie_forms import CookiesLike, RequestCookies, checked_cookies
from p2pcrawl.model.http.curl import curl_command, request_arguments
from p2pcrawl.model.http.headers import Headers, HeadersLike
from p2pcrawl.model.http.queries import escaped_url

PRIORITY_LIMIT = 1 << 30


class Kind(StrEnum):
    """The queue of its host, of two, that a request waits in."""

    INDEX = "index"
    """Pages that lead on."""
    DETAIL = "detail"
    """Pages that hold the data."""


Callback = Callable[..., Any] | str | None
_AnyRequest = TypeVar("_AnyRequest", bound="Request")


def NO_CALLBACK(*arguments: Any, **keywords: Any) -> Any:
    """Raises RuntimeError: it stands for the callback of a request whose answer no method of the spider is to get."""
    raise RuntimeError("NO_CALLBACK is nothing to call: it says that nobody is to be called")


class Request:
    """One page to fetch, and the method of the spider that gets the answer.

    Callbacks travel by name between machines, so they must be methods of the spider: a lambda or a
    free function is refused here. ``meta`` and ``cb_kwargs`` hold plain data, items among it. What cannot be sent is
    refused where it is written: raises BadRequest, or TypeError for something of another type.

    A subclass may take arguments of its own; its requests reach the network, and their callbacks, as plain ones.
    """

    attributes: ClassVar[tuple[str, ...]] = (
        "url",
        "callback",
        "method",
        "headers",
        "body",
        "cookies",
        "meta",
        "encoding",
        "priority",
        "dont_filter",
        "errback",
        "flags",
        "cb_kwargs",
        "kind",
    )
    """The arguments of which a request is made, and a copy."""
    changed_at: float = 0.0
    """When the page was changed as somebody says (a sitemap), in seconds since 1970: one that is to be visited again,
    and was visited before that, is due at once. No part of a copy."""

    __slots__ = (*(name for name in attributes if name != "headers"), "__dict__", "__weakref__", "_headers")

    def __init__(
        self,
        url: str,
        callback: Callback = None,
        method: str = "GET",
        headers: HeadersLike | None = None,
        body: bytes | str | None = b"",
        cookies: CookiesLike | None = None,
        meta: Mapping[str, Any] | None = None,
        encoding: str = "utf-8",
        priority: int = 0,
        dont_filter: bool = False,
        errback: Callback = None,
        flags: Iterable[str] | None = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        kind: Kind | str = Kind.INDEX,
    ) -> None:
        """``encoding``: of a body given as text, and of a query that is not ASCII."""
        if not (type(url) is str and encoding == "utf-8" and _is_plain(url)):
            url = _checked(url, encoding)
        if callback is not None or errback is not None:
            callback_name(callback)
            callback_name(errback)
        self.url = url
        self.encoding = encoding
        self.callback = callback or None
        self.method = method if method == "GET" else method.upper()
        self._headers = Headers(headers) if headers else None
        self.body = body if type(body) is bytes else encoded_body(body, encoding)
        self.cookies: RequestCookies = checked_cookies(cookies) if cookies else {}
        self.meta: dict[str, Any] = dict(meta) if meta else {}
        self.cb_kwargs: dict[str, Any] = dict(cb_kwargs) if cb_kwargs else {}
        self.priority = max(-PRIORITY_LIMIT, min(PRIORITY_LIMIT, int(priority))) if priority else 0
        self.dont_filter = dont_filter
        self.errback = errback or None
        self.flags: list[str] = list(flags) if flags else []
        self.kind = kind if type(kind) is Kind else Kind(kind)

    @property
    def headers(self) -> Headers:
        """The headers; what is set in their place is read as the argument is."""
        headers = self._headers
        if headers is None:
            # Most requests never have any of their own.
            headers = self._headers = Headers()
        return headers

    @headers.setter
    def headers(self, headers: HeadersLike) -> None:
        self._headers = headers if isinstance(headers, Headers) else Headers(headers)

    @overload
    def replace(self, *, cls: type[_AnyRequest], **changes: Any) -> _AnyRequest: ...
    @overload
    def replace(self, *, cls: None = None, **changes: Any) -> Self: ...
    def replace(self, *, cls: type[Request] | None = None, **changes: Any) -> Request:
        """Returns a copy with some fields changed: of the same class, or of ``cls``."""
        made = cls or type(self)
        for name in self.attributes:
            # Classes of people's own may not know of kinds.
            if name not in changes and name in made.attributes and (name != "kind" or self.kind is not Kind.INDEX):
                changes[name] = getattr(self, name)
        return made(**changes)

    def copy(self) -> Self:
        """Returns a request with the same fields, which shares none of them."""
        return self.replace()

    def to_dict(self, *, spider: Any = None) -> dict[str, Any]:
        """Returns the request as a dict of plain data, with the names of its callbacks. Raises ValueError for those
        that are not the methods of ``spider``, if one is given.
        """
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.attributes}
        for part in ("callback", "errback"):
            given = fields[part]
            if spider is not None and callable(given) and getattr(given, "__self__", None) is not spider:
                raise ValueError(f"{given!r} is no method of spider {spider!r}")
            fields[part] = callback_name(given) or None
        fields["headers"], fields["kind"] = self.headers.to_plain(), str(self.kind)
        kind = type(self)
        if kind is not Request:
            fields["_class"] = f"{kind.__module__}.{kind.__qualname__}"
        return fields

    @classmethod
    def from_curl(cls, curl_command: str, ignore_unknown_options: bool = True, **changes: Any) -> Self:
        """Makes the request of a curl command, as browsers' tools copy it, with some fields changed.

        Raises BadRequest for what cannot be read, and for options that are not known unless they are to be ignored.
        """
        return cls(**{**request_arguments(curl_command, ignore_unknown_options=ignore_unknown_options), **changes})

    def to_curl(self) -> str:
        """Returns a command of curl that makes this request."""
        return curl_command(self)

    def __repr__(self) -> str:
        return f"<{self.method} {self.url}>"


_is_plain = re.compile(r"https?://[!-~]+\Z").match
"""Nothing has to be done about it."""


def _checked(url: str, encoding: str) -> str:
    """Returns a URL as it can be sent. Raises BadRequest for what is none, TypeError for what is no text."""
    if not isinstance(url, str):
        raise TypeError(f"a request's url is text, not {type(url).__name__}")
    scheme, separator, rest = url.strip().partition("://")
    if not separator or scheme.lower() not in ("http", "https") or not rest:
        raise BadRequest(f"not a URL that can be fetched: {url!r} (it must begin with http:// or https://)")
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise BadRequest(f"encoding {encoding!r} is not known") from None
    return escaped_url(url, encoding)


def encoded_body(body: object, encoding: str = "utf-8") -> bytes:
    """Returns a body as it is sent. Raises TypeError for what is neither text nor bytes."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode(encoding)
    if body is None:
        return b""
    if isinstance(body, bytearray | memoryview):
        return bytes(body)
    raise TypeError(f"the body of a request is text or bytes, not {type(body).__name__}")


def callback_name(callback: Callback) -> str:
    """Returns the method's name; "" for the default. Raises BadRequest for what cannot travel."""
    if callback is None or callback == "":
        return ""
    if isinstance(callback, str):
        if not callback.isidentifier():
            raise BadRequest(f"not the name of a callback: {callback!r}")
        return callback
    if callback is NO_CALLBACK:
        return NO_CALLBACK.__name__
    name = getattr(callback, "__name__", "")
    owner = getattr(callback, "__self__", None)
    if owner is None or isinstance(owner, ModuleType) or not name.isidentifier():
        raise BadRequest(
            f"callback {callback!r} cannot travel to another machine: pass a method of the spider, such as self.parse"
        )
    function = getattr(callback, "__func__", None)
    if function is not None and getattr(type(owner), name, None) is not function:
        kind: Any = type(owner)
        return _attribute_of(kind, function) or name
    return name


@lru_cache(maxsize=1_024)
def _attribute_of(cls: Any, function: Any) -> str:
    """Returns the name by which a class holds a function that is called otherwise, as ``self.__parse`` and decorated
    ones are; "" where it holds it by none.
    """
    names = (name for each in cls.__mro__ for name, value in vars(each).items() if value is function)
    return next((name for name in names if getattr(cls, name, None) is function), "")
