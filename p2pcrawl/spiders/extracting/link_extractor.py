"""The links of a page that a spider wants, with their texts: Scrapy's LinkExtractor, on the tree at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from re import Pattern
from typing import TypeVar

from parsel.csstranslator import HTMLTranslator
from w3lib.url import canonicalize_url

from p2pcrawl.spiders.extracting.anchors import Anchor, LinkPlaces, in_lexbor, in_lxml, is_simple_css
from p2pcrawl.spiders.extracting.found_link import FoundLink
from p2pcrawl.spiders.extracting.wanted import Wanted, listed
from p2pcrawl.spiders.page.extensions import IGNORED_EXTENSIONS
from p2pcrawl.spiders.page.joining import LinkBase
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.response import Response

Patterns = str | Pattern[str] | Iterable[str | Pattern[str]]
Words = str | Iterable[str]

Thing = TypeVar("Thing")

_HTML5_SPACE = " \t\n\r\x0c"
_css = HTMLTranslator()


class LinkExtractor:
    """Finds the links of pages that patterns, domains, regions and endings want, each URL once.

    Patterns are searched for in the absolute URL, its fragment included. ``restrict_xpaths`` and ``restrict_css`` name
    the regions to look in; ``tags`` and ``attrs`` what is a link there (``*``: all), without ``deny_tags`` and
    ``deny_attrs``. ``process_value`` gets each value, joined to the page, and returns the URL to take, or None.
    """

    def __init__(
        self,
        allow: Patterns = (),
        deny: Patterns = (),
        allow_domains: Words = (),
        deny_domains: Words = (),
        restrict_xpaths: Words = (),
        tags: Words | None = ("a", "area"),
        attrs: Words | None = ("href",),
        canonicalize: bool = False,
        unique: bool = True,
        process_value: Callable[[str], str | None] | None = None,
        deny_extensions: Words | None = None,
        restrict_css: Words = (),
        strip: bool = True,
        restrict_text: Patterns | None = None,
        deny_tags: Words = (),
        deny_attrs: Words = (),
    ) -> None:
        extensions = IGNORED_EXTENSIONS if deny_extensions is None else deny_extensions
        self._wanted = Wanted(allow, deny, allow_domains, deny_domains, extensions, restrict_text)
        self._names = LinkPlaces(listed(tags), listed(attrs), listed(deny_tags), listed(deny_attrs))
        # Translated here, so that what is no CSS is said where it is written.
        self._css, translated = listed(restrict_css), [_css.css_to_xpath(each) for each in listed(restrict_css)]
        self.restrict_xpaths: tuple[str, ...] = (*listed(restrict_xpaths), *translated)
        self._needs_lxml = bool(listed(restrict_xpaths)) or not all(map(is_simple_css, self._css))
        self._process_value, self._strip = process_value, strip
        self.canonicalize, self.unique = canonicalize, unique

    @property
    def allow_res(self) -> list[Pattern[str]]:
        """The patterns of ``allow``, compiled."""
        return self._wanted.allow

    @property
    def deny_res(self) -> list[Pattern[str]]:
        """The patterns of ``deny``, compiled."""
        return self._wanted.deny

    @property
    def allow_domains(self) -> set[str]:
        return self._wanted.allow_domains

    @property
    def deny_domains(self) -> set[str]:
        return self._wanted.deny_domains

    def extract_links(self, response: Response) -> list[FoundLink]:
        """Returns the wanted links of a page, in its order; none for what is no markup.

        Raises ValueError when a region is no element.
        """
        if not response.is_markup:
            return []
        base = LinkBase(response.base_url, response.encoding)
        links = [link for region in self._regions(response) for link in self._links(region, base)]
        return _firsts([(link.url, link) for link in links]) if self.unique else links

    def matches(self, url: str) -> bool:
        """Tells whether patterns and domains want the URL; regions, texts and endings are left out of it."""
        return self._wanted.matches(url)

    @limited
    def _regions(self, response: Response) -> list[list[Anchor]]:
        names = self._names
        if self._needs_lxml or response.is_xml:
            selected = [each for path in self.restrict_xpaths for each in response.xpath(path)]
            return [list(in_lxml(each, names)) for each in (selected if self.restrict_xpaths else [response.selector])]
        if self._css:
            return [list(in_lexbor(node, names)) for css in self._css for node in response.tree.css(css)]
        return [list(in_lexbor(response.tree, names))]

    def _links(self, anchors: list[Anchor], base: LinkBase) -> Iterator[FoundLink]:
        """Yields the wanted links of one region. Of those to one URL the first is taken, and looked at alone."""
        if self._process_value is None:
            found = self._absolute(anchors, base)
        else:
            found = self._processed(anchors, base, self._process_value)
        return self._chosen(found)

    @limited
    def _absolute(self, anchors: list[Anchor], base: LinkBase) -> list[tuple[str, Anchor]]:
        absolute, space = base.absolute, _HTML5_SPACE if self._strip else ""
        return [
            (url, anchor)
            for anchor in anchors
            if (url := absolute(anchor.value.strip(space) if space else anchor.value))
        ]

    def _processed(
        self, anchors: list[Anchor], base: LinkBase, process_value: Callable[[str], str | None]
    ) -> list[tuple[str, Anchor]]:
        found = []
        for anchor in anchors:
            joined = base.joined(anchor.value.strip(_HTML5_SPACE) if self._strip else anchor.value)
            value = None if joined is None else process_value(joined)
            url = None if value is None else base.escaped(value)
            if url is not None:
                found.append((url, anchor))
        return found

    @limited
    def _chosen(self, found: list[tuple[str, Anchor]]) -> Iterator[FoundLink]:
        if self.unique:
            found = _firsts([(url, (url, anchor)) for url, anchor in found])
        wants, wants_text, links = self._wanted.wants, self._wanted.wants_text, []
        for url, anchor in found:
            if wants(url) and wants_text(text := anchor.text):
                rel = anchor.rel
                nofollow = bool(rel) and "nofollow" in rel.replace(",", " ").split()
                links.append(FoundLink(canonicalize_url(url) if self.canonicalize else url, text, nofollow=nofollow))
        return iter(links)


def _firsts(pairs: list[tuple[str, Thing]]) -> list[Thing]:
    """Returns the first thing of each key, in their order."""
    first: dict[str, Thing] = {}
    for key, thing in pairs:
        first.setdefault(key, thing)
    return list(first.values())
