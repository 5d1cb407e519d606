"""Selectors, and the links that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, cast

import parsel
from lxml import etree

from p2pcrawl.spiders.page.limit import limited

_NAMESPACES: dict[str, str] = dict(parsel.Selector._default_namespaces)
"""Shared by all selectors that have no others. It is replaced, never changed."""


@lru_cache(maxsize=2048)
def _compiled(query: str) -> etree.XPath | None:
    """Returns a query that is ready to run; None for one that parsel has to look at, or cannot be read."""
    if "re:" in query or "set:" in query:
        return None  # lxml keeps a log of errors for each of these.
    try:
        return etree.XPath(query, namespaces=_NAMESPACES, smart_strings=False)
    except etree.XPathError:
        return None


class SelectorList(parsel.SelectorList["Selector"]):
    """Selectors that a query found, in the order of the page."""


class Selector(parsel.Selector):
    """parsel's selector; what is selected from it is one, too. Made of a ``response`` it is that of the page.

    A page of forty links means a hundred selectors, and parsel takes longer to make one than to find what it is for.
    What is selected without namespaces or variables is made here, in a tenth of the time.
    """

    __slots__ = ("response",)

    selectorlist_cls: Any = SelectorList

    def __init__(self, text: Any = None, type: str | None = None, *, response: Any = None, **options: Any) -> None:
        """``text``: the page; a response in its place is taken for ``response``."""
        if hasattr(text, "selector"):
            text, response = None, text
        if response is not None and text is None and "root" not in options:
            text = response.text
            type = type or ("xml" if response.is_xml else "html")
            options.setdefault("base_url", response.url)
        if text is not None:
            options["text"] = text
        super().__init__(type=type, **options)
        if self.namespaces == _NAMESPACES:
            self.namespaces = _NAMESPACES
        self.response = response

    @limited
    def xpath(self, query: str, namespaces: Mapping[str, str] | None = None, **variables: Any) -> SelectorList:
        """Returns what the query finds, as parsel does; css goes through here."""
        root, kind = self.root, self.type
        if namespaces is None and self.namespaces is _NAMESPACES and isinstance(root, etree._Element):
            find = _compiled(query)
            if find is not None:
                return self._made(find, query, kind, variables)
        return cast(SelectorList, super().xpath(query, namespaces, **variables))

    def css(self, query: str) -> SelectorList:
        """Returns what the query finds."""
        return cast(SelectorList, super().css(query))

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """Returns what the query finds in JSON."""
        return cast(SelectorList, super().jmespath(query, **options))

    re = limited(parsel.Selector.re)

    def register_namespace(self, prefix: str, uri: str) -> None:
        """Registers a namespace for queries of this selector and of what they find."""
        self.namespaces = {**self.namespaces, prefix: uri}

    def get(self) -> Any:
        """Returns what was found as text: an element with its tags, an attribute or a text as it is."""
        root = self.root
        if isinstance(root, str):
            return str(root)
        return super().get()

    extract = get

    def _made(self, find: etree.XPath, query: str, kind: str, variables: dict[str, Any]) -> SelectorList:
        try:
            found = find(self.root, **variables)
        except etree.XPathError as error:
            raise ValueError(f"XPath error: {error} in {query}") from error
        cls, response, huge = type(self), self.response, self._huge_tree
        new = cls.__new__
        made = []
        for each in found if isinstance(found, list) else [found]:
            selector = new(cls)
            selector.root, selector.type, selector.namespaces = each, kind, _NAMESPACES
            selector._expr, selector._huge_tree, selector._text = query, huge, None
            selector.response = response
            made.append(selector)
        return cast(SelectorList, self.selectorlist_cls(made))


class HasUrl(Protocol):
    """A link that a LinkExtractor found, or whatever else has a URL."""

    url: str


Href: TypeAlias = str | parsel.Selector | HasUrl


def hrefs_selected(selectors: Iterable[parsel.Selector]) -> list[str]:
    """Returns where the selected elements lead; those that lead nowhere are left out."""
    hrefs = []
    for selector in selectors:
        try:
            hrefs.append(href_of(selector))
        except ValueError:
            continue
    return hrefs


def href_of(link: object) -> str:
    """Returns where a link leads: a URL, an ``<a>`` or ``<link>`` element, its ``::attr(href)``, or a link that an
    extractor found. Raises ValueError for anything else.
    """
    if isinstance(link, str):
        return link
    if isinstance(link, parsel.SelectorList):
        raise ValueError("a list of selectors cannot be followed at once: use follow_all, or take one of them")
    if not isinstance(link, parsel.Selector) and isinstance(found := getattr(link, "url", None), str):
        return found.strip(" \t\n\f\r")  # What a LinkExtractor finds.
    if not isinstance(link, parsel.Selector):
        raise ValueError(f"a link is text or a selector, not {type(link).__name__}")
    root = link.root
    if isinstance(root, str):
        return root.strip(" \t\n\f\r")
    tag = getattr(root, "tag", None)
    if tag not in ("a", "link"):
        raise ValueError(f"only <a> and <link> elements can be followed, not <{tag}>")
    href = root.get("href")
    if href is None:
        raise ValueError(f"<{tag}> has no href")
    return str(href).strip(" \t\n\f\r")
