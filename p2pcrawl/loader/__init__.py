"""The loader that fills items from pages."""

from p2pcrawl.spiders.items.item_loader import ItemLoader

__all__ = ["ItemLoader"]
