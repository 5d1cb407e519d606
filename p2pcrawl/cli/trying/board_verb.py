"""The verb ``board check``: what a board would do with real pages."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.terminal import Terminal, show, show_json
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.cli.trying.tried_spider import TriedSpider, tried_spider
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.boards.board_file import board_settings
from p2pcrawl.spiders.boards.board_spider import BoardSpider, board_class
from p2pcrawl.spiders.items.item_json import encode_item
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.spiders.page_types.verdict import TypedBy
from p2pcrawl.stores.feeds.start_outputs import SpiderFeeds, start_outputs
from p2pcrawl.stores.kinds import is_local

EXAMPLES: Final = 3
_LOCAL: Final = " (a file, which a cluster does not write: `submit` refuses it)"


def run_board_check(file: str, urls: tuple[str, ...], *, as_json: bool, level: str) -> int:
    """Shows where its items go, and for each page what it is taken for, its links by what the board does with them, and
    the item that it makes; 1 where a page could not be had. Raises ConfigurationError for a mistake in the board, also
    for an output that cannot be, or whose package is not installed.
    """
    cls = board_class(file)
    outputs = _outputs_of(cls)

    async def check() -> list[dict[str, Any]]:
        async with tried_spider(cls, Settings(), {}) as tried:
            return [await _checked(tried, url) for url in urls or cls.board.entries[:EXAMPLES]]

    with log_to(Terminal(live=False), level), asyncio.Runner(loop_factory=new_event_loop) as runner:
        pages = runner.run(check())
    if as_json:
        show_json({"board": cls.name, "outputs": outputs, "pages": pages})
    else:
        show(f"board {cls.name}: no mistake in it")
        for output in outputs:
            show(f"  items go to {output['address']}{_LOCAL if output['local'] else ''}")
        for page in pages:
            _show(page)
    return int(any("error" in page for page in pages))


def _outputs_of(cls: type[BoardSpider]) -> list[dict[str, Any]]:
    """Returns where the items of a board go, without passwords; nothing is opened. Raises ConfigurationError."""
    feeds = board_settings(cls.board).get("FEEDS", {})
    specs = start_outputs((), [SpiderFeeds(feeds, cls.name, {}, own=True)], datetime.now(UTC)).specs
    return [{"address": spec.url, "local": is_local(spec.url)} for spec in specs]


async def _checked(tried: TriedSpider, url: str) -> dict[str, Any]:
    spider = tried.spider
    assert isinstance(spider, BoardSpider)
    try:
        response = await tried.get(Request(checked_url(url)))
        items, _ = await tried.results(response, "parse", {})
    except P2PCrawlError as error:
        return {"url": url, "error": str(error)}
    taken = response.taken_for or spider.type_of(response)
    return {
        "url": response.url,
        "status": response.status,
        "type": taken.type,
        "by": taken.by,
        "rule": taken.rule,
        "links": _links(spider, response),
        "item": json.loads(encode_item(items[0])) if items else None,
    }


def _links(spider: BoardSpider, response: Response) -> dict[str, Any]:
    """Returns the links of a page by what the board takes them for."""
    found: dict[str, Counter[str]] = {}
    for link in response.links:
        target = spider.jumps.target(link)
        taken = spider.taken_for(target)
        found.setdefault(_words(taken), Counter())[target] += 1
    order = sorted(found.items(), key=lambda each: -len(each[1]))
    return {rule: {"count": len(urls), "examples": list(urls)[:EXAMPLES]} for rule, urls in order}


def _words(taken: TypedBy) -> str:
    """Says what a link is taken for: what is no more than a guess says so."""
    return f"{taken.type}, guessed: {taken.rule}" if taken.by in ("cached", "url") else f"{taken.type}: {taken.rule}"


def _show(page: dict[str, Any]) -> None:
    if "error" in page:
        show(f"{page['url']}: {page['error']}")
        return
    show(f"{page['url']} ({page['status']}) is taken for {page['type']} by {page['by']}: {page['rule']}")
    for rule, found in page["links"].items():
        show(f"  {counted(found['count'], 'link')} to {rule}")
        for url in found["examples"]:
            show(f"    {url}")
    if page["item"] is not None:
        for name, value in page["item"].items():
            show(f"  {name} = {value!s:.300}")
    elif page["type"] == PageType.ARTICLE:
        show("  no item: a field that is required is not there, or the page has no main text")
