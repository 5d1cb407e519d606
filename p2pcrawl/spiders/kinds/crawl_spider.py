"""The spider that follows links by rules."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.callbacks import iterate, several
from p2pcrawl.spiders.extracting.found_link import FoundLink
from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor
from p2pcrawl.spiders.failure import PageFailure
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider

log = logging.getLogger(__name__)

LINK_TEXT_SIZE = 1_000
"""Characters of a link's text that travel with its request."""

Method = Callable[..., Any] | str | None

_serial = count()


class Rule:
    """A choice of links (``link_extractor``), and what becomes of them.

    ``callback`` gets the pages that they lead to, with ``cb_kwargs``; ``follow`` says whether these pages' own links
    are looked at, which they are unless there is a callback. ``process_links`` gets the links of each page as a list
    and returns those to follow; ``process_request`` gets each request and the page, and returns the request to make,
    or None. Methods may be given by name.
    """

    def __init__(
        self,
        link_extractor: Any = None,
        callback: Method = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        follow: bool | None = None,
        process_links: Method = None,
        process_request: Method = None,
        errback: Method = None,
    ) -> None:
        self.link_extractor = link_extractor or LinkExtractor()
        self.callback, self.errback = callback, errback
        self.cb_kwargs = dict(cb_kwargs or {})
        self.process_links, self.process_request = process_links, process_request
        self.follow = not callback if follow is None else follow
        self.serial = next(_serial)

    def bound_to(self, spider: Spider) -> Any:
        """Returns a copy with the spider's methods in place of their names, and functions wherever none was given.

        Raises ConfigurationError when ``process_links`` or ``process_request`` names no method; a callback that is none
        is only told of, since Scrapy does without it.
        """
        bound: Any = copy.copy(self)
        bound.callback, bound.errback = self._method(spider, "callback"), self._method(spider, "errback")
        bound.process_links = self._method(spider, "process_links", needed=True) or _all_links
        bound.process_request = _with_response(self._method(spider, "process_request", needed=True) or _as_it_is)
        return bound

    def _method(self, spider: Spider, part: str, *, needed: bool = False) -> Callable[..., Any] | None:
        given = getattr(self, part)
        if not isinstance(given, str):
            return given if callable(given) else None
        method: Callable[..., Any] | None = getattr(spider, given, None)
        if callable(method):
            return method
        told = f"a rule of spider {spider.name} has {part}={given!r}, but {type(spider).__name__} has no such method"
        if needed:
            raise ConfigurationError(told)
        log.warning("%s", told)
        return None


class EitherWay:
    """Things that are iterated either way: spiders of today say ``async for``, those of before 2.13 ``for``."""

    __slots__ = ("_things",)

    def __init__(self, things: Iterator[Any]) -> None:
        self._things = things

    def __iter__(self) -> Iterator[Any]:
        return self._things

    async def __aiter__(self) -> AsyncIterator[Any]:
        for each in self._things:
            yield each


