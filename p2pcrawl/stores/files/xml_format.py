"""XML as Scrapy writes it: <items><item><field>text</field></item></items>.

The elements of a list are <value>, an object's fields nested elements, null an empty element. Characters
that XML cannot hold are left out, names are made names by underscores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from xml.parsers import expat

from p2pcrawl.model.errors import StorageError
from p2pcrawl.stores.files.existing import Existing
from p2pcrawl.stores.files.formats import CannotContinue, Jointed, Kept

_ROOT = "items"
_DEPTH_MAX = 50
"""Objects and lists deeper than this are written as JSON text: readers of XML have limits too."""

_BOM = b"\xef\xbb\xbf"
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile("[&<>\r]")
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_NOT_IN_NAME = re.compile(r"[^\w.-]")
_NOT_IN_ASCII_NAME = re.compile(r"[^A-Za-z0-9_.-]")

# Numbers stay as they were written: a float would lose digits.
_decode = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, strict=False).decode


class Xml(Jointed):
    """One XML document, an item per line."""

    name = "xml"
    reads_whole = True

    def __init__(self) -> None:
        self.joint = ""
        self.begin()

    def begin(self) -> None:
        self.joint = f'<?xml version="1.0" encoding="utf-8"?>\n<{_ROOT}>\n'

    def continue_from(self, text: Existing) -> Kept:
        if text.end_without(b" \t\r\n") == 0:
            self.begin()
            return Kept(0, 0)
        start, end = _root(text)
        if start is None:
            self.joint = ""
            return Kept(text.end_without(b" \t\r\n", end), end)
        # An empty root, <items/>: opened again as it was.
        self.joint = text.whole[start:end].removesuffix(b"/>").rstrip().decode("utf-8") + ">\n"
        return Kept(start, start)

    def encode(self, items: Sequence[bytes]) -> bytes:
        parts = [self.joint]
        self.joint = ""
        for fields in map(_fields, items):
            parts.append("<item>")
            for name, value in fields.items():
                _add(parts, name, value, 2)
            parts.append("</item>\n")
        return "".join(parts).encode("utf-8", "replace")

    def closing(self) -> bytes:
        return f"{self.joint}</{_ROOT}>\n".encode()


def _fields(item: bytes) -> dict[str, Any]:
    try:
        fields = _decode(item.decode("utf-8", "replace"))
    except RecursionError:
        return {"json": item.decode("utf-8", "replace")}
    except ValueError as error:
        raise StorageError(f"an item is not a JSON object: {error}") from error
    if not isinstance(fields, dict):
        raise StorageError(f"an item is not a JSON object but {type(fields).__name__}")
    return fields


def _add(parts: list[str], name: str, value: Any, depth: int) -> None:
    tag = _tag(name)
    if isinstance(value, str):
        parts.append(f"<{tag}>{_escaped(value)}</{tag}>")
    elif value is None:
        parts.append(f"<{tag}></{tag}>")
    elif isinstance(value, bool):
        parts.append(f"<{tag}>{'true' if value else 'false'}</{tag}>")
    elif depth >= _DEPTH_MAX:
        parts.append(f"<{tag}>{_escaped(json.dumps(value, ensure_ascii=False))}</{tag}>")
    else:
        parts.append(f"<{tag}>")
        inner = value.items() if isinstance(value, dict) else (("value", element) for element in value)
        for inner_name, element in inner:
            _add(parts, inner_name, element, depth + 1)
        parts.append(f"</{tag}>")


def _escaped(text: str) -> str:
    if not text.isprintable():
        text = _INVALID.sub("", text)
    return _SPECIAL.sub(lambda match: _ESCAPED[match[0]], text)


@lru_cache(maxsize=4096)
def _tag(name: str) -> str:
    safe = _NOT_IN_NAME.sub("_", name)
    ascii_only = _NOT_IN_ASCII_NAME.sub("_", name)
    return next(tag for tag in (safe, f"_{safe}", ascii_only, f"_{ascii_only}") if _is_name(tag))


def _is_name(tag: str) -> bool:
    """Editions of XML differ in what a name may hold; what this parser takes, all take."""
    try:
        expat.ParserCreate().Parse(f"<{tag}/>".encode("utf-8", "replace"), True)
    except expat.ExpatError:
        return False
    return True


def _root(text: Existing) -> tuple[int | None, int]:
    """Finds where the end tag of the root begins; or, for a root that is one empty tag, its start and its end."""
    whole, depth, begin, end = text.whole, 0, 0, 0
    encodings: list[str] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: Any) -> None:
        nonlocal depth, begin
        if depth == 0:
            begin = parser.CurrentByteIndex
            if name != _ROOT:
                raise CannotContinue(f"has the root <{name}>, not <{_ROOT}>")
        depth += 1

    def stop(name: str) -> None:
        nonlocal depth, end
        depth -= 1
        if depth == 0:
            end = parser.CurrentByteIndex

    def declaration(version: str, encoding: str | None, standalone: int) -> None:
        encodings.append(encoding or "utf-8")

    parser.StartElementHandler = start
    parser.EndElementHandler = stop
    parser.XmlDeclHandler = declaration
    try:
        for position in range(0, text.size, 1 << 16):
            parser.Parse(whole[position : position + (1 << 16)], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise CannotContinue(f"is not a whole XML document ({error})") from None
    if whole[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings = ["UTF-16"]
    if encodings and encodings[0].lower() not in ("utf-8", "utf8"):
        raise CannotContinue(f"is not encoded as UTF-8 but {encodings[0]}")
    empty = whole[end : end + 2] != b"</"
    if text.end_without(b" \t\r\n") != (end if empty else whole.find(b">", end) + 1):
        raise CannotContinue(f"has something behind </{_ROOT}>")
    return (begin if empty else None), end
