"""The loader that fills items from a page, field by field: itemloaders' own, which here knows of answers."""

from __future__ import annotations

from typing import Any

import itemloaders
import parsel

from p2pcrawl.spiders.items.item import Item


class ItemLoader(itemloaders.ItemLoader):
    """Fills an item by XPath, CSS, JMESPath or values, which pass the processors of their field.

    Give it the page: a ``response``, or a ``selector`` of a part of it. ``item`` is filled, else a new one of
    ``default_item_class``. Whatever else is named is in the ``context`` of processors, as are these.
    """

    default_item_class: type = Item

    def __init__(
        self,
        item: Any = None,
        selector: parsel.Selector | None = None,
        response: Any = None,
        parent: itemloaders.ItemLoader | None = None,
        **context: Any,
    ) -> None:
        if selector is None and getattr(response, "is_text", response is not None):
            selector = response.selector
        context["response"] = response
        super().__init__(item=item, selector=selector, parent=parent, **context)
