"""The answer that a callback gets, and can ask for text, selectors, links and requests.

Everything is found when it is first asked for: a page whose links are followed and nothing else is parsed once, by
lexbor, straight from its bytes. The tree of parsel is built by ``css``, ``xpath`` and ``re`` only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from re import Pattern
from typing import Any, Literal
from urllib.parse import urljoin

import parsel
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Callback, Kind, Request
from p2pcrawl.model.http.cookie_forms import CookiesLike
from p2pcrawl.model.http.headers import HeadersLike
from p2pcrawl.model.http.queries import with_query_in
from p2pcrawl.spiders.page import markup
from p2pcrawl.spiders.page.bombs import bearable
from p2pcrawl.spiders.page.charsets import read
from p2pcrawl.spiders.page.encoding import encoding_of
from p2pcrawl.spiders.page.extensions import is_no_page, with_extension
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.links import LinkBatch, join_all, normalise, page_links

Href = str | parsel.Selector
_XML = re.compile(r"(?:application|text)/(?!xhtml)(?:[\w.-]+\+)?xml\b", re.IGNORECASE)
_HTML = re.compile(r"\s*(?:text/html|application/(?:vnd\.wap\.)?xhtml\+xml)\b", re.IGNORECASE)
_LOOK_SIZE = 1024
_NO_MARKUP = re.compile(
    r"image/(?!svg)|video/|audio/|font/|application/(?:pdf|zip|gzip|octet-stream|json)|text/(?:plain|css|csv)", re.I
)


class Response:
    """An answer, the request that it belongs to, and how many links it is away from a start URL."""

    __slots__ = (
        "_base",
        "_bearable",
        "_encoding",
        "_links",
        "_selector",
        "_text",
        "_title",
        "_tree",
        "answer",
        "depth",
        "request",
    )

    def __init__(self, answer: Answer, request: Request, depth: int = 0) -> None:
        self.answer = answer
        self.request = request
        self.depth = depth
        self._encoding: str | None = None
        self._bearable: int | None = None
        self._text: str | None = None
        self._selector: parsel.Selector | None = None
        self._tree: LexborHTMLParser | None = None
        self._base: str | None = None
        self._links: list[str] | None = None
        self._title: str | None = None

    # -- what the host said -------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self.answer.url

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.answer.headers

    @property
    def body(self) -> bytes:
        return self.answer.body

    @property
    def ip_address(self) -> str:
        return self.answer.ip

    @property
    def flags(self) -> list[str]:
        return self.answer.flags

    @property
    def usage(self) -> Mapping[str, Any]:
        """The statements of the site about the use of this page, by purpose, with their words; empty when there are
        none, or the settings do not ask for them (PURPOSE, USAGE_FIELD).
        """
        return self.answer.usage or {}

    @property
    def meta(self) -> dict[str, Any]:
        """The request's ``meta``, with ``depth`` and ``download_latency`` added."""
        meta = self.request.meta
        meta["depth"] = self.depth
        meta["download_latency"] = self.answer.latency_s
        return meta

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        return self.request.cb_kwargs

    # -- text -----------------------------------------------------------------------------------

    @property
    @limited
    def encoding(self) -> str:
        """By byte-order mark, Content-Type, declaration in the page, or a guess, in this order."""
        if self._encoding is None:
            self._encoding = encoding_of(self.body, self._content_type)
        return self._encoding

    @property
    @limited
    def text(self) -> str:
        """The body as text; what cannot be read is replaced."""
        if self._text is None:
            self._text = read(self.body, self.encoding)
        return self._text

    @limited
    def json(self) -> Any:
        """Reads the body as JSON. Raises ValueError when it is none."""
        try:
            return json.loads(self.body)
        except UnicodeDecodeError:
            return json.loads(self.text)

    # -- selectors --------------------------------------------------------------------------------

    @property
    @limited
    def selector(self) -> parsel.Selector:
        """parsel's view of the page, built when first asked for."""
        if self._selector is None:
            kind: Literal["xml", "html"] = "xml" if self.is_xml else "html"
            self._selector = _Selector(self._markup.decode("utf-8", "replace"), type=kind, base_url=self.url)
        return self._selector

    @limited
    def css(self, query: str) -> parsel.SelectorList[parsel.Selector]:
        return self.selector.css(query)

    @limited
    def xpath(self, query: str, **variables: Any) -> parsel.SelectorList[parsel.Selector]:
        return self.selector.xpath(query, **variables)

    @limited
    def jmespath(self, query: str, **options: Any) -> parsel.SelectorList[parsel.Selector]:
        return parsel.Selector(self.text, type="json").jmespath(query, **options)

    @limited
    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """Returns all matches of ``pattern`` in the markup: the groups if it has any, else the whole. Entities are
        read.
        """
        return self.selector.re(pattern)

    @limited
    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        return self.selector.re_first(pattern, default)

    # -- links --------------------------------------------------------------------------------------

    @property
    @limited
    def title(self) -> str:
        """The page's title with its white space collapsed; "" when there is none."""
        if self._title is None:
            self._title = markup.title_of(self.tree) if self.is_markup else ""
        return self._title

    @property
    @limited
    def links(self) -> list[str]:
        """The links of the page: absolute, normalised, each once, in order."""
        if self._links is None:
            self._links = page_links(self.tree, self.url, self.encoding) if self.is_markup else []
        return self._links

    @property
    @limited
    def tree(self) -> LexborHTMLParser:
        """lexbor's view of the page, built when first asked for."""
        if self._tree is None:
            self._tree = markup.parsed(self._markup)
        return self._tree

    @property
    @limited
    def base_url(self) -> str:
        """The URL that relative links stand on: the page's, or its ``<base href>``."""
        if self._base is None:
            href = markup.base_of(self.tree) if self.is_markup else ""
            self._base = (normalise(href, self.url) if href else None) or self.url
        return self._base

    def urljoin(self, url: str) -> str:
        """Returns ``url`` made absolute, and otherwise left as it is; a query that is not ASCII in the encoding of the
        page.
        """
        if not url.isascii():
            url = with_query_in(url, self.encoding)
        return urljoin(self.base_url, url)

    def follow(
        self,
        url: Href,
        callback: Callback = None,
        method: str = "GET",
        headers: HeadersLike | None = None,
        body: bytes | str | None = None,
        cookies: CookiesLike | None = None,
        meta: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        priority: int = 0,
        dont_filter: bool = False,
        errback: Callback = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        flags: Iterable[str] | None = None,
        *,
        kind: Kind | str = Kind.INDEX,
    ) -> Request:
        """Returns the request for a link: a URL, an ``<a>`` or ``<link>`` element, or its ``::attr(href)``. A query
        that is not ASCII is sent in the ``encoding`` of the page, if no other is given.

        Raises ValueError for anything else, and for what is no http(s) URL.
        """
        href = _href(url)
        absolute = normalise(href, self.base_url, "utf-8" if href.isascii() else encoding or self.encoding)
        if absolute is None:
            raise ValueError(f"not a link that can be followed: {href[:200]!r} on {self.url}")
        return Request(
            absolute,
            callback=callback,
            method=method,
            headers=headers,
            body=body,
            cookies=cookies,
            meta=meta,
            encoding=encoding or "utf-8",
            priority=priority,
            dont_filter=dont_filter,
            errback=errback,
            flags=flags,
            cb_kwargs=cb_kwargs,
            kind=kind,
        )

    @limited
    def follow_all(
        self,
        urls: Iterable[Href] | parsel.SelectorList[parsel.Selector] | None = None,
        callback: Callback = None,
        method: str = "GET",
        headers: HeadersLike | None = None,
        body: bytes | str | None = None,
        cookies: CookiesLike | None = None,
        meta: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        priority: int = 0,
        dont_filter: bool = False,
        errback: Callback = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        flags: Iterable[str] | None = None,
        css: str | None = None,
        xpath: str | None = None,
        *,
        match: str | Pattern[str] | None = None,
        deny_extensions: Iterable[str] | None = None,
        kind: Kind | str = Kind.INDEX,
    ) -> LinkBatch:
        """Returns a batch of links: those given, those of the elements selected, or all of the page that may be pages.

        ``match`` keeps the links in whose absolute URL the pattern is found. What cannot be followed
        (``javascript:``, an invalid URL, an element without href) is left out. Of all links of the page, so are those
        to what is known to be no page (``.zip``, ``.mp4``...), unless there is a ``match``; ``deny_extensions`` names
        what to leave out, whatever links are meant: ``()`` is nothing.
        """
        if sum(source is not None for source in (urls, css, xpath)) > 1:
            raise ValueError("follow_all takes one of urls, css and xpath")
        found: list[str] | None = None
        selected: Iterable[Href] | None = self.css(css) if css is not None else urls
        if xpath is not None:
            selected = self.xpath(xpath)
        if selected is not None:
            hrefs = _selected(selected) if isinstance(selected, parsel.SelectorList) else list(map(_href, selected))
            found = join_all(hrefs, self.base_url, encoding or self.encoding)
        wanted = re.compile(match).search if match is not None else None
        denied = with_extension(deny_extensions) if deny_extensions is not None else None
        if denied is None and found is None and wanted is None:
            denied = is_no_page

        def source() -> list[str]:
            links = self.links if found is None else found
            if denied is not None:
                links = [link for link in links if not denied(link)]
            return links if wanted is None else [link for link in links if wanted(link)]

        return LinkBatch(
            source,
            callback,
            method=method,
            headers=headers,
            body=body,
            cookies=cookies,
            meta=meta,
            encoding=encoding or "utf-8",
            priority=priority,
            dont_filter=dont_filter,
            errback=errback,
            flags=flags,
            cb_kwargs=cb_kwargs,
            kind=kind,
        )

    # -- kind ---------------------------------------------------------------------------------------

    @property
    def is_html(self) -> bool:
        """True for what its host calls HTML, and for what looks like it where the host says nothing."""
        if self._content_type:
            return bool(_HTML.match(self._content_type))
        return not self.is_xml and b"<" in self.body[:_LOOK_SIZE] and b"\x00" not in self.body[:_LOOK_SIZE]

    @property
    def is_xml(self) -> bool:
        """True for XML that is no XHTML; such a page is parsed as XML."""
        kind = self._content_type
        return bool(_XML.match(kind)) or (not kind and self.body.lstrip().startswith(b"<?xml"))

    @property
    def is_markup(self) -> bool:
        """True for what may be HTML or XML: what is looked at for a title and links."""
        return not _NO_MARKUP.match(self._content_type)

    def __repr__(self) -> str:
        return f"<{self.status} {self.url}>"

    @property
    def _markup(self) -> bytes:
        """The body as parsers get it, all of them: in UTF-8, and as much of it as can be parsed."""
        if self.encoding == "utf-8":
            whole = self.body.removeprefix(b"\xef\xbb\xbf")
        else:
            whole = self.text.encode("utf-8", "replace")
        if self._bearable is None:
            self._bearable = bearable(whole, xml=self.is_xml)
        return whole[: self._bearable]

    @property
    def _content_type(self) -> str:
        return self.answer.headers.get("Content-Type") or ""


class _Selector(parsel.Selector):
    """parsel's; what is selected from it is one, too."""

    __slots__ = ()

    # css goes through xpath.
    xpath = limited(parsel.Selector.xpath)
    re = limited(parsel.Selector.re)


def _selected(selectors: Iterable[parsel.Selector]) -> list[str]:
    hrefs = []
    for selector in selectors:
        try:
            hrefs.append(_href(selector))
        except ValueError:
            continue
    return hrefs


def _href(link: object) -> str:
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
