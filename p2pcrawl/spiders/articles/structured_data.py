"""The statements of a page about itself for machines: JSON-LD, OpenGraph and microdata, as plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

BLOCK_SIZE: Final = 1 << 20
"""Characters of one block of JSON-LD; a longer one is left out."""
ITEMS_MAX: Final = 10_000
"""Properties of microdata that are read."""
DEPTH_MAX: Final = 32
"""Items of microdata within each other."""

_comments = re.compile(r"\A\s*(?:<!--|<!\[CDATA\[|//\s*<!\[CDATA\[)|(?:-->|\]\]>)\s*\Z").sub
_GRAPHS: Final = ("og:", "article:", "book:", "profile:", "music:", "video:", "product:", "fb:", "twitter:")
_WITH_URL: Final = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_WITH_VALUE: Final = {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}


@dataclass(frozen=True, slots=True)
class StructuredData:
    """The statements of a page about itself."""

    json_ld: list[Any] = field(default_factory=list)
    """Its objects, in order; those of a list or a ``@graph`` each by itself."""
    opengraph: dict[str, list[str]] = field(default_factory=dict)
    """By property, such as ``og:title``: its values, in order."""
    microdata: list[dict[str, Any]] = field(default_factory=list)
    """Its outermost items: ``type``, ``id`` and ``properties``, each with its values, which may be items."""


def structured_data(tree: LexborHTMLParser, url: str) -> StructuredData:
    """Reads what the page at ``url`` states about itself. What is malformed is left out."""
    return StructuredData(list(json_ld_of(tree)), _opengraph(tree), _Microdata(tree, url).items())


def json_ld_of(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    """Yields the objects of JSON-LD on a page, those of a list or a ``@graph`` each by itself."""
    for node in tree.css("script[type]"):
        if not (node.attributes["type"] or "").strip().lower().startswith("application/ld+json"):
            continue
        text = _comments("", node.text())
        if len(text) > BLOCK_SIZE:
            continue
        try:
            read = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        for each in read if isinstance(read, list) else [read]:
            if isinstance(each, dict) and isinstance(each.get("@graph"), list):
                yield from (part for part in each["@graph"] if isinstance(part, dict))
            elif isinstance(each, dict):
                yield each


def _opengraph(tree: LexborHTMLParser) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in tree.css("meta[content]"):
        name = (node.attributes.get("property") or node.attributes.get("name") or "").strip().lower()
        if name.startswith(_GRAPHS):
            found.setdefault(name, []).append((node.attributes["content"] or "").strip())
    return found


@dataclass(slots=True)
class _Element:
    node: LexborNode
    properties: dict[str, list[Any]] = field(default_factory=dict)


class _Microdata:
    """Reads microdata as HTML defines it, ``itemref`` included."""

    def __init__(self, tree: LexborHTMLParser, url: str) -> None:
        base = tree.css_first("base[href]")
        self._base = _joined(url, base.attributes["href"] or "") if base is not None else url
        self._items = {node.mem_id: _Element(node) for node in tree.css("[itemscope]")[:ITEMS_MAX]}
        self._referring: dict[str, list[_Element]] = {}
        for item in self._items.values():
            for name in (item.node.attributes.get("itemref") or "").split():
                self._referring.setdefault(name, []).append(item)
        for node in tree.css("[itemprop]")[:ITEMS_MAX] if self._items else ():
            value = self._items.get(node.mem_id) or self._value(node)
            for owner in self._owners(node):
                for name in dict.fromkeys((node.attributes["itemprop"] or "").split()):
                    owner.properties.setdefault(name, []).append(value)

    def items(self) -> list[dict[str, Any]]:
        """Returns the outermost items."""
        return [self._plain(each, ()) for each in self._items.values() if "itemprop" not in each.node.attributes]

    def _owners(self, node: LexborNode) -> Iterator[_Element]:
        """Yields the items to which a property belongs: the one around it, and those that refer to a place there."""
        place: LexborNode | None = node
        while place is not None:
            if place.mem_id != node.mem_id and (item := self._items.get(place.mem_id)) is not None:
                yield item
                return
            if self._referring and place.is_element_node:
                yield from self._referring.get(place.attributes.get("id") or "", ())
            place = place.parent

    def _value(self, node: LexborNode) -> str:
        tag, said = node.tag or "", node.attributes
        if tag in _WITH_URL:
            return _joined(self._base, said.get(_WITH_URL[tag]) or "")
        if tag in _WITH_VALUE and said.get(_WITH_VALUE[tag]) is not None:
            return (said[_WITH_VALUE[tag]] or "").strip()
        return " ".join(node.text().split())

    def _plain(self, item: _Element, around: tuple[int, ...]) -> dict[str, Any]:
        """Writes an item as plain data; one that holds itself is written once."""
        within = (*around, item.node.mem_id)
        said: dict[str, Any] = {"type": (item.node.attributes.get("itemtype") or "").split()}
        if item.node.attributes.get("itemid"):
            said["id"] = item.node.attributes["itemid"]
        said["properties"] = {
            name: [
                self._plain(value, within) if isinstance(value, _Element) else value
                for value in values
                if not isinstance(value, _Element) or (value.node.mem_id not in within and len(within) < DEPTH_MAX)
            ]
            for name, values in item.properties.items()
        }
        return said


def _joined(base: str, url: str) -> str:
    try:
        return urljoin(base, url.strip())
    except ValueError:
        return url
