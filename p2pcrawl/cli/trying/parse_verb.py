"""The verb ``parse``: what a spider's callbacks make of a page, and of those that it leads to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.terminal import Terminal, show, show_json
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.cli.trying.tried_spider import TriedSpider, spiders_at, tried_spider
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.model.crawl.request import Request, callback_name
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.spiders.items.item_json import encode_item
from p2pcrawl.spiders.loading.trial import error_line
from p2pcrawl.spiders.page.typed_urls import checked_url

PAGES_MAX = 100
"""Pages of one level that are fetched: more is a crawl."""


@dataclass(frozen=True, slots=True)
class Parsing:
    """A page and a callback, as typed. ``depth``: how many levels of pages are fetched."""

    url: str
    target: str
    callback: str
    depth: int
    settings: Mapping[str, str]
    arguments: Mapping[str, str]
    meta: Mapping[str, Any]
    cb_kwargs: Mapping[str, Any]
    as_json: bool


def run_parse(asked: Parsing, level: str) -> int:
    """Shows the items and requests of each level; 1 where a callback raised or a page could not be had."""
    found = spiders_at(asked.target, asked.settings)
    if len(found) > 1:
        names = ", ".join(cls.__qualname__ for cls, _ in found)
        raise ConfigurationError(f"{asked.target} has several spiders ({names}): name one, as FILE.py:CLASS")
    cls, base = found[0]

    async def parse() -> int:
        async with tried_spider(cls, base, asked.arguments) as tried:
            return await _parse(tried, asked)

    with log_to(Terminal(live=False), level), asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(parse())


async def _parse(tried: TriedSpider, asked: Parsing) -> int:
    meta, arguments = dict(asked.meta), dict(asked.cb_kwargs)
    waiting = [Request(checked_url(asked.url), asked.callback or None, meta=meta, cb_kwargs=arguments)]
    items, requests, code = list[Any](), list[Request](), 0
    for level in range(1, asked.depth + 1):
        requests, had = [], list[Any]()
        for request in waiting[:PAGES_MAX]:
            try:
                response = await tried.get(request)
                name = callback_name(request.callback) or "_parse"
                more, found = await tried.results(response, name, request.cb_kwargs)
            except Exception as error:
                code = 1
                Terminal(live=False).say(str(error) if isinstance(error, P2PCrawlError) else error_line(error))
                continue
            had += more
            requests += found
        items += had
        if not asked.as_json:
            _show(level, had, requests)
        waiting = requests
    if asked.as_json:
        found_requests = [{"url": r.url, "method": r.method, "callback": _callback(r)} for r in requests]
        show_json({"items": [json.loads(encode_item(item)) for item in items], "requests": found_requests})
    return code


def _show(level: int, items: list[Any], requests: list[Request]) -> None:
    show(f"level {level}: {counted(len(items), 'item')}, {counted(len(requests), 'request')}")
    for item in items:
        show(f"  {encode_item(item).decode()}")
    for request in requests:
        show(f"  {request.method} {request.url} -> {_callback(request)}")


def _callback(request: Request) -> str:
    return callback_name(request.callback) or "parse"
