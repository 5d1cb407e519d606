"""Selectors, and the links that they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import parsel

from p2pcrawl.spiders.page.limit import limited


class Selector(parsel.Selector):
    """parsel's selector; what is selected from it is one, too. Made of a ``response`` it is that of the page."""

    __slots__ = ("response",)

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
        self.response = response

    # css goes through xpath.
    xpath = limited(parsel.Selector.xpath)
    re = limited(parsel.Selector.re)


SelectorList: TypeAlias = parsel.SelectorList[Any]
Href: TypeAlias = str | parsel.Selector


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
    """Returns where a link leads: a URL, an ``<a>`` or ``<link>`` element, or its ``::attr(href)``. Raises ValueError
    for anything else.
    """
    if isinstance(link, str):
        return link
    if isinstance(link, parsel.SelectorList):
        raise ValueError("a list of selectors cannot be followed at once: use follow_all, or take one of them")
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
