"""The component that answers from the HTTP cache, and keeps what hosts answer.

It stands nearest to the network: what it brings passes all other components, as an answer of the host would. A request
that the cache has no answer for is *asked* of the host, with the conditions under which what is stored is still good;
what comes of that is stored, or confirms what is. What a host may not be asked for, since its address is closed to the
crawl, is not had from the cache either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from time import time
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from multidict import CIMultiDict

from p2pcrawl.core.caching.directives import Fields, joined_fields
from p2pcrawl.core.caching.policy import Rules, rules_of
from p2pcrawl.core.caching.rules import choice_of, chosen_by
from p2pcrawl.core.caching.stored_answer import StoredAnswer, kept
from p2pcrawl.core.hosts.retry import SLOW_DOWN_STATUS
from p2pcrawl.fetch.cache.cache_store import Found
from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.connection.addresses import Blocked
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import FetchError, IgnoreRequest
from p2pcrawl.model.http.headers import header_lines
from p2pcrawl.model.outcome import Failure

CACHED: Final = "cached"

Count = Callable[[str], None]
KnownBy = Callable[[Request], bytes]


def plain_fingerprint(request: Request) -> bytes:
    """Returns the identity of a request by its URL, method and body."""
    return fingerprint(request.url, request.method, request.body)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The settings of the cache that are not of its rules."""

    expiration_s: float
    """What is older is not there; 0: never."""
    refused: frozenset[int]
    schemes: tuple[str, ...]
    """Of URLs whose answers are neither stored nor used."""
    offline: bool
    """What is not there is not asked for."""

    @classmethod
    def of(cls, settings: Settings) -> Wishes:
        return cls(
            expiration_s=settings.httpcache_expiration_secs,
            refused=frozenset(settings.httpcache_ignore_http_codes),
            schemes=tuple(f"{scheme.lower()}:" for scheme in settings.httpcache_ignore_schemes),
            offline=settings.httpcache_ignore_missing,
        )


@dataclass(slots=True)
class _Question:
    """The question that a request on its way to the host is. ``found``: what would have to be confirmed."""

    key: bytes
    fields: Fields
    found: Found | None
    at: float
    added: dict[str, str]

    def take_back(self, request: Request) -> None:
        """Takes our conditions off the request: who follows its answer elsewhere takes its headers along."""
        for name in self.added:
            request.headers.pop(name, None)


class Stock(Protocol):
    """The stock of answers that a cache has."""

    def find(self, key: bytes) -> list[Found]: ...
    async def body(self, found: Found, now: float) -> bytes | None: ...
    def put(self, key: bytes, variant: bytes, stored: StoredAnswer, body: bytes, now: float) -> bool: ...
    def drop(self, keys: list[bytes]) -> None: ...


