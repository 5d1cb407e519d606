"""Redirects, as new requests that pass scope, dedupe and politeness like any other."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import quote

import can_ada

from p2pcrawl.fetch.components.chain import Component, Redirected
from p2pcrawl.fetch.components.own_headers import SIGNATURE_HEADERS, OwnHeaders, same_site
from p2pcrawl.fetch.components.proxy_choice import ProxyChoice
from p2pcrawl.fetch.components.referrer import redirected
from p2pcrawl.fetch.components.status import wants_status
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import canonical
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.model.outcome import Failure

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_OF_THE_BODY: Final = frozenset(
    {
        "content-type", "content-length", "content-encoding", "content-language", "content-location",
        "transfer-encoding",
    }
)  # fmt: skip


class Redirect(Component):
    """Raises Redirected for a redirect, with the method that browsers would use.

    Honours meta's dont_redirect and handle_httpstatus_list, and counts in its redirect_times,
    redirect_urls and redirect_reasons. Raises FetchError(BAD_REDIRECT) for one that cannot be followed.
    """

    order = 600
    reason: str = ""
    """What stands in meta's redirect_reasons; "": the status."""

    def __init__(self, settings: Settings, handled: Collection[int] | None = None) -> None:
        self._times_max = settings.redirect_max_times
        self._handled = frozenset(handled or ())
        self._added = {
            name.lower(): value
            for name, value in {**settings.default_request_headers, "User-Agent": settings.user_agent}.items()
        }
        self._proxies = ProxyChoice(settings)
        self._jar = settings.cookies_enabled
        self._own = OwnHeaders(settings.cross_origin_headers)
        self._referrer_policy = settings.referrer_policy

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        status = answer.status
        if status not in _STATUSES or status in self._handled:
            return answer
        if request.meta and (request.meta.get("dont_redirect") or wants_status(request.meta, status)):
            return answer
        location = answer.headers.get("Location", "")
        if not location:
            raise FetchError(Failure.BAD_REDIRECT, f"status {status} without a Location")
        following = self._next(request, answer, location)
        raise Redirected(following, status, answer.ip, asked=answer.asked, answered=answer.answered)

    def _next(self, request: Request, answer: Answer, location: str, method: str | None = None) -> Request:
        url = resolve(request.url, location)
        if url is None:
            raise FetchError(Failure.BAD_REDIRECT, f"redirected to {location[:200]!r}, which cannot be fetched")
        times = int(request.meta.get("redirect_times", 0)) + 1
        if times > self._times_max:
            raise FetchError(Failure.BAD_REDIRECT, f"redirected more than {self._times_max} times")
        if method is None:
            method = _method_after(answer.status, request.method)
        body = request.body if method == request.method else b""
        if method == request.method and not answer.set_cookies and canonical(url) == canonical(request.url):
            raise FetchError(Failure.BAD_REDIRECT, "redirected to itself")
        meta = dict(request.meta)
        meta["redirect_times"] = times
        meta["redirect_urls"] = [*meta.get("redirect_urls", ()), request.url]
        meta["redirect_reasons"] = [*meta.get("redirect_reasons", ()), self.reason or answer.status]
        if "proxy" in meta and meta["proxy"] == self._proxies.proxy_for(request.url):
            del meta["proxy"]
        headers = self._headers(request, url, keeps_body=method == request.method)
        if referer := redirected(request, answer, url, self._referrer_policy):
            headers["Referer"] = referer
        return request.replace(
            url=url,
            encoding="utf-8",
            method=method,
            body=body,
            headers=headers,
            cookies={},
            meta=meta,
        )

    def _headers(self, request: Request, url: str, *, keeps_body: bool) -> Headers:
        """Returns the headers that the request brought along: what components added is theirs to add again."""
        trusted = same_site(request.url, url)
        headers = Headers()
        for name in request.headers:
            lower, values = name.lower(), request.headers.getlist(name)
            if lower in ("host", "referer") or lower in SIGNATURE_HEADERS or (lower == "cookie" and self._jar):
                continue
            if not trusted and name in self._own:
                continue
            if lower in _OF_THE_BODY and not keeps_body:
                continue
            if values != [self._added.get(lower)]:
                headers.setlist(name, values)
        return headers


def _method_after(status: int, method: str) -> str:
    return "GET" if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST") else method


def resolve(base: str, location: str) -> str | None:
    """Returns the URL that a Location leads to, as a browser would request it; None when that is no http(s) URL."""
    try:
        url = can_ada.parse(base) + _as_ascii(location)
    except ValueError:
        return None
    if url.protocol not in ("http:", "https:"):
        return None
    whole: str = url.href
    return whole.partition("#")[0]


def _as_ascii(location: str) -> str:
    """Escapes what is not ASCII. aiohttp reads headers as UTF-8 and escapes odd bytes as surrogates; in the URL they
    are what they were.
    """
    if location.isascii():
        return location
    return "".join(c if c.isascii() else quote(c.encode("utf-8", "surrogateescape")) for c in location)
