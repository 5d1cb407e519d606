"""The elements of a page that links are taken from, in lexbor's tree or in libxml2's.

Regions that are chosen by XPath need libxml2; all else is found in lexbor's tree, which is built in a tenth of the time
and is there already when the page's base has been asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import parsel
from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

ALL = "*"
_XHTML = "{http://www.w3.org/1999/xhtml}"
_text_of = etree.XPath("string()")
# Of types, classes, identifiers and combinators lexbor thinks as cssselect does.
is_simple_css = re.compile(r"[\w\s.#>,*+~-]+\Z").match


class Anchor(Protocol):
    """One value that may be a link, and the element that it stands at."""

    value: str

    @property
    def text(self) -> str: ...

    @property
    def rel(self) -> str: ...


class LinkPlaces:
    """The tags and attributes that links are taken from: those named (``*``: all), without those denied."""

    __slots__ = ("_attributes", "_denied_attributes", "_denied_tags", "_only", "_tags", "selector")

    def __init__(
        self,
        tags: Collection[str],
        attributes: Collection[str],
        denied_tags: Collection[str] = (),
        denied_attributes: Collection[str] = (),
    ) -> None:
        self._tags, self._denied_tags = frozenset(tags), frozenset(denied_tags)
        self._attributes, self._denied_attributes = frozenset(attributes), frozenset(denied_attributes)
        wanted = self._attributes - self._denied_attributes
        self._only = next(iter(wanted)) if len(wanted) == 1 and ALL not in wanted else ""
        plain = all(map(str.isidentifier, self._attributes))
        self.selector = ",".join(f"[{name}]" for name in sorted(self._attributes)) if plain and wanted else ALL
        """CSS for the elements that may have such an attribute."""

    def has_tag(self, tag: str) -> bool:
        return tag not in self._denied_tags and (tag in self._tags or ALL in self._tags)

    def values_of(self, attributes: Mapping[str, str | None]) -> Sequence[str]:
        """Returns the values of an element's attributes that count, in their order."""
        if self._only:
            return (attributes[self._only] or "",) if self._only in attributes else ()
        wanted, denied = self._attributes, self._denied_attributes
        return [
            value or ""
            for name, value in attributes.items()
            if name not in denied and (name in wanted or ALL in wanted)
        ]


class _InLexbor:
    __slots__ = ("_node", "value")

    def __init__(self, node: LexborNode, value: str) -> None:
        self._node = node
        self.value = value

    @property
    def text(self) -> str:
        return self._node.text()

    @property
    def rel(self) -> str:
        return self._node.attributes.get("rel") or ""


class _InLxml:
    __slots__ = ("_element", "value")

    def __init__(self, element: Any, value: str) -> None:
        self._element = element
        self.value = value

    @property
    def text(self) -> str:
        return str(_text_of(self._element))

    @property
    def rel(self) -> str:
        return str(self._element.get("rel") or "")


def in_lexbor(root: LexborHTMLParser | LexborNode, names: LinkPlaces) -> Iterator[Anchor]:
    """Yields the anchors at and below ``root``, in the order of the page."""
    for node in root.css(names.selector):
        if names.has_tag(node.tag or ""):
            for value in names.values_of(node.attributes):
                yield _InLexbor(node, value)


def in_lxml(region: parsel.Selector, names: LinkPlaces) -> Iterator[Anchor]:
    """Yields the anchors at and below a selected element, in the order of the page. Raises ValueError for what is no
    element.
    """
    root = region.root
    if not isinstance(root, etree._Element):
        raise ValueError("restrict_xpaths select elements, not text or attributes: leave out the @attribute or text()")
    for element in root.iter(etree.Element):
        if names.has_tag(element.tag.removeprefix(_XHTML)):
            for value in names.values_of(element.attrib):
                yield _InLxml(element, value)
