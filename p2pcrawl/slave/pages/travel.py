"""Requests as they travel: what a task holds, and back.

A plain GET travels as its URL alone. What else a request asks for is packed as plain data and items; any other object
is refused here, where its author sees it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from p2pcrawl.fetch.components.referrer import PAGE_POLICY, policy_of, referer
from p2pcrawl.model.crawl.referrer import ReferrerPolicy
from p2pcrawl.model.crawl.request import Request, callback_name
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.http.cookie_forms import checked_cookies
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.spiders.items.travelling import as_it_travels, unpacked_plainly
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.wire.messages.slave_messages import Task

_encode = msgspec.msgpack.Encoder().encode
_COMPUTED = ("depth", "download_latency", PAGE_POLICY)
"""Keys of meta that each slave sets itself. So it does with ``retry_times``, but for those of a request that is made
anew, as one that must be made in any case."""
_FIELDS = ("headers", "body", "cookies", "meta", "cb_kwargs", "errback", "dont_filter", "flags")


def packed_request(request: Request | LinkBatch, page_policy: str = "") -> bytes:
    """Packs what a request asks for beyond its URL, callback, kind and priority; b"" for nothing. ``page_policy``: what
    the page that it was found on says about referrers.

    Raises TypeError for meta or cb_kwargs that are neither plain data nor items.
    """
    extra = {name: value for name in _FIELDS if (value := getattr(request, name))}
    if "meta" in extra:
        left_out = _COMPUTED if request.dont_filter else (*_COMPUTED, "retry_times")
        extra["meta"] = {key: value for key, value in extra["meta"].items() if key not in left_out}
        if not extra["meta"]:
            del extra["meta"]
    if request.method != "GET":
        extra["method"] = request.method
    if request.encoding != "utf-8":
        extra["encoding"] = request.encoding
    if page_policy:
        extra[PAGE_POLICY] = page_policy
    if not extra:
        return b""
    # As they are now: whoever made the request may have given it others since.
    if "headers" in extra:
        extra["headers"] = Headers(extra["headers"]).to_plain()
    if "cookies" in extra:
        extra["cookies"] = checked_cookies(extra["cookies"])
    if "errback" in extra:
        extra["errback"] = callback_name(extra["errback"])
    for name in ("meta", "cb_kwargs"):
        if name in extra:
            extra[name] = as_it_travels(extra[name], f"{name} of the request")
    return _encode(extra)


def request_of(task: Task, policy: ReferrerPolicy = ReferrerPolicy.STRICT_ORIGIN_WHEN_CROSS_ORIGIN) -> Request:
    """Makes the request that a task stands for, as its callback will see it. ``policy``: how much its Referer tells.

    Raises ConfigurationError for what no spider can have asked for.
    """
    link = task.link
    try:
        extra = unpacked_plainly(link.extra) if link.extra else {}
        page_policy = extra.pop(PAGE_POLICY, "")
        request = Request(link.url, callback=link.callback or None, priority=link.priority, kind=link.kind, **extra)
    except ConfigurationError:
        raise
    except Exception as error:
        # A broken slave or master may have put anything into it.
        raise ConfigurationError(f"not a request that can be made: {error}") from error
    request.meta["depth"] = link.depth
    if task.attempt > 1:
        before = request.meta.get("retry_times")
        request.meta["retry_times"] = (before if isinstance(before, int) else 0) + task.attempt - 1
    if page_policy:
        request.meta[PAGE_POLICY] = page_policy
    if link.referer and "Referer" not in request.headers:
        told = referer(policy_of(request.meta, policy), link.referer, link.url)
        if told:
            request.headers["Referer"] = told
    return request


def whole_request(request: Request) -> list[Any]:
    """Returns a request as plain data: what :func:`request_in` makes it of again."""
    return [request.url, request.priority, packed_request(request)]


def request_in(packed: Any) -> Request:
    """Makes a request of what :func:`whole_request` returned. Raises ValueError or TypeError for anything else."""
    url, priority, extra = packed
    fields = unpacked_plainly(extra) if extra else {}
    fields.pop(PAGE_POLICY, None)
    return Request(url, priority=priority, **fields)
