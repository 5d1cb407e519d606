"""p2pcrawl: a crawler that no kill can hurt. The public face."""

import sys  # and nothing else yet, not even __future__

if (
    sys.argv[:1] == ["-m"]
    and not sys.flags.safe_path
    and "p2pcrawl" in [argument.partition(".")[0] for argument in sys.orig_argv[1:]]
):
    # `python -m p2pcrawl` puts the current folder before all others: what lies there would be imported in the place of
    # libraries, from the next line on. What a spider needs from there is found when the spider is imported.
    sys.path.pop(0)

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from p2pcrawl.client.peer_client import Client
    from p2pcrawl.crawler import Crawler
    from p2pcrawl.model.crawl.request import Request
    from p2pcrawl.model.crawl.settings import Settings
    from p2pcrawl.model.errors import CloseSpider, DropItem, IgnoreRequest, NotConfigured, NotSupported, P2PCrawlError
    from p2pcrawl.peer.peer import Peer
    from p2pcrawl.spiders.items.item import Field, Item
    from p2pcrawl.spiders.page.response import Response
    from p2pcrawl.spiders.page.selecting import Selector, SelectorList
    from p2pcrawl.spiders.requests.data_requests import JsonRequest
    from p2pcrawl.spiders.requests.form_request import FormRequest
    from p2pcrawl.spiders.spider import Spider

__version__ = "0.1.0"

_HOMES = {
    "Client": "p2pcrawl.client.peer_client",
    "CloseSpider": "p2pcrawl.model.errors",
    "Crawler": "p2pcrawl.crawler",
    "DropItem": "p2pcrawl.model.errors",
    "Field": "p2pcrawl.spiders.items.item",
    "FormRequest": "p2pcrawl.spiders.requests.form_request",
    "IgnoreRequest": "p2pcrawl.model.errors",
    "Item": "p2pcrawl.spiders.items.item",
    "JsonRequest": "p2pcrawl.spiders.requests.data_requests",
    "NotConfigured": "p2pcrawl.model.errors",
    "NotSupported": "p2pcrawl.model.errors",
    "P2PCrawlError": "p2pcrawl.model.errors",
    "Peer": "p2pcrawl.peer.peer",
    "Request": "p2pcrawl.model.crawl.request",
    "Response": "p2pcrawl.spiders.page.response",
    "Selector": "p2pcrawl.spiders.page.selecting",
    "SelectorList": "p2pcrawl.spiders.page.selecting",
    "Settings": "p2pcrawl.model.crawl.settings",
    "Spider": "p2pcrawl.spiders.spider",
}

__all__ = [
    "Client",
    "CloseSpider",
    "Crawler",
    "DropItem",
    "Field",
    "FormRequest",
    "IgnoreRequest",
    "Item",
    "JsonRequest",
    "NotConfigured",
    "NotSupported",
    "P2PCrawlError",
    "Peer",
    "Request",
    "Response",
    "Selector",
    "SelectorList",
    "Settings",
    "Spider",
]


def __getattr__(name: str) -> Any:
    # Each name is imported when it is first used, so that a slave does not load a master.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'p2pcrawl' has no attribute {name!r}")
    return getattr(import_module(home), name)
