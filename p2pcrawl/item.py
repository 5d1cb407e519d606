"""Items that say which fields they have."""

from p2pcrawl.spiders.items.item import Field, Item, ItemMeta
from p2pcrawl.spiders.items.item import Item as BaseItem

__all__ = [
    "BaseItem",
    "Field",
    "Item",
    "ItemMeta",
]
