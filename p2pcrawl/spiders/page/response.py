"""The answer that a callback gets, and can ask for text, selectors, links and requests.

Everything is found when it is first asked for: a page whose links are followed and nothing else is parsed once, by
lexbor, straight from its bytes. The tree of parsel is built by ``css``, ``xpath`` and ``re`` only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from re import Pattern
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, overload

import parsel
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.choosing.article_reader import ArticleReader
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Callback, Kind, Request, encoded_body
from p2pcrawl.model.errors import NotSupported
from p2pcrawl.model.http.cookie_forms import CookiesLike
from p2pcrawl.model.http.headers import Headers, HeadersLike, header_lines
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.articles.readers import PageFacts, whole_markdown
from p2pcrawl.spiders.articles.structured_data import StructuredData, structured_data
from p2pcrawl.spiders.page import markup
from p2pcrawl.spiders.page.article import Article, article_of, facts_of
from p2pcrawl.spiders.page.aside import aside
from p2pcrawl.spiders.page.bombs import bearable
from p2pcrawl.spiders.page.charsets import read
from p2pcrawl.spiders.page.encoding import encoding_of
from p2pcrawl.spiders.page.extensions import is_no_page, with_extension
from p2pcrawl.spiders.page.joining import LinkBase
from p2pcrawl.spiders.page.limit import limited, work
from p2pcrawl.spiders.page.links import LinkBatch, join_all, normalise, page_links
from p2pcrawl.spiders.page.selecting import Href, Selector, SelectorList, href_of, hrefs_selected
from p2pcrawl.spiders.page_types.judging import NO_TEXT, feed_verdict, verdict_on
from p2pcrawl.spiders.page_types.verdict import PageVerdict, TypedBy, by_content

_has_base = re.compile(rb"<base", re.IGNORECASE).search
_NO_MARKUP = re.compile(
    r"image/(?!svg)|video/|audio/|font/|application/(?:pdf|zip|gzip|octet-stream|json)|text/(?:plain|css|csv)", re.I
)

_UNREAD = object()
ASIDE_SIZE = 64 * 1024
"""Bytes of a page from which on its article is found in a thread; some 8 ms."""
Made = TypeVar("Made", bound="Response")


class Response:
    """An answer, the request that it belongs to, and how many links it is away from a start URL.

    Of the classes of answers this is that of what is no text, such as a picture: it has no ``text``, and nothing can be
    selected from it.
    """

    attributes: ClassVar[tuple[str, ...]] = (
        "url",
        "status",
        "headers",
        "body",
        "flags",
        "request",
        "certificate",
        "ip_address",
        "protocol",
    )
    """The arguments of which a response is made, and a copy."""
    is_text: ClassVar[bool] = False
    is_html: ClassVar[bool] = False
    is_xml: ClassVar[bool] = False
    article_reader: ArticleReader = ArticleReader.TRAFILATURA
    """Who finds the article; the setting ARTICLE_READER."""
    visit: int = 0
    """The number of this visit of the page, from 0: see REVISIT_INDEX."""
    changed: bool = False
    """Whether an earlier visit had the page, and it said something else."""
    _headers: Headers | None
    _request: Request | None

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_article",
        "_base",
        "_bearable",
        "_encoding",
        "_ground",
        "_headers",
        "_json",
        "_left_unread",
        "_links",
        "_request",
        "_selector",
        "_taken_for",
        "_text",
        "_title",
        "_tree",
        "_verdict",
        "answer",
        "depth",
    )

    def __init__(
        self,
        url: str,
        status: int = 200,
        headers: HeadersLike | None = None,
        body: bytes | None = b"",
        flags: Iterable[str] | None = None,
        request: Request | None = None,
        certificate: None = None,
        ip_address: object = "",
        protocol: str | None = None,
    ) -> None:
        """Makes an answer that no host gave, for a test or a cache. ``certificate`` is here for those that name it."""
        if not isinstance(url, str):
            raise TypeError(f"the URL of a response is text, not {type(url).__name__}")
        body = b"" if body is None else body
        if not isinstance(body, bytes):
            raise TypeError(f"the body of a response is bytes, not {type(body).__name__} (TextResponse takes text)")
        held = Headers.lenient(headers)
        answer = Answer(
            url, int(status), held, body, ip=str(ip_address or ""), set_cookies=tuple(held.getlist("Set-Cookie"))
        )
        answer.protocol, answer.flags = protocol or "", list(flags or ())
        self._fill(answer, request, int(request.meta.get("depth", 0)) if request is not None else 0)
        self._headers = held

    @classmethod
    def of(cls, answer: Answer, request: Request | None, depth: int = 0) -> Self:
        """Makes the response of an answer that came."""
        response = cls.__new__(cls)
        response._fill(answer, request, depth)
        return response

    def _fill(self, answer: Answer, request: Request | None, depth: int) -> None:
        self.answer = answer
        self.depth = depth
        self._request = request
        self._headers = None
        self._encoding: str | None = None
        self._bearable: int | None = None
        self._left_unread = 0
        self._text: str | None = None
        self._selector: Selector | None = None
        self._tree: LexborHTMLParser | None = None
        self._base: str | None = None
        self._ground: LinkBase | None = None
        self._links: list[str] | None = None
        self._title: str | None = None
        self._json: Any = _UNREAD
        self._article: Any = _UNREAD
        self._verdict: PageVerdict | None = None
        self._taken_for: TypedBy | None = None

    @overload
    def replace(self, *, cls: type[Made], **changes: Any) -> Made: ...
    @overload
    def replace(self, *, cls: None = None, **changes: Any) -> Self: ...
    def replace(self, *, cls: type[Response] | None = None, **changes: Any) -> Response:
        """Returns a copy with some of its facts changed: of the same class, or of ``cls``."""
        kind = cls or type(self)
        for name in self.attributes:
            if name not in changes and name in kind.attributes:
                changes[name] = self._request if name == "request" else getattr(self, name)
        return kind(**changes)

    def copy(self) -> Self:
        """Returns a response with the same facts."""
        return self.replace()

    # -- what the host said -------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self.answer.url

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def headers(self) -> Headers:
        """The headers, in any case; ``getlist`` gives all values of one."""
        if self._headers is None:
            told = self.answer.headers
            self._headers = told if isinstance(told, Headers) else Headers.received(header_lines(told))
        return self._headers

    @headers.setter
    def headers(self, headers: HeadersLike | None) -> None:
        self._headers = self.answer.headers = Headers.lenient(headers)

    @property
    def body(self) -> bytes:
        return self.answer.body

    @property
    def ip_address(self) -> str:
        return self.answer.ip

    @property
    def protocol(self) -> str | None:
        """The protocol that the host spoke, such as ``HTTP/1.1``."""
        return self.answer.protocol or None

    @property
    def certificate(self) -> None:
        """None: certificates are checked, and not kept."""
        return

    @property
    def flags(self) -> list[str]:
        """Words about the answer, such as ``cached``."""
        return self.answer.flags

    @flags.setter
    def flags(self, flags: Iterable[str] | None) -> None:
        self.answer.flags = list(flags or ())

    @property
    def usage(self) -> Mapping[str, Any]:
        """The statements of the site about the use of this page, by purpose, with their words; empty when there are
        none, or the settings do not ask for them (PURPOSE, USAGE_FIELD).
        """
        return self.answer.usage or {}

    @property
    def request(self) -> Request:
        """The request that this is the answer to; None in a response that was made without one."""
        return self._request  # type: ignore[return-value]

    @request.setter
    def request(self, request: Request | None) -> None:
        self._request = request

    @property
    def meta(self) -> dict[str, Any]:
        """The request's ``meta``, with ``depth`` and ``download_latency`` added."""
        meta = self._asked("meta").meta
        meta["depth"] = self.depth
        meta["download_latency"] = self.answer.latency_s
        return meta

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        """The request's ``cb_kwargs``."""
        return self._asked("cb_kwargs").cb_kwargs

    def _asked(self, name: str) -> Request:
        if self._request is None:
            raise AttributeError(f"a response that is made without a request has no {name}: pass request=Request(...)")
        return self._request

    # -- text -----------------------------------------------------------------------------------

    @property
    @limited
    def encoding(self) -> str:
        """The encoding of the text: by byte-order mark, Content-Type, declaration in the page, or a guess, in this
        order.
        """
        if self._encoding is None:
            self._encoding = encoding_of(self.body, self._content_type)
        return self._encoding

    @property
    @limited
    def text(self) -> str:
        """The body as text; what cannot be read is replaced. Raises AttributeError where the answer is no text."""
        if not self.is_text:
            raise AttributeError("this answer is no text: its bytes are in .body")
        if self._text is None:
            self._text = read(self.body, self.encoding)
        return self._text

    def body_as_unicode(self) -> str:
        """Returns the text, under the name that old spiders know."""
        return self.text

    @limited
    def json(self) -> Any:
        """Reads the body as JSON, once. Raises ValueError when it is none."""
        if self._json is _UNREAD:
            try:
                self._json = json.loads(self.body)
            except UnicodeDecodeError:
                self._json = json.loads(self.text)
        return self._json

    # -- selectors --------------------------------------------------------------------------------

    @property
    @limited
    def selector(self) -> Selector:
        """parsel's view of the page, built when first asked for. Raises NotSupported where the answer is no text."""
        if self._selector is None:
            if not self.is_text:
                raise NotSupported(f"nothing can be selected from what is no text: {self!r}")
            kind: Literal["xml", "html"] = "xml" if self.is_xml else "html"
            self._selector = Selector(self._markup.decode("utf-8", "replace"), type=kind, base_url=self.url)
            self._selector.response = self
        return self._selector

    @limited
    def css(self, query: str) -> SelectorList:
        return self.selector.css(query)

    @limited
    def xpath(self, query: str, **variables: Any) -> SelectorList:
        return self.selector.xpath(query, **variables)

    @limited
    def jmespath(self, query: str, **options: Any) -> SelectorList:
        if not self.is_text:
            raise NotSupported(f"nothing can be selected from what is no text: {self!r}")
        return Selector(self.text, type="json").jmespath(query, **options)

    @limited
    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """Returns all matches of ``pattern`` in the markup: the groups if it has any, else the whole. Entities are
        read.
        """
        return self.selector.re(pattern)

    @limited
    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        return self.selector.re_first(pattern, default)

    # -- what stands on it -------------------------------------------------------------------------

    @property
    @limited
    def article(self) -> Article | None:
        """The article of the page: title, text, date, author, language, links; None when it has none."""
        if self._article is _UNREAD:
            self._article = self._found_article()
        return cast("Article | None", self._article)

    async def read_article(self) -> Article | None:
        """Returns the article of the page, found in a thread where the page is large."""
        if self._article is _UNREAD and len(self.body) > ASIDE_SIZE:
            self._article = await aside(self._found_article, work.limit_s)
        return self.article

    @property
    @limited
    def markdown(self) -> str:
        """The page as Markdown: what it shows, but for navigation and forms."""
        return whole_markdown(self._read_from[0], self.base_url) if self.is_markup else ""

    @property
    @limited
    def facts(self) -> PageFacts:
        """The page's title, day of publication and author."""
        return facts_of(*self._read_from) if self.is_markup else PageFacts()

    @property
    @limited
    def structured_data(self) -> StructuredData:
        """The page's JSON-LD, OpenGraph and microdata, as plain data."""
        return structured_data(self.tree, self.url) if self.is_markup else StructuredData()

    def _found_article(self) -> Article | None:
        return article_of(*self._read_from) if self.is_markup else None

    @property
    def _read_from(self) -> tuple[str, str, LexborHTMLParser, ArticleReader]:
        return self._markup.decode("utf-8", "replace"), self.url, self.tree, self.article_reader

    # -- type -----------------------------------------------------------------------------------------

    @property
    def page_type(self) -> PageType:
        """The type of the page: article, navigation, or other; as its text, links, address and own words show."""
        return self.page_verdict.type

    @property
    @limited
    def page_verdict(self) -> PageVerdict:
        """The type of the page, how sure it is, and what spoke for it."""
        if self._verdict is None:
            if not self.is_markup:
                self._verdict = NO_TEXT
            else:
                self._verdict = (feed_verdict(self.body) if self.is_xml else None) or verdict_on(self.tree, self.url)
        return self._verdict

    @property
    def taken_for(self) -> TypedBy | None:
        """The type that the page was taken for, and by which rule, as ``why`` will tell: that which its spider has set,
        or that of its verdict, if anybody asked for one; else None.
        """
        if self._taken_for is None and self._verdict is not None:
            return by_content(self._verdict)
        return self._taken_for

    @taken_for.setter
    def taken_for(self, taken: TypedBy | None) -> None:
        self._taken_for = taken

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
            href = self._base_href() if self.is_markup else ""
            self._base = (normalise(href, self.url) if href else None) or self.url
        return self._base

    def _base_href(self) -> str:
        """Returns the first ``<base href>`` by the tree at hand; none is made to see that there is none."""
        if self._tree is None:
            if not self.encoding.startswith("utf-16") and _has_base(self.body) is None:
                return ""
            if self._selector is not None and not self.is_xml:
                return next(
                    (href for each in self._selector.root.iter("base") if (href := each.get("href"))), ""
                ).strip()
        return markup.base_of(self.tree)

    def urljoin(self, url: str | None) -> str:
        """Returns ``url`` made absolute, and otherwise left as it is; a query that is not ASCII in the encoding of the
        page. Nothing is the page itself.
        """
        if not url:
            return self.base_url
        if self._ground is None:
            self._ground = LinkBase(self.base_url, self.encoding)
        return self._ground.join(url)

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
        href = href_of(url)
        absolute = normalise(href, self.base_url, "utf-8" if href.isascii() else encoding or self.encoding)
        if absolute is None:
            raise ValueError(f"not a link that can be followed: {href[:200]!r} on {self.url}")
        return Request(
            absolute,
            callback=callback,
            method=method,
            headers=headers,
            body=self._written(body, encoding),
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
        urls: Iterable[Href] | SelectorList | None = None,
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
            hrefs = (
                hrefs_selected(selected) if isinstance(selected, parsel.SelectorList) else list(map(href_of, selected))
            )
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
            body=self._written(body, encoding),
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
    def is_markup(self) -> bool:
        """True for what may be HTML or XML: what is looked at for a title and links."""
        return self.is_text and not _NO_MARKUP.match(self._content_type)

    @property
    def left_unread(self) -> int:
        """The bytes at the end that no parser gets, since the page is too much work for one (200,000 tags, say): links
        and elements there are not found. 0 as long as nothing was looked for.
        """
        return self._left_unread

    def __repr__(self) -> str:
        return f"<{self.status} {self.url}>"

    def _written(self, body: bytes | str | None, encoding: str | None) -> bytes:
        """Returns the body of a request that follows from the page: text in the encoding of the page."""
        return encoded_body(body, encoding or ("utf-8" if body is None or isinstance(body, bytes) else self.encoding))

    @property
    def _markup(self) -> bytes:
        """The body as parsers get it, all of them: in UTF-8, and as much of it as can be parsed."""
        if self.encoding == "utf-8":
            whole = self.body.removeprefix(b"\xef\xbb\xbf")
        else:
            whole = self.text.encode("utf-8", "replace")
        if self._bearable is None:
            self._bearable = bearable(whole, xml=self.is_xml)
            self._left_unread = len(whole) - self._bearable
        return whole[: self._bearable]

    @property
    def _content_type(self) -> str:
        return self.answer.headers.get("Content-Type") or ""
