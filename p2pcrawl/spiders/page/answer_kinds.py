"""The classes of answers, by what they hold, and the choice of one: by Content-Type, ending of the URL, or content."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from functools import lru_cache
from mimetypes import MimeTypes
from typing import Any
from urllib.parse import urlsplit

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.http.headers import HeadersLike
from p2pcrawl.spiders.page.charsets import encoding_named
from p2pcrawl.spiders.page.response import Response

_LOOK_SIZE = 5000
_XML = re.compile(r"(?:application|text)/(?!xhtml)(?:[\w.-]+\+)?xml\Z").match
_HTML = re.compile(r"text/html\Z|application/(?:vnd\.wap\.)?xhtml\+xml\Z").match
_JSON = re.compile(r"(?:application|text)/(?:x-|[\w.-]+\+)?json\Z").match
_TEXT = re.compile(r"text/|application/(?:x-)?(?:javascript|ecmascript)\Z").match
_no_text = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]").search
_guessed = MimeTypes().guess_type
"""By Python's own table, which is the same on all machines."""
_MARKS_16 = (b"\xfe\xff", b"\xff\xfe")


class TextResponse(Response):
    """An answer that is text: it has an ``encoding``, a ``text``, and things can be selected from it."""

    attributes = (*Response.attributes, "encoding")
    is_text = True

    __slots__ = ()

    def __init__(
        self,
        url: str,
        status: int = 200,
        headers: HeadersLike | None = None,
        body: bytes | str | None = b"",
        flags: Iterable[str] | None = None,
        request: Request | None = None,
        certificate: None = None,
        ip_address: object = "",
        protocol: str | None = None,
        *,
        encoding: str | None = None,
    ) -> None:
        """``encoding``: that of a body which is text, and counts more than what the page says of itself."""
        if isinstance(body, str):
            if encoding is None:
                raise TypeError("a response with a body of text needs an encoding: encoding='utf-8'")
            body = body.encode(encoding)
        super().__init__(url, status, headers, body, flags, request, certificate, ip_address, protocol)
        if encoding is not None:
            name = codecs.lookup(encoding).name
            self._encoding = encoding_named(encoding) or encoding_named(name) or name


class HtmlResponse(TextResponse):
    """An answer that is HTML."""

    is_html = True

    __slots__ = ()


class XmlResponse(TextResponse):
    """An answer that is XML, and no XHTML; it is parsed as XML."""

    is_xml = True

    __slots__ = ()


class JsonResponse(TextResponse):
    """An answer that is JSON."""

    __slots__ = ()


def response_of(answer: Answer, request: Request | None, depth: int = 0) -> Response:
    """Makes the response of an answer that came, of the class that fits it."""
    return response_class(answer.headers.get("Content-Type") or "", answer.url, answer.body).of(answer, request, depth)


def response_class(content_type: str, url: str = "", body: bytes = b"") -> type[Response]:
    """Returns the class that fits an answer: as its host says, else as its URL ends, else as it looks."""
    kind = class_by_type(content_type)
    if kind is Response:
        kind = class_by_url(url)
    return class_by_body(body) if kind is Response else kind


@lru_cache(maxsize=1024)
def class_by_type(content_type: str) -> type[Response]:
    """Returns the class by what a host calls the content; Response where that says nothing."""
    name = content_type.partition(";")[0].strip().lower()
    if _HTML(name):
        return HtmlResponse
    if _XML(name):
        return XmlResponse
    if _JSON(name):
        return JsonResponse
    return TextResponse if _TEXT(name) else Response


def class_by_url(url: str) -> type[Response]:
    """Returns the class by the ending of a URL; Response where that says nothing."""
    try:
        name = urlsplit(url).path.rpartition("/")[2]
    except ValueError:
        return Response
    if "." not in name:
        return Response
    guessed, packed = _guessed(name)
    return Response if packed or not guessed else class_by_type(guessed)


def class_by_body(body: bytes) -> type[Response]:
    """Returns the class by how the content begins; Response for what is no text."""
    look: Any = body[:_LOOK_SIZE]
    if _no_text(look) and not look.startswith(_MARKS_16):
        return Response
    start = look.lstrip().lower()
    if start.startswith(b"<?xml"):
        return XmlResponse
    return HtmlResponse if b"<html" in start or start.startswith(b"<!doctype html") else TextResponse
