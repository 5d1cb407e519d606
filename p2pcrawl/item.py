"""Items that say which fields they have."""

from p2pcrawl.spiders.items.item import Field, Item, ItemMeta

__all__ = ["Field", "Item", "ItemMeta"]
