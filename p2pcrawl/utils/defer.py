"""Awaitables, where Scrapy has deferreds."""

from p2pcrawl.spiders.aids.awaited import deferred_from_coro, ensure_awaitable, maybe_deferred_to_future

__all__ = ["deferred_from_coro", "ensure_awaitable", "maybe_deferred_to_future"]
