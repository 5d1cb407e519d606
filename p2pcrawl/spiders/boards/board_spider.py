"""The spider that keeps to a board."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

from p2pcrawl.model.crawl.domains import read_domains, sites_of
from p2pcrawl.model.crawl.request import Kind, Request
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.boards.board import Board, LinkChoice
from p2pcrawl.spiders.boards.board_file import as_field, board_settings, load_board
from p2pcrawl.spiders.boards.jumps import Jumps
from p2pcrawl.spiders.boards.listed_pages import listed_pages
from p2pcrawl.spiders.boards.page_fields import Missing, field_values
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor
from p2pcrawl.spiders.extracting.main_parts import extract_named, extracted
from p2pcrawl.spiders.extracting.wanted import in_domains
from p2pcrawl.spiders.items.item_json import is_item
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page_types.known_types import KnownTypes
from p2pcrawl.spiders.page_types.verdict import TypedBy, kind_for
from p2pcrawl.spiders.spider import Spider


class BoardSpider(Spider):
    """Keeps to a board: follows navigation pages, and makes an item of each article."""

    board: ClassVar[Board]
    """Set in the class that is made of a board."""
    board_file: ClassVar[str]

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        board = self.board
        self.allowed_domains = read_domains(board.domains)[0] or sites_of(board.entries)
        self.jumps = Jumps(board.jumps)
        self._fields = {key: as_field(field) for key, field in board.fields.items()}
        self._extract = extract_named(board.extract)
        self._articles, self._follow = self._links_of(board.articles), self._links_of(board.follow)
        self._hidden = LinkExtractor(deny_extensions=[]) if self.jumps else None
        self._entries = frozenset(board.entries)
        self._known = KnownTypes()

    async def _parse(self, response: Response, **cb_kwargs: Any) -> AsyncIterator[Any]:
        """Counts, in a job of this board alone, what its pages bring: other boards may join it."""
        async for each in tallied(self, response, self.board.name, iterate(self.parse(response))):
            yield each

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any] | AsyncIterator[Any]:
        taken = response.taken_for = self.type_of(response)
        if taken.type is PageType.ARTICLE:
            return self._item_of(response)
        # A page that only seems to be neither may lead on.
        leads_on = taken.type is PageType.NAVIGATION or (taken.by in ("content", "cached") and response.is_markup)
        return self.links_of(response) if leads_on else iter(())

    def type_of(self, response: Response) -> TypedBy:
        """Tells the type of a page, and the rule that says so: a pattern, or else what the page is."""
        by_pattern = self._by_pattern(response.url)
        if by_pattern is not None:
            return by_pattern
        verdict = response.page_verdict
        self._known.learn(response.url, verdict)
        return self._known.settle(response.url, verdict)

    def taken_for(self, url: str) -> TypedBy:
        """Tells what the page of a URL is taken for before it is fetched, and the rule that says so."""
        return self._by_pattern(url) or self._known.guess(url)

    def _by_pattern(self, url: str) -> TypedBy | None:
        """Tells the type of the page of a URL; None where its content is to tell."""
        board = self.board
        if not in_domains(url, self.allowed_domains):
            return TypedBy(PageType.OTHER, "domain", "it is outside of the domains")
        if _chooses(board.articles, self._articles, url):
            return TypedBy(PageType.ARTICLE, "pattern", _rule("articles", board.articles, url))
        if url in self._entries:
            return TypedBy(PageType.NAVIGATION, "entry", "entries")
        if not self._follow.matches(url):
            return TypedBy(PageType.OTHER, "pattern", "no pattern wants it")
        if board.by_content and not (board.articles.allow and board.follow.allow):
            return None
        both = not board.articles.allow and (self._fields or self._extract)
        kind = PageType.ARTICLE if both else PageType.NAVIGATION
        return TypedBy(kind, "pattern", _rule("follow", board.follow, url))

    def links_of(self, response: Response) -> Iterator[Request]:
        """Yields a request for each link of a page that the board wants, articles first; of a feed or a sitemap for
        what it lists.
        """
        seen: set[str] = set()
        if not response.is_html:
            yield from self._listed(response)
            return
        if self._hidden is not None:
            for link in self._hidden.extract_links(response):
                if self.jumps.target(link.url) == link.url and self.jumps.hides(link.url):
                    seen.add(link.url)
                    yield Request(link.url, meta={"allow_offsite": True}, kind=Kind.INDEX)
        for extractor in (self._articles, self._follow):
            if extractor is self._articles and not self.board.articles.allow:
                continue
            for found in extractor.extract_links(response):
                if found.url not in seen:
                    seen.add(found.url)
                    yield Request(found.url, kind=self._kind_of(found.url, extractor))

    def _kind_of(self, url: str, extractor: LinkExtractor) -> Kind:
        """Returns the queue of a link, which waits there for what its page is guessed to be."""
        if extractor is self._articles:
            return Kind.DETAIL
        return kind_for(self.taken_for(url).type) if self.board.by_content else Kind.INDEX

    def _listed(self, response: Response) -> Iterator[Request]:
        for page in listed_pages(response):
            url = self.jumps.target(page.url) if self.jumps else page.url
            taken = self._by_pattern(url)
            if taken is not None and taken.type is PageType.OTHER and not (page.is_list and taken.by != "domain"):
                continue
            # What no pattern names is news where a feed names it.
            is_article = page.is_news if taken is None else taken.type is PageType.ARTICLE
            request = Request(url, kind=Kind.DETAIL if is_article else Kind.INDEX)
            request.changed_at = page.changed_s
            yield request

    async def _item_of(self, response: Response) -> AsyncIterator[Any]:
        if self.board.articles.follow or not self.board.articles.allow:
            for request in self.links_of(response):
                yield request
        try:
            values = field_values(self._fields, response)
        except Missing:
            return
        item = {"url": response.url}
        if self._extract is not None:
            found = await extracted(response, self._extract)
            if found is None and not self._fields:
                return
            item |= found or {}
        yield item | values

    def _links_of(self, choice: LinkChoice) -> LinkExtractor:
        return LinkExtractor(
            allow=choice.allow,
            deny=choice.deny,
            restrict_css=choice.css,
            restrict_xpaths=choice.xpath,
            process_value=self.jumps.target if self.jumps else None,
        )


async def tallied(spider: Spider, response: Response, board: str, found: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Counts a page that is read for a board of a job, but for later visits of it, and its items."""
    stats = spider.crawler.stats
    if not response.changed:
        stats.inc_value(f"boards/{board}/pages")
    async for each in found:
        if is_item(each):
            stats.inc_value(f"boards/{board}/items")
        yield each


def board_class(path: str) -> type[BoardSpider]:
    """Makes the spider of a board's file. Raises ConfigurationError, naming the line, for what cannot be."""
    return class_of_board(load_board(path), path)


def class_of_board(board: Board, path: str) -> type[BoardSpider]:
    """Makes the spider of a board that is read; ``path``: of its file."""
    body = {
        "name": board.name,
        "board": board,
        "start_urls": list(board.entries),
        "custom_settings": board_settings(board),
        "__module__": BoardSpider.__module__,
        "board_file": path,
    }
    return type("BoardOfFile", (BoardSpider,), body)


def _chooses(choice: LinkChoice, extractor: LinkExtractor, url: str) -> bool:
    return bool(choice.allow) and extractor.matches(url)


def _rule(table: str, choice: LinkChoice, url: str) -> str:
    pattern = next((each for each in choice.allow if re.search(each, url)), "")
    return f"{table}.allow = {pattern!r}" if pattern else table