class CrawlSpider(Spider):
    """Follows links by its ``rules``. A link is taken by the first rule that wants it.

    The answers to start URLs go to :meth:`parse_start_url`, and their links are followed. Only HTML is looked at for
    links.
    """

    rules: Iterable[Rule] = ()
    _follow_links = True

    def __init__(self, *args: Any, **arguments: Any) -> None:
        # As they were given: what stands beside it among a spider's bases may take none.
        super().__init__(*args, **arguments)
        self._compile_rules()

    def parse_start_url(self, response: Response, **kwargs: Any) -> Any:
        """Handles the answers to start URLs; returns nothing unless overridden."""
        return ()

    def process_results(self, response: Response, results: Any) -> Any:
        """Changes what a callback returned for a page, before it goes on; an async callback's as a list."""
        return results

    def parse_with_rules(
        self,
        response: Response,
        callback: Callable[..., Any] | None,
        cb_kwargs: Mapping[str, Any],
        follow: bool = True,
    ) -> EitherWay | AsyncIterator[Any]:
        """Yields what the callback makes of a page, then the requests for its links if they are to be followed.

        It may be iterated with ``async for``, and with ``for`` where the callback is not async.
        """
        results = callback(response, **cb_kwargs) if callback is not None else None
        if inspect.isawaitable(results) or hasattr(results, "__aiter__"):
            return _yield_later(self, response, results, follow)
        return EitherWay(_yield_now(self, response, results, callback is not None, follow))

    def _parse(self, response: Response, **kwargs: Any) -> Any:
        return _as_it_comes(self._parse_response(response, self.parse_start_url, kwargs, True))

    def _parse_response(
        self,
        response: Response,
        callback: Callable[..., Any] | None,
        cb_kwargs: Mapping[str, Any],
        follow: bool = True,
    ) -> Any:
        # The name that spiders override which were written for older versions of Scrapy.
        return self.parse_with_rules(response, callback, cb_kwargs, follow)

    def _requests_to_follow(self, response: Response) -> Iterator[Request | None]:
        if not response.is_html:
            return
        seen: set[FoundLink] = set()
        for number, rule in enumerate(self._rules):
            links = [link for link in rule.link_extractor.extract_links(response) if link not in seen]
            for link in rule.process_links(links) or ():
                seen.add(link)
                yield rule.process_request(self._build_request(number, link), response)

    def _build_request(self, rule_index: int, link: FoundLink) -> Request:
        # The rule travels as its number, for its functions cannot.
        return Request(
            link.url,
            callback=self._callback,
            errback=self._errback if self._rules[rule_index].errback else None,
            meta={"rule": rule_index, "link_text": link.text[:LINK_TEXT_SIZE]},
        )

    def _callback(self, response: Response, **cb_kwargs: Any) -> Any:
        rule = self._rules[response.meta["rule"]]
        return _as_it_comes(self._parse_response(response, rule.callback, {**rule.cb_kwargs, **cb_kwargs}, rule.follow))

    _response_downloaded = _callback
    """The name that it had in older versions of Scrapy."""

    def _errback(self, failure: PageFailure) -> Any:
        errback = self._rules[failure.request.meta["rule"]].errback
        return errback(failure) if errback is not None else None

    def _compile_rules(self) -> None:
        rules = [self.rules] if isinstance(self.rules, Rule) else self.rules
        if isinstance(rules, set | frozenset):
            # Their order in a set is another one in each process.
            rules = sorted(rules, key=lambda rule: rule.serial)
        self._rules = [rule.bound_to(self) for rule in rules]


def _as_it_comes(results: Any) -> Any:
    """Returns the plain generator where there is one: it costs a page less than what is async."""
    return iter(results) if isinstance(results, EitherWay) else results


def _yield_now(spider: CrawlSpider, response: Response, results: Any, called: bool, follow: bool) -> Iterator[Any]:
    if called:
        yield from several(spider.process_results(response, () if results is None else results))
    if follow:
        yield from _followed(spider, response)


async def _yield_later(spider: CrawlSpider, response: Response, results: Any, follow: bool) -> AsyncIterator[Any]:
    gathered = [each async for each in iterate(results)]
    for each in several(spider.process_results(response, gathered)):
        yield each
    if follow:
        for each in _followed(spider, response):
            yield each


def _followed(spider: CrawlSpider, response: Response) -> Iterable[Any]:
    if spider._follow_links and spider.settings.crawlspider_follow_links:
        return spider._requests_to_follow(response)
    return ()


def _all_links(links: list[FoundLink]) -> list[FoundLink]:
    return links


def _as_it_is(request: Request, response: Response | None = None) -> Request:
    return request


def _with_response(process: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of a request and its page, also of one that takes a request alone, as it once was."""
    try:
        parameters = inspect.signature(process).parameters.values()
    except (TypeError, ValueError):
        return process
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    if len(places) == 1 and not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return lambda request, response=None: process(request)
    return process