class HttpCache(Component):
    """The cache of one spider. ``count`` is told the names of what happens, as Scrapy's stats have them."""

    order = 900

    def __init__(
        self,
        settings: Settings,
        stock: Stock,
        networks: Networks,
        scope: str,
        count: Count,
        identify: KnownBy = plain_fingerprint,
        *,
        expiration_s: float = 0.0,
        clock: Callable[[], float] = time,
    ) -> None:
        """``scope``: the spider's name, for the answers of one are not another's. ``identify`` tells requests apart.
        ``expiration_s``: no answer is older, whatever the settings say, but for those of 0.
        """
        self._rules: Rules = rules_of(settings)
        self._wishes = wishes = Wishes.of(settings)
        limits = [limit for limit in (wishes.expiration_s, expiration_s) if limit]
        self._age_max_s = min(limits) if limits else 0.0
        self._stock = stock
        self._networks = networks
        self._scope = scope
        self._count = count
        self._identify = identify
        self._clock = clock
        self._asked: WeakKeyDictionary[Request, _Question] = WeakKeyDictionary()

    # -- the way in ---------------------------------------------------------------------------

    def process_request(self, request: Request) -> Any:
        """Answers from the cache where that may be. Raises IgnoreRequest for what is to be had there or not at all."""
        if (request.meta and request.meta.get("dont_cache")) or self._is_ignored(request.url):
            return None
        now = self._clock()
        fields: Fields = joined_fields(request.headers.lines)
        if not self._rules.covers(request.method, fields):
            fields = self._without_ours(request, fields, now)
            if not self._rules.covers(request.method, fields):
                return None
        key = self._key(request)
        found = self._find(key, request, fields, now)
        if found is not None and self._rules.may_use(found.stored, fields, now):
            return self._answer(request, fields, found, now)
        if found is None:
            self._count("httpcache/miss")
        if found is None or self._rules.wants_cached_only(fields):
            self._check_may_ask(request, fields)
        added = {} if found is None else self._rules.conditions(found.stored)
        request.headers.update(added)
        self._asked[request] = _Question(key, fields, found, now, added)
        return None

    def _check_may_ask(self, request: Request, fields: Fields) -> None:
        """Raises IgnoreRequest where the host is not to be asked for what is not there."""
        if self._wishes.offline or self._rules.wants_cached_only(fields):
            self._count("httpcache/ignore")
            raise IgnoreRequest(f"not in the HTTP cache: {request.url}")

    def _without_ours(self, request: Request, fields: Fields, now: float) -> Fields:
        """Returns the fields without conditions of ours, which the request has when a component between here and the
        network had it made again.
        """
        found = self._find(self._key(request), request, fields, now)
        ours = {} if found is None else self._rules.conditions(found.stored)
        if any(fields.get(name.lower()) != value for name, value in ours.items()):
            return fields
        for name in ours:
            request.headers.pop(name, None)
        return joined_fields(request.headers.lines)

    def _find(self, key: bytes, request: Request, fields: Fields, now: float) -> Found | None:
        found = self._stock.find(key)
        if not found and request.method == "HEAD":
            found = self._stock.find(self._key(request.replace(method="GET")))
        for each in found:
            if self._rules.selects(each.stored, fields) and self._is_usable(request, each.stored, now):
                return each
        return None

    def _is_usable(self, request: Request, stored: StoredAnswer, now: float) -> bool:
        if self._age_max_s and now - stored.answered_at > self._age_max_s:
            return False
        try:
            if stored.ip:
                self._networks.check(stored.ip, host=host_of(request.url))
        except Blocked:
            return False
        return True

    async def _answer(self, request: Request, fields: Fields, found: Found, now: float) -> Answer | None:
        """Answers with what was found; asks the host after all if its body is gone."""
        body = await self._stock.body(found, now)
        if body is None:
            self._count("httpcache/miss")
            self._stock.drop([found.key])
            self._check_may_ask(request, fields)
            self._asked[request] = _Question(self._key(request), fields, None, now, {})
            return None
        self._count("httpcache/hit")
        return self._answer_of(request, found.stored, body, now, asked=False, answered=False)

    def _answer_of(
        self, request: Request, stored: StoredAnswer, body: bytes, now: float, *, asked: bool, answered: bool
    ) -> Answer:
        headers = CIMultiDict(stored.headers)
        if age := self._rules.age_told(stored, now):
            headers["Age"] = age
        return Answer(
            request.url,
            stored.status,
            headers,
            b"" if request.method == "HEAD" else body,
            ip=stored.ip,
            set_cookies=tuple(headers.getall("Set-Cookie", ())),
            flags=[CACHED],
            asked=asked,
            answered=answered,
        )

    # -- the way back -------------------------------------------------------------------------

    def process_answer(self, request: Request, answer: Answer) -> Any:
        """Stores an answer, or brings the one that it confirms."""
        asked = self._asked.pop(request, None)
        if asked is None:
            if answer.asked:
                self._void(request, answer)
            return answer
        asked.take_back(request)
        if asked.found is not None:
            if answer.status == 304:
                return self._confirmed(request, asked, asked.found, answer)
            if self._may_stand_in(asked.found, answer, asked.fields):
                return self._stand_in(request, asked.found, answer)
            self._count("httpcache/invalidate")
        self._store(request, asked, answer)
        return answer

    async def process_error(self, request: Request, error: Exception) -> Answer | None:
        """Answers with what is not fresh any more, where the host fails and that is allowed."""
        asked = self._asked.pop(request, None)
        if asked is None:
            return None
        asked.take_back(request)
        if asked.found is None or not isinstance(error, FetchError):
            return None
        now = self._clock()
        if not self._rules.may_use_in_need(asked.found.stored, asked.fields, now):
            return None
        return await self._old_one(request, asked.found, now)

    def ask_anew(self, request: Request) -> None:
        """Has the host asked for what was found, without a condition: what comes takes its place."""
        fields: Fields = joined_fields(request.headers.lines)
        self._asked[request] = _Question(self._key(request), fields, None, self._clock(), {})

    def dismiss(self, request: Request) -> None:
        """Forgets that a request was asked: its answer is not stored."""
        if (asked := self._asked.pop(request, None)) is not None:
            asked.take_back(request)

    def _may_stand_in(self, found: Found, answer: Answer, fields: Fields) -> bool:
        """Tells whether what is stored is better than this failure. What asks for patience is to be heard."""
        if answer.status < 500 or answer.status in SLOW_DOWN_STATUS:
            return False
        return self._rules.may_use_in_need(found.stored, fields, self._clock())

    async def _stand_in(self, request: Request, found: Found, answer: Answer) -> Answer:
        return await self._old_one(request, found, self._clock()) or answer

    async def _old_one(self, request: Request, found: Found, now: float) -> Answer | None:
        body = await self._stock.body(found, now)
        if body is None:
            return None
        self._count("httpcache/errorrecovery")
        return self._answer_of(request, found.stored, body, now, asked=True, answered=False)

    async def _confirmed(self, request: Request, asked: _Question, found: Found, answer: Answer) -> Answer:
        now, news = self._clock(), header_lines(answer.headers)
        body = await self._stock.body(found, now)
        if body is None or not self._rules.is_of(found.stored, joined_fields(news)):
            self._stock.drop([found.key])
            raise FetchError(Failure.PROTOCOL, "answered 304, which confirms nothing that is in the HTTP cache")
        stored = found.stored.freshened(news, asked.at, now)
        self._stock.put(found.key, found.variant, stored, body, now)
        self._count("httpcache/revalidate")
        fresh = self._answer_of(request, stored, body, now, asked=True, answered=True)
        fresh.latency_s, fresh.ip = answer.latency_s, answer.ip
        return fresh

    # -- storing ------------------------------------------------------------------------------

    def _store(self, request: Request, asked: _Question, answer: Answer) -> None:
        now, headers = self._clock(), kept(header_lines(answer.headers))
        names = chosen_by(joined_fields(headers))
        choice = choice_of(names, asked.fields)
        stored = StoredAnswer(request.url, answer.status, tuple(headers), asked.at, now, answer.ip, names, choice)
        variant = choice_of((*names, "@" + " ".join(names)), asked.fields)
        wanted = answer.status not in self._wishes.refused and self._rules.may_store(stored, asked.fields)
        if wanted and self._stock.put(asked.key, variant, stored, answer.body, now):
            self._count("httpcache/store")
            return
        self._count("httpcache/uncacheable")
        if asked.found is not None:
            # It is not what the host says any more.
            self._stock.drop([asked.found.key])

    def _void(self, request: Request, answer: Answer) -> None:
        fields = joined_fields(header_lines(answer.headers))
        if urls := self._rules.voided(request.method, request.url, answer.status, fields):
            gone = [Request(url, method=method) for url in urls for method in ("GET", "HEAD")]
            self._stock.drop([self._key(each) for each in gone])

    # -- names --------------------------------------------------------------------------------

    def _is_ignored(self, url: str) -> bool:
        return url.lower().startswith(self._wishes.schemes)

    def _key(self, request: Request) -> bytes:
        """Returns what the answer of a request is stored under."""
        place = f"{self._scope}\0{request.method}\0".encode("utf-8", "surrogatepass")
        return blake2b(place + self._identify(request), digest_size=16).digest()
