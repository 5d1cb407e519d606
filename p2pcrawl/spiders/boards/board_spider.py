"""The spider that keeps to a board."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from p2pcrawl.model.crawl.domains import sites_of
from p2pcrawl.model.crawl.request import Kind, Request
from p2pcrawl.spiders.boards.board import Board, LinkChoice
from p2pcrawl.spiders.boards.board_file import as_field, board_settings, load_board
from p2pcrawl.spiders.boards.jumps import Jumps
from p2pcrawl.spiders.boards.page_fields import Missing, field_values
from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor
from p2pcrawl.spiders.extracting.main_parts import extract_named, extracted
from p2pcrawl.spiders.extracting.wanted import in_domains
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider


class PageType(StrEnum):
    """The use of a page."""

    NAVIGATION = "navigation"
    """Its links are followed."""
    ARTICLE = "article"
    """It makes an item."""
    NEITHER = "neither"


class TypedBy(NamedTuple):
    """The type of a page, and the rule that says so."""

    type: PageType
    rule: str


class BoardSpider(Spider):
    """Keeps to a board: follows navigation pages, and makes an item of each article."""

    board: ClassVar[Board]
    """Set in the class that is made of a board."""
    board_file: ClassVar[str]

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        board = self.board
        self.allowed_domains = list(board.domains) or sites_of(board.entries)
        self.jumps = Jumps(board.jumps)
        self._fields = {key: as_field(field) for key, field in board.fields.items()}
        self._extract = extract_named(board.extract)
        self._articles, self._follow = self._links_of(board.articles), self._links_of(board.follow)
        self._hidden = LinkExtractor(deny_extensions=[]) if self.jumps else None
        self._entries = frozenset(board.entries)

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any] | AsyncIterator[Any]:
        taken = self.taken_for(response.url)
        if taken.type is PageType.ARTICLE:
            return self._item_of(response)
        return self.links_of(response) if taken.type is PageType.NAVIGATION else iter(())

    def taken_for(self, url: str) -> TypedBy:
        """Tells the type of the page of a URL, and the rule that says so."""
        board = self.board
        if not in_domains(url, self.allowed_domains):
            return TypedBy(PageType.NEITHER, "it is outside of the domains")
        if _chooses(board.articles, self._articles, url):
            return TypedBy(PageType.ARTICLE, _rule("articles", board.articles, url))
        if url in self._entries:
            return TypedBy(PageType.NAVIGATION, "entries")
        if self._follow.matches(url):
            both = not board.articles.allow and (self._fields or self._extract)
            kind = PageType.ARTICLE if both else PageType.NAVIGATION
            return TypedBy(kind, _rule("follow", board.follow, url))
        return TypedBy(PageType.NEITHER, "no pattern wants it")

    def links_of(self, response: Response) -> Iterator[Request]:
        """Yields a request for each link of a page that the board wants, articles first."""
        seen: set[str] = set()
        if self._hidden is not None:
            for link in self._hidden.extract_links(response):
                if self.jumps.target(link.url) == link.url and self.jumps.hides(link.url):
                    seen.add(link.url)
                    yield Request(link.url, meta={"allow_offsite": True}, kind=Kind.INDEX)
        for extractor, kind in ((self._articles, Kind.DETAIL), (self._follow, Kind.INDEX)):
            if extractor is self._articles and not self.board.articles.allow:
                continue
            for found in extractor.extract_links(response):
                if found.url not in seen:
                    seen.add(found.url)
                    yield Request(found.url, kind=kind)

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


def board_class(path: str) -> type[BoardSpider]:
    """Makes the spider of a board's file. Raises ConfigurationError, naming the line, for what cannot be."""
    board = load_board(path)
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
