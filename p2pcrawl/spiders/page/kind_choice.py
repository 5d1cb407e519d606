"""The choice of an answer's class for those who make answers themselves: of a browser, a file, a cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from p2pcrawl.spiders.page.answer_kinds import class_by_body, class_by_type, class_by_url
from p2pcrawl.spiders.page.response import Response

_FILENAME = re.compile(r"filename\s*=\s*(?:\"([^\"]*)\"|([^\s;]*))", re.IGNORECASE)


class ResponseTypes:
    """Chooses by one thing or several; Response is the class of what is not known to be text."""

    def from_args(
        self,
        headers: Mapping[Any, Any] | None = None,
        url: str | None = None,
        filename: str | None = None,
        body: bytes | None = None,
    ) -> type[Response]:
        """Returns the class by the first of these that says one: the host's words, the URL, a file's name, the body."""
        found = Response if headers is None else self.from_headers(headers)
        if found is Response and url:
            found = class_by_url(url)
        if found is Response and filename:
            found = self.from_filename(filename)
        return self.from_body(body) if found is Response and body is not None else found

    def from_headers(self, headers: Mapping[Any, Any]) -> type[Response]:
        """Returns the class by Content-Type, or by the name of an attachment; what is packed is no text yet."""
        if _field(headers, "Content-Encoding"):
            return Response
        found = self.from_content_type(_field(headers, "Content-Type"))
        return found if found is not Response else self.from_content_disposition(_field(headers, "Content-Disposition"))

    def from_content_type(self, content_type: str | bytes, content_encoding: object = None) -> type[Response]:
        """Returns the class by what a host calls the content."""
        return Response if content_encoding else class_by_type(_text(content_type))

    def from_content_disposition(self, content_disposition: str | bytes) -> type[Response]:
        """Returns the class by the name of an attachment."""
        name = _FILENAME.search(_text(content_disposition))
        return self.from_filename(name[1] or name[2] or "") if name is not None else Response

    def from_filename(self, filename: str) -> type[Response]:
        """Returns the class by a file's ending."""
        return class_by_url(f"file:///{filename.replace('?', '_').replace('#', '_')}")

    def from_body(self, body: bytes) -> type[Response]:
        """Returns the class by how the content begins."""
        return class_by_body(body)


responsetypes = ResponseTypes()


def _field(headers: Mapping[Any, Any], name: str) -> str:
    """Returns a header's value, of what knows its names in any case or of a plain mapping with this one."""
    value = headers.get(name) or headers.get(name.encode()) or ""
    if isinstance(value, list | tuple):
        value = value[-1] if value else ""
    return _text(value)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
