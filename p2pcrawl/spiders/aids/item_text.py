"""Items and values of spiders as JSON text."""

from __future__ import annotations

import json
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.items.item_json import encode_item, is_item
from p2pcrawl.spiders.page.response import Response


class ScrapyJSONEncoder(json.JSONEncoder):
    """Encodes what spiders have in hand: items, dates, decimals, sets, and requests and responses by their address."""

    def default(self, value: Any) -> Any:
        if isinstance(value, Request):
            return f"<{type(value).__name__} {value.method} {value.url}>"
        if isinstance(value, Response):
            return f"<{type(value).__name__} {value.status} {value.url}>"
        if isinstance(value, set | frozenset):
            return list(value)
        held = value if is_item(value) else {"value": value}
        plain = json.loads(encode_item(held))
        return plain if held is value else plain["value"]
